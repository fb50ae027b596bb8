"""A histogram of delays whose last bin may be open, as advertising platforms give it."""

from __future__ import annotations

import numpy as np

from latesum._checks import InvalidInput
from latesum.delays.base import Floats
from latesum.delays.fitting.curve import Curve, exponential_pieces
from latesum.delays.fitting.result import Estimated
from latesum.delays.fitting.tails import check_unseen, tail_warning

#: The pace of the tail is that of the last closed bins which hold this share of what reached them.
_SHARE_FOR_PACE = 0.4


def fit_histogram(starts: Floats, ends: Floats, counts: Floats, largest: float | None) -> Estimated:
    """From bins [start, end) with counts; an infinite last end means that the bin is open."""
    order = np.argsort(starts)
    starts, ends, counts = starts[order], ends[order], counts[order]
    if (ends <= starts).any():
        raise InvalidInput("every bin must end after it starts.")
    if not np.allclose(ends[:-1], starts[1:]):
        raise InvalidInput("the bins must follow each other: each starts where the last one ended.")
    total = float(counts.sum())
    if total < 2 or counts[np.isfinite(ends)].sum() <= 0:
        raise InvalidInput("the histogram holds no delays that have ended.")
    is_open = bool(np.isinf(ends[-1]))
    edges = np.append(starts, ends[-1])[: len(starts) + (0 if is_open else 1)]
    until = float(edges[-1])

    def curve_of(shares: Floats, straight: bool = False) -> Curve:
        alive = np.append(1.0, 1 - np.cumsum(shares))[: len(edges)].clip(0.0)
        if not is_open:
            alive[-1] = 0.0
        pace = _pace_of_the_end(edges, alive) if is_open and largest is None else None
        times, levels = (edges, alive) if straight else exponential_pieces(edges, alive)
        return Curve(times, levels, pace, largest)

    shares = counts / total
    unseen = float(shares[-1]) if is_open else 0.0
    check_unseen(unseen, until, largest)
    curve = curve_of(shares)
    # Where in its bin a delay is, no histogram says: the two ways to spread them differ by this.
    inside = abs(curve_of(shares, straight=True).mean - curve.mean)

    def resample(rng: np.random.Generator) -> Curve:
        return curve_of(rng.multinomial(int(total), shares) / int(total))

    bound = largest if largest is not None else (None if is_open else until)
    warnings = tail_warning(unseen, until, largest, curve.tail)
    return Estimated(curve, resample, int(total), bound, warnings, allowance=inside)


def _pace_of_the_end(edges: Floats, alive: Floats) -> float:
    """How long the delays go on for on average, by the hazard of the last closed bins."""
    end = max(alive[-1], 1e-300)
    for start in range(len(edges) - 2, -1, -1):
        fallen = 1 - alive[-1] / alive[start] if alive[start] > 0 else 0.0
        if fallen >= _SHARE_FOR_PACE or start == 0:
            pace = np.log(max(alive[start], end) / end)
            return float((edges[-1] - edges[start]) / max(pace, 1e-12))
    return float(edges[-1])
