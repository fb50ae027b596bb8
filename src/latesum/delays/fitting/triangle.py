"""A reporting triangle: what was known of each bucket's total, and when.

The total of a bucket is dated by the decision, and grows as late rewards come in. With the delay X in
buckets, a play at a random moment of its bucket, and the total read at the end of a bucket, the
share not yet seen after l buckets is the integral of P(X > x) from l to l + 1. So these shares sum
to the mean delay, whatever its shape: nothing is lost by the bucket's width.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.delays.base import Floats
from latesum.delays.fitting.curve import Curve, from_averages
from latesum.delays.fitting.mack import Growth, growth_of, mean_error
from latesum.delays.fitting.resampled import Curves
from latesum.delays.fitting.result import Estimated
from latesum.delays.fitting.tails import check_unseen, tail_warning

#: A step of growth is estimated from at least this number of buckets, and from this share of them.
_FEWEST_BUCKETS = 3
_SHARE_OF_BUCKETS = 0.1
#: Growth in the last lags below this share of the total is no growth.
_NO_GROWTH = 0.001
#: From this number of steps on, it can be seen how growth fades.
_FEWEST_STEPS = 3
#: How growth fades is read from this share of the steps, the last ones, ...
_LATE_SHARE = 0.5
#: ... joined until each has grown by this number of standard errors, ...
_CLEAR_GROWTH = 2.0
#: ... and with this relative error beside their own: no tail is exactly exponential.
_SHAPE_ERROR = 0.3
#: Limits of quantiles from some dozens of buckets that are drawn again are too short by this factor.
_STRETCH = 1.12
#: Growth above this share of the total that does not fade leaves the tail quite unknown.
_STILL_GROWING = 0.03


def fit_triangle(
    buckets: Floats, as_of: Floats, totals: Floats, largest: float | None
) -> tuple[Estimated, float]:
    """From rows (bucket, as-of, total); also returns the width of a bucket."""
    different = np.unique(buckets)
    if len(different) < _FEWEST_BUCKETS:
        raise InvalidInput(f"a triangle needs at least {_FEWEST_BUCKETS} different buckets.")
    width = float(np.diff(different).min())
    lags = np.rint((as_of - buckets) / width).astype(np.int64)
    if (lags < 0).any():
        row = int(np.argmax(lags < 0)) + 1
        raise InvalidInput(f"row {row}: a total cannot be known before its bucket begins.")
    _refuse_repeated(buckets, lags, totals)
    triangle = np.full((len(different), int(lags.max()) + 1), np.nan)
    triangle[np.searchsorted(different, buckets), lags] = totals
    depth = _supported_depth(triangle)
    if depth < 1:
        raise InvalidInput(
            f"fewer than {_FEWEST_BUCKETS} buckets have a total that is known at two as-of times in "
            "a row, so their growth is not seen; add buckets, or look at each for longer."
        )
    triangle = triangle[:, : _supported_depth(triangle, fewest=1) + 1]
    steps = np.diff(_arrived(growth_of(triangle[:, : depth + 1])))
    few = triangle.shape[1] - 1 < _FEWEST_STEPS
    if largest is None and few and steps[-1] >= _NO_GROWTH:
        raise InvalidInput(
            f"the totals still grow at an age of {depth} bucket{'s' if depth > 1 else ''}, the last "
            f"that {_FEWEST_BUCKETS} buckets show: no data supports a tail. Add buckets, observe for "
            "longer, or say with largest=... when all have arrived."
        )
    wanted = None if largest is None else largest / width
    growth = growth_of(triangle)
    curve = _chain(growth, depth, wanted)
    unseen = curve.unseen
    check_unseen(unseen, depth, wanted)

    def resample(rng: np.random.Generator, number: int) -> Curves:
        """Buckets drawn with replacement; draws that do not show all steps are left out."""
        drawn: list[Curve] = []
        for _ in range(20):
            counts = rng.multinomial(
                len(triangle), np.full(len(triangle), 1 / len(triangle)), number
            )
            grown = growth_of(triangle, counts.astype(np.float64))
            for row in np.flatnonzero((grown.buckets[:, :depth] >= 1).all(axis=1)):
                each = _chain(Growth(*(part[row] for part in grown)), depth, wanted)
                if each.unseen <= 0.9:
                    drawn.append(each)
            if len(drawn) >= number:
                break
        drawn = (drawn or [curve])[:number]
        tails = None if wanted is not None else np.array([each.tail or 1.0 for each in drawn])
        return Curves(curve.times, np.array([each.alive for each in drawn]), tails, wanted)

    warnings = tail_warning(unseen, depth, wanted, curve.tail)
    rows = int(np.isfinite(triangle).sum())
    degrees = float(len(different) - 1)
    by_formula = mean_error(growth, _shares(growth)[0][: depth + 1])
    return Estimated(
        curve, resample, rows, wanted, warnings, degrees=degrees, stretch=_STRETCH,
        formula_error=by_formula,
    ), width  # fmt: skip


def _refuse_repeated(buckets: Floats, lags: NDArray[np.int64], totals: Floats) -> None:
    seen: dict[tuple[float, int], tuple[int, float]] = {}
    for row, (bucket, lag, total) in enumerate(zip(buckets, lags, totals, strict=True), start=1):
        first, known = seen.setdefault((float(bucket), int(lag)), (row, float(total)))
        if known != total:
            raise InvalidInput(
                f"rows {first} and {row} give different totals for one bucket at one as-of time; "
                "keep the right one."
            )


def _supported_depth(triangle: Floats, fewest: int | None = None) -> int:
    """The largest lag up to which every step of growth is seen in enough buckets."""
    if fewest is None:
        fewest = max(_FEWEST_BUCKETS, round(_SHARE_OF_BUCKETS * len(triangle)))
    both = _both_known(triangle).sum(axis=0)
    enough = both >= fewest
    return int(np.argmin(enough)) if not enough.all() else len(enough)


def _both_known(triangle: Floats) -> NDArray[np.bool_]:
    known = np.isfinite(triangle)
    both: NDArray[np.bool_] = known[:, 1:] & known[:, :-1]
    return both


def _arrived(growth: Growth) -> Floats:
    """The share of the last lag's total that is known at each lag: the chain-ladder estimate."""
    # Where there was nothing before, nothing had arrived.
    back = np.where(np.isfinite(growth.factors), 1 / np.maximum(growth.factors, 1e-300), 0.0)
    back = np.where(growth.factors == 0, 1.0, back)
    shares = np.append(np.cumprod(back[::-1])[::-1], 1.0)
    # Restatements may take some back; an arrived share that falls again is no delay.
    monotone: Floats = np.minimum.accumulate(np.clip(shares, 0.0, 1.0)[::-1])[::-1]
    return monotone


