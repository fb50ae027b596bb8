"""An estimated delay: the share that has not arrived, over time."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from latesum.delays.base import Floats
from latesum.delays.tabulated import Tabulated, curve_moments, curve_survival


@dataclass(frozen=True)
class Curve:
    """P(delay > times[i]) is alive[i], with straight lines between; a time given twice is a jump.

    These points are what the data show. If something is left at the last of them, it comes
    exponentially later, by `tail` on average; or, where the `largest` delay is known, at an even
    pace up to there. `mean`, `variance`, `quantile` and `survival` are with that assumption,
    `restricted_mean` and `unseen` without.

    >>> curve = Curve(np.array([0.0, 2.0, 6.0]), np.array([1.0, 0.5, 0.0]))
    >>> curve.mean, curve.quantile(0.5)
    (2.5, 2.0)
    >>> cut = Curve(np.array([0.0, 2.0]), np.array([1.0, 0.5]), largest=6.0)
    >>> cut.mean, cut.restricted_mean, cut.unseen
    (2.5, 1.5, 0.5)
    """

    times: Floats
    alive: Floats
    tail: float | None = None
    largest: float | None = None

    @property
    def mean(self) -> float:
        whole = self._completed
        return curve_moments(whole.times, whole.alive, whole.tail)[0]

    @property
    def variance(self) -> float:
        whole = self._completed
        first, second = curve_moments(whole.times, whole.alive, whole.tail)
        return max(second - first**2, 0.0)

    @property
    def restricted_mean(self) -> float:
        """The mean of the delay or the last time, whichever is less: what needs no tail."""
        return curve_moments(self.times, self.alive, None)[0]

    @property
    def unseen(self) -> float:
        """The share that comes after the last time."""
        return float(self.alive[-1])

    @property
    def largest_seen(self) -> float:
        """The last time at which something arrived."""
        return float(self.times[int(np.argmax(self.alive <= self.alive[-1] + 1e-12))])

    def quantile(self, share: float) -> float:
        """The time by which this share has arrived."""
        times, alive, tail = self._completed.times, self._completed.alive, self.tail
        left = 1 - share
        if left < alive[-1]:
            assert tail is not None
            return float(times[-1] + tail * np.log(alive[-1] / max(left, 1e-300)))
        place = int(np.argmax(alive <= left + 1e-12))
        if place == 0:
            return float(times[0])
        high, low = alive[place - 1], alive[place]
        part = (high - left) / (high - low) if high > low else 1.0
        width = times[place] - times[place - 1]
        return float(times[place - 1] + min(max(part, 0.0), 1.0) * width)

    def survival(self, at: Floats) -> Floats:
        """P(delay > at)."""
        whole = self._completed
        return curve_survival(whole.times, whole.alive, whole.tail, at)

    def scaled(self, factor: float) -> Curve:
        """The same in another unit of time."""
        tail = None if self.tail is None else self.tail * factor
        largest = None if self.largest is None else self.largest * factor
        return Curve(self.times * factor, self.alive, tail, largest)

    def to_delay(self, rounds_per_unit: float) -> Tabulated:
        """The delay in rounds: every point of the curve, so that nothing of it changes.

        It has a bound if the largest delay is known; the largest that was seen is none.
        """
        whole = self._completed
        arrived = np.clip(1 - whole.alive, 0.0, 1.0)
        tail = whole.tail if whole.unseen >= 1e-12 else None
        return Tabulated(
            (whole.times * rounds_per_unit).tolist(),
            arrived.tolist(),
            None if tail is None else tail * rounds_per_unit,
            bounded=self.largest is not None,
        )

    def earliest(self) -> Curve:
        """All that is unseen comes right after the data end: the smallest that `largest` allows."""
        return self._with_rest(0.0)

    def latest(self) -> Curve:
        """All that is unseen comes at `largest`."""
        return self._with_rest(self.unseen)

    def widest(self) -> Curve:
        """The unseen share is where the variance is the largest: at both ends, the same amount at each.

        With p of it moved from the end of the data U to the largest delay L, the variance is a
        parabola in p, and highest where the mean is half-way between U and L.
        """
        if self.largest is None or self.largest <= self.times[-1]:
            return self
        middle = (self.largest + float(self.times[-1])) / 2
        moved = (middle - self.restricted_mean) / (self.largest - float(self.times[-1]))
        return self._with_rest(min(max(moved, 0.0), self.unseen))

    def _with_rest(self, at_largest: float) -> Curve:
        """The unseen share in two jumps, where the data end and at `largest`."""
        if self.largest is None:
            return self
        until, largest = self.times[-1], max(self.largest, float(self.times[-1]))
        times = np.append(self.times, [until, largest, largest])
        return Curve(times, np.append(self.alive, [at_largest, at_largest, 0.0]))

    @functools.cached_property
    def _completed(self) -> Curve:
        """With what is assumed up to `largest` as one more point."""
        if self.largest is None:
            return self
        largest = max(self.largest, float(self.times[-1]))
        return Curve(np.append(self.times, largest), np.append(self.alive, 0.0))


def steps(times: Floats, alive: Floats) -> tuple[Floats, Floats]:
    """A step function, which falls to alive[i] at times[i], as points with jumps.

    >>> [list(map(float, part)) for part in steps(np.array([2.0]), np.array([0.0]))]
    [[0.0, 2.0, 2.0], [1.0, 1.0, 0.0]]
    """
    doubled_times = np.repeat(times, 2)
    before = np.concatenate([[1.0], alive[:-1]])
    doubled_alive = np.column_stack([before, alive]).ravel()
    return np.concatenate([[0.0], doubled_times]), np.concatenate([[1.0], doubled_alive])


def smooth_pieces(times: Floats, alive: Floats, pieces: int = 8) -> tuple[Floats, Floats]:
    """More points between the given ones, with a hazard that changes smoothly.

    The logarithm of the share is interpolated by cubic pieces that never rise (Fritsch and Carlson).
    Where nothing is left at the end of an interval, the line in it stays straight. `alive` may have one
    row per curve.

    >>> times, alive = smooth_pieces(np.array([0.0, 1.0, 2.0]), np.exp([0.0, -1.0, -2.0]), 2)
    >>> times.tolist(), np.log(alive).round(12).tolist()
    ([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, -0.5, -1.0, -1.5, -2.0])
    """
    from scipy.interpolate import PchipInterpolator

    rows = np.atleast_2d(alive)
    parts = np.arange(1, pieces + 1) / pieces
    fine = np.append(times[0], (times[:-1, None] + parts * np.diff(times)[:, None]).ravel())
    found = np.empty((len(rows), len(fine)))
    left = (rows > 0).sum(axis=1)
    for known in np.unique(left):
        same = left == known
        levels = rows[same]
        if known < 3:
            found[same] = [exponential_pieces(times, each, pieces)[1] for each in levels]
            continue
        inside = fine <= times[known - 1]
        smooth = PchipInterpolator(times[:known], np.log(levels[:, :known]), axis=1)
        drawn = np.ones((len(levels), len(fine)))
        drawn[:, inside] = np.minimum(np.exp(smooth(fine[inside])), 1.0)
        # From the last that is left, straight down to the next, where nothing is.
        end = times[min(known, len(times) - 1)]
        width = max(float(end - times[known - 1]), 1e-300)
        line = np.clip(1 - (fine[~inside] - times[known - 1]) / width, 0.0, 1.0)
        drawn[:, ~inside] = levels[:, known - 1 : known] * line
        found[same] = np.minimum.accumulate(drawn, axis=1)
    return fine, found.reshape((*np.shape(alive)[:-1], len(fine)))


def exponential_pieces(times: Floats, alive: Floats, pieces: int = 8) -> tuple[Floats, Floats]:
    """More points between the given ones, with a constant hazard in each interval.

    Where nothing is left at the end of an interval, the line in it stays straight.
    """
    all_times, all_alive = [times[:1]], [alive[:1]]
    for start, end, before, after in zip(times, times[1:], alive, alive[1:], strict=False):
        parts = np.arange(1, pieces + 1) / pieces
        all_times.append(start + parts * (end - start))
        if after > 0:
            all_alive.append(before * (after / before) ** parts)
        else:
            all_alive.append(before + parts * (after - before))
    return np.concatenate(all_times), np.concatenate(all_alive)
