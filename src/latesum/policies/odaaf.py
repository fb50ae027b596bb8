"""ODAAF, Algorithm 1 of the paper, step by step; its variants differ in the schedule n_m alone.

Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed, Aggregated Anonymous
Feedback, ICML. Symbols: m the phase, D_m its tolerance, A_m the active arms, T_j(m) the rounds in
which arm j was played to learn, X_j their mean total, n_m the plays of each active arm by the end
of phase m (`latesum.policies.schedules`).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Literal

from latesum._checks import finite_number, known_name, whole_number
from latesum.policies.base import Believed, Block, Play, Policy
from latesum.policies.estimates import Units
from latesum.policies.schedules import (
    KnownBound,
    KnownMean,
    KnownVariance,
    Naive,
    Schedule,
    phase_rounds,
)


@dataclass(eq=False, repr=False)
class ODAAF(Policy):
    """Phased elimination from delayed, aggregated, anonymous feedback; the mean delay is known.

    `ODAAFB`, `ODAAFV` and `NaiveODAAF` use other knowledge of the delay. Every such parameter may
    be an upper bound.

    Args:
        first_tolerance: D_1, 1/2 in the paper's text and 1 in its figures.
        bridge: Whether there is a bridge after each phase; by default where the schedule needs it.
        order: The order of the arms in a phase: "fixed", or "leader first" (from the second phase
            on, which the paper's figures need).

    >>> policy = ODAAF(2, 250_000, mean_delay=50)
    >>> policy.ask()
    Block(arm=0, rounds=1350, purpose='learn', number=1)
    >>> policy.tell(0, 1350, total=690)
    >>> policy.ask()
    Block(arm=1, rounds=1350, purpose='learn', number=2)
    """

    kind = "odaaf"

    n_arms: int
    horizon: int
    mean_delay: float
    _: KW_ONLY
    first_tolerance: float = 0.5
    bridge: bool | None = None
    order: Literal["fixed", "leader first"] = "fixed"
    names: InitVar[Sequence[str] | None] = None  # type: ignore[assignment]

    def __post_init__(self, names: Sequence[str] | None) -> None:
        self.horizon = whole_number(self.horizon, "the horizon", at_least=1)
        finite_number(self.first_tolerance, "the first tolerance", above=0, at_most=1)
        known_name(self.order, ("fixed", "leader first"), "order of arms")
        self.schedule = self._schedule()
        #: n_1, n_2, ...
        self.phase_rounds = phase_rounds(self.schedule, self.horizon, self.first_tolerance)
        self._has_bridge = self.schedule.needs_bridge if self.bridge is None else bool(self.bridge)
        super().__init__(self.n_arms, names=names)

    def _schedule(self) -> Schedule:
        return KnownMean(self.mean_delay)

    def _reset(self) -> None:
        self._m = 0  # phases that are over: the present one is m = _m + 1
        self._active = list(range(self.n_arms))  # A_m, in the order in which they are played
        self._plays = [0] * self.n_arms  # |T_j(m)|
        self._sums = [0.0] * self.n_arms  # sum of X_t over T_j(m)
        self._pending = [0] * self.n_arms  # plays whose total is not known yet
        self._blocks = [0] * self.n_arms
        self._bridge_remaining = 0
        #: Phase, tolerance, arm, its mean, leader and the leader's mean of each eliminated arm.
        self._eliminated: list[tuple[int, float, int, float, int, float]] = []

    def _next(self) -> Block:
        remaining = self.horizon - self.rounds_played
        if remaining <= 0 or self.phase is None:  # the answer stands, beyond the horizon too
            return Block(self._leader(), self.horizon - self.rounds_played % self.horizon, "commit")
        if self._bridge_remaining:  # Step 4: bridge period
            return Block(self._leader(), min(self._bridge_remaining, remaining), "bridge")
        for arm in self._active:  # Step 1: play arms
            missing = self.phase_rounds[self._m] - self._plays[arm] - self._pending[arm]
            if missing > 0:
                return Block(arm, min(missing, remaining), "learn")
        return Block(self._leader(), 1, "bridge")  # totals of this phase are pending

    def _learn(self, play: Play) -> None:
        arm, rounds, total, purpose, _ = play
        if purpose == "bridge":  # its total is discarded
            self._bridge_remaining = max(0, self._bridge_remaining - rounds)
        elif purpose == "learn":
            self._bridge_remaining = 0
            self._blocks[arm] += 1
            if total is None:
                self._pending[arm] += rounds
                return
            self._plays[arm] += rounds
            self._sums[arm] += total
            self._finish_phases()

    def _finish_phases(self) -> None:
        """Steps 2 to 4 of every phase in which all active arms have their n_m plays."""
        while self.phase is not None:
            n_m = self.phase_rounds[self._m]
            if any(self._plays[arm] < n_m for arm in self._active):
                return
            # Step 2: eliminate suboptimal arms.
            tolerance, leader = self._tolerance(), self._leader()
            best = self._mean(leader)
            active, self._active = sorted(self._active), []
            for arm in active:
                mean = self._mean(arm)
                if mean + tolerance >= best:
                    self._active.append(arm)
                else:
                    self._eliminated.append((self._m + 1, tolerance, arm, mean, leader, best))
            if self.order == "leader first":
                self._active.sort(key=lambda arm: arm != leader)
            # Step 4: nu_m = n_m - n_{m-1} rounds of bridge.
            if self._has_bridge:
                self._bridge_remaining = n_m - (self.phase_rounds[self._m - 1] if self._m else 0)
            self._m += 1  # Step 3: this halves the tolerance

    @property
    def phase(self) -> int | None:
        """m, the phase that is being played; None once the answer stands."""
        undecided = len(self._active) > 1 and self._m < len(self.phase_rounds)
        return self._m + 1 if undecided else None

    def _tolerance(self) -> float:
        """D_m = D_1 / 2^(m - 1)."""
        return float(self.first_tolerance / 2**self._m)

    def _mean(self, arm: int) -> float:
        """X_j, minus infinity where nothing is known."""
        return self._sums[arm] / self._plays[arm] if self._plays[arm] else -math.inf

    def _leader(self) -> int:
        return max(self._active, key=self._mean)

    def _forget(self, arm: int) -> None:
        others = [other for other in self._active if other != arm]
        self._active = others or [max(self._available(), key=self._mean)]
        self._finish_phases()

    def _candidates(self) -> list[int]:
        return self._active

    def _estimate(self, arm: int, level: float) -> Believed:
        mean, plays = self._mean(arm), self._plays[arm]
        if plays == 0:
            return None, 0.0, 1.0, 0
        sides = 1 if self.schedule.two_sided else 2
        log_term = math.log(sides * self.schedule.failures / (1 - level))
        width = self.schedule.half_width(self._blocks[arm], plays, log_term)
        return mean, mean - width, mean + width, plays

    def _reason(self) -> str:
        if self.ask().purpose != "bridge" or self._bridge_remaining:
            return super()._reason()
        known = "" if any(self._plays) else ", of which nothing is known yet"
        return f"while the totals of this phase are awaited{known}"

    def _findings(self, units: Units) -> list[str]:
        found = [
            f"{self.names[arm]} was dropped after phase {phase}: its mean {units.mean(mean)} is "
            f"more than {units.difference(tolerance)} below {self.names[leader]}'s "
            f"{units.mean(best)}."
            for phase, tolerance, arm, mean, leader, best in self._eliminated
        ]
        if self.phase is not None:
            active = ", ".join(self.names[arm] for arm in sorted(self._active))
            found.append(
                f"Phase {self.phase} plays {active} until each has "
                f"{units.rounds(self.phase_rounds[self._m])} and then drops those more than "
                f"{units.difference(self._tolerance())} below the best."
            )
        return found


@dataclass(eq=False, repr=False)
class ODAAFB(ODAAF):
    """ODAAF-B: the mean delay and a bound on the delay are known; else as `ODAAF`.

    >>> ODAAFB(2, 250_000, mean_delay=50, delay_bound=100).ask().rounds
    1076
    """

    kind = "odaaf-b"
    delay_bound: int

    def __post_init__(self, names: Sequence[str] | None) -> None:
        super().__post_init__(names)
        for phase, (before, n_m) in enumerate(itertools.pairwise([0, *self.phase_rounds]), 1):
            if n_m - before < self.delay_bound and 2 * n_m <= self.horizon:
                warnings.warn(
                    f"phase {phase} of ODAAF-B is {n_m - before} rounds, shorter than the delay "
                    f"bound {self.delay_bound}; its error bounds are not proved there.",
                    stacklevel=3,
                )
                return

    def _schedule(self) -> Schedule:
        return KnownBound(self.mean_delay, self.delay_bound)


@dataclass(eq=False, repr=False)
class ODAAFV(ODAAF):
    """ODAAF-V: the delay's mean and variance are known; else as `ODAAF`.

    Args:
        tightened: Whether to use V / E in place of V, a remark of the paper.

    >>> ODAAFV(2, 250_000, mean_delay=50, delay_variance=2500).ask().rounds
    44421
    """

    kind = "odaaf-v"
    delay_variance: float
    _: KW_ONLY
    tightened: bool = False

    def _schedule(self) -> Schedule:
        return KnownVariance(self.mean_delay, self.delay_variance, self.tightened)


@dataclass(eq=False, repr=False)
class NaiveODAAF(ODAAF):
    """The naive approach of the paper's last appendix: only a bound on the delay is known.

    >>> NaiveODAAF(2, 250_000, delay_bound=100).ask().rounds
    638
    """

    kind = "naive"
    mean_delay: float = field(init=False, repr=False)
    delay_bound: int

    def _schedule(self) -> Schedule:
        return Naive(self.delay_bound)
