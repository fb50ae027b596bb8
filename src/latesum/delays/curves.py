"""Survival curves: straight lines between points, and an exponential tail.

A tabulated delay, an estimate from data, and what resampled data give: many curves with times in
common.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Uncertain(NamedTuple):
    """An estimate and its 95% confidence limits."""

    value: float
    low: float
    high: float


#: Points per bucket of a curve from averages: both ends and the middle.
POINTS = 3


@dataclass(frozen=True)
class Curve:
    """P(delay > times[i]) is surviving[..., i], with straight lines between.

    A time given twice is a jump. A first entry of `surviving` below 1 is a jump at the first time.
    What remains at the last time comes exponentially later, by `tail` on average. `mean`,
    `variance`, `quantile` and `survival` are with that assumption, `restricted_mean` and `unseen`
    without. Many curves have one row of `surviving` and one tail each. Where a curve is `bounded`,
    its last time is the largest delay possible.

    >>> curve = Curve(np.array([0.0, 2.0, 6.0]), np.array([1.0, 0.5, 0.0]))
    >>> float(curve.mean), float(curve.quantile(0.5))
    (2.5, 2.0)
    >>> cut = Curve(np.array([0.0, 2.0]), np.array([1.0, 0.5]), tail=4.0)
    >>> float(cut.mean), float(cut.restricted_mean), float(cut.unseen)
    (3.5, 1.5, 0.5)
    >>> both = Curve(curve.times, np.array([[1.0, 0.5, 0.0], [1.0, 1.0, 0.0]]))
    >>> both.mean.tolist(), both.quantile(0.5).tolist()
    ([2.5, 4.0], [2.0, 4.0])
    """

    times: Floats
    surviving: Floats
    tail: Floats | float | None = None
    bounded: bool = False

    @property
    def mean(self) -> Floats:
        return self._moments[0]

    @property
    def variance(self) -> Floats:
        first, second = self._moments
        return np.maximum(second - first**2, 0.0)

    @property
    def restricted_mean(self) -> Floats:
        """The mean of the delay or the last time, whichever is less: what needs no tail."""
        return Curve(self.times, self.surviving)._moments[0]

    @property
    def unseen(self) -> Floats:
        """The share that comes after the last time."""
        return np.asarray(self.surviving[..., -1])

    @property
    def largest_seen(self) -> float:
        """The last time at which something arrived, of a single curve."""
        return float(self.times[int(np.argmax(self.surviving <= self.surviving[-1] + 1e-12))])

    def quantile(self, share: float) -> Floats:
        """The time by which this share has arrived."""
        times, surviving, level = self.times, np.atleast_2d(self.surviving), 1 - share
        below = surviving <= level + 1e-12
        index, rows = np.argmax(below, axis=1), np.arange(len(surviving))
        before = np.maximum(index - 1, 0)
        high, low = surviving[rows, before], surviving[rows, index]
        part = np.divide(high - level, high - low, out=np.ones_like(high), where=high > low)
        found = times[before] + np.clip(part, 0.0, 1.0) * (times[index] - times[before])
        found = np.where(index == 0, times[0], found)
        beyond = ~below[:, -1]
        if beyond.any():
            assert self.tail is not None
            later = self.tail * np.log(np.maximum(surviving[:, -1], 1e-300) / max(level, 1e-300))
            found = np.where(beyond, times[-1] + later, found)
        return np.asarray(found.reshape(self.surviving.shape[:-1]))

    def survival(self, at: Floats) -> Floats:
        """P(delay > at); continuous from the right where there is a jump."""
        times, surviving, tail = self.times, self.surviving, self.tail
        index = np.searchsorted(times, at, side="right")
        before, after = np.maximum(index - 1, 0), np.minimum(index, len(times) - 1)
        width = times[after] - times[before]
        part = np.where(width > 0, (at - times[before]) / np.where(width > 0, width, 1.0), 0.0)
        inside = surviving[..., before] + part * (surviving[..., after] - surviving[..., before])
        inside = np.where(index == 0, 1.0, inside)
        if tail is None:
            return inside
        unseen = self.unseen
        if surviving.ndim > 1:
            tail, unseen = np.asarray(tail)[:, None], unseen[:, None]
        later = unseen * np.exp(-np.maximum(at - times[-1], 0.0) / tail)
        return np.where(at >= times[-1], later, inside)

    def scaled(self, factor: float) -> Curve:
        """The same in another unit of time."""
        tail = None if self.tail is None else self.tail * factor
        return Curve(self.times * factor, self.surviving, tail, self.bounded)

    @functools.cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """E[T] and E[T^2]: the integrals of straight lines, as weights of their ends."""
        before, after, width = self.times[:-1], self.times[1:], np.diff(self.times)
        plain = np.append(width, 0.0) / 2 + np.append(0.0, width) / 2
        squared = np.append(width * (2 * before + after), 0.0) / 3
        squared += np.append(0.0, width * (before + 2 * after)) / 3
        first = self.times[0] + self.surviving @ plain
        second = self.times[0] ** 2 + self.surviving @ squared
        if self.tail is not None:
            first = first + self.unseen * self.tail
            second = second + 2 * self.unseen * self.tail * (self.times[-1] + self.tail)
        return np.asarray(first), np.asarray(second)


def steps(times: Floats, surviving: Floats) -> tuple[Floats, Floats]:
    """A step function, which falls to surviving[..., i] at times[i], as points with jumps.

    >>> [list(map(float, part)) for part in steps(np.array([2.0]), np.array([0.0]))]
    [[0.0, 2.0, 2.0], [1.0, 1.0, 0.0]]
    """
    one = np.ones((*surviving.shape[:-1], 1))
    before = np.concatenate([one, surviving[..., :-1]], axis=-1)
    doubled = np.stack([before, surviving], axis=-1).reshape(*surviving.shape[:-1], -1)
    return np.append(0.0, np.repeat(times, 2)), np.concatenate([one, doubled], axis=-1)


def smooth_pieces(times: Floats, surviving: Floats, pieces: int = 8) -> tuple[Floats, Floats]:
    """More points between the given ones, with a hazard that changes smoothly.

    The logarithm of the share is interpolated by cubic pieces that never rise (Fritsch and
    Carlson). Where nothing remains at the end of an interval, the line in it stays straight.

    >>> times, surviving = smooth_pieces(np.array([0.0, 1.0, 2.0]), np.exp([0.0, -1.0, -2.0]), 2)
    >>> times.tolist(), np.log(surviving).round(12).tolist()
    ([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, -0.5, -1.0, -1.5, -2.0])
    """
    from scipy.interpolate import PchipInterpolator

    rows = np.atleast_2d(surviving)
    parts = np.arange(1, pieces + 1) / pieces
    fine = np.append(times[0], (times[:-1, None] + parts * np.diff(times)[:, None]).ravel())
    found = np.empty((len(rows), len(fine)))
    positive = (rows > 0).sum(axis=1)
    for known in np.unique(positive):
        same = positive == known
        levels, last = rows[same], times[known - 1]
        # From the last positive one, straight down to the next, where nothing is.
        width = max(float(times[min(known, len(times) - 1)] - last), 1e-300)
        drawn = levels[:, known - 1 : known] * np.clip(1 - (fine - last) / width, 0.0, 1.0)
        if known > 1:
            inside = fine <= last
            smooth = PchipInterpolator(times[:known], np.log(levels[:, :known]), axis=1)
            drawn[:, inside] = np.minimum(np.exp(smooth(fine[inside])), 1.0)
        found[same] = np.minimum.accumulate(drawn, axis=1)
    return fine, found.reshape((*np.shape(surviving)[:-1], len(fine)))


def exponential_pieces(times: Floats, surviving: Floats, pieces: int = 8) -> tuple[Floats, Floats]:
    """More points between the given ones, with a constant hazard in each interval.

    Where nothing remains at the end of an interval, the line in it stays straight.
    """
    parts = np.arange(1, pieces + 1) / pieces
    fine = times[:-1, None] + parts * np.diff(times)[:, None]
    before, after = surviving[:-1, None], surviving[1:, None]
    ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    levels = np.where(after > 0, before * ratio**parts, before + parts * (after - before))
    return np.append(times[0], fine.ravel()), np.append(surviving[0], levels.ravel())


def from_averages(averages: Floats, after: Floats | float) -> tuple[Floats, Floats]:
    """Points of a curve whose mean over x from l to l + 1 is averages[l]; these must not rise.

    The integral of the curve is known at the ends of all buckets. Its derivative there, from the
    four averages around, is the curve itself, with an error of the fourth order; between, two
    straight lines keep the average. Where neighbors forbid a smooth curve the values at the ends
    are limited, as in the piecewise parabolic method for gas flows (P. Colella and P. Woodward, J.
    Comput. Phys. 54, 1984): nothing rises, and a jump stays one.

    `averages` has one row per curve, or is one curve; `after` is the average that follows.

    >>> times, surviving = from_averages(np.array([7.0, 5.0, 3.0]) / 8, 1 / 8)
    >>> times.tolist(), (8 * surviving).round(9).tolist()
    ([0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0], [8.0, 7.0, 6.0, 6.0, 5.0, 4.0, 4.0, 3.0, 2.0])
    """
    many = np.atleast_2d(averages)
    rows, number = many.shape
    following = np.broadcast_to(np.asarray(after, dtype=np.float64), rows)[:, None]
    # The curve begins at 1, half a bucket before the middle of the first: twice as far for a slope.
    drops = np.concatenate(
        [2 * (1 - many[:, :1]), many[:, :-1] - many[:, 1:], many[:, -1:] - following], axis=1
    )
    before, beyond = drops[:, :-1], drops[:, 1:]
    slopes = np.minimum((before + beyond) / 2, 2 * np.minimum(before, beyond))
    ends = many[:, :-1] - beyond[:, :-1] / 2 + (slopes[:, 1:] - slopes[:, :-1]) / 6
    first = np.minimum(many[:, :1] + np.minimum(before[:, :1] / 2, beyond[:, :1] / 2), 1.0)
    last = many[:, -1:] - np.minimum(before[:, -1:] / 2, beyond[:, -1:])
    if number > 2:  # the parabola through the first three averages, at its beginning
        smooth = (11 * many[:, :1] - 7 * many[:, 1:2] + 2 * many[:, 2:3]) / 6
        first = np.clip(smooth, many[:, :1], 1.0)
    begin, end = np.concatenate([first, ends], axis=1), np.concatenate([ends, last], axis=1)
    # The middle keeps the average; it must be between both ends.
    end = np.maximum(end, np.minimum(4 * many - 3 * begin, many))
    begin = np.minimum(begin, np.maximum(4 * many - 3 * end, many))
    end = np.maximum(end, np.minimum(4 * many - 3 * begin, many))
    middle = np.clip(2 * many - (begin + end) / 2, end, begin)
    times = np.arange(number, dtype=np.float64)[:, None] + np.linspace(0.0, 1.0, POINTS)
    surviving = np.stack([begin, middle, end], axis=2).reshape(rows, -1)
    return times.ravel(), surviving.reshape((*np.shape(averages)[:-1], POINTS * number))
