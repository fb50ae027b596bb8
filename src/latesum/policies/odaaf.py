"""ODAAF, Algorithm 1 of the paper, in all its variants: one algorithm, four schedules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from latesum._checks import finite_number, known_name, whole_number
from latesum.policies.base import Play, Policy, Stretch
from latesum.policies.schedules import (
    KnownBound,
    KnownMean,
    KnownVariance,
    Naive,
    Schedule,
    phase_rounds,
)

Order = Literal["fixed", "leader first"]


class ODAAF(Policy):
    """Phases of ever longer stretches; arms that fall behind by more than a tolerance are dropped.

    Phase m plays every surviving arm in one stretch, up to n_m rounds in all (step 1), drops the
    arms whose mean total per round is more than the tolerance D_m below the best (step 2), halves
    the tolerance (step 3) and, where the schedule needs it, plays a bridge whose total is
    discarded (step 4). `ODAAF(...)` knows the mean delay; `ODAAF.bounded` (`ODAAFB`),
    `ODAAF.variance` (`ODAAFV`) and `ODAAF.naive` (`NaiveODAAF`) use other knowledge. Every such
    parameter may be an upper bound.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all, T.
        mean_delay: The delay's mean.
        first_tolerance: D_1, 1/2 in the paper's text and 1 in its figures.
        bridge: Whether there is a bridge after each phase; by default where the schedule needs it.
        order: The order of the arms in a phase: "fixed", or "leader first" (from the second phase
            on, which the paper's figures need).
        names: The names of the arms, for sentences.

    >>> policy = ODAAF(2, 250_000, mean_delay=50)
    >>> policy.ask()
    Stretch(arm=0, rounds=1350, purpose='learn', number=1)
    >>> policy.tell(0, 1350, total=690)
    >>> policy.ask()
    Stretch(arm=1, rounds=1350, purpose='learn', number=2)

    References: Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed,
    Aggregated Anonymous Feedback, ICML.
    """

    kind = "odaaf"
    #: The variants that use other knowledge of the delay.
    bounded: ClassVar[type[ODAAFB]]
    variance: ClassVar[type[ODAAFV]]
    naive: ClassVar[type[NaiveODAAF]]

    schedule: Schedule
    horizon: int
    first_tolerance: float
    bridge: bool | None
    order: str

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        *,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(KnownMean(mean_delay))

    def _set_up(self, schedule: Schedule) -> None:
        """Check the arguments that all variants have, and begin."""
        self.schedule = schedule
        self.horizon = whole_number(self.horizon, "the horizon", at_least=1)
        self.first_tolerance = finite_number(
            self.first_tolerance, "the first tolerance", above=0, at_most=1
        )
        self.order = known_name(self.order, ("fixed", "leader first"), "order of arms")
        self.bridge = schedule.needs_bridge if self.bridge is None else bool(self.bridge)
        #: n_m of every phase.
        self.phase_rounds = phase_rounds(schedule, self.horizon, self.first_tolerance)
        self._warn_where_the_lemma_fails()
        super().__init__(self.n_arms, names=self.names)

    def _warn_where_the_lemma_fails(self) -> None:
        if not isinstance(self.schedule, KnownBound):
            return
        before = 0
        for phase, rounds in enumerate(self.phase_rounds, start=1):
            if rounds - before < self.schedule.delay_bound and 2 * rounds <= self.horizon:
                warnings.warn(
                    f"phase {phase} of ODAAF-B is {rounds - before} rounds, shorter than the delay "
                    f"bound {self.schedule.delay_bound}; its error bounds are not proved there.",
                    stacklevel=4,
                )
                return
            before = rounds

    def _reset(self) -> None:
        self._phases_done = 0
        self._in_order = list(range(self.n_arms))  # the surviving arms, as this phase plays them
        self._rounds = [0] * self.n_arms  # |T_j(m)|, known learning rounds
        self._sums = [0.0] * self.n_arms
        self._pending = [0] * self.n_arms
        self._stretches = [0] * self.n_arms
        self._bridge_left = 0
        self._eliminations: list[list[Any]] = []

    def _snapshot(self) -> Any:
        # The survivors and the eliminations are never changed in place.
        return [
            self._phases_done,
            self._in_order,
            self._rounds.copy(),
            self._sums.copy(),
            self._pending.copy(),
            self._stretches.copy(),
            self._bridge_left,
            self._eliminations,
        ]

    def _restore(self, learned: Any) -> None:
        self._phases_done, self._in_order, rounds, sums, pending, stretches, *others = learned
        self._rounds, self._sums = rounds.copy(), sums.copy()
        self._pending, self._stretches = pending.copy(), stretches.copy()
        self._bridge_left, self._eliminations = others

    def _learn(self, play: Play) -> None:
        arm, rounds, total, purpose, _ = play
        if purpose == "bridge":
            self._bridge_left = max(0, self._bridge_left - rounds)
        elif purpose == "learn":
            self._bridge_left = 0  # learning has begun: the rest of the bridge is left out
            self._stretches[arm] += 1
            if total is None:
                self._pending[arm] += rounds
                return
            self._rounds[arm] += rounds
            self._sums[arm] += total
            self._finish_phases()

    def _finish_phases(self) -> None:
        """Steps 2 and 3 for every phase whose n_m all surviving arms have reached by now."""
        while len(self._in_order) > 1 and self._phases_done < len(self.phase_rounds):
            needed, known = self.phase_rounds[self._phases_done], self._rounds
            for arm in self._in_order:
                if known[arm] < needed:
                    return
            tolerance = self.first_tolerance / 2**self._phases_done
            means = {arm: self._sums[arm] / known[arm] for arm in self._in_order}
            leader = max(means, key=means.__getitem__)
            best = means[leader]
            survivors = []
            for arm in sorted(means):
                mean = means[arm]
                if mean + tolerance < best:
                    dropped = [self._phases_done + 1, tolerance, arm, mean, leader, best]
                    self._eliminations = [*self._eliminations, dropped]
                else:
                    survivors.append(arm)
            if self.order == "leader first":
                survivors.sort(key=lambda arm: arm != leader)
            self._in_order = survivors
            before = self.phase_rounds[self._phases_done - 1] if self._phases_done else 0
            self._bridge_left = needed - before if self.bridge else 0
            self._phases_done += 1

    def _next(self) -> Stretch:
        left, in_order = self.horizon - self.rounds_told, self._in_order
        if left <= 0 or len(in_order) == 1 or self._phases_done == len(self.phase_rounds):
            # Past the horizon: the answer stands, for another horizon each time.
            until_then = self.horizon - self.rounds_told % self.horizon
            return Stretch(self._leader(), until_then, "commit")
        if self._bridge_left:
            return Stretch(self._leader(), min(self._bridge_left, left), "bridge")
        needed = self.phase_rounds[self._phases_done]
        for arm in in_order:
            missing = needed - self._rounds[arm] - self._pending[arm]
            if missing > 0:
                return Stretch(arm, min(missing, left), "learn")
        return Stretch(self._leader(), 1, "bridge")  # results are pending: wait for them

    def _mean(self, arm: int) -> float:
        return self._sums[arm] / self._rounds[arm] if self._rounds[arm] else -math.inf

    def _leader(self) -> int:
        if len(self._in_order) == 1:
            return self._in_order[0]
        return max(self._in_order, key=self._mean)

    def _forget(self, arm: int) -> None:
        self._in_order = [other for other in self._in_order if other != arm]
        if not self._in_order:  # the answer itself was taken away: the best of the others is next
            self._in_order = [max(self._available(), key=self._mean)]
        self._finish_phases()

    def _active(self) -> list[int]:
        return self._in_order

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        rounds = self._rounds[arm]
        if rounds == 0:
            return None, 0.0, 1.0, 0
        sides = 1 if self.schedule.two_sided else 2
        log_term = math.log(sides * self.schedule.failures / (1 - level))
        width = self.schedule.half_width(self._stretches[arm], rounds, log_term)
        mean = self._mean(arm)
        return mean, mean - width, mean + width, rounds

    def _reason(self) -> str:
        if self.ask().purpose != "bridge" or self._bridge_left:
            return super()._reason()
        known = "" if any(self._rounds) else ", of which nothing is known yet"
        return f"while the totals of this phase are awaited{known}"

    @property
    def phase(self) -> int | None:
        """The phase that is being played; None once the answer stands."""
        undecided = len(self._in_order) > 1 and self._phases_done < len(self.phase_rounds)
        return self._phases_done + 1 if undecided else None

    def _findings(self) -> list[str]:
        sentences = [
            f"{self.names[arm]} was dropped after phase {phase}: its mean {mean:.3f} is more than "
            f"{tolerance:g} below {self.names[leader]}'s {best:.3f}."
            for phase, tolerance, arm, mean, leader, best in self._eliminations
        ]
        if self.phase is not None:
            tolerance = self.first_tolerance / 2**self._phases_done
            names = ", ".join(self.names[arm] for arm in sorted(self._in_order))
            needed = self.phase_rounds[self._phases_done]
            sentences.append(
                f"Phase {self.phase} plays {names} until each has {needed:,} rounds and "
                f"then drops those more than {tolerance:g} below the best."
            )
        return sentences


class ODAAFB(ODAAF):
    """ODAAF-B: the mean delay and a bound on the delay are known.

    Args:
        n_arms: The number of arms.
        horizon: As for `ODAAF`.
        mean_delay: As for `ODAAF`.
        delay_bound: The delay's largest value.
        first_tolerance: As for `ODAAF`.
        bridge: As for `ODAAF`.
        order: As for `ODAAF`.
        names: The names of the arms, for sentences.

    >>> ODAAFB(2, 250_000, mean_delay=50, delay_bound=100).ask().rounds
    1076
    """

    kind = "odaaf-b"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        delay_bound: int,
        *,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(KnownBound(mean_delay, delay_bound))


class ODAAFV(ODAAF):
    """ODAAF-V: the delay's mean and variance are known.

    Args:
        n_arms: The number of arms.
        horizon: As for `ODAAF`.
        mean_delay: As for `ODAAF`.
        delay_variance: The delay's variance.
        tightened: Whether to use V / E in place of V, a remark of the paper.
        first_tolerance: As for `ODAAF`.
        bridge: As for `ODAAF`.
        order: As for `ODAAF`.
        names: The names of the arms, for sentences.

    >>> ODAAFV(2, 250_000, mean_delay=50, delay_variance=2500).ask().rounds
    44421
    """

    kind = "odaaf-v"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        delay_variance: float,
        *,
        tightened: bool = False,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(KnownVariance(mean_delay, delay_variance, tightened))


class NaiveODAAF(ODAAF):
    """The naive approach of the paper's last appendix: only a bound on the delay is known.

    Args:
        n_arms: The number of arms.
        horizon: As for `ODAAF`.
        delay_bound: The delay's largest value, in place of its mean.
        first_tolerance: As for `ODAAF`.
        bridge: As for `ODAAF`.
        order: As for `ODAAF`.
        names: The names of the arms, for sentences.

    >>> NaiveODAAF(2, 250_000, delay_bound=100).ask().rounds
    638
    """

    kind = "naive"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        delay_bound: int,
        *,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(Naive(delay_bound))


ODAAF.bounded, ODAAF.variance, ODAAF.naive = ODAAFB, ODAAFV, NaiveODAAF
