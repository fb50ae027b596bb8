"""Chain ladder: the delay from a reporting triangle.

A triangle says what was known of each bucket's total, and when. The total of a bucket is dated by
the decision, and grows as late rewards come in. With the delay X in buckets, a play at a random
time of its bucket, and the total read at the end of a bucket, the share not yet seen after l
buckets is the integral of P(X > x) from l to l + 1. So these shares sum to the mean delay,
whatever its shape: nothing is lost by the bucket's width.

The growth from one lag to the next is a factor f, the sum of the later totals over that of the
earlier ones. In Mack's model a total C grows to f C on average, with the variance sigma^2 C, and
factors of different lags are uncorrelated. T. Mack, "Distribution-free calculation of the standard
error of chain ladder reserve estimates", ASTIN Bulletin 23 (1993).

After the last lag, growth is taken to fade as a generalized Pareto tail does: exponentially, or a
little faster or slower. The logarithms of the last steps are fitted by a line and its curvature. A
curvature of nothing is the exponential tail; others are believed as far as the data show them,
given that in most tails the curvature over the squared slope is below a fifth or so: 0.14 for a
Pareto tail of index 6, -0.1 for a normal one at three standard deviations. Resampling draws this
belief again each time, so that the limits allow other tails where the data do not decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.delays.curves import Curve, Floats, from_averages
from latesum.delays.fitting.result import Estimated

#: A step of growth is estimated from at least this number of buckets, and from this share of them.
_MIN_BUCKETS = 3
_SHARE_OF_BUCKETS = 0.1
#: Draws that leave more than this unseen say nothing.
_MAX_UNSEEN = 0.9
#: Growth in the last lags below this share of the total is no growth.
NO_GROWTH = 0.001
#: From this number of steps on, it can be seen how growth fades.
MIN_STEPS = 3
#: How growth fades is read from this share of the steps, the last ones, ...
_LATE_SHARE = 0.5
#: ... joined until each has grown by this number of standard errors, ...
_CLEAR_GROWTH = 2.0
#: ... and with this relative error beside their own: no tail follows a formula exactly.
_SHAPE_ERROR = 0.1
#: The standard deviation of curvature / slope^2 before data are seen, and its largest values.
_CURVATURE = 0.12
_MIN_BENT, _MAX_BENT = -0.5, 0.23
#: Growth above this share of the total that does not fade leaves the tail quite unknown.
_STILL_GROWING = 0.03
#: Growth that falls by less than this per lag does not fade.
_SLOWEST = 0.98


def fit_triangle(buckets: Floats, as_of: Floats, totals: Floats) -> tuple[Estimated, float]:
    """From rows (bucket, as-of, total); also returns the width of a bucket."""
    different = np.unique(buckets)
    if len(different) < _MIN_BUCKETS:
        raise InvalidInput(f"a triangle needs at least {_MIN_BUCKETS} different buckets.")
    width = float(np.diff(different).min())
    lags = np.rint((as_of - buckets) / width).astype(np.int64)
    if (lags < 0).any():
        row = int(np.argmax(lags < 0)) + 1
        raise InvalidInput(f"row {row}: a total cannot be known before its bucket begins.")
    _refuse_repeated(buckets, lags, totals)
    triangle = np.full((len(different), int(lags.max()) + 1), np.nan)
    triangle[np.searchsorted(different, buckets), lags] = totals
    fewest = max(_MIN_BUCKETS, round(_SHARE_OF_BUCKETS * len(triangle)))
    depth = _supported_depth(triangle, fewest)
    if depth < 1:
        raise InvalidInput(
            f"fewer than {_MIN_BUCKETS} buckets have a total that is known at two as-of times in "
            "a row, so their growth is not seen; add buckets, or look at each for longer."
        )
    triangle = triangle[:, : _supported_depth(triangle, 1) + 1]
    steps = np.diff(_arrived(growth_of(triangle[:, : depth + 1])))
    few = triangle.shape[1] - 1 < MIN_STEPS
    if few and steps[-1] >= NO_GROWTH:
        raise InvalidInput(
            f"the totals still grow at an age of {depth} bucket{'s' if depth > 1 else ''}, the "
            f"last that {_MIN_BUCKETS} buckets show: no data supports a tail. Add buckets, or "
            "observe for longer."
        )
    growth = growth_of(triangle)
    arrived = _arrived(growth)
    whole = _chains(arrived[None], growth, depth)
    tail = float(np.asarray(whole.tail)[0]) if whole.unseen[0] > 0 else None
    curve = Curve(whole.times, whole.surviving[0], tail)

    def resample(rng: np.random.Generator, number: int) -> Curve:
        """The data first, then buckets drawn with replacement that leave not nearly all unseen."""
        even = np.full(len(triangle), 1 / len(triangle))
        counts = rng.multinomial(len(triangle), even, number).astype(np.float64)
        drawn = _arrived(_filled(growth_of(triangle, counts), growth, rng))
        found = _chains(np.concatenate([arrived[None], drawn]), growth, depth, rng)
        kept = np.flatnonzero(found.unseen <= _MAX_UNSEEN)
        return Curve(found.times, found.surviving[kept], np.asarray(found.tail)[kept])

    rows = int(np.isfinite(triangle).sum())
    basis, degrees = f"{rows:,} totals in a reporting triangle", float(len(different) - 1)
    return Estimated(curve, resample, basis, rows, [], degrees=degrees), width


def _refuse_repeated(buckets: Floats, lags: NDArray[np.int64], totals: Floats) -> None:
    seen: dict[tuple[float, int], tuple[int, float]] = {}
    for row, (bucket, lag, total) in enumerate(zip(buckets, lags, totals, strict=True), start=1):
        first, known = seen.setdefault((float(bucket), int(lag)), (row, float(total)))
        if known != total:
            raise InvalidInput(
                f"rows {first} and {row} give different totals for one bucket at one as-of time; "
                "keep the right one."
            )


def _supported_depth(triangle: Floats, fewest: int) -> int:
    """The largest lag up to which every step of growth is seen in enough buckets."""
    known = np.isfinite(triangle)
    enough = (known[:, 1:] & known[:, :-1]).sum(axis=0) >= fewest
    return len(enough) if enough.all() else int(np.argmin(enough))


def _filled(
    drawn: DevelopmentFactors, data: DevelopmentFactors, rng: np.random.Generator
) -> DevelopmentFactors:
    """What was drawn, where buckets vary; with Mack's error where fewer than three show a step."""
    relative = np.nan_to_num(data.errors / np.maximum(data.factors, 1e-300))
    noise = np.exp(np.minimum(relative, 1.0) * rng.standard_normal(drawn.factors.shape))
    few = (data.buckets < _MIN_BUCKETS) | (drawn.buckets < 1)
    return drawn._replace(factors=np.where(few, data.factors * noise, drawn.factors))


