"""The worst case over all gaps: what a policy's regret stays below whatever the problem."""

from __future__ import annotations

import math
import warnings

from latesum._checks import whole_number
from latesum.policies.schedules import KnownBound, Schedule
from latesum.theory.regret import arm_regret_bound

#: Thresholds tried, evenly spaced on a logarithmic scale from 1 / sqrt(T) to 1.
_THRESHOLDS = 2000


def worst_case_regret(
    schedule: Schedule, n_arms: int, horizon: int, *, corrected: bool = True
) -> float:
    """The largest regret over all gaps, for `n_arms` arms.

    Corollaries reggen, regbounded and regvar, and the remark after the naive theorem, give rates
    without constants. Here the explicit bound is minimised over the threshold: arms with gaps up
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
        _warn_of_a_large_bound(schedule, n_arms, horizon)
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


def _warn_of_a_large_bound(schedule: KnownBound, n_arms: int, horizon: int) -> None:
    limit = math.sqrt(horizon * math.log(n_arms) / n_arms) + schedule.mean_delay
    if schedule.delay_bound > limit:
        warnings.warn(
            f"the delay bound {schedule.delay_bound} is above sqrt(T ln(K) / K) + E = {limit:.4g}, "
            "where the rate of ODAAF-B's worst case ends; the number is still a bound.",
            stacklevel=3,
        )
