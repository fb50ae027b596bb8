"""Baselines on plain means: fixed split, round robin and oracle, ARS-UCB and CLW."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Any

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.base import Believed, Block, Play, Policy
from latesum.policies.estimates import Units

#: No block of ARS-UCB is longer, whatever its power.
MAX_BLOCK = 1 << 53


class PlainMeans(Policy):
    """Policies that take the mean of an arm's totals as they are, with whatever leaked in."""

    names: Any  # an argument of the dataclasses, and then the tuple of names

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


@dataclass(eq=False, repr=False)
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

    n_arms: int
    horizon: int
    _: KW_ONLY
    shares: Sequence[float] | None = None
    washout: int = 0
    names: InitVar[Sequence[str] | None] = None

    def __post_init__(self, names: Sequence[str] | None) -> None:
        self.washout = whole_number(self.washout, "the rounds that are not counted")
        self.horizon = whole_number(self.horizon, "the horizon", at_least=1)
        n_arms = whole_number(self.n_arms, "the number of arms", at_least=2)
        given = [1 / n_arms] * n_arms if self.shares is None else list(self.shares)
        checked = [finite_number(share, "a share", at_least=0, at_most=1) for share in given]
        if len(checked) != n_arms or abs(math.fsum(checked) - 1) > 1e-9:
            raise InvalidInput(f"give {n_arms} shares that sum to 1, not {given!r}.")
        self.shares = None if self.shares is None else checked
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


@dataclass(eq=False, repr=False)
class RoundRobin(PlainMeans):
    """The arms in turn, `block` rounds each, forever.

    >>> policy = RoundRobin(3, block=50)
    >>> policy.tell(0, 50, 20)
    >>> policy.ask()
    Block(arm=1, rounds=50, purpose='learn', number=2)
    """

    kind = "round-robin"
    takes_new_options = True

    n_arms: int
    _: KW_ONLY
    block: int = 100
    names: InitVar[Sequence[str] | None] = None

    def __post_init__(self, names: Sequence[str] | None) -> None:
        self.block = whole_number(self.block, "the length of a block", at_least=1)
        super().__init__(self.n_arms, names=names)

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


@dataclass(eq=False, repr=False)
class Oracle(PlainMeans):
    """Always the best arm, which it knows: what no policy can beat.

    >>> Oracle(2, 1000, best_arm=1).ask()
    Block(arm=1, rounds=1000, purpose='commit', number=1)
    """

    kind = "oracle"

    n_arms: int
    horizon: int
    best_arm: int
    _: KW_ONLY
    names: InitVar[Sequence[str] | None] = None

    def __post_init__(self, names: Sequence[str] | None) -> None:
        self.horizon = whole_number(self.horizon, "the horizon", at_least=1)
        self.best_arm = whole_number(self.best_arm, "the best arm")
        super().__init__(self.n_arms, names=names)
        self._checked_arm(self.best_arm)

    def _next(self) -> Block:
        available = self._available()
        arm = self.best_arm if self.best_arm in available else available[0]
        return Block(arm, self.horizon - self.rounds_played % self.horizon, "commit")

    def _reason(self) -> str:
        return "because this is known to be the best"


@dataclass(eq=False, repr=False)
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
    index = "ucb1"
    takes_new_options = True

    n_arms: int
    _: KW_ONLY
    growth: float = 2.0
    exploration: float = 4.0
    names: InitVar[Sequence[str] | None] = None

    def __post_init__(self, names: Sequence[str] | None) -> None:
        self.growth = finite_number(self.growth, "the growth of the blocks", at_least=0)
        self.exploration = finite_number(self.exploration, "the exploration factor", above=0)
        super().__init__(self.n_arms, names=names)

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


@dataclass(eq=False, repr=False)
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

    >>> policy = CLW(2, 1_000, delay_bound=4)
    >>> policy.ask().purpose
    'bridge'

    References: Cesa-Bianchi, Gentile, Mansour (2018), Nonstochastic Bandits with Composite
    Anonymous Feedback, COLT.
    """

    kind = "clw"
    random = True

    n_arms: int
    horizon: int
    delay_bound: int
    _: KW_ONLY
    names: InitVar[Sequence[str] | None] = None

    def __post_init__(self, names: Sequence[str] | None) -> None:
        self.horizon = whole_number(self.horizon, "the horizon", at_least=1)
        self.delay_bound = whole_number(self.delay_bound, "the delay bound")
        self.spread = self.delay_bound + 1
        n_arms = whole_number(self.n_arms, "the number of arms", at_least=2)
        scale = self.spread * math.log(n_arms) / ((4 * n_arms + 1) * self.horizon)
        self._step_size = 4 * math.sqrt(scale)
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
        weights = {
            arm: math.exp(-self._step_size * (self._losses[arm] - least)) for arm in available
        }
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