def _arrived(growth: DevelopmentFactors) -> Floats:
    """The share of the last lag's total that is known at each lag: the chain-ladder estimate."""
    # Where there was nothing before, nothing had arrived.
    back = np.where(np.isfinite(growth.factors), 1 / np.maximum(growth.factors, 1e-300), 0.0)
    back = np.where(growth.factors == 0, 1.0, back)
    shares = np.cumprod(back[..., ::-1], axis=-1)[..., ::-1]
    shares = np.concatenate([shares, np.ones((*shares.shape[:-1], 1))], axis=-1)
    # Restatements may take some back; an arrived share that falls again is no delay.
    falling = np.clip(shares, 0.0, 1.0)[..., ::-1]
    monotone: Floats = np.minimum.accumulate(falling, axis=-1)[..., ::-1]
    return monotone


def _chains(
    arrived: Floats,
    growth: DevelopmentFactors,
    depth: int,
    rng: np.random.Generator | None = None,
) -> Curve:
    """The curves up to the lag `depth`; later lags, which few buckets show, are in the tail."""
    beyond, beyond_lags = fading(arrived, growth, rng)
    surviving = np.maximum(1 - arrived / (1 + beyond[:, None]), 0.0)
    surviving[beyond == 0, -1] = 0.0
    unseen = surviving[:, depth]
    # surviving[l] is the mean of P(delay > x) over x from l to l + 1.
    times, levels = from_averages(surviving[:, :depth], unseen)
    times, levels = np.append(times, depth), np.column_stack([levels, unseen])
    # The tail has the mean of what later lags show and what is beyond them.
    later = surviving[:, depth:-1].sum(axis=1) + surviving[:, -1] * beyond_lags
    tails = np.divide(later, unseen, out=np.ones_like(later), where=unseen > 0)
    return Curve(times, levels, np.maximum(tails, 1e-12))


