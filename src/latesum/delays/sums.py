"""Sums over all rounds of a distribution given by its survival function, however long its tail.

A delay's moments are such sums: E[tau] is the sum over k of P(tau > k), E[tau^2] that of (2k + 1)
P(tau > k). The first million rounds are added one by one. Beyond them blocks of rounds are added
by Simpson's rule, and a block in which two halves give another sum than the whole is cut in two.
So a sum takes some milliseconds for a tail of any length, and where it diverges it says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from latesum.delays.curves import Floats

Survival = Callable[[ArrayLike], Floats]
#: What is added for round k, from k and P(tau > k).
Term = Callable[[Floats, Floats], Floats]

#: Up to here every round is added.
_EXACT = 1 << 20
#: ... this number at a time.
CHUNK = 1 << 16
#: Beyond, blocks grow by this factor, ...
_GROWTH = 1 + 2.0**-7
#: ... and are halved where that changes their sum by more than this share of the whole.
_TOLERANCE = 1e-13
#: A block is smooth if at these points it is this close to a parabola, in shares of its fall.
_IRREGULAR = np.array([[0.0917], [0.3819], [0.5772], [0.8862]])
_SMOOTH = 1e-4
#: A sum ends early where what doubling it could add is below this share of it.
_NEGLIGIBLE = 1e-18
_LAST = float(1 << 62)
#: A tail of a power this close to the one where a sum diverges is taken to diverge.
_SLACK = 1e-9


def sum_over_rounds(survival: Survival, end: float | None, term: Term, power: int = 0) -> float:
    """The sum of term(k, P(tau > k)) over k = 0, 1, ... below `end`.

    `end` is the largest delay, or None. `term` is P(tau > k) times at most a constant and k to the
    power `power`, which says where the sum of a heavy tail diverges.

    >>> from latesum import delays
    >>> sum_over_rounds(delays.uniform(0, 100).survival, 100, lambda k, surviving: surviving)
    50.0
    >>> sum_over_rounds(lambda k: 1 / (1 + np.asarray(k)), None, lambda k, surviving: surviving)
    inf
    """
    last = _LAST if end is None else float(end)
    total = 0.0
    for start in range(0, int(min(last, _EXACT)), CHUNK):
        k = np.arange(start, min(start + CHUNK, int(min(last, _EXACT))), dtype=np.float64)
        surviving = survival(k)
        total += float(term(k, surviving).sum())
        if (k[-1] + 1) ** (power + 1) * surviving[-1] < _NEGLIGIBLE * total:
            return total
    if last <= _EXACT:
        return total
    beyond = 0.0 if end is not None else _rest(survival, term, power)
    if math.isinf(beyond):
        return math.inf
    return total + _in_blocks(survival, term, float(_EXACT), last, total) + beyond


def _in_blocks(survival: Survival, term: Term, start: float, end: float, before: float) -> float:
    """The sum over k from `start` to `end`, the last one left out."""
    steps = math.ceil(math.log(end / start) / math.log(_GROWTH))
    edges = np.unique(np.floor(np.append(np.geomspace(start, end, steps + 1)[:-1], end)))
    # A block holds `4 q` rounds from `low` on, so that its quarters are whole; up to three rounds
    # that are left over at its end are added one by one.
    low, quarter = edges[:-1], np.floor(np.diff(edges) / 4)
    rest = np.concatenate([low + 4 * quarter + j for j in range(3)])
    rest = rest[rest < np.tile(edges[1:], 3)]
    total = _summed(survival, term, rest)
    while len(low):
        single = quarter < 1
        low, quarter = low[~single], quarter[~single]
        points = low + quarter * np.arange(5.0)[:, None]
        # The last index of a block is the first of the next: its sum leaves it out.
        values = term(points, survival(points))
        whole = _simpson(values[::2], 4 * quarter)
        halves = _simpson(values[:3], 2 * quarter) + _simpson(values[2:], 2 * quarter)
        most = 4 * quarter * np.abs(values[0] - values[4])
        allowed = _TOLERANCE * (before + total + float(halves.sum()))
        # Jumps that are as regular as the points cancel in the sum, and not at irregular points.
        inside = np.floor(low + 4 * quarter * _IRREGULAR)
        off = term(inside, survival(inside)) - _parabola(values[::2], (inside - low) / 4 / quarter)
        smooth = np.abs(off).max(axis=0) <= _SMOOTH * np.abs(values[0] - values[4])
        fine = (smooth & (np.abs(whole - halves) <= allowed)) | (most <= allowed)
        total += float(halves[fine].sum())
        low, quarter = low[~fine], quarter[~fine]
        if not len(low):
            break
        half = np.floor(quarter / 2)
        odd = quarter - 2 * half  # two halves of 4 * half rounds each, and 4 rounds if it is odd
        rest = np.concatenate([low + 8 * half + j for j in range(4)])
        total += _summed(survival, term, rest[np.tile(odd > 0, 4)])
        low, quarter = np.concatenate([low, low + 4 * half]), np.concatenate([half, half])
    return total


def _parabola(values: Floats, at: Floats) -> Floats:
    """The parabola through the values at 0, 1/2 and 1."""
    first, middle, last = values
    linear, square = 4 * middle - 3 * first - last, 2 * (first + last - 2 * middle)
    return np.asarray(first + at * (linear + at * square))


def _simpson(values: Floats, rounds: Floats) -> Floats:
    """The sum of the same parabola over this number of rounds from 0 to 1, the last left out."""
    first, middle, last = values
    linear, square = 4 * middle - 3 * first - last, 2 * (first + last - 2 * middle)
    times = rounds - 1
    return np.asarray(rounds * first + linear * times / 2 + square * times * (2 - 1 / rounds) / 6)


def _summed(survival: Survival, term: Term, k: Floats) -> float:
    return float(term(k, survival(k)).sum()) if len(k) else 0.0


def _rest(survival: Survival, term: Term, power: int) -> float:
    """The sum beyond the last round that is evaluated, by the integral test.

    There the tail is taken for a power of k, the one by which it falls over the last doubling; the
    sum from K on of k^-p is between K^(1 - p) / (p - 1) and that and its first term, which is no
    more than 2^-62 of it.
    """
    half, last = (float(survival(np.array([at]))[0]) for at in (_LAST / 2, _LAST))
    if last <= 0:
        return 0.0
    falls = math.log2(half / last) - power
    if falls <= 1 + _SLACK:
        return math.inf
    return float(term(np.array([_LAST]), np.array([last]))[0]) * _LAST / (falls - 1)
