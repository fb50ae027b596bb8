"""ARS-UCB: stretches that grow slowly, and no knowledge of the delay at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from latesum._checks import finite_number
from latesum.policies.base import Play, Policy, Stretch


class ARSUCB(Policy):
    """The arm with the best upper bound on plain averages, for ever longer stretches.

    The k-th time that an arm is chosen it is played for ceil(k ** growth) rounds, so that what
    leaks from one stretch into the next matters less and less. The bound of an arm is its mean
    total per round + sqrt(exploration * ln t / rounds), t being the rounds so far.

    From the paper: an optimistic index on plain averages, and stretches whose length is an
    increasing function of how often the arm was chosen. Ours: the power as that function and both
    constants (2 and 4), since only the paper's abstract was at hand. While an arm goes on being
    the best, its next stretch follows at once.

    Args:
        n_arms: The number of arms.
        growth: The power by which stretches grow.
        exploration: The factor in the upper bound.
        names: The names of the arms, for sentences.

    >>> policy = ARSUCB(2)
    >>> policy.tell(0, 1, 1), policy.tell(1, 1, 0)
    (None, None)
    >>> policy.ask()
    Stretch(arm=0, rounds=4, purpose='learn', number=3)

    References: Wang, Wang, Huang (2021), Adaptive Algorithms for Multi-armed Bandit with
    Composite and Anonymous Feedback, AAAI, arXiv 2012.07048.
    """

    kind = "ars-ucb"

    def __init__(
        self,
        n_arms: int,
        *,
        growth: float = 2.0,
        exploration: float = 4.0,
        names: Sequence[str] | None = None,
    ) -> None:
        self.growth = finite_number(growth, "the growth of the stretches", at_least=0)
        self.exploration = finite_number(exploration, "the exploration factor", above=0)
        super().__init__(n_arms, names=names)

    def _reset(self) -> None:
        self._played = [0] * self.n_arms
        self._rounds = [0] * self.n_arms  # those whose totals are known
        self._sums = [0.0] * self.n_arms
        self._chosen = [0] * self.n_arms
        self._plan(0)

    def _snapshot(self) -> Any:
        lists = [self._played.copy(), self._rounds.copy(), self._sums.copy(), self._chosen.copy()]
        return [*lists, self._arm, self._left]

    def _restore(self, learned: Any) -> None:
        self._played, self._rounds, self._sums, self._chosen = map(list.copy, learned[:4])
        self._arm, self._left = learned[4:]

    def _learn(self, play: Play) -> None:
        arm, rounds, total, purpose, _ = play
        if purpose != "override":
            self._played[arm] += rounds
            if total is not None:
                self._rounds[arm] += rounds
                self._sums[arm] += total
            if arm == self._arm and rounds < self._left:
                self._left -= rounds
                return
            self._chosen[arm] += 1
        self._decide()

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._decide()

    def _decide(self) -> None:
        available = self._available()
        untried = [arm for arm in available if self._played[arm] == 0]
        self._plan(untried[0] if untried else max(available, key=self._upper_bound))

    def _plan(self, arm: int) -> None:
        self._arm, self._left = arm, self._length(arm)

    def _next(self) -> Stretch:
        return Stretch(self._arm, self._left, "learn")

    def _length(self, arm: int) -> int:
        return math.ceil(math.pow(self._chosen[arm] + 1, self.growth))

    def _upper_bound(self, arm: int) -> float:
        if self._rounds[arm] == 0:  # played, and its totals are not known yet
            return -math.inf
        spread = self.exploration * math.log(self.rounds_told) / self._rounds[arm]
        return self._sums[arm] / self._rounds[arm] + math.sqrt(spread)

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        # Hoeffding's inequality; what leaks in from other options is not accounted for.
        rounds = self._rounds[arm]
        if rounds == 0:
            return None, 0.0, 1.0, 0
        mean = self._sums[arm] / rounds
        width = math.sqrt(math.log(2 / (1 - level)) / (2 * rounds))
        return mean, mean - width, mean + width, rounds

    def _findings(self) -> list[str]:
        times = ", ".join(
            f"{name} {chosen} times" for name, chosen in zip(self.names, self._chosen, strict=True)
        )
        return [f"Chosen so far: {times}."]
