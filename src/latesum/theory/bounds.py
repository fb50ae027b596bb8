"""Bounds of the paper for ODAAF, as printed and as corrected, and what no policy can beat.

Notation: T the horizon, G an arm's gap, L = ln(T G^2), E the mean delay, V its variance, d its
bound. Regret bounds are for a first tolerance of 1/2. They come from the phase m_j <= log2(4 / G)
in which an arm should be eliminated, the first with a tolerance below G / 2 (so at least G / 4):

    regret of the arm <= b G n_{m_j} + c / G,

where b is 2 with a bridge and 1 without, and c collects what failing estimates cost.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Literal

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.schedules import KnownBound, KnownMean, KnownVariance, Naive, Schedule

#: Thresholds tried, evenly spaced on a logarithmic scale from 1 / sqrt(T) to 1.
_THRESHOLDS = 2000


def half_width(schedule: Schedule, phase: int, tolerance: float, horizon: int) -> float:
    """w_m, the half-width of an estimate at the end of a phase, after n_m rounds of every arm.

    eq. (wmgen) for ODAAF, (wmbounded) for ODAAF-B, (wmvar) for ODAAF-V; the naive one opens the
    paper's last appendix. The n_m are chosen so that it is at most half the tolerance.

    >>> from latesum.policies.schedules import KnownBound
    >>> half_width(KnownBound(50, 100), phase=3, tolerance=1 / 8, horizon=250_000) <= 1 / 16
    True
    """
    phase = whole_number(phase, "the phase", at_least=1)
    log_term = _log_term(tolerance, horizon)
    rounds = schedule.rounds(phase, tolerance, log_term)
    return schedule.half_width(phase, rounds, log_term)


def failure_probability(
    schedule: Schedule, tolerance: float, horizon: int, *, sides: Literal[1, 2] | None = None
) -> float:
    """How often, at most, an estimate misses its arm's mean by more than half the tolerance.

    Lemmas eb1 (ODAAF: 3 / (T D^2)), eb2 (ODAAF-B: 12 / (T D^2)) and eb3 (ODAAF-V: the same) are
    stated upwards, for one side; Lemma bdhpbound (naive: 2 / (T D^2)) for both. Without `sides`
    the answer is as stated; `sides=1` and `sides=2` make them comparable. The regret proofs use
    both sides of all of them: the arguments hold downwards word for word. The naive lemma is a
    two-sided Hoeffding bound, so one side of it is half.

    Args:
        sides: Whether one side or both sides count; by default as the lemma is stated.

    >>> from latesum.policies.schedules import KnownMean, Naive
    >>> failure_probability(KnownMean(10), tolerance=0.5, horizon=1200)
    0.01
    >>> failure_probability(Naive(20), tolerance=0.5, horizon=800, sides=1)
    0.005
    """
    if sides not in (None, 1, 2):
        raise InvalidInput(f"sides is 1, 2, or None for what the lemma states, not {sides!r}.")
    _log_term(tolerance, horizon)
    stated = 2 if schedule.two_sided else 1
    failures = schedule.failures * (stated if sides is None else sides) / stated
    return min(1.0, failures / (horizon * tolerance**2))


def _log_term(tolerance: float, horizon: int) -> float:
    """L = ln(T D^2), which must be positive for a phase to have a length."""
    horizon = whole_number(horizon, "the horizon", at_least=1)
    tolerance = finite_number(tolerance, "the tolerance", above=0, at_most=1)
    log_term = math.log(horizon * tolerance**2)
    if log_term <= 0:
        raise InvalidInput(
            f"there is no phase with tolerance {tolerance:g} at horizon {horizon}: "
            f"the tolerance must be above 1 / sqrt(horizon) = {1 / math.sqrt(horizon):.4g}."
        )
    return log_term


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
    small = [gap for gap in suboptimal if horizon * gap**2 <= 1]
    terms = [_arm_bound(schedule, gap, horizon, corrected) for gap in suboptimal[len(small) :]]
    if not corrected:
        return math.fsum(terms) + horizon * max(small, default=0.0)
    best = horizon * max(suboptimal, default=0.0)
    # What an arm below the threshold costs by eliminating the best one, times the threshold: the
    # sum over phases of 4 T D_m P(F_j(m)), where P(F_j(m)) is the chance that either of two
    # estimates misses on one side: 2p / (T D_m^2) for p = 3, 12, 1, so 64p.
    elimination = 64 * schedule.failures / (2 if schedule.two_sided else 1)
    for below in range(len(small), len(suboptimal)):
        above = math.fsum(terms[below - len(small) :])
        together = horizon * suboptimal[below - 1] if below else 0.0
        # The threshold may be as large as the smallest gap above it.
        best = min(best, above + below * elimination / suboptimal[below] + together)
    return best


def _arm_bound(schedule: Schedule, gap: float, horizon: int, corrected: bool) -> float:
    """The one place that knows which theorem belongs to which schedule."""
    log_term = math.log(horizon * gap**2)
    match schedule:
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
    raise InvalidInput(
        "regret bounds are known for the schedules KnownMean, KnownBound, KnownVariance and "
        f"Naive, not for {schedule!r}."
    )


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


def worst_case_regret(
    schedule: Schedule, n_arms: int, horizon: int, *, corrected: bool = True
) -> float:
    """The largest regret over all gaps, for `n_arms` arms.

    Corollaries reggen, regbounded and regvar, and the remark after the naive theorem, give rates
    without constants. Here the explicit bound is minimized over the threshold: arms with gaps up
    to it cost at most T times the threshold together, each of the other K - 1 at most the largest
    bound that a gap above the threshold can have. (What arms below the threshold cost by
    eliminating the best one is less than that, so it needs no term of its own.) It is never more
    than T.

    Corollary regbounded (ODAAF-B) needs d <= sqrt(T ln(K) / K) + E for its rate; with a larger
    bound the number is still valid and a warning says that the rate is not.

    >>> from latesum.policies.schedules import KnownMean
    >>> round(worst_case_regret(KnownMean(50), 2, 25_000_000))
    404106
    """
    n_arms = whole_number(n_arms, "the number of arms", at_least=2)
    horizon = whole_number(horizon, "the horizon", at_least=1)
    if isinstance(schedule, KnownBound):
        limit = math.sqrt(horizon * math.log(n_arms) / n_arms) + schedule.mean_delay
        if schedule.delay_bound > limit:
            warnings.warn(
                f"the delay bound {schedule.delay_bound} is above sqrt(T ln(K) / K) + E = "
                f"{limit:.4g}, where the rate of ODAAF-B's worst case ends; the number is still a "
                "bound.",
                stacklevel=2,
            )
    best = float(horizon)
    largest_above = 0.0
    for step in range(_THRESHOLDS):  # downwards from 1, so that the largest so far is the supremum
        threshold = horizon ** (-0.5 * step / _THRESHOLDS)
        if horizon * threshold**2 <= 1:
            break
        bound = arm_regret_bound(schedule, threshold, horizon, corrected=corrected)
        largest_above = max(largest_above, bound)
        best = min(best, (n_arms - 1) * largest_above + horizon * threshold)
    return best


def lai_robbins(means: Sequence[float], horizon: int) -> float:
    """The lower bound of Lai and Robbins for Bernoulli arms: eq. (lairobbins) times ln(T).

    The sum over suboptimal arms of G / kl(mean, best mean), times ln(T). It is asymptotic: for
    every policy that is good on all problems, regret / ln(T) does not stay below the sum; at one
    horizon a policy may do better. The paper suspects that it holds for late sums too. It does:
    a player of the plain bandit can draw the delays himself, add up, and so use any policy for
    late sums, with the same regret.

    >>> round(lai_robbins([0.5, 0.6], 250_000), 2)
    60.89
    """
    if len(means) < 2:
        raise InvalidInput(f"give the means of at least 2 arms, not of {len(means)}.")
    horizon = whole_number(horizon, "the horizon", at_least=1)
    checked = [finite_number(mean, "a mean", at_least=0, at_most=1) for mean in means]
    best = max(checked)
    slopes = [(best - mean) / bernoulli_divergence(mean, best) for mean in checked if mean < best]
    return math.fsum(slopes) * math.log(horizon)


def bernoulli_divergence(p: float, q: float) -> float:
    """kl(p, q), the Kullback-Leibler divergence of Bernoulli(q) from Bernoulli(p).

    >>> bernoulli_divergence(0.5, 0.5), bernoulli_divergence(0.5, 1)
    (0.0, inf)
    """
    p = finite_number(p, "a mean", at_least=0, at_most=1)
    q = finite_number(q, "a mean", at_least=0, at_most=1)
    if (q == 0 < p) or (p < 1 == q):
        return math.inf
    ones = p * math.log(p / q) if p > 0 else 0.0
    zeros = (1 - p) * (math.log1p(-p) - math.log1p(-q)) if p < 1 else 0.0
    # Pinsker's inequality: rounding cannot bring two different means to a divergence of 0.
    return max(ones + zeros, 2 * (p - q) ** 2)
