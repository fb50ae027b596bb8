"""Reported intervals: the means that a likely explanation allows. No decision depends on them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from latesum.policies.unmix.explanations import FAR, STEPS, DelayExplanation, Explanations
from latesum.policies.unmix.segments import Floats, Segments

#: How much rewards may vary, as a share of what 0/1 rewards do. It is estimated as if half a
#: segment more had been of 0/1 rewards, as the largest that is within 1 of the likeliest.
_DISPERSIONS = np.geomspace(1.0, 0.01, 17)
#: How exactly the ends of intervals are found.
_TOLERANCE = 1e-4


def limits(
    explanations: Explanations, segments: Segments, deviations: float
) -> list[tuple[float, float]]:
    """Between which values each mean lies, by some explanation that is likely enough.

    These are the values for which minus twice the log-likelihood, with all else fitted, is
    within the square of `deviations`, times the misfit, of the least by any explanation.
    """
    believed, rho = explanations.believed, dispersion(explanations.believed, segments)
    likely = [each for each in explanations.all if each.deficit <= FAR]
    points = [each.point.copy() for each in likely]
    fits = [
        each.fit(segments, 2, point, dispersion=rho)
        for each, point in zip(likely, points, strict=True)
    ]
    misfit = min(fits)[1]
    # Arms' own delays fit better by chance too, and are charged for it.
    charges = [(each.penalty - each.base.penalty) * misfit for each in likely]
    least = min(fit[0] + charge for fit, charge in zip(fits, charges, strict=True))
    ends = [[believed.mean(arm)] for arm in range(segments.n_arms)]
    for each, point, (objective, *_), charge in zip(likely, points, fits, charges, strict=True):
        most = least + deviations * deviations * misfit - charge
        for arm in range(segments.n_arms):
            if objective <= most and segments.known[arm]:
                ends[arm] += _ends(each, segments, point, arm, rho, (most, objective))
    return [(min(each), max(each)) for each in ends]


def _ends(
    each: DelayExplanation,
    segments: Segments,
    point: Floats,
    arm: int,
    rho: float,
    costs: tuple[float, float],
) -> list[float]:
    """The least and the largest mean of an arm for which the costs are at most the first."""

    def cost(value: float) -> float:
        return each.fit(segments, STEPS, point.copy(), (arm, value), rho)[0]

    # Compared with a fit of as many steps in which the mean is held where it is best.
    best = min(max(float(point[each.n_bins + arm]), 0.0), 1.0)
    most = cost(best) + costs[0] - costs[1]
    return [
        end if cost(end) <= most else _root(lambda value: cost(value) - most, best, end)
        for end in (0.0, 1.0)
    ]


def dispersion(believed: DelayExplanation, segments: Segments) -> float:
    """How much rewards vary, as a share of what 0/1 rewards of the same means do.

    Rewards in [0, 1] vary by rho m (1 - m), with rho = 1 if they are 0 or 1. One rho is learned by
    its restricted likelihood. Decisions take it to be 1, the largest one.
    """
    if np.sum(segments.table[:, 4]) <= segments.n_arms + 3:  # fewer totals than unknowns
        return 1.0
    found = []
    for rho in _DISPERSIONS.tolist():
        point = believed.point.copy()
        objective, *_, information = believed.fit(segments, 2, point, dispersion=rho)
        found.append(objective + information + 0.5 * (math.log(rho) + 1.0 / rho))
    within = np.flatnonzero(np.array(found) <= np.nanmin(found) + 1.0)
    return float(_DISPERSIONS[within[0]])


def _root(function: Callable[[float], float], inside: float, outside: float) -> float:
    """Where a function changes its sign: false position by the Illinois rule.

    SciPy's `brentq` needs as many steps, and 0.2 seconds to be imported.
    """
    low, high = inside, outside
    f_low, f_high = function(low), function(high)
    while abs(high - low) > _TOLERANCE and f_high != 0.0:
        between = high - f_high * (high - low) / (f_high - f_low)
        found = function(between)
        if (found > 0.0) == (f_high > 0.0):
            f_low /= 2.0  # so that the other end moves too
        else:
            low, f_low = high, f_high
        high, f_high = between, found
    return high
