"""Policies that do not learn while they play: the honest comparisons of every experiment."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.base import MOST_ROUNDS, Block, Play, Policy, for_kernel, from_kernel


class _PlainAverages(Policy):
    """What the policies here share: they know the plain mean of each arm's totals."""

    _state: Any  # `played`, `rounds` and `sums` per arm, and what the rule needs

    def _reset(self) -> None:
        played, rounds = np.zeros((2, self.n_arms), dtype=np.int64)
        self._set_state(self._available_arms(), played, rounds, np.zeros(self.n_arms))

    def _snapshot(self) -> Any:
        state = self._state
        return [state.played.tolist(), state.rounds.tolist(), state.sums.tolist()]

    def _restore(self, learned: Any) -> None:
        self._set_state(self._available_arms(), *map(np.array, learned))

    @abstractmethod
    def _set_state(self, available: Any, *averages: Any) -> None:
        """Take over which arms are left, and `played`, `rounds` and `sums`."""

    def _learn(self, play: Play) -> None:
        _kernels().learn_averages(self._state, self.rounds_told, *for_kernel(play))

    def _forget(self, arm: int) -> None:
        self._state.available[arm] = False

    def _mean(self, arm: int) -> float:
        return float(_kernels().mean_of(self._state, arm))

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        # Hoeffding's inequality; what leaks in from other options is not accounted for.
        rounds = int(self._state.rounds[arm])
        if rounds == 0:
            return None, 0.0, 1.0, 0
        width = math.sqrt(math.log(2 / (1 - level)) / (2 * rounds))
        mean = self._mean(arm)
        return mean, mean - width, mean + width, rounds


class FixedSplit(_PlainAverages):
    """Each arm once, for its share of the horizon; then the best: a before-and-after test.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all.
        shares: The share of each arm; by default equal shares.
        names: The names of the arms, for sentences.

    >>> policy = FixedSplit(2, 1000)
    >>> policy.ask()
    Block(arm=0, rounds=500, purpose='learn', number=1)
    """

    kind = "fixed-split"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        shares: Sequence[float] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        given = [1 / n_arms] * n_arms if shares is None else list(shares)
        checked = [finite_number(share, "a share", at_least=0, at_most=1) for share in given]
        if len(checked) != n_arms or abs(math.fsum(checked) - 1) > 1e-9:
            raise InvalidInput(f"give {n_arms} shares that sum to 1, not {given!r}.")
        if shares is not None:
            self.shares = checked
        ends = [round(self.horizon * math.fsum(checked[: arm + 1])) for arm in range(n_arms)]
        self._quota = np.diff([0, *(min(end, MOST_ROUNDS) for end in ends)])
        super().__init__(n_arms, names=names)

    def _set_state(self, available: Any, *averages: Any) -> None:
        self._state = _kernels().SplitState(
            min(self.horizon, MOST_ROUNDS), self._quota, available, *averages
        )

    def _next(self) -> Block:
        return from_kernel(_kernels().next_of_split(self._state, self.rounds_told))


class RoundRobin(_PlainAverages):
    """The arms in turn, `block` rounds each, for ever.

    Args:
        n_arms: The number of arms.
        block: The length of a block.
        names: The names of the arms, for sentences.

    >>> policy = RoundRobin(3, block=50)
    >>> policy.tell(0, 50, 20)
    >>> policy.ask()
    Block(arm=1, rounds=50, purpose='learn', number=2)
    """

    kind = "round-robin"
    takes_new_options = True

    def __init__(
        self, n_arms: int, *, block: int = 100, names: Sequence[str] | None = None
    ) -> None:
        self.block = whole_number(block, "the length of a block", at_least=1)
        super().__init__(n_arms, names=names)

    def _reset(self) -> None:
        super()._reset()
        self._state.plan[:] = 0, self.block

    def _snapshot(self) -> Any:
        return [super()._snapshot(), *self._state.plan.tolist()]

    def _restore(self, learned: Any) -> None:
        super()._restore(learned[0])
        self._state.plan[:] = learned[1:]

    def _set_state(self, available: Any, *averages: Any) -> None:
        plan = np.zeros(2, dtype=np.int64)
        self._state = _kernels().RobinState(self.block, plan, available, *averages)

    def _learn(self, play: Play) -> None:
        _kernels().learn_in_turn(self._state, self.rounds_told, *for_kernel(play))

    def _forget(self, arm: int) -> None:
        super()._forget(arm)
        if arm == self._state.plan[_kernels().ARM]:
            _kernels().take_next(self._state)

    def _next(self) -> Block:
        return from_kernel(_kernels().next_in_turn(self._state, self.rounds_told))


class Oracle(_PlainAverages):
    """Always the best arm, which it was told: what no policy can beat.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all.
        best_arm: The best arm.
        names: The names of the arms, for sentences.

    >>> Oracle(2, 1000, best_arm=1).ask()
    Block(arm=1, rounds=1000, purpose='commit', number=1)
    """

    kind = "oracle"

    def __init__(
        self, n_arms: int, horizon: int, best_arm: int, *, names: Sequence[str] | None = None
    ) -> None:
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        self.best_arm = whole_number(best_arm, "the best arm")
        super().__init__(n_arms, names=names)
        self._checked_arm(self.best_arm)

    def _set_state(self, available: Any, *averages: Any) -> None:
        self._state = _kernels().OracleState(
            min(self.horizon, MOST_ROUNDS), self.best_arm, available, *averages
        )

    def _next(self) -> Block:
        return from_kernel(_kernels().next_of_oracle(self._state, self.rounds_told))

    def _reason(self) -> str:
        return "because it was told that this is the best"


@functools.cache
def _kernels() -> Any:
    from latesum.policies import fixed_kernels  # compiled at first use: importing stays fast

    return fixed_kernels