class DevelopmentFactors(NamedTuple):
    """The factor of each step from a lag to the next, and its uncertainty."""

    factors: Floats  # the later totals over the earlier ones
    errors: Floats  # the standard error of each factor
    buckets: Floats  # the number of buckets that show each step


def growth_of(triangle: Floats, weights: Floats | None = None) -> DevelopmentFactors:
    """The growth that a triangle shows: one row per bucket, one column per lag, NaN if not known.

    `weights` say how many times each bucket counts; one row of them per weighting gives one row of
    each result per weighting.

    >>> growth = growth_of(np.array([[1.0, 2.0], [2.0, 3.0], [1.0, np.nan]]))
    >>> round(float(growth.factors[0]), 3), round(float(growth.errors[0]), 3)
    (1.667, 0.236)
    """
    both = np.isfinite(triangle[:, 1:]) & np.isfinite(triangle[:, :-1])
    before = np.where(both, triangle[:, :-1], 0.0)
    after = np.where(both, triangle[:, 1:], 0.0)
    times = np.ones(len(triangle)) if weights is None else weights
    sums, later, buckets = times @ before, times @ after, times @ both.astype(np.float64)
    factors = np.divide(later, sums, out=np.full(sums.shape, np.nan), where=sums > 0)
    spread = _spread(before, after, factors, weights)
    variances = np.divide(spread, buckets - 1, out=np.full(sums.shape, np.nan), where=buckets > 1)
    for step in range(2, sums.shape[-1]):  # one bucket shows no variance: Mack's rule for the last
        two, one = variances[..., step - 2], variances[..., step - 1]
        fallen = np.divide(one**2, two, out=np.full(np.shape(one), np.inf), where=two > 0)
        shown = np.minimum(np.minimum(fallen, one), two)
        variances[..., step] = np.where(buckets[..., step] == 1, shown, variances[..., step])
    errors = np.sqrt(np.divide(variances, sums, out=np.full(sums.shape, np.nan), where=sums > 0))
    return DevelopmentFactors(factors, errors, buckets)


def _spread(before: Floats, after: Floats, factors: Floats, weights: Floats | None) -> Floats:
    """The sum over buckets of (after - f before)^2 / before, of those that begin with something."""
    begun = before > 0
    numerators = after**2 if weights is not None else (after - factors * before) ** 2
    squares = np.divide(numerators, before, out=np.zeros_like(before), where=begun)
    if weights is None:
        return np.asarray(squares.sum(axis=0))
    # Multiplied out, for all weightings at once; some digits are lost, and resampling needs few.
    mixed, begun_with = weights @ np.where(begun, after, 0.0), weights @ before
    return np.maximum(weights @ squares - 2 * factors * mixed + factors**2 * begun_with, 0.0)


