"""What Unmix knows of the delay: bins of a curve, and how sure it is of their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: The pieces of all bins, for compiled code: where the pieces of law l and bin g begin, and the
#: ends and weights of the uniform laws.
Pieces = tuple[Integers, Floats, Floats, Floats]

#: Edges of the bins, in mean delays, where the mean is told.
_EDGES = (0.0, 0.3, 0.7, 0.95, 1.05, 1.35, 2.2, 4.0, 8.0, 40.0)
_LEAST_PRIOR = 0.002
#: How many rewards the prior of the curve is worth where the mean is told, and where nothing is.
_TOLD_WEIGHT = 20.0
_UNTOLD_WEIGHT = 2.0
#: Where nothing is told, each bin is this much wider than the one before.
_UNTOLD_RATIO = 2.2
_LEAST_UNTOLD_PRIOR = 1e-4
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
    reach: float  # after this many rounds everything has arrived
    lows: Floats  # the ends of each bin
    highs: Floats

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return len(self.prior)

    def length_scale(self, theta: Floats) -> float:
        """E min(tau, q90) under the weights `theta`: the mean without the tail that cannot be seen."""
        reached = np.cumsum(theta)
        g = min(int(np.searchsorted(reached, 0.9)), self.n_bins - 1)
        before = reached[g - 1] if g else 0.0
        share = min(max((0.9 - before) / max(theta[g], 1e-12), 0.0), 1.0)
        quantile = self.lows[g] + share * (self.highs[g] - self.lows[g])
        from latesum.policies.unmix import design_kernels as kernels

        return float(
            sum(theta[h] * kernels.outstanding(quantile, self.pieces, 0, h) for h in range(self.n_bins))
        )


def told_mean(mean: float, uncertainty: float, n_arms: int) -> DelayCurve:
    """The mean is known within a share `uncertainty`: bins around it, weights as of an exponential.

    >>> curve = told_mean(50.0, 0.1, 2)
    >>> curve.n_bins, curve.prior.round(3).tolist()[:3]
    (10, [0.002, 0.258, 0.243])
    """
    rounded = np.rint(np.array(_EDGES) * mean)
    masses = -np.diff(np.exp(-np.array(_EDGES)))
    lows, highs, prior = [0.0], [0.0], [0.0]
    for low, high, mass in zip(rounded[:-1], rounded[1:], masses, strict=True):
        if high <= low:  # rounds are too coarse for this bin
            prior[-1] += mass
            continue
        lows.append(float(low))
        highs.append(float(high))
        prior.append(float(mass))
    weights = np.maximum(np.array(prior), _LEAST_PRIOR)
    return _histogram(
        lows, highs, weights / weights.sum(), _TOLD_WEIGHT, mean, uncertainty * mean, n_arms
    )


def told_nothing(horizon: int, n_arms: int) -> DelayCurve:
    """Bins of growing width up to a twentieth of the horizon; `untold_prior` gives their weights.

    >>> told_nothing(10_000, 2).highs.tolist()
    [0.0, 1.0, 2.0, 4.0, 9.0, 20.0, 44.0, 97.0, 213.0, 469.0, 1032.0]
    """
    lows, highs = [0.0, 0.0], [0.0, 1.0]
    while highs[-1] < horizon / 20:
        lows.append(highs[-1])
        highs.append(max(highs[-1] + 1, float(round(highs[-1] * _UNTOLD_RATIO))))
    prior = np.full(len(lows), 1.0 / len(lows))
    return _histogram(lows, highs, prior, _UNTOLD_WEIGHT, 0.0, 0.0, n_arms)


def untold_prior(curve: DelayCurve, clock: int) -> Floats:
    """Equal weights of the bins that could have been seen by now."""
    possible = curve.bin_means <= max(16.0, clock / 4)
    prior = np.where(possible, 1.0, _LEAST_UNTOLD_PRIOR * possible.sum())
    return prior / prior.sum()


def known_laws(delays: Sequence[Delay]) -> DelayCurve:
    """The law is known, or one for each arm: one bin, nothing to learn.

    >>> from latesum.delays import parse
    >>> curve = known_laws([parse("constant(7)"), parse("constant(9)")])
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
        np.array([[start, end] for start, end in zip(offsets[:-1], offsets[1:], strict=True)]),
        np.array(lows),
        np.array(highs),
        np.array(weights),
    )
    laws = np.array([different.index(delay) for delay in delays])
    mean = max(delay.mean for delay in different)
    return DelayCurve(
        pieces, np.array([mean]), np.ones(1), 1.0, mean, 0.0, laws, max(highs) + 2.0,
        np.zeros(1), np.array([max(highs)]),
    )  # fmt: skip


def _histogram(
    lows: Sequence[float], highs: Sequence[float], prior: Floats, prior_weight: float,
    mean: float, sd: float, n_arms: int,
) -> DelayCurve:  # fmt: skip
    low, high = np.array(lows), np.array(highs)
    means = np.where(high > 0, (low + high + 1) / 2, 0.0)
    pieces = (np.arange(len(low) + 1)[None, :].copy(), low, high, np.ones(len(low)))
    laws = np.zeros(n_arms, dtype=np.int64)
    return DelayCurve(
        pieces, means, prior, prior_weight, mean, sd, laws, float(high.max()) + 2.0, low, high
    )


def _uniform_pieces(delay: Delay) -> list[tuple[float, float, float]]:
    """The law as uniform laws on (low, high] with weights; what comes latest is cut off."""
    shares = np.linspace(0, 1, _LAW_PIECES + 1)[1:-1]
    tail = 1 - np.geomspace(1 / _LAW_PIECES, 1e-4, 8)
    edges = [0, *sorted({delay.quantile(float(share)) for share in [*shares, *tail]} - {0})]
    if delay.bound is not None and delay.bound > edges[-1]:
        edges.append(delay.bound)
    reached = [float(delay.cdf(edge)) for edge in edges]
    found = [(0.0, 0.0, reached[0])] if reached[0] > 0 else []
    for low, high, before, after in zip(edges[:-1], edges[1:], reached[:-1], reached[1:], strict=True):
        # A jump at the end of a piece, as a constant delay has, is a piece of its own.
        jump = float(delay.cdf(high)) - float(delay.cdf(high - 1))
        if high - low > 1 and jump > (after - before) / 2:
            found.append((float(low), float(high - 1), after - before - jump))
            found.append((float(high - 1), float(high), jump))
        else:
            found.append((float(low), float(high), after - before))
    total = math.fsum(weight for *_, weight in found)
    return [(low, high, weight / total) for low, high, weight in found if weight > 0]
