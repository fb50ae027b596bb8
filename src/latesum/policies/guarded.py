"""The plain idea: play on for a while after every change of arm before learning from totals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latesum._checks import finite_number, whole_number
from latesum.policies.flow import IndexPolicy
from latesum.policies.flow_base import MIN_BLOCK
from latesum.policies.history import Before
from latesum.policies.indices import Floats, Index


class Guarded(IndexPolicy):
    """The index of `Flow` on plain averages that leave out the first rounds of every block.

    After a change of arm the first `guard` rounds are a bridge: played, and not learned from, while
    late rewards of the arm before fade out. What comes later than that still counts for the wrong
    arm. On two arms this does better than `Flow`; on ten, where blocks follow each other closely,
    the best arm is never found again in about 1 of 1000 runs.

    It decides by the guarded averages. What `estimates` reports is the flow balance of all that
    was played, since only its intervals allow for what comes later than the guard.

    Args:
        n_arms: The number of arms.
        horizon: As for `Flow`.
        mean_delay: The mean delay or an upper estimate of it, which also sets the lengths of
            blocks: overstating it only costs regret, understating it is dangerous.
        guard: The number of rounds left out; by default `mean_delay` rounded up.
        index: As for `Flow`.
        before: As for `Flow`.
        history: As for `Flow`. The parts count that begin after the guard: give it in days, not in
            one part.
        names: The names of the arms, for sentences.
        rng: The generator to draw from.

    >>> policy = Guarded(2, 250_000, mean_delay=50, rng=np.random.default_rng(1))
    >>> policy.ask()
    Block(arm=0, rounds=50, purpose='bridge', number=1)
    >>> policy.tell(0, 50, total=13)
    >>> policy.ask()
    Block(arm=0, rounds=100, purpose='learn', number=2)
    """

    kind = "guarded"

    def __init__(
        self,
        n_arms: int,
        horizon: int | None = None,
        *,
        mean_delay: float,
        guard: int | None = None,
        index: Index = "kl-ucb++",
        before: Before = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        delay = math.ceil(finite_number(mean_delay, "the mean delay", at_least=0))
        self.guard = delay if guard is None else whole_number(guard, "the guard")
        super().__init__(
            n_arms, horizon, mean_delay, index, before=before, history=history, names=names, rng=rng
        )

    def _reset(self) -> None:
        self._counted = [0] * self.n_arms  # the rounds learned from, and their totals
        self._sums = [0.0] * self.n_arms
        # How long the present arm has been played without a break.
        self._run_rounds = self.guard if isinstance(self.before, int) else 0
        self._after_guard = 0  # what is planned once the guard is over
        super()._reset()

    def _snapshot(self) -> Any:
        learned = [self._counted.copy(), self._sums.copy(), self._run_rounds, self._after_guard]
        return [super()._snapshot(), learned]

    def _restore(self, learned: Any) -> None:
        super()._restore(learned[0])
        counted, sums, self._run_rounds, self._after_guard = learned[1]
        self._counted, self._sums = counted.copy(), sums.copy()

    def _add(self, arm: int, rounds: int, total: float | None) -> None:
        before = self._run_rounds if arm == self._balance.previous else 0
        if total is not None and before >= self.guard:
            self._counted[arm] += rounds
            self._sums[arm] += total
        self._run_rounds = before + rounds
        super()._add(arm, rounds, total)

    def _decide(self, finished: bool) -> None:
        if finished and self._after_guard:
            rounds, self._after_guard = self._after_guard, 0
            self._plan(self._arm, rounds)
        else:
            arm = self._choose()
            self._plan_with_guard(arm, self._rounds_for(arm))

    def _plan_with_guard(self, arm: int, rounds: int) -> None:
        played = self._run_rounds if arm == self._balance.previous else 0
        self._after_guard = 0
        if played >= self.guard:
            self._plan(arm, rounds)
            return
        guard = self.guard - played
        self._after_guard = max(rounds - guard, self._first_rounds - guard, MIN_BLOCK)
        self._plan(arm, guard, "bridge")

    def _beliefs(self) -> tuple[Floats, Floats, Floats]:
        counts = np.array(self._counted, dtype=float)
        means = np.array(self._sums) / np.maximum(counts, 1.0)
        return means, means, counts

    def _known_rounds(self, arm: int) -> int:
        return self._counted[arm]

    def _reason(self) -> str:
        if self._after_guard:
            return "while late rewards of other options fade out"
        return super()._reason()