def fading(
    arrived: Floats, growth: DevelopmentFactors, rng: np.random.Generator | None = None
) -> tuple[Floats, Floats]:
    """What comes after the last lag, by the last steps; `rng` draws beliefs of the curvature.

    `arrived` is the share of the last lag's total at each lag, one row per triangle, the data
    first. Returns what comes later as a multiple of what has arrived by the last lag, and the sum
    over the lags from there of the share of it that has not arrived.
    """
    grown = np.diff(arrived, axis=1)
    last = grown[:, -max(1, grown.shape[1] // 3) :].sum(axis=1)
    # Unless it is seen to fade, all that is known is that it has not ended.
    beyond = np.where(last > _STILL_GROWING, 1.0, last)
    each = np.full(len(arrived), 2.0)
    starts, ends, errors = clear_steps(arrived[0], growth)
    if len(starts) >= 2:
        level, slope, bent = _fitted(arrived, starts, ends, errors, rng)
        fades = slope < np.log(_SLOWEST)
        ratio = np.exp(np.where(fades, slope, -1.0))
        shape = bent / (1 - bent)  # of the generalized Pareto tail with this slope and curvature
        beyond = np.where(fades, np.exp(level) / (1 - ratio) * (1 + shape), beyond)
        each = np.where(fades, (1 + shape) / (1 - shape) / (1 - ratio), each)
    none = last < NO_GROWTH
    return np.where(none, 0.0, beyond), np.where(none, 0.0, each)


def clear_steps(
    arrived: Floats, growth: DevelopmentFactors
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """The last steps, joined until each is clear: their starts, ends and relative errors."""
    steps = np.diff(arrived)
    errors = np.nan_to_num(growth.errors / growth.factors, posinf=0.0) * arrived[1:]
    joined: list[tuple[int, int, float, float]] = []  # from, to, growth, its squared error
    start, grown, square = 0, 0.0, 0.0
    for index, (step, error) in enumerate(zip(steps, errors, strict=True)):
        grown, square = grown + float(step), square + float(error) ** 2
        if grown > 0 and grown > _CLEAR_GROWTH * np.sqrt(square):
            joined.append((start, index + 1, grown, square))
            start, grown, square = index + 1, 0.0, 0.0
    if joined and start < len(steps):
        first, _, before, more = joined.pop()
        joined.append((first, len(steps), before + grown, more + square))
    late = joined[-max(MIN_STEPS, round(_LATE_SHARE * len(joined))) :]
    starts, ends, heights, squares = np.array(late, dtype=np.float64).reshape(-1, 4).T
    return starts.astype(np.int64), ends.astype(np.int64), np.sqrt(squares) / heights


def _fitted(
    arrived: Floats,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    errors: Floats,
    rng: np.random.Generator | None,
) -> tuple[Floats, Floats, Floats]:
    """The logarithm of the first step after the last lag, its slope, and curvature / slope^2."""
    heights = (arrived[:, ends] - arrived[:, starts]) / (ends - starts)
    # In a draw a step may vanish: it is then a small part of what it is in the data.
    heights = np.log(np.maximum(heights, 0.05 * heights[0]))
    away = (starts + ends - 1) / 2 - (arrived.shape[1] - 1)
    weights = 1 / (_SHAPE_ERROR**2 + errors**2)
    line = np.column_stack([np.ones(len(away)), away])
    slope = float(_solved(line, weights, np.zeros((2, 2)), heights[:1], 0.0)[0, 1])
    typical = _CURVATURE * max(slope**2, 1e-6)
    belief = np.zeros((len(arrived), 1))
    if rng is not None:
        belief = typical * rng.standard_normal((len(arrived), 1))
    penalty = np.diag([0.0, 0.0, typical**-2])
    found = _solved(np.column_stack([line, away**2 / 2]), weights, penalty, heights, belief)
    slopes = np.minimum(found[:, 1], -1e-9)
    return found[:, 0], found[:, 1], np.clip(found[:, 2] / slopes**2, _MIN_BENT, _MAX_BENT)


def _solved(
    columns: Floats, weights: Floats, penalty: Floats, values: Floats, belief: Floats | float
) -> Floats:
    """Weighted least squares with a quadratic penalty around `belief` for the last coefficient."""
    right = (values * weights) @ columns
    right[:, -1:] += penalty[-1, -1] * belief
    return np.asarray(np.linalg.solve((columns.T * weights) @ columns + penalty, right.T).T)
