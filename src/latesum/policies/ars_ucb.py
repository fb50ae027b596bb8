"""ARS-UCB: blocks that grow slowly, and no knowledge of the delay at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from latesum._checks import finite_number
from latesum.policies.base import Block, Play
from latesum.policies.estimates import Units
from latesum.policies.fixed import PlainMeans

#: No block is longer, whatever its power.
MAX_BLOCK = 1 << 53


class ARSUCB(PlainMeans):
    """The arm with the best upper bound on plain averages, for ever longer blocks.

    The k-th time that an arm is chosen it is played for ceil(k ** growth) rounds, so that what
    leaks from one block into the next matters less and less. The bound of an arm is its mean
    total per round + sqrt(exploration * ln t / rounds), t being the rounds so far.

    From the paper: an optimistic index on plain averages, and blocks whose length is an
    increasing function of how often the arm was chosen. Ours: the power as that function and both
    constants (2 and 4), since only the paper's abstract was available. While an arm goes on being
    the best, its next block follows at once.

    Args:
        growth: The power by which blocks grow.
        exploration: The factor in the upper bound.

    >>> policy = ARSUCB(2)
    >>> policy.tell(0, 1, 1), policy.tell(1, 1, 0)
    (None, None)
    >>> policy.ask()
    Block(arm=0, rounds=4, purpose='learn', number=3)

    References: Wang, Wang, Huang (2021), Adaptive Algorithms for Multi-armed Bandit with
    Composite and Anonymous Feedback, AAAI, arXiv 2012.07048.
    """

    kind = "ars-ucb"
    takes_new_options = True

    def __init__(
        self,
        n_arms: int,
        *,
        growth: float = 2.0,
        exploration: float = 4.0,
        names: Sequence[str] | None = None,
    ) -> None:
        self.growth = finite_number(growth, "the growth of the blocks", at_least=0)
        self.exploration = finite_number(exploration, "the exploration factor", above=0)
        super().__init__(n_arms, names=names)

    def _reset(self) -> None:
        super()._reset()
        self._chosen = [0] * self.n_arms  # k
        self._plan(0)

    def _learn(self, play: Play) -> None:
        super()._learn(play)
        if play.purpose != "override":
            if play.arm == self._arm and play.rounds < self._remaining:
                self._remaining -= play.rounds
                return
            self._chosen[play.arm] += 1
        self._decide()

    def _decide(self) -> None:
        """Plan a block of an arm that was never played, or of the one with the best bound."""
        available = self._available()
        untried = [arm for arm in available if self._played[arm] == 0]
        self._plan(untried[0] if untried else max(available, key=self._upper_bound))

    def _plan(self, arm: int) -> None:
        self._arm = arm
        self._remaining = MAX_BLOCK
        chosen = self._chosen[arm] + 1
        if self.growth * math.log2(chosen) < math.log2(MAX_BLOCK):
            self._remaining = math.ceil(chosen**self.growth)

    def _upper_bound(self, arm: int) -> float:
        known = self._rounds[arm]
        if known == 0:  # played, and its totals are not known yet
            return -math.inf
        spread = self.exploration * math.log(self.rounds_played) / known
        return self._sums[arm] / known + math.sqrt(spread)

    def _next(self) -> Block:
        return Block(self._arm, self._remaining, "learn")

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._decide()

    def _findings(self, units: Units) -> list[str]:
        times = ", ".join(
            f"{name} {chosen} times" for name, chosen in zip(self.names, self._chosen, strict=True)
        )
        return [f"Chosen so far: {times}."]
