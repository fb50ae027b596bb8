"""What Unmix reports: intervals of the means, and sentences. No decision depends on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from latesum.policies.base import Believed
from latesum.policies.estimates import PLAIN, Units
from latesum.policies.unmix.explanations import FAR, STEPS, DelayExplanation, Explanations
from latesum.policies.unmix.segments import Floats, Segments

#: How much rewards may vary, as a share of what 0/1 rewards do. It is estimated as if half a
#: segment more had been of 0/1 rewards, as the largest that is within 1 of the likeliest.
_DISPERSIONS = np.geomspace(1.0, 0.01, 17)
#: How exactly the ends of intervals are found.
_TOLERANCE = 1e-4


def estimates(explanations: Explanations, segments: Segments, level: float) -> list[Believed]:
    """Per arm the mean by what is believed, its limits, and the rounds with a known total."""
    if not any(segments.known):
        return [(None, 0.0, 1.0, 0)] * segments.n_arms
    found = limits(explanations, segments, NormalDist().inv_cdf(0.5 + level / 2))
    return [
        (explanations.believed.mean(arm), *found[arm], plays) if plays else (None, 0.0, 1.0, 0)
        for arm, plays in enumerate(segments.known)
    ]


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


def findings(
    believed: DelayExplanation,
    segments: Segments,
    upper_limits: dict[int, float],
    names: Sequence[str],
    units: Units,
) -> list[str]:
    """What is believed of the status quo and the arms, in sentences."""
    found = list[str]()
    if segments.n_arms > len(names) and any(segments.known):
        found.append(units.status_quo(believed.mean(len(names))))
    if believed.misfit > 1.5:
        found.append(
            f"Totals vary {math.sqrt(believed.misfit):.1f} times as much as rewards and delays "
            "of one distribution explain; all intervals are wider by that."
        )
    for arm, value in upper_limits.items():
        worth = min(believed.worth(segments, arm), segments.known[arm])
        found.append(units.estimate(names[arm], believed.mean(arm), worth, value))
    return found


def reason(segments: Segments, arm: int, seeks: bool, tested: DelayExplanation | None) -> str:
    """Why an arm comes next: the policy `seeks` the delay, or an explanation is tested, or not."""
    nothing_known = not any(segments.known)
    if seeks:
        known = ", because nothing is known yet" if nothing_known else ""
        return f"to see how late its rewards come{known}"
    if not segments.played[arm]:
        return "because it has not been tried yet"
    if nothing_known:
        return "because nothing is known yet"
    if not segments.known[arm]:
        return "because nothing is known of it yet"
    if tested is not None:
        late = PLAIN.rounds(tested.scale)
        return f"because it may be as good as the best one if rewards are about {late} late"
    if not segments.visits[arm]:  # it was the status quo, or the delay was sought
        return "because too little is known of it yet"
    if arm == segments.last_arm:
        return "because it may still be the best"
    return "because it looks most promising"