def _tail(arrived: Floats, growth: Growth) -> tuple[float, float]:
    """What comes after the last lag, and by how much it fades from one bucket to the next.

    What arrives from lag to lag is taken to fade geometrically, as the tail of an exponential delay does; a line through
    its logarithms, over the last steps, says how fast.
    """
    steps = np.diff(arrived)
    last = float(steps[-max(1, len(steps) // 3) :].sum())
    if last < _NO_GROWTH:
        return 0.0, 0.0
    places, heights, errors = _clear_steps(steps, arrived, growth)
    if len(places) < 2:
        return (1.0, 0.5) if last > _STILL_GROWING else (last, 0.5)
    weights = 1 / (_SHAPE_ERROR**2 + errors**2)
    heights = np.log(heights)
    middle, level = np.average(places, weights=weights), np.average(heights, weights=weights)
    slope = float(np.sum(weights * (places - middle) * (heights - level)))
    slope /= float(np.sum(weights * (places - middle) ** 2))
    ratio = float(np.exp(slope))
    if ratio >= 0.98:  # it does not fade
        return (1.0, 0.5) if last > _STILL_GROWING else (last, 0.5)
    return float(np.exp(level + slope * (len(steps) - middle))) / (1 - ratio), ratio


def _clear_steps(steps: Floats, arrived: Floats, growth: Growth) -> tuple[Floats, Floats, Floats]:
    """The last steps, joined until they are clear: where, what comes per bucket, its relative error."""
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
    late = joined[-max(_FEWEST_STEPS, round(_LATE_SHARE * len(joined))) :]
    lengths = np.array([to - at for at, to, _, _ in late], dtype=np.float64)
    places = np.array([(at + to - 1) / 2 for at, to, _, _ in late])
    heights = np.array([total for _, _, total, _ in late])
    relative = np.sqrt(np.array([each for *_, each in late])) / heights
    return places, heights / lengths, relative


def _shares(growth: Growth) -> tuple[Floats, float, float]:
    """The share that has arrived at each lag; the share after the last lag; how that fades."""
    shown = int(np.argmin(np.append(growth.buckets, 0.0) >= 1))  # in a draw the last may be missing
    growth = Growth(*(part[:shown] for part in growth))
    arrived = _arrived(growth)
    beyond, ratio = _tail(arrived, growth)
    return arrived / (1 + beyond), beyond / (1 + beyond), ratio


def _chain(growth: Growth, depth: int, largest: float | None) -> Curve:
    """The curve up to the lag `depth`; later lags, which few buckets show, are a part of the tail."""
    arrived, beyond, ratio = _shares(growth)
    alive = np.maximum(1 - arrived, 0.0)
    if beyond == 0:
        alive[-1] = 0.0
    unseen = float(alive[depth])
    # alive[l] is the mean of P(delay > x) over x from l to l + 1.
    times, levels = from_averages(alive[:depth], unseen)
    if unseen <= 0:
        return Curve(np.append(times, depth), np.append(levels, 0.0), largest=largest)
    times, levels = np.append(times, depth), np.append(levels, unseen)
    # The tail has the mean of what later lags show and what is beyond them.
    later = float(alive[depth:-1].sum()) + float(alive[-1]) / (1 - ratio)
    return Curve(times, levels, later / unseen if largest is None else None, largest)
