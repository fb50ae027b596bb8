"""How long the phases of ODAAF are, one schedule for each thing that is known of the delay.

Phase m has tolerance D_m, halved from phase to phase, and every surviving arm has been played n_m
rounds at its end. Notation: T the horizon, L = ln(T D_m^2), E the mean delay, V its variance, d its
bound. Each n_m makes the half-width w_m of the estimates at most D_m / 2. Equations and lemmas have
their names in the paper (Pike-Burke, Agrawal, Szepesvari, Grunewalder, ICML 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from latesum._checks import InvalidInput, finite_number, whole_number


class Schedule(Protocol):
    """How many rounds each arm needs by the end of a phase, and how good the estimate then is."""

    #: The lemma's failure probability is this over T D_m^2, for one side ...
    failures: ClassVar[float]
    #: ... or for both sides together.
    two_sided: ClassVar[bool] = False
    #: Whether the lemma behind the schedule needs a bridge between phases.
    needs_bridge: ClassVar[bool] = False

    def rounds(self, phase: int, tolerance: float, log_term: float) -> int:
        """n_m, the rounds that each arm has been played by the end of this phase."""

    def half_width(self, phase: int, rounds: float, log_term: float) -> float:
        """w_m, the half-width of an estimate from `rounds` rounds in `phase` blocks."""


@dataclass(frozen=True)
class KnownMean(Schedule):
    """ODAAF: only the mean delay is known. n_m: eq. (ngen); w_m: eq. (wmgen); Lemma eb1."""

    mean_delay: float
    failures = 3.0

    def __post_init__(self) -> None:
        finite_number(self.mean_delay, "the mean delay", at_least=0)

    def rounds(self, phase: int, tolerance: float, log_term: float) -> int:
        # eq. (ngen): ((sqrt(2L) + sqrt(2L + 8/3 D L + 6 D m E)) / D)^2
        return _bernstein_rounds(tolerance, log_term, 6 * phase * self.mean_delay)

    def half_width(self, phase: int, rounds: float, log_term: float) -> float:
        # eq. (wmgen): 4L / (3n) + sqrt(2L / n) + 3mE / n
        return _bernstein_width(rounds, log_term, 3 * phase * self.mean_delay)


@dataclass(frozen=True)
class KnownBound(Schedule):
    """ODAAF-B: mean and bound are known. n_m: eq. (nbounded); w_m: eq. (wmbounded); Lemma eb2."""

    mean_delay: float
    delay_bound: int
    failures, needs_bridge = 12.0, True

    def __post_init__(self) -> None:
        finite_number(self.mean_delay, "the mean delay", at_least=0)
        whole_number(self.delay_bound, "the delay bound")
        if self.delay_bound < self.mean_delay:
            raise InvalidInput(
                f"the delay bound {self.delay_bound} is below the mean delay {self.mean_delay:g}."
            )

    def rounds(self, phase: int, tolerance: float, log_term: float) -> int:
        # eq. (nbounded): max(m d~, ((sqrt(2L) + sqrt(2L + 8/3 D L + 4 D E)) / D)^2),
        # where m d~ = min(m d, n_m of ODAAF).
        without_bound = KnownMean(self.mean_delay).rounds(phase, tolerance, log_term)
        enough_to_separate = min(phase * int(self.delay_bound), without_bound)
        return max(enough_to_separate, _bernstein_rounds(tolerance, log_term, 4 * self.mean_delay))

    def half_width(self, phase: int, rounds: float, log_term: float) -> float:
        # eq. (wmbounded): 4L / (3n) + sqrt(2L / n) + 2E / n
        return _bernstein_width(rounds, log_term, 2 * self.mean_delay)


@dataclass(frozen=True)
class KnownVariance(Schedule):
    """ODAAF-V: mean and variance are known. n_m: eq. (nvarlong); w_m: eq. (wmvar); Lemma eb3.

    `tightened` is the paper's remark for a mean delay of at least 1: V / E stands for V.
    """

    mean_delay: float
    delay_variance: float
    tightened: bool = False
    failures, needs_bridge = 12.0, True

    def __post_init__(self) -> None:
        finite_number(self.mean_delay, "the mean delay", at_least=0)
        finite_number(self.delay_variance, "the delay variance", at_least=0)
        if self.tightened and self.mean_delay < 1:
            raise InvalidInput(
                "the tightened schedule holds for a mean delay of at least 1, not "
                f"{self.mean_delay:g}; leave out tightened=True."
            )

    @property
    def _penalty(self) -> float:
        spread = self.delay_variance / self.mean_delay if self.tightened else self.delay_variance
        return self.mean_delay + 2 * spread

    def rounds(self, phase: int, tolerance: float, log_term: float) -> int:
        # eq. (nvarlong): ((sqrt(2L) + sqrt(2L + 8/3 D L + 4 D (E + 2V))) / D)^2
        return _bernstein_rounds(tolerance, log_term, 4 * self._penalty)

    def half_width(self, phase: int, rounds: float, log_term: float) -> float:
        # eq. (wmvar): 4L / (3n) + sqrt(2L / n) + (2E + 4V) / n
        return _bernstein_width(rounds, log_term, 2 * self._penalty)


@dataclass(frozen=True)
class Naive(Schedule):
    """The naive approach: only a bound is known. n_m: eq. (nd); w_m and lemma: last appendix."""

    delay_bound: int
    failures, two_sided = 2.0, True

    def __post_init__(self) -> None:
        whole_number(self.delay_bound, "the delay bound")

    def rounds(self, phase: int, tolerance: float, log_term: float) -> int:
        # eq. (nd): (sqrt(L) + sqrt(L + 4 D m d))^2 / (2 D^2)
        shifted = log_term + 4 * tolerance * phase * self.delay_bound
        return math.ceil((math.sqrt(log_term) + math.sqrt(shifted)) ** 2 / (2 * tolerance**2))

    def half_width(self, phase: int, rounds: float, log_term: float) -> float:
        # w_m = sqrt(L / (2n)) + m d / n
        return math.sqrt(log_term / (2 * rounds)) + phase * self.delay_bound / rounds


def phase_rounds(schedule: Schedule, horizon: int, first_tolerance: float = 0.5) -> list[int]:
    """The n_m of all phases that there can be: while ln(T D_m^2) > 0 and n_m grows.

    >>> phase_rounds(KnownMean(50), 250_000)[:5]
    [1350, 4986, 15471, 44558, 122854]
    """
    rounds, tolerance = list[int](), first_tolerance
    while (log_term := math.log(horizon * tolerance**2)) > 0:
        needed = schedule.rounds(len(rounds) + 1, tolerance, log_term)
        if rounds and needed <= rounds[-1]:
            break
        rounds.append(needed)
        tolerance /= 2
    return rounds


def _bernstein_rounds(tolerance: float, log_term: float, delay_term: float) -> int:
    first = math.sqrt(2 * log_term)
    second = math.sqrt(2 * log_term + 8 / 3 * tolerance * log_term + tolerance * delay_term)
    return math.ceil((first + second) ** 2 / tolerance**2)


def _bernstein_width(rounds: float, log_term: float, delay_term: float) -> float:
    return 4 * log_term / (3 * rounds) + math.sqrt(2 * log_term / rounds) + delay_term / rounds
