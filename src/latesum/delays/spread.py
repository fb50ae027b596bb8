"""The mean absolute difference of two independent delays, W = E|tau - tau'|.

It is the sum over k of 2 P(tau > k) P(tau <= k). What one visit to an arm among others wastes of its plays is
W, not the mean delay (`docs/theory.md`, the visit lemma).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Survival = Callable[[ArrayLike], Floats]

#: Up to here every round is summed.
_EXACT = 1 << 20
_CHUNK = 1 << 16
#: Beyond, blocks grow by this factor, ...
_GROWTH = 1 + 2.0**-8
#: ... and are halved where the survival function falls by more than this share within one.
_LARGEST_FALL = 0.01
#: What is less than this share of the whole is not looked at more closely.
_NEGLIGIBLE = 1e-12
_LAST = float(1 << 62)


def summed_spread(survival: Survival, bound: int | None) -> float:
    """W from the survival function; infinite where the mean is.

    The first million rounds are summed one by one. Beyond them blocks of rounds take the mean of
    the terms at their two ends, which is off by less than one in 10,000 of what they add; beyond
    2^62 rounds the tail is taken for a power of k.

    Args:
        survival: P(tau > k) for whole k.
        bound: The largest delay, or None.

    >>> from latesum import delays
    >>> delay = delays.uniform(0, 100)
    >>> round(summed_spread(delay.survival, 100), 3), round((101**2 - 1) / (3 * 101), 3)
    (33.663, 33.663)
    """
    end = _LAST if bound is None else float(bound)
    total = 0.0
    for start in range(0, int(min(end, _EXACT)), _CHUNK):
        alive = survival(np.arange(start, min(start + _CHUNK, int(min(end, _EXACT)))))
        total += 2 * float((alive * (1 - alive)).sum())
        if alive[-1] == 0:
            return total
    if end <= _EXACT:
        return total
    return total + _in_blocks(survival, float(_EXACT), end, total) + _beyond(survival, bound)


def _in_blocks(survival: Survival, start: float, end: float, before: float) -> float:
    """The sum over k from `start` to `end`, the last one left out."""
    steps = math.ceil(math.log(end / start) / math.log(_GROWTH))
    edges = np.unique(np.floor(np.append(np.geomspace(start, end, steps + 1)[:-1], end)))
    low, high = edges[:-1], edges[1:]
    total = 0.0
    while len(low):
        # A block holds the rounds low, ..., high - 1.
        first, last = survival(low), survival(high - 1)
        at_most = 2 * (high - low) * first
        coarse = (
            (high - low > 2)
            & (first - last > _LARGEST_FALL * first)
            & (at_most > _NEGLIGIBLE * (before + total))
        )
        fine = ~coarse
        terms = first * (1 - first) + last * (1 - last)
        total += float(((high - low) * terms)[fine].sum())
        low, high = low[coarse], high[coarse]
        middle = np.floor((low + high) / 2)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return total


def _beyond(survival: Survival, bound: int | None) -> float:
    """What a power of k would still add: infinite if it is k^-1 or slower."""
    if bound is not None:
        return 0.0
    half, last = (float(survival(at)) for at in (_LAST / 2, _LAST))
    if last <= 0 or 2 * last * _LAST < _NEGLIGIBLE:
        return 0.0
    power = math.log2(half / last)
    return 2 * last * _LAST / (power - 1) if power > 1 + 1e-9 else math.inf
