"""Step: the delay from totals alone, around a known stop or start; their shortfall gives its mean.

If options that earned L per bucket are stopped, what still arrives afterwards is L times the mean
delay in buckets, in expectation and whatever the delay's shape, given that they had run for longer
than the delays are. After a start, what is missing until the totals have settled is the same.
"""

from __future__ import annotations

import numpy as np

from latesum._checks import InvalidInput
from latesum.delays.curves import Curve, Floats, averages_of, from_averages
from latesum.delays.fitting.result import Estimated

_MIN_LEVEL = 5
#: A curve that is made to fall follows resampled data less closely than other data: the limits of
#: quantiles that are found in this way are too short by about this factor.
_STRETCH = 1.15


def fit_step(
    times: Floats, totals: Floats, at: float, *, stopped: bool, background: float
) -> tuple[Estimated, float]:
    """From totals per bucket; the options stopped or started at the beginning of bucket `at`.

    `background` is the total per bucket that comes without them. Also returns a bucket's width.
    """
    order = np.argsort(times)
    times, totals = times[order], totals[order]
    if len(np.unique(times)) != len(times):
        raise InvalidInput("every bucket must have one total; some are there twice.")
    width = float(np.diff(times).min()) if len(times) > 1 else 1.0
    before, after = totals[times < at] - background, totals[times >= at] - background
    what = "stop" if stopped else "start"
    if stopped:
        level_from = before
    else:
        level_from = after[-max(len(after) // 3, 1) :]
        after = after[: -len(level_from)]
    if len(level_from) < _MIN_LEVEL or len(after) < 1:
        where = "before the stop" if stopped else "after the totals have settled"
        raise InvalidInput(
            f"the level of the totals needs at least {_MIN_LEVEL} buckets {where}, and at least "
            f"one bucket after the {what}; there are {len(level_from)} and {len(after)}."
        )
    level = float(level_from.mean())
    if level <= 0:
        raise InvalidInput(
            f"the options' total per bucket must be positive to see a {what}; it is {level:g}."
        )
    # How much a bucket's total varies, as a multiple of what it is.
    dispersion = float(level_from.var(ddof=1)) / (level + max(background, 0.0))

    def resample(rng: np.random.Generator, number: int) -> Curve:
        error = np.sqrt(level_from.var(ddof=1) / len(level_from))
        levels = np.maximum(level + rng.normal(size=number) * error, level / 100)
        # Around the curve that was found: around the data, their noise would be there twice.
        fitted = level * averages_of(curve.surviving[:-1])
        fitted = fitted if stopped else level - fitted
        spread = np.sqrt(dispersion * np.maximum(fitted + background, 0.0))
        seen = fitted + rng.normal(size=(number, len(after))) * spread
        return Curve(*_curves(_missing(seen, levels[:, None], stopped)))

    times, surviving = _curves(_missing(after[None], level, stopped))
    curve = Curve(times, surviving[0])
    last = after[-max(len(after) // 5, 1) :]
    missing = float(last.mean()) / level if stopped else 1 - float(last.mean()) / level
    noise = np.sqrt(max(dispersion, 1e-12) * max(abs(float(last.mean())), 1.0) / len(last)) / level
    warnings = []
    if missing > max(0.02, 2 * noise):
        warnings.append(
            f"the tail is longer than the data: {missing:.0%} of the level is still "
            f"{'arriving' if stopped else 'missing'} {len(after)} buckets after the {what}, so the "
            "mean is too small by what would come later; its upper limit allows for that."
        )
    if len(level_from) >= 10:
        first, second = np.array_split(level_from, 2)
        difference = abs(float(first.mean() - second.mean()))
        if difference > 3 * np.sqrt(
            first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)
        ):
            warnings.append("the level of the totals is not steady, so the mean may be off.")
    degrees = float(len(level_from) - 1)
    estimated = Estimated(
        curve,
        resample,
        f"{len(totals):,} totals around a {what}",
        len(totals),
        warnings,
        degrees=degrees,
        stretch=_STRETCH,
        later=max(missing, 0.0) * _pace_of_the_end(curve, missing),
    )
    return estimated, width


def _missing(seen: Floats, level: Floats | float, stopped: bool) -> Floats:
    """The share that is still to come of each bucket's plays."""
    return seen / level if stopped else 1 - seen / level


def _curves(missing: Floats) -> tuple[Floats, Floats]:
    """The shares missing in each bucket after the step, made to fall: one curve per row.

    Pooling neighbours that rise keeps their sum, and the sum is the mean delay.
    """
    from scipy.optimize import isotonic_regression

    levels = np.array([isotonic_regression(row, increasing=False).x for row in missing])
    levels = np.clip(levels, 0.0, 1.0)
    # What was cut off below 0 is noise around 0: taken off evenly, so that the mean stays.
    wanted, found = np.maximum(missing.sum(axis=1), 0.0), levels.sum(axis=1)
    factors = np.divide(wanted, found, out=np.ones_like(found), where=found > 0)
    levels = np.clip(levels * factors[:, None], 0.0, 1.0)
    times, surviving = from_averages(levels, 0.0)
    return np.append(times, times[-1]), np.column_stack([surviving, np.zeros(len(surviving))])


def _pace_of_the_end(curve: Curve, missing: float) -> float:
    """How much later the missing share comes, if it goes on to fall as by its last two thirds."""
    fallen = 3 * max(missing, 0.0)
    if not 0 < fallen < 1:
        return 0.0
    return float(curve.times[-1] - curve.quantile(1 - fallen)) / float(np.log(3))
