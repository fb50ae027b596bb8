"""Shapes of the delay, and the lag weights: how a bucket's sales spread over the buckets after it.

Every delay is a shape of mean 1 times a mean in buckets, so that the mean can be learned whatever
the shape is. A shape is the table of A(x), the integral of P(delay > u) from 0 to x.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay
from latesum.markets.arrival_kernels import STEPS, arrived_shares
from latesum.markets.config import DelayPrior

Floats = NDArray[np.float64]

#: Tables end after this many mean delays.
_LONGEST = 64
#: The two-part delay: this share of the sales comes nearly at once, after this part of the mean.
_AT_ONCE, _AT_ONCE_MEAN = 0.7, 0.15


@functools.lru_cache(maxsize=64)
def shape_of(law: Delay | None) -> Floats:
    """The shape of a delay in rounds; None is exponential.

    >>> from latesum import delays
    >>> shape = shape_of(delays.constant(100))
    >>> float(shape[128]), float(shape[-1])  # half a mean delay; all of it
    (0.5, 1.0)
    """
    if law is None or law.mean <= 0:
        return _exponentials((1.0, 1.0))
    mean = law.mean
    end = int(np.ceil(_LONGEST * mean)) if law.bound is None else law.bound + 1
    end = max(min(end, int(_LONGEST * mean) + 1), 1)
    # P(delay > u) of a delay in whole rounds is a step function, so A is linear between rounds.
    rounds = np.unique(np.linspace(0, end, min(end, 1 << 20) + 1).astype(np.int64))
    parts = np.diff(rounds) * law.survival(rounds[:-1])
    whole = np.concatenate([[0.0], np.cumsum(parts)]) / mean
    at = np.arange(0, end / mean + 1 / STEPS, 1 / STEPS)
    table = np.interp(at * mean, rounds, whole)
    return np.append(table, table[-1])


@functools.cache
def two_part_shape() -> Floats:
    """A part of the sales nearly at once, and the rest late."""
    late = (1 - _AT_ONCE * _AT_ONCE_MEAN) / (1 - _AT_ONCE)
    return _exponentials((_AT_ONCE, _AT_ONCE_MEAN), (1 - _AT_ONCE, late))


def _exponentials(*parts: tuple[float, float]) -> Floats:
    """The shape of a mixture of exponential delays, each with its share and its mean."""
    at = np.arange(0, _LONGEST, 1 / STEPS)
    table: Floats = sum(
        (-share * mean * np.expm1(-at / mean) for share, mean in parts), np.zeros(len(at))
    )
    return table


def lag_weights(delay: DelayPrior, most: int = 400) -> Floats:
    """g_0, g_1, ...: the share of a bucket's sales that arrives 0, 1, ... buckets after it.

    Args:
        delay: The delay in buckets.
        most: The largest number of weights; they end where less than 1e-4 is left.

    >>> lag_weights(DelayPrior(2.0))[:3].round(3)
    array([0.213, 0.31 , 0.188])
    """
    return np.diff(arrived_shares(delay.mean, most, shape_of(delay.law)), prepend=0.0)
