"""ARS-UCB: blocks that grow slowly, and no knowledge of the delay at all."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from latesum._checks import finite_number
from latesum._sentences import sentence
from latesum.policies.base import Block, Play, Policy, for_kernel, from_kernel


class ARSUCB(Policy):
    """The arm with the best upper bound on plain averages, for ever longer blocks.

    The k-th time that an arm is chosen it is played for ceil(k ** growth) rounds, so that what
    leaks from one block into the next matters less and less. The bound of an arm is its mean
    total per round + sqrt(exploration * ln t / rounds), t being the rounds so far.

    From the paper: an optimistic index on plain averages, and blocks whose length is an
    increasing function of how often the arm was chosen. Ours: the power as that function and both
    constants (2 and 4), since only the paper's abstract was available. While an arm goes on being
    the best, its next block follows at once.

    Args:
        n_arms: The number of arms.
        growth: The power by which blocks grow.
        exploration: The factor in the upper bound.
        names: The names of the arms, for sentences.

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
        played, rounds, chosen = np.zeros((3, self.n_arms), dtype=np.int64)
        self._set_state(np.zeros(2, dtype=np.int64), played, rounds, np.zeros(self.n_arms), chosen)
        _kernels().plan(self._state, 0)

    def _snapshot(self) -> Any:
        state = self._state
        lists = [state.played, state.rounds, state.sums, state.chosen, state.plan]
        *learned, plan = (each.tolist() for each in lists)
        return [*learned, *plan]

    def _restore(self, learned: Any) -> None:
        *averages, arm, left = learned
        self._set_state(np.array([arm, left]), *map(np.array, averages))

    def _set_state(self, plan: Any, *averages: Any) -> None:
        self._state = _kernels().ArsState(
            self.growth, self.exploration, plan, self._available_arms(), *averages
        )

    def _learn(self, play: Play) -> None:
        _kernels().learn(self._state, self.rounds_told, *for_kernel(play))

    def _next(self) -> Block:
        return from_kernel(_kernels().next_block(self._state, self.rounds_told))

    def _forget(self, arm: int) -> None:
        self._state.available[arm] = False
        if arm == self._state.plan[_kernels().ARM]:
            _kernels().decide(self._state, self.rounds_told)

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        # Hoeffding's inequality; what leaks in from other options is not accounted for.
        rounds = int(self._state.rounds[arm])
        if rounds == 0:
            return None, 0.0, 1.0, 0
        mean = float(self._state.sums[arm]) / rounds
        width = math.sqrt(math.log(2 / (1 - level)) / (2 * rounds))
        return mean, mean - width, mean + width, rounds

    def _findings(self) -> list[str]:
        times = ", ".join(
            f"{name} {chosen} times"
            for name, chosen in zip(self.names, self._state.chosen, strict=True)
        )
        return [sentence("Chosen so far: {times}.", kind="chosen", times=times)]


@functools.cache
def _kernels() -> Any:
    from latesum.policies import ars_kernels  # compiled at first use: importing stays fast

    return ars_kernels
