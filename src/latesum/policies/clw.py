"""CLW: Exp3 for anonymous composite feedback, with no assumption on where rewards come from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from latesum._checks import finite_number, whole_number
from latesum.policies.base import Believed, Block, Play
from latesum.policies.estimates import Units
from latesum.policies.fixed import PlainMeans


class CLW(PlainMeans):
    """Stay with an arm until older rewards are gone, measure, feed Exp3, draw again.

    With rewards spread over d rounds (here d = `delay_bound` + 1): an arm is drawn and played for
    at least 2d - 1 rounds; from then on each round is the last with probability 1 / (2 (2d - 1)).
    The mean of the last d totals, halved so that it lies in [0, 1], is what Exp3 is fed.

    From the paper: all of that, and the step size 4 sqrt(d ln K / ((4K + 1) T)). Ours: 1 - gain
    stands for the loss, the rounds are drawn beforehand (which is the same), and with d = 1 there
    is at least one round before the measured one.

    Args:
        delay_bound: The delay's largest value.
        step_size: The step size of Exp3; by default the paper's.

    >>> policy = CLW(2, 1_000, delay_bound=4)
    >>> policy.ask().purpose
    'bridge'

    References: Cesa-Bianchi, Gentile, Mansour (2018), Nonstochastic Bandits with Composite
    Anonymous Feedback, COLT.
    """

    kind = "clw"
    random = True

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        delay_bound: int,
        *,
        step_size: float | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        self.delay_bound = whole_number(delay_bound, "the delay bound")
        self.spread = self.delay_bound + 1
        n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.step_size = step_size
        if step_size is None:
            scale = self.spread * math.log(n_arms) / ((4 * n_arms + 1) * self.horizon)
            self._eta = 4 * math.sqrt(scale)
        else:
            self._eta = finite_number(step_size, "the step size", above=0)
        super().__init__(n_arms, names=names)

    def _reset(self) -> None:
        super()._reset()
        self._losses = [0.0] * self.n_arms  # Exp3's importance-weighted sums
        self._measurements = [0] * self.n_arms
        self._draw()

    def _draw(self) -> None:
        available = self._available()
        chances = self._probabilities()
        point, self._arm = self._rng.random(), available[-1]
        for arm in available:
            point -= chances[arm]
            if point < 0:
                self._arm = arm
                break
        shortest = 2 * self.spread - 1
        stay = shortest - 1 + int(self._rng.geometric(1 / (2 * shortest)))
        self._settling = max(stay - self.spread, 1)
        self._measuring = self.spread

    def _probabilities(self) -> dict[int, float]:
        available = self._available()
        least = min(self._losses[arm] for arm in available)
        weights = {arm: math.exp(-self._eta * (self._losses[arm] - least)) for arm in available}
        whole = math.fsum(weights.values())
        return {arm: weight / whole for arm, weight in weights.items()}

    def _learn(self, play: Play) -> None:
        arm, rounds, total, purpose, _ = play
        if arm == self._arm and purpose == "bridge":
            self._settling = max(0, self._settling - rounds)
        elif purpose == "learn" and arm not in self._dropped:
            if arm == self._arm and rounds < self._measuring:
                self._measuring -= rounds
                return
            if total is not None and rounds >= self.spread:
                self._measure(arm, rounds, total)
            self._draw()
        else:  # something else was played: what is in flight is not this arm's alone
            self._settling = max(self._settling, 2 * self.spread - 1)
            self._measuring = self.spread

    def _measure(self, arm: int, rounds: int, total: float) -> None:
        self._rounds[arm] += rounds
        self._sums[arm] += total
        self._measurements[arm] += 1
        loss = 1 - total / rounds / 2
        self._losses[arm] += loss / self._probabilities()[arm]

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._draw()

    def _next(self) -> Block:
        if self._settling:
            return Block(self._arm, self._settling, "bridge")
        return Block(self._arm, self._measuring, "learn")

    def _estimate(self, arm: int, level: float, slack: float = 0.0) -> Believed:
        # Each measurement gains or loses at most d rewards.
        return super()._estimate(arm, level, self._measurements[arm] * (self.spread - 1))

    def _findings(self, units: Units) -> list[str]:
        chances = self._probabilities()
        shares = ", ".join(f"{self.names[arm]} {chance:.0%}" for arm, chance in chances.items())
        return [f"Exp3 draws {shares}."]
