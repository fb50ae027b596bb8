"""Upper bounds on the regret, per suboptimal arm and summed, as printed and as corrected.

Notation: T the horizon, G an arm's gap, L = ln(T G^2), E the mean delay, V its variance, d its
bound. All are for a first tolerance of 1/2. They come from the phase m_j <= log2(4 / G) in which
an arm should be eliminated, the first with a tolerance below G / 2 (so at least G / 4):

    regret of the arm <= b G n_{m_j} + c / G,

where b is 2 with a bridge and 1 without, and c collects what failing estimates cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.schedules import KnownBound, KnownMean, KnownVariance, Naive, Schedule


def arm_regret_bound(
    schedule: Schedule, gap: float, horizon: int, *, corrected: bool = True
) -> float:
    """The bound on what one suboptimal arm with this gap adds to the regret.

    Theorem reggenNew (eq. regfull) for ODAAF, regboundedNew (eq. regbounded) for ODAAF-B, regvar
    for ODAAF-V (with V / E for V where it is tightened, the remark after its proof), and the
    theorem of the last appendix for the naive approach. It needs T G^2 > 1 and refuses anything
    else: an arm with a smaller gap costs at most T G < sqrt(T).

    >>> from latesum.policies.schedules import KnownMean
    >>> round(arm_regret_bound(KnownMean(50), 0.1, 250_000))
    32688
    >>> round(arm_regret_bound(KnownMean(50), 0.1, 250_000, corrected=False))
    32605
    """
    horizon = whole_number(horizon, "the horizon", at_least=1)
    gap = finite_number(gap, "a gap", above=0, at_most=1)
    if horizon * gap**2 <= 1:
        raise InvalidInput(
            f"the bound holds for gaps above 1 / sqrt(horizon) = {1 / math.sqrt(horizon):.4g}, "
            f"not {gap:g}; such an arm costs at most horizon * gap = {horizon * gap:.4g}."
        )
    return _arm_bound(schedule, gap, horizon, corrected)


def regret_bound(
    schedule: Schedule, gaps: Iterable[float], horizon: int, *, corrected: bool = True
) -> float:
    """The bound on the regret of a problem with these gaps; gaps of 0 are best arms.

    As printed, it is the sum of the bounds of all arms with T G^2 > 1, plus T times the largest
    of the other gaps, as in the proofs of the corollaries.

    Corrected, the arms are split at a threshold: those below it cost at most T times the largest
    of their gaps, together, but they can still eliminate the best arm before one above it is
    gone. That is the 64 / threshold for each in the naive theorem; the same sum with the failure
    probabilities of Lemmas probelimjstar, probelimjstar3 and probelimjstar4 gives 192 / threshold
    for ODAAF and 768 / threshold for B and V. The best split is taken, so that the bound is never
    above T times the largest gap.

    >>> from latesum.policies.schedules import KnownMean
    >>> round(regret_bound(KnownMean(50), [0.1, 0], 250_000))         # no better than T G
    25000
    >>> round(regret_bound(KnownMean(50), [0.1, 0], 25_000_000))
    38681
    """
    horizon = whole_number(horizon, "the horizon", at_least=1)
    checked = sorted(finite_number(gap, "a gap", at_least=0, at_most=1) for gap in gaps)
    suboptimal = [gap for gap in checked if gap > 0]
    _known_schedule(schedule)
    small = [gap for gap in suboptimal if horizon * gap**2 <= 1]
    terms = [_arm_bound(schedule, gap, horizon, corrected) for gap in suboptimal[len(small) :]]
    if not corrected:
        return math.fsum(terms) + horizon * max(small, default=0.0)
    best = horizon * max(suboptimal, default=0.0)
    elimination = _elimination_cost(schedule)
    for below in range(len(small), len(suboptimal)):
        above = math.fsum(terms[below - len(small) :])
        together = horizon * suboptimal[below - 1] if below else 0.0
        # The threshold may be as large as the smallest gap above it.
        best = min(best, above + below * elimination / suboptimal[below] + together)
    return best


def _arm_bound(schedule: Schedule, gap: float, horizon: int, corrected: bool) -> float:
    """The one place that knows which theorem belongs to which schedule."""
    log_term = math.log(horizon * gap**2)
    match _known_schedule(schedule):
        case KnownMean(mean_delay):
            return _odaaf_rounds(mean_delay, gap, log_term, corrected) + 480 / gap
        case KnownBound(mean_delay, delay_bound):
            return _bounded(mean_delay, delay_bound, gap, log_term, corrected)
        case KnownVariance(mean_delay, delay_variance, tightened):
            spread = delay_variance / mean_delay if tightened else delay_variance
            # Theorem regvar ends in 64 ln(T); its derivation gives 64 ln(T G^2). Its term II is
            # printed 1920 / G and is 1536 / G, but the sum of the two, 1920 / G, is right.
            last = log_term if corrected else math.log(horizon)
            return _with_bridge(mean_delay + 2 * spread, gap, log_term) + 1920 / gap + 64 * last
        case Naive(delay_bound):
            # n_m <= 1 + 2L/D^2 + 4md/D gives 32 L/G + 32 ln(4/G) d, and both are below what is
            # printed, so there is nothing to correct.
            return gap + 64 * log_term / gap + 64 * math.log(2 / gap) * delay_bound + 96 / gap
    raise AssertionError("unreachable")


def _odaaf_rounds(mean_delay: float, gap: float, log_term: float, corrected: bool) -> float:
    """G n_{m_j} of eq. (ngen). The printed 32/3 should be 64/3: 16 L / (3 D) with D >= G / 4."""
    second = 64 / 3 if corrected else 32 / 3
    return 128 * log_term / gap + second * log_term + 96 * math.log(4 / gap) * mean_delay + gap


def _with_bridge(delay_term: float, gap: float, log_term: float) -> float:
    """2 G n_{m_j} of eqs. (nbounded, without the bound) and (nvarlong), but for its 64 L."""
    return 256 * log_term / gap + 64 * delay_term + 2 * gap


def _bounded(
    mean_delay: float, delay_bound: int, gap: float, log_term: float, corrected: bool
) -> float:
    """eq. (regbounded): 2 G n_{m_j} is 2 G max(min(m_j d, n of ODAAF), n without the bound)."""
    without_bound = _with_bridge(mean_delay, gap, log_term) + 64 * log_term
    if not corrected:
        odaaf = _odaaf_rounds(mean_delay, gap, log_term, corrected=False) + 480 / gap
        return max(min(delay_bound, odaaf), without_bound + 1920 / gap)
    # The printed minimum drops the factor 2 G m_j of d and the 2 of ODAAF's rounds, and the
    # 1920 / G of failing estimates is added whichever of the two lengths is the larger.
    separation = 2 * gap * math.log2(4 / gap) * delay_bound
    odaaf = 2 * _odaaf_rounds(mean_delay, gap, log_term, corrected=True)
    return max(min(separation, odaaf), without_bound) + 1920 / gap


def _elimination_cost(schedule: Schedule) -> float:
    """What an arm below the threshold costs by eliminating the best one, times the threshold.

    The sum over phases of 4 T D_m P(F_j(m)), where P(F_j(m)) is the chance that either of two
    estimates misses on one side: 2p / (T D_m^2) for p = 3, 12, 1, so 64p over the threshold.
    """
    one_side = schedule.failures / 2 if schedule.two_sided else schedule.failures
    return 64 * one_side


def _known_schedule(schedule: Schedule) -> KnownMean | KnownBound | KnownVariance | Naive:
    if isinstance(schedule, (KnownMean, KnownBound, KnownVariance, Naive)):
        return schedule
    raise InvalidInput(
        "regret bounds are known for the schedules KnownMean, KnownBound, KnownVariance and "
        f"Naive, not for {schedule!r}."
    )
