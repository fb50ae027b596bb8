"""Composite feedback: every reward arrives in several parts (Cesa-Bianchi, Gentile, Mansour 2018).

Only the last plays of a block, up to the largest delay, have parts that spill over its end: these
are drawn one by one, and the sum of all others is one draw, as in `latesum.simulation.world`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum.delays import Delay
from latesum.delays.base import MAX_TABLE, Integers
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import Floats, Reward
from latesum.simulation.world import World

Parts = int | Literal["spread"]


class CompositeWorld(World):
    """One realization of a `CompositeProblem`."""

    def __init__(self, problem: CompositeProblem, rng: np.random.Generator, **start: Any) -> None:
        self._parts = problem.parts
        super().__init__(problem, rng, **start)

    def _send(self, reward: Reward, delay: Delay, rounds: int) -> float:
        arrived = self._take_carried(rounds)
        last = min(rounds, delay.table.spread)
        arrived += self._arrive(reward.draw(last, self._rng), delay)
        return arrived + reward.draw_sum(rounds - last, self._rng)

    def _arrive(self, rewards: Floats, delay: Delay) -> float:
        """What has arrived of rewards earned 0, 1, ... rounds before now; the rest is carried."""
        count, largest = len(rewards), delay.table.spread
        if count == 0:
            return 0.0
        if self._parts == "spread":
            # landing[count - 1 + w] arrives w rounds from now: the sum of rewards[a] P(a + w).
            landing = np.convolve(delay.pmf(np.arange(largest + 1)), rewards[::-1])
            self._carry[:largest] += landing[count:]
            return float(landing[:count].sum())
        arrived = 0.0
        for _ in range(int(self._parts)):
            waits = delay.draw(count, self._rng) - np.arange(count)
            late = waits > 0
            arrived += float(rewards[~late].sum())
            self._carry_on(waits[late], rewards[late] / int(self._parts))
        return arrived / int(self._parts)

    def play_rounds(self, arm: int, rounds: int) -> Floats:
        reward, delay, rounds = self._check(arm, rounds)
        largest = len(self._carry)
        seen = np.zeros(rounds + largest)
        seen[:largest] = self._carry
        rewards = reward.draw(rounds, self._rng)
        if self._parts == "spread":
            for after, share in enumerate(delay.pmf(np.arange(delay.table.spread + 1))):
                seen[after : after + rounds] += share * rewards
        else:
            for _ in range(int(self._parts)):
                arrivals = np.arange(rounds) + delay.draw(rounds, self._rng)
                np.add.at(seen, arrivals, rewards / int(self._parts))
        self._carry = seen[rounds:].copy()
        self.rounds_played += rounds
        return seen[:rounds]

    def _fill(self, status_quo: Reward | float | str) -> None:
        what, delay = self._status_quo(status_quo)
        ages: Integers = np.arange(delay.table.spread)
        self._arrive(self._earned_before(what, ages), delay)


class CompositeProblem(Problem):
    """K arms whose rewards arrive in several parts, at most 4,096 rounds late.

    Policies need no change: a part that comes late is like a smaller reward that does.

    Args:
        delay: As for `Problem`; it must have a bound.
        parts: The number of equal parts of a reward, each with a delay of its own; or "spread": of
            every reward the share P(delay = k) arrives k rounds later.

    >>> problem = CompositeProblem([0.5, 0.6], "uniform(0, 100)", parts=4)
    >>> problem
    CompositeProblem([0.5, 0.6], 'uniform(0, 100)', parts=4)
    >>> world = CompositeProblem([1.0, 0.0], "uniform(0, 3)").start(rng=np.random.default_rng(1))
    >>> world.play_rounds(0, 5).tolist()
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    _world = CompositeWorld

    def __init__(
        self,
        arms: Sequence[Reward | float | str],
        delay: Delay | str | Sequence[Delay | str],
        *,
        parts: Parts = "spread",
    ) -> None:
        super().__init__(arms, delay)
        self.parts: Parts = parts
        if parts != "spread":
            self.parts = whole_number(parts, 'the number of parts (or "spread")', at_least=1)
        for each in self.delays:
            if each.bound is None or each.bound > MAX_TABLE:
                raise InvalidInput(
                    f"rewards in parts need a delay of at most {MAX_TABLE:,} rounds, and "
                    f"{each.short_text} may be longer; clip it: {each.short_text}.clipped(1000)."
                )

    def plain(self) -> dict[str, Any]:
        return {**super().plain(), "parts": self.parts}

    def __repr__(self) -> str:
        return f"Composite{super().__repr__()[:-1]}, parts={self.parts!r})"
