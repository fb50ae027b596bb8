"""Policies that do not learn while they play: the honest comparisons of every experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.base import Play, Policy, Stretch


class _PlainAverages(Policy):
    """What the policies here share: they know the plain mean of each arm's totals."""

    def _reset(self) -> None:
        self._played = [0] * self.n_arms
        self._rounds = [0] * self.n_arms
        self._sums = [0.0] * self.n_arms

    def _snapshot(self) -> Any:
        return [self._played.copy(), self._rounds.copy(), self._sums.copy()]

    def _restore(self, learned: Any) -> None:
        self._played, self._rounds, self._sums = map(list.copy, learned)

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

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        # Hoeffding's inequality; what leaks in from other options is not accounted for.
        rounds = self._rounds[arm]
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
    Stretch(arm=0, rounds=500, purpose='learn', number=1)
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
        self._quota = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        super().__init__(n_arms, names=names)

    def _next(self) -> Stretch:
        for arm in self._available():
            if self._played[arm] < self._quota[arm]:
                return Stretch(arm, self._quota[arm] - self._played[arm], "learn")
        until_then = self.horizon - self.rounds_told % self.horizon
        return Stretch(max(self._available(), key=self._mean), until_then, "commit")


class RoundRobin(_PlainAverages):
    """The arms in turn, `stretch` rounds each, for ever.

    Args:
        n_arms: The number of arms.
        stretch: The length of a stretch.
        names: The names of the arms, for sentences.

    >>> policy = RoundRobin(3, stretch=50)
    >>> policy.tell(0, 50, 20)
    >>> policy.ask()
    Stretch(arm=1, rounds=50, purpose='learn', number=2)
    """

    kind = "round-robin"

    def __init__(
        self, n_arms: int, *, stretch: int = 100, names: Sequence[str] | None = None
    ) -> None:
        self.stretch = whole_number(stretch, "the length of a stretch", at_least=1)
        super().__init__(n_arms, names=names)

    def _reset(self) -> None:
        super()._reset()
        self._arm, self._left = 0, self.stretch

    def _snapshot(self) -> Any:
        return [super()._snapshot(), self._arm, self._left]

    def _restore(self, learned: Any) -> None:
        super()._restore(learned[0])
        self._arm, self._left = learned[1:]

    def _learn(self, play: Play) -> None:
        super()._learn(play)
        if play.purpose == "learn" and play.arm == self._arm:
            self._left -= play.rounds
            if self._left <= 0:
                over = -self._left
                self._take_next()
                if self._arm == play.arm:  # it is the only one left, and this is one long stretch
                    self._left -= over % self.stretch

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._take_next()

    def _take_next(self) -> None:
        available = self._available()
        later = [arm for arm in available if arm > self._arm]
        self._arm, self._left = (later or available)[0], self.stretch

    def _next(self) -> Stretch:
        return Stretch(self._arm, self._left, "learn")


class Oracle(_PlainAverages):
    """Always the best arm, which it was told: what no policy can beat.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all.
        best_arm: The best arm.
        names: The names of the arms, for sentences.

    >>> Oracle(2, 1000, best_arm=1).ask()
    Stretch(arm=1, rounds=1000, purpose='commit', number=1)
    """

    kind = "oracle"

    def __init__(
        self, n_arms: int, horizon: int, best_arm: int, *, names: Sequence[str] | None = None
    ) -> None:
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        self.best_arm = whole_number(best_arm, "the best arm")
        super().__init__(n_arms, names=names)
        self._checked_arm(self.best_arm)

    def _next(self) -> Stretch:
        available = self._available()
        arm = self.best_arm if self.best_arm in available else available[0]
        return Stretch(arm, self.horizon - self.rounds_told % self.horizon, "commit")

    def _reason(self) -> str:
        return "because it was told that this is the best"
