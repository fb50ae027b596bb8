"""Lag weights: how a bucket's sales spread over the buckets after it.

Every delay is a shape of mean 1 times a mean in buckets, so that the mean can be learned whatever
the shape is.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay
from latesum.markets.arrival_kernels import arrived_shares, count_lags
from latesum.markets.config import ToldDelay

Floats = NDArray[np.float64]

#: Tables of a shape have this many steps per mean delay, ...
_STEPS = 64
#: ... and end after this many mean delays.
_LONGEST = 64


class Shape(NamedTuple):
    """A delay of mean 1: A(x), the integral of P(delay > u) from 0 to x, at x = 0, step, 2 step, ...

    Args:
        table: The values of A; empty for the exponential delay, which has a formula.
        step: How far apart they are.
    """

    table: Floats
    step: float


EXPONENTIAL = Shape(np.empty(0), 1.0)


@functools.lru_cache(maxsize=64)
def shape_of(law: Delay | None) -> Shape:
    """The shape of a delay.

    Args:
        law: The delay, in rounds; None is exponential.

    >>> from latesum import delays
    >>> shape = shape_of(delays.constant(100))
    >>> float(shape.table[32]), float(shape.table[-1])       # half a mean delay; all of it
    (0.5, 1.0)
    """
    if law is None or law.mean <= 0:
        return EXPONENTIAL
    mean = law.mean
    end = int(np.ceil(_LONGEST * mean)) if law.bound is None else law.bound + 1
    end = max(min(end, int(_LONGEST * mean) + 1), 1)
    # P(delay > u) of a delay in whole rounds is a step function, so A is linear between rounds.
    rounds = np.unique(np.linspace(0, end, min(end, 1 << 20) + 1).astype(np.int64))
    parts = np.diff(rounds) * law.survival(rounds[:-1])
    whole = np.concatenate([[0.0], np.cumsum(parts)]) / mean
    at = np.arange(0, end / mean + 1 / _STEPS, 1 / _STEPS)
    table = np.interp(at * mean, rounds, whole)
    return Shape(np.append(table, table[-1]), 1 / _STEPS)


def lag_weights(delay: ToldDelay, most: int = 400) -> Floats:
    """g_0, g_1, ...: the share of a bucket's sales that arrives 0, 1, ... buckets after it.

    Args:
        delay: The delay in buckets.
        most: The largest number of weights; they end where less than 1e-4 is left.

    >>> lag_weights(ToldDelay(2.0))[:3].round(4)
    array([0.2131, 0.3096, 0.1878])
    """
    shape = shape_of(delay.law)
    lags = count_lags(delay.mean, most, *shape)
    arrived: Floats = arrived_shares(delay.mean, lags, *shape)
    return np.diff(arrived, prepend=0.0)
