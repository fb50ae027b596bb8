"""Policies that do not learn while they play: the honest comparisons of every experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.base import Believed, Block, Play, Policy


class PlainMeans(Policy):
    """Policies that take the mean of an arm's totals as they are, with whatever leaked in."""

    def _reset(self) -> None:
        self._played = [0] * self.n_arms
        self._rounds = [0] * self.n_arms  # those whose totals are known ...
        self._sums = [0.0] * self.n_arms  # ... and these totals

    def _learn(self, play: Play) -> None:
        arm, rounds, total, purpose, _ = play
        if purpose == "override":
            return
        self._played[arm] += rounds
        if total is not None and purpose == "learn":  # once the answer stands, it stands
            self._rounds[arm] += rounds
            self._sums[arm] += total

    def _mean(self, arm: int) -> float:
        return self._sums[arm] / self._rounds[arm] if self._rounds[arm] else -math.inf

    def _estimate(self, arm: int, level: float, slack: float = 0.0) -> Believed:
        # Hoeffding's inequality; what leaks in from other options is up to `slack`, in rewards.
        rounds = self._rounds[arm]
        if rounds == 0:
            return None, 0.0, 1.0, 0
        mean = self._sums[arm] / rounds
        width = math.sqrt(math.log(2 / (1 - level)) / (2 * rounds)) + slack / rounds
        return mean, mean - width, mean + width, rounds


class FixedSplit(PlainMeans):
    """Each arm once, for its share of the horizon; then the best: a before-and-after test.

    Args:
        shares: The share of each arm; by default equal shares.
        washout: The first rounds of each arm, in which late rewards of the one before arrive: they
            are not counted.

    >>> FixedSplit(2, 1000, washout=100).ask()
    Block(arm=0, rounds=100, purpose='bridge', number=1)
    """

    kind = "fixed-split"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        *,
        shares: Sequence[float] | None = None,
        washout: int = 0,
        names: Sequence[str] | None = None,
    ) -> None:
        self.washout = whole_number(washout, "the rounds that are not counted")
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        given = [1 / n_arms] * n_arms if shares is None else list(shares)
        checked = [finite_number(share, "a share", at_least=0, at_most=1) for share in given]
        if len(checked) != n_arms or abs(math.fsum(checked) - 1) > 1e-9:
            raise InvalidInput(f"give {n_arms} shares that sum to 1, not {given!r}.")
        self.shares = None if shares is None else checked
        ends = [round(self.horizon * math.fsum(checked[:arm])) for arm in range(n_arms + 1)]
        self._quotas = [ends[arm + 1] - ends[arm] for arm in range(n_arms)]
        super().__init__(n_arms, names=names)

    def _next(self) -> Block:
        for arm in self._available():
            played, quota = self._played[arm], self._quotas[arm]
            uncounted = min(self.washout, quota)
            if played < uncounted:
                return Block(arm, uncounted - played, "bridge")
            if played < quota:
                return Block(arm, quota - played, "learn")
        best = max(self._available(), key=self._mean)
        return Block(best, self.horizon - self.rounds_played % self.horizon, "commit")


class RoundRobin(PlainMeans):
    """The arms in turn, `block` rounds each, for ever.

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
        self._arm, self._remaining = 0, self.block

    def _learn(self, play: Play) -> None:
        super()._learn(play)
        if play.purpose != "learn" or play.arm != self._arm:
            return
        self._remaining -= play.rounds
        if self._remaining <= 0:
            over = -self._remaining
            self._take_next()
            if self._arm == play.arm:  # it is the only one left, and this is one long block
                self._remaining -= over % self.block

    def _take_next(self) -> None:
        available = self._available()
        self._arm = min(available, key=lambda arm: (arm - self._arm - 1) % self.n_arms)
        self._remaining = self.block

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._take_next()

    def _next(self) -> Block:
        return Block(self._arm, self._remaining, "learn")


class Oracle(PlainMeans):
    """Always the best arm, which it knows: what no policy can beat.

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

    def _next(self) -> Block:
        available = self._available()
        arm = self.best_arm if self.best_arm in available else available[0]
        return Block(arm, self.horizon - self.rounds_played % self.horizon, "commit")

    def _reason(self) -> str:
        return "because this is known to be the best"
