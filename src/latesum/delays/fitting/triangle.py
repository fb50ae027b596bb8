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
from latesum.delays.fitting.curve import Curve
from latesum.delays.fitting.result import Estimated
from latesum.delays.fitting.tails import check_unseen, tail_warning

#: A step of growth is estimated from at least this number of buckets, and from this share of them.
_FEWEST_BUCKETS = 3
_SHARE_OF_BUCKETS = 0.1
#: Growth in the last lags below this share of the total is no growth.
_NO_GROWTH = 0.001
#: From this number of steps on, it can be seen how growth fades.
_FEWEST_STEPS = 3
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
    triangle = triangle[:, : depth + 1]
    growth = np.diff(_arrived(triangle))
    if largest is None and len(growth) < _FEWEST_STEPS and growth[-1] >= _NO_GROWTH:
        raise InvalidInput(
            f"the totals still grow at an age of {depth} bucket{'s' if depth > 1 else ''}, the last "
            f"that {_FEWEST_BUCKETS} buckets show: no data supports a tail. Add buckets, observe for "
            "longer, or say with largest=... when all have arrived."
        )
    wanted = None if largest is None else largest / width
    curve = _chain(triangle, wanted)
    unseen = curve.unseen
    check_unseen(unseen, depth, wanted)

    def resample(rng: np.random.Generator) -> Curve:
        for _ in range(20):
            rows = triangle[rng.integers(0, len(triangle), len(triangle))]
            if _supported_depth(rows, fewest=1) >= depth:
                drawn = _chain(rows, wanted)
                if drawn.unseen <= 0.9:
                    return drawn
        return curve

    warnings = tail_warning(unseen, depth, wanted, curve.tail)
    bound = wanted if wanted is not None else (float(depth) if unseen == 0 else None)
    rows = int(np.isfinite(triangle).sum())
    degrees = float(len(different) - 1)
    return Estimated(curve, resample, rows, bound, warnings, degrees=degrees), width


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


def _arrived(triangle: Floats) -> Floats:
    """The share of the last lag's total that is known at each lag: the chain-ladder estimate."""
    both = _both_known(triangle)
    before = np.where(both, triangle[:, :-1], 0.0).sum(axis=0)
    after = np.where(both, triangle[:, 1:], 0.0).sum(axis=0)
    back = np.divide(before, after, out=np.ones_like(before), where=after > 0)
    shares = np.append(np.cumprod(back[::-1])[::-1], 1.0)
    # Restatements may take some back; an arrived share that falls again is no delay.
    monotone: Floats = np.minimum.accumulate(np.clip(shares, 0.0, 1.0)[::-1])[::-1]
    return monotone


def _tail(arrived: Floats) -> tuple[float, float]:
    """What comes after the last lag, and how much later, by how growth fades near the end."""
    growth = np.diff(arrived)
    half = max(1, len(growth) // 3)
    later = float(growth[-half:].sum())
    # A single step does not show whether growth fades.
    earlier = float(growth[-2 * half : -half].sum()) if len(growth) > 1 else later
    if later < _NO_GROWTH:
        return 0.0, 1.0
    if later >= 0.98 * earlier:  # it does not fade
        if later > _STILL_GROWING:
            return 1.0, 1.0  # nothing can be said
        return later, float(half)
    ratio = later / earlier
    return later * ratio / (1 - ratio), -half / np.log(ratio)


def _chain(triangle: Floats, largest: float | None) -> Curve:
    arrived = _arrived(triangle)
    beyond, pace = _tail(arrived)
    alive = np.maximum(1 - arrived / (1 + beyond), 0.0)
    # alive[l] is the mean of P(delay > x) over x from l to l + 1; as a step function it has the
    # right mean. What comes within its own bucket is taken to come at once.
    depth = len(alive) - 1
    times = np.concatenate([[0.0], np.repeat(np.arange(1.0, depth + 1), 2)])
    levels = np.concatenate([np.repeat(alive[:-1], 2), alive[-1:]])
    if beyond == 0:
        levels[-1] = 0.0
        return Curve(times, levels, largest=largest)
    return Curve(times, levels, pace if largest is None else None, largest)
