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
from latesum.delays.fitting.averages import from_averages
from latesum.delays.fitting.curve import Curve
from latesum.delays.fitting.fading import FEWEST_STEPS, NO_GROWTH, GrowthSteps, clear_steps, fading
from latesum.delays.fitting.mack import Growth, growth_of, mean_error
from latesum.delays.fitting.resampled import Curves
from latesum.delays.fitting.result import Estimated
from latesum.delays.fitting.tails import check_unseen, tail_warning

#: A step of growth is estimated from at least this number of buckets, and from this share of them.
_FEWEST_BUCKETS = 3
_SHARE_OF_BUCKETS = 0.1
#: Limits from some dozens of buckets that are drawn again are too short by about this factor.
_STRETCH = 1.1
#: Draws that leave more than this unseen say nothing.
_MOST_UNSEEN = 0.9


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
    few = triangle.shape[1] - 1 < FEWEST_STEPS
    if largest is None and few and steps[-1] >= NO_GROWTH:
        raise InvalidInput(
            f"the totals still grow at an age of {depth} bucket{'s' if depth > 1 else ''}, the last "
            f"that {_FEWEST_BUCKETS} buckets show: no data supports a tail. Add buckets, observe for "
            "longer, or say with largest=... when all have arrived."
        )
    wanted = None if largest is None else largest / width
    growth = growth_of(triangle)
    arrived = _arrived(growth)
    late = clear_steps(arrived, growth)
    whole = _chains(arrived[None], late, depth, wanted)
    curve = Curve(whole.times, whole.alive[0], _tail(whole), wanted)
    unseen = curve.unseen
    check_unseen(unseen, depth, wanted)

    def resample(rng: np.random.Generator, number: int) -> Curves:
        """Buckets drawn with replacement, the data first; those that leave nearly all unseen are left out."""
        even = np.full(len(triangle), 1 / len(triangle))
        counts = rng.multinomial(len(triangle), even, number).astype(np.float64)
        drawn = _arrived(_filled(growth_of(triangle, counts), growth, rng))
        found = _chains(np.concatenate([arrived[None], drawn]), late, depth, wanted, rng)
        kept = np.flatnonzero(found.unseen <= _MOST_UNSEEN)
        tails = None if found.tails is None else found.tails[kept]
        return Curves(found.times, found.alive[kept], tails, wanted)

    warnings = tail_warning(unseen, depth, wanted, curve.tail)
    rows = int(np.isfinite(triangle).sum())
    degrees = float(len(different) - 1)
    shares = arrived / (1 + fading(arrived[None], late).beyond[0])
    by_formula = mean_error(growth, shares[: depth + 1])
    return Estimated(
        curve, resample, rows, wanted, warnings, degrees=degrees, skew=True,
        stretch=_STRETCH, formula_error=by_formula,
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


def _filled(drawn: Growth, data: Growth, rng: np.random.Generator) -> Growth:
    """What was drawn, where buckets vary; with Mack's error where fewer than three show a step."""
    relative = np.nan_to_num(data.errors / np.maximum(data.factors, 1e-300))
    noise = np.exp(np.minimum(relative, 1.0) * rng.standard_normal(drawn.factors.shape))
    few = (data.buckets < _FEWEST_BUCKETS) | (drawn.buckets < 1)
    return drawn._replace(factors=np.where(few, data.factors * noise, drawn.factors))


def _arrived(growth: Growth) -> Floats:
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
    arrived: Floats, late: GrowthSteps, depth: int, largest: float | None,
    rng: np.random.Generator | None = None,
) -> Curves:  # fmt: skip
    """The curves up to the lag `depth`; later lags, which few buckets show, are a part of the tail."""
    tail = fading(arrived, late, rng)
    alive = np.maximum(1 - arrived / (1 + tail.beyond[:, None]), 0.0)
    alive[tail.beyond == 0, -1] = 0.0
    unseen = alive[:, depth]
    # alive[l] is the mean of P(delay > x) over x from l to l + 1.
    times, levels = from_averages(alive[:, :depth], unseen)
    times, levels = np.append(times, depth), np.column_stack([levels, unseen])
    if largest is not None:
        return Curves(times, levels, None, largest)
    # The tail has the mean of what later lags show and what is beyond them.
    later = alive[:, depth:-1].sum(axis=1) + alive[:, -1] * tail.later
    tails = np.divide(later, unseen, out=np.ones_like(later), where=unseen > 0)
    return Curves(times, levels, np.maximum(tails, 1e-12), largest)


def _tail(curves: Curves) -> float | None:
    """That of the first, if anything is left."""
    return None if curves.tails is None or curves.unseen[0] <= 0 else float(curves.tails[0])
