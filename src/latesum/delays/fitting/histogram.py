"""Histogram: the delay from counts in bins, the last of which may be open."""

from __future__ import annotations

import numpy as np

from latesum._checks import InvalidInput
from latesum.delays.curves import Curve, Floats, smooth_pieces
from latesum.delays.fitting.result import Estimated

#: The pace of the tail is that of the last closed bins which hold this share of what reached them.
_SHARE_FOR_PACE = 0.4


def fit_histogram(starts: Floats, ends: Floats, counts: Floats) -> Estimated:
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

    def surviving_at(shares: Floats) -> Floats:
        """What survives at each edge; along the last axis."""
        gone = np.cumsum(shares, axis=-1)[..., : len(edges) - 1]
        surviving = np.concatenate([np.ones((*shares.shape[:-1], 1)), 1 - gone], axis=-1).clip(0.0)
        surviving[surviving < 1e-12] = 0.0
        return surviving

    def paces(surviving: Floats) -> Floats | None:
        if not is_open:
            return None
        return np.array([_pace_of_the_end(edges, each) for each in surviving])

    shares = counts / total
    surviving = surviving_at(shares)
    pace = paces(surviving[None])
    tail = None if pace is None else float(pace[0])
    curve = Curve(*smooth_pieces(edges, surviving), tail)

    def resample(rng: np.random.Generator, number: int) -> Curve:
        drawn = surviving_at(rng.multinomial(int(total), shares, size=number) / int(total))
        return Curve(*smooth_pieces(edges, drawn), paces(drawn))

    # Where in its bin a delay is, no histogram says: the limits allow another way to spread them.
    other = Curve(edges, surviving, tail)
    basis, numbers = f"a histogram of {int(total):,} delays", np.full(len(curve.times), total)
    return Estimated(curve, resample, basis, int(total), [], other=other, numbers=numbers)


def _pace_of_the_end(edges: Floats, surviving: Floats) -> float:
    """How long the delays go on for on average, by the hazard of the last closed bins."""
    end = max(surviving[-1], 1e-300)
    for start in range(len(edges) - 2, -1, -1):
        fallen = 1 - surviving[-1] / surviving[start] if surviving[start] > 0 else 0.0
        if fallen >= _SHARE_FOR_PACE or start == 0:
            pace = np.log(max(surviving[start], end) / end)
            return float((edges[-1] - edges[start]) / max(pace, 1e-12))
    return float(edges[-1])
