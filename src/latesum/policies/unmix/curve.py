"""What Unmix knows of the delay: bins of a curve, and how sure it is of their weights."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: The pieces of all bins, for compiled code: where the pieces of law l and bin g begin; per piece the lower
#: and the upper end and the weight of the uniform law; and after how many rounds all of a bin has arrived.
Pieces = tuple[Integers, Floats, Floats]

#: Edges of the bins, in mean delays, where the mean is told.
_EDGES = (0.0, 0.3, 0.7, 0.95, 1.05, 1.35, 2.2, 4.0, 8.0, 40.0)
_LEAST_PRIOR = 0.002
#: The prior of a delay whose mean is hardly known: rewards at once, and beyond 8 and 16 means.
_WIDE = 0.5
_ATOM_PRIOR = 0.05
_TAIL_EDGE = 16.0
_TAIL_PRIOR = (0.02, 0.01)
#: How many rewards the prior of the curve is worth.
_PRIOR_WEIGHT = 20.0
#: A known law is cut into at most this many uniform pieces.
_LAW_PIECES = 48


class DelayCurve(NamedTuple):
    """Bins of the delay's law, and the prior of their weights."""

    pieces: Pieces
    bin_means: Floats
    prior: Floats
    prior_weight: float
    told_mean: float
    told_sd: float  # 0: no mean was told
    laws: Integers  # which law each arm has
    highs: Floats  # the upper end of each bin

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return len(self.prior)


@functools.lru_cache(maxsize=256)
def told_mean(mean: float, uncertainty: float, n_arms: int, *, at_once: bool = True) -> DelayCurve:
    """The mean is known within a share `uncertainty`: bins around it, weights as of an exponential.

    Where the mean is hardly known, very late rewards are likelier, and with `at_once` rewards that come
    at once.

    >>> curve = told_mean(50.0, 0.1, 2)
    >>> curve.n_bins, curve.prior.round(3).tolist()[:3]
    (10, [0.002, 0.258, 0.243])
    """
    edges = np.array(_EDGES)
    masses = -np.diff(np.exp(-edges))
    if uncertainty >= _WIDE:  # then a part of the rewards may come at once, or very late
        edges = np.insert(edges, -1, _TAIL_EDGE)
        masses = np.append(masses[:-1], _TAIL_PRIOR)
    rounded = np.rint(edges * mean)
    lows, highs, prior = [0.0], [0.0], [_ATOM_PRIOR if uncertainty >= _WIDE and at_once else 0.0]
    for low, high, mass in zip(rounded[:-1], rounded[1:], masses, strict=True):
        if high <= low:  # rounds are too coarse for this bin
            prior[-1] += mass
            continue
        lows.append(float(low))
        highs.append(float(high))
        prior.append(float(mass))
    weights = np.maximum(np.array(prior), _LEAST_PRIOR)
    return _histogram(lows, highs, weights / weights.sum(), mean, uncertainty * mean, n_arms)


@functools.lru_cache(maxsize=256)
def known_laws(delays: tuple[Delay, ...]) -> DelayCurve:
    """The law is known, or one for each arm: one bin, nothing to learn.

    >>> from latesum.delays import parse
    >>> curve = known_laws((parse("constant(7)"), parse("constant(9)")))
    >>> curve.n_bins, curve.laws.tolist()
    (1, [0, 1])
    """
    different = list(dict.fromkeys(delays))
    offsets, lows, highs, weights = [0], [], [], []
    for delay in different:
        for low, high, weight in _uniform_pieces(delay):
            lows.append(low)
            highs.append(high)
            weights.append(weight)
        offsets.append(len(lows))
    pieces = (
        np.array([[start, end] for start, end in pairwise(offsets)]),
        np.array([lows, highs, weights]).T.copy(),
        np.array([[max(highs[start:end]) + 1] for start, end in pairwise(offsets)]),
    )
    laws = np.array([different.index(delay) for delay in delays])
    mean = max(delay.mean for delay in different)
    return DelayCurve(
        pieces, np.array([mean]), np.ones(1), 1.0, mean, 0.0, laws,
        np.array([max(highs)]),
    )  # fmt: skip


def _histogram(
    lows: Sequence[float], highs: Sequence[float], prior: Floats, mean: float, sd: float, n_arms: int,
) -> DelayCurve:  # fmt: skip
    low, high = np.array(lows), np.array(highs)
    means = np.where(high > 0, (low + high + 1) / 2, 0.0)
    pieces = (
        np.arange(len(low) + 1)[None, :].copy(),
        np.array([low, high, np.ones(len(low))]).T.copy(),
        high[None, :] + 1,
    )
    laws = np.zeros(n_arms, dtype=np.int64)
    return DelayCurve(pieces, means, prior, _PRIOR_WEIGHT, mean, sd, laws, high)


def _uniform_pieces(delay: Delay) -> list[tuple[float, float, float]]:
    """The law as uniform laws on (low, high] with weights; what comes latest is cut off."""
    shares = np.linspace(0, 1, _LAW_PIECES + 1)[1:-1]
    tail = 1 - np.geomspace(1 / _LAW_PIECES, 1e-4, 8)
    edges = [0, *sorted({delay.quantile(float(share)) for share in [*shares, *tail]} - {0})]
    if delay.bound is not None and delay.bound > edges[-1]:
        edges.append(delay.bound)
    reached = [float(delay.cdf(edge)) for edge in edges]
    found = [(0.0, 0.0, reached[0])] if reached[0] > 0 else []
    for low, high, before, after in zip(
        edges[:-1], edges[1:], reached[:-1], reached[1:], strict=True
    ):
        # A jump at the end of a piece, as a constant delay has, is a piece of its own.
        jump = float(delay.cdf(high)) - float(delay.cdf(high - 1))
        if high - low > 1 and jump > (after - before) / 2:
            found.append((float(low), float(high - 1), after - before - jump))
            found.append((float(high - 1), float(high), jump))
        else:
            found.append((float(low), float(high), after - before))
    total = math.fsum(weight for *_, weight in found)
    return [(low, high, weight / total) for low, high, weight in found if weight > 0]
