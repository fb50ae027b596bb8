"""The delay curves of Unmix: bins of the delay's distribution, and the prior of their weights."""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay
from latesum.policies.unmix.segments import Floats

#: How many times as late as the others an arm's rewards may be.
DELAY_RATIOS = (1.5, 2.0, 3.0)
#: How many rewards the prior of the weights is worth.
PRIOR_WEIGHT = 20.0

# What follows makes up the family of curves.
#: Edges of the bins, in mean delays; the last but one only where the mean is a guess.
_EDGES = (0.0, 0.3, 0.7, 0.95, 1.05, 1.35, 2.2, 4.0, 8.0, 16.0, 40.0)
#: The standard deviation of a mean that is only a guess, as a share of it.
WIDE = 0.5
#: The prior of very late rewards where the mean is a guess: after 8 and after 16 means.
_TAIL = (0.02, 0.01)
_LEAST_PRIOR = 0.002
#: A known distribution is cut into at most this many uniform pieces.
_PIECES = 48


class DelayCurve(NamedTuple):
    """The delay as a mixture of bins with unknown weights, of all arms or of each.

    A distribution has pieces: uniform on low + 1, ..., high, or 0 where both are 0; with their
    weight in a bin, and its number.
    """

    distributions: tuple[Floats, ...]
    laws: NDArray[np.int64]  # which of them each arm's rewards have
    bins: Floats  # the rows are those of `model_kernels`


def delay_factors() -> tuple[float, ...]:
    """How many times as late rewards are by each distribution of `mean_known`."""
    return (1.0, *DELAY_RATIOS, *(1.0 / factor for factor in DELAY_RATIOS))


@functools.lru_cache(maxsize=512)
def mean_known(mean: float, uncertainty: float, n_arms: int, *, atom: float = 0.0) -> DelayCurve:
    """A mean that is known within a share `uncertainty`: weights as of an exponential.

    Where it is only a guess, very late rewards are likelier, and those at once by `atom`. There
    is one distribution for each of the `delay_factors`; all arms have the first.

    >>> curve = mean_known(50.0, 0.1, 2)
    >>> curve.bins[0].round(3).tolist()[:3]
    [0.002, 0.258, 0.243]
    """
    edges = np.array(_EDGES if uncertainty >= WIDE else (*_EDGES[:-2], _EDGES[-1]))
    masses = -np.diff(np.exp(-edges))
    if uncertainty >= WIDE:
        masses[-2:] = _TAIL
    rounded = np.rint(edges * mean)
    pieces, prior = [(0.0, 0.0, 1.0, 0.0)], [atom]
    for low, high, mass in zip(rounded[:-1], rounded[1:], masses, strict=True):
        if high <= low:  # rounds are too coarse for this bin
            prior[-1] += mass
            continue
        pieces.append((float(low), float(high), 1.0, float(len(pieces))))
        prior.append(float(mass))
    weights = np.maximum(np.array(prior), _LEAST_PRIOR)
    weights /= weights.sum()
    table = np.array(pieces)
    means = np.where(table[:, 1] > 0, (table[:, 0] + table[:, 1] + 1) / 2, 0.0)
    given = np.full((2, len(table)), [[mean], [uncertainty * mean]])
    bins = np.vstack([weights, PRIOR_WEIGHT / weights, means, table[:, 1], given])
    distributions = tuple(_rescaled(table, factor) for factor in delay_factors())
    laws = np.zeros(n_arms, dtype=np.int64)
    return DelayCurve(distributions, laws, bins)


def _rescaled(pieces: Floats, factor: float) -> Floats:
    found = pieces.copy()
    found[:, :2] = np.rint(pieces[:, :2] * factor)
    found[1:, 1] = np.maximum(found[1:, 1], found[1:, 0] + 1)  # rounds may be too coarse
    return found


@functools.lru_cache(maxsize=256)
def distribution_known(delays: tuple[Delay, ...]) -> DelayCurve:
    """The distribution of each arm is known: one bin, nothing to learn.

    >>> from latesum.delays import parse
    >>> curve = distribution_known((parse("constant(7)"), parse("constant(9)")))
    >>> curve.laws.tolist(), [pieces[:, :2].tolist() for pieces in curve.distributions]
    ([0, 1], [[[6.0, 7.0]], [[8.0, 9.0]]])
    """
    different = list(dict.fromkeys(delays))
    pieces = tuple(np.array([(*piece, 0.0) for piece in _pieces_of(each)]) for each in different)
    laws = np.array([different.index(delay) for delay in delays])
    mean = max(delay.mean for delay in different)
    end = max(float(each[:, 1].max()) for each in pieces)
    bins = np.array([[1.0], [PRIOR_WEIGHT], [mean], [end], [mean], [0.0]])
    return DelayCurve(pieces, laws, bins)


def _pieces_of(delay: Delay) -> list[tuple[float, float, float]]:
    """The distribution as uniform pieces with weights; what comes latest is cut off."""
    shares = np.linspace(0, 1, _PIECES + 1)[1:-1]
    tail = 1 - np.geomspace(1 / _PIECES, 1e-4, 8)
    edges = [0, *sorted({delay.quantile(float(share)) for share in [*shares, *tail]} - {0})]
    if delay.bound is not None and delay.bound > edges[-1]:
        edges.append(delay.bound)
    reached = [float(delay.cdf(edge)) for edge in edges]
    found = [(0.0, 0.0, reached[0])]
    for (low, high), (before, after) in zip(pairwise(edges), pairwise(reached), strict=True):
        # A jump at the end of a piece, as a constant delay has, is a piece of its own.
        jump = float(delay.cdf(high)) - float(delay.cdf(high - 1))
        if high - low > 1 and jump > (after - before) / 2:
            found.append((float(low), float(high - 1), after - before - jump))
            found.append((float(high - 1), float(high), jump))
        else:
            found.append((float(low), float(high), after - before))
    total = math.fsum(weight for *_, weight in found)
    return [(low, high, weight / total) for low, high, weight in found if weight > 0]


@functools.lru_cache(maxsize=256)
def mean_difference(delay: Delay) -> float:
    """E|x - y| of two delays: how many plays a visit loses to late rewards.

    >>> from latesum.delays import parse
    >>> mean_difference(parse("constant(7)")), round(mean_difference(parse("exponential(50)")))
    (0.0, 50)
    """
    n = 200
    values = delay.quantiles((np.arange(n) + 0.5) / n)
    return float(2 / n**2 * np.sum((2 * np.arange(1, n + 1) - n - 1) * values))
