"""How growth fades after the last lag of a triangle: what has not arrived by then, and how much later it comes.

What arrives from lag to lag is taken to fade as a generalised Pareto tail does: exponentially, or a little faster or slower.
The logarithms of the last steps are fitted by a line and its curvature. A curvature of nothing is the exponential
tail; others are believed as far as the data show them, given that in most tails the curvature over the squared slope
is below a fifth or so: 0.14 for a Pareto tail of index 6, -0.1 for a normal one at three standard deviations.
Resampling draws this belief anew each time, so that the limits allow other tails where the data do not decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latesum.delays.base import Floats
from latesum.delays.fitting.mack import Growth

#: Growth in the last lags below this share of the total is no growth.
NO_GROWTH = 0.001
#: From this number of steps on, it can be seen how growth fades.
FEWEST_STEPS = 3
#: How growth fades is read from this share of the steps, the last ones, ...
_LATE_SHARE = 0.5
#: ... joined until each has grown by this number of standard errors, ...
_CLEAR_GROWTH = 2.0
#: ... and with this relative error beside their own: no tail follows a formula exactly.
_SHAPE_ERROR = 0.1
#: The standard deviation of curvature / slope^2 before data are seen, and its largest values.
_CURVATURE = 0.12
_LEAST_BENT, _MOST_BENT = -0.5, 0.23
#: Growth above this share of the total that does not fade leaves the tail quite unknown.
_STILL_GROWING = 0.03
#: Growth that falls by less than this per lag does not fade.
_SLOWEST = 0.98


class Fading(NamedTuple):
    """What comes after the last lag, one entry per triangle.

    Args:
        beyond: As a multiple of what has arrived by the last lag.
        later: The sum over the lags from there of the share of it that has still not arrived.
    """

    beyond: Floats
    later: Floats


class GrowthSteps(NamedTuple):
    """The last steps of a triangle, joined until each is clear: the same for all that is resampled."""

    starts: Floats
    ends: Floats
    errors: Floats  # relative ones

    @property
    def middles(self) -> Floats:
        return (self.starts + self.ends - 1) / 2


def clear_steps(arrived: Floats, growth: Growth) -> GrowthSteps:
    """Which of the last steps to join, and how sure each of the joined ones is."""
    steps = np.diff(arrived)
    errors = np.nan_to_num(growth.errors / growth.factors, posinf=0.0) * arrived[1:]
    joined: list[tuple[int, int, float, float]] = []  # from, to, growth, its squared error
    start, grown, square = 0, 0.0, 0.0
    for place, (step, error) in enumerate(zip(steps, errors, strict=True)):
        grown, square = grown + float(step), square + float(error) ** 2
        if grown > 0 and grown > _CLEAR_GROWTH * np.sqrt(square):
            joined.append((start, place + 1, grown, square))
            start, grown, square = place + 1, 0.0, 0.0
    if joined and start < len(steps):
        first, _, before, more = joined.pop()
        joined.append((first, len(steps), before + grown, more + square))
    late = joined[-max(FEWEST_STEPS, round(_LATE_SHARE * len(joined))) :]
    starts, ends, heights, squares = np.array(late, dtype=np.float64).reshape(-1, 4).T
    return GrowthSteps(starts, ends, np.sqrt(squares) / heights)


def fading(arrived: Floats, steps: GrowthSteps, rng: np.random.Generator | None = None) -> Fading:
    """What comes after the last lag.

    Args:
        arrived: The share of the last lag's total at each lag, one row per triangle; the first row is
            that of the data, of which `steps` are.
        steps: The steps to look at.
        rng: Draws another belief of the curvature per row.
    """
    grown = np.diff(arrived, axis=1)
    last = grown[:, -max(1, grown.shape[1] // 3) :].sum(axis=1)
    # Unless it is seen to fade, all that is known is that it has not ended.
    beyond = np.where(last > _STILL_GROWING, 1.0, last)
    each = np.full(len(arrived), 2.0)
    if len(steps.middles) >= 2:
        level, slope, bent = _fitted(arrived, steps, rng)
        fades = slope < np.log(_SLOWEST)
        ratio = np.exp(np.where(fades, slope, -1.0))
        shape = bent / (1 - bent)  # of the generalised Pareto tail with this slope and curvature
        beyond = np.where(fades, np.exp(level) / (1 - ratio) * (1 + shape), beyond)
        each = np.where(fades, (1 + shape) / (1 - shape) / (1 - ratio), each)
    none = last < NO_GROWTH
    return Fading(np.where(none, 0.0, beyond), np.where(none, 0.0, each))


def _fitted(
    arrived: Floats, steps: GrowthSteps, rng: np.random.Generator | None
) -> tuple[Floats, Floats, Floats]:
    """The logarithm of the first step after the last lag, its slope, and curvature / slope^2."""
    rows, number = len(arrived), len(steps.middles)
    ends, starts = steps.ends.astype(int), steps.starts.astype(int)
    heights = (arrived[:, ends] - arrived[:, starts]) / (ends - starts)
    # In a draw a step may vanish: it is then a small part of what it is in the data.
    heights = np.log(np.maximum(heights, 0.05 * heights[0]))
    away = steps.middles - (arrived.shape[1] - 1)
    weights = 1 / (_SHAPE_ERROR**2 + steps.errors**2)
    line = np.column_stack([np.ones(number), away])
    slope = float(_solved(line, weights, np.zeros((2, 2)), heights[:1], 0.0)[0, 1])
    typical = _CURVATURE * max(slope**2, 1e-6)
    belief = np.zeros((rows, 1))
    if rng is not None:
        belief = typical * rng.standard_normal((rows, 1))
    penalty = np.diag([0.0, 0.0, typical**-2])
    found = _solved(np.column_stack([line, away**2 / 2]), weights, penalty, heights, belief)
    slopes = np.minimum(found[:, 1], -1e-9)
    return found[:, 0], found[:, 1], np.clip(found[:, 2] / slopes**2, _LEAST_BENT, _MOST_BENT)


def _solved(
    columns: Floats, weights: Floats, penalty: Floats, values: Floats, belief: Floats | float
) -> Floats:
    """Weighted least squares, with a penalty for the distance of the last coefficient to `belief`."""
    right = (values * weights) @ columns
    right[:, -1:] += penalty[-1, -1] * belief
    return np.asarray(np.linalg.solve((columns.T * weights) @ columns + penalty, right.T).T)
