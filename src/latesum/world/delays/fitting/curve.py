"""An estimated delay: the share that has not arrived, over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latesum.world.delays.base import Floats
from latesum.world.delays.tabulated import Tabulated, curve_moments, curve_survival


@dataclass(frozen=True)
class Curve:
    """P(delay > times[i]) is alive[i], with straight lines between; a time given twice is a jump.

    If something is left at the last time, it comes exponentially later, by `tail` on average.

    >>> curve = Curve(np.array([0.0, 2.0, 6.0]), np.array([1.0, 0.5, 0.0]))
    >>> curve.mean, curve.quantile(0.5)
    (2.5, 2.0)
    """

    times: Floats
    alive: Floats
    tail: float | None = None

    @property
    def mean(self) -> float:
        return curve_moments(self.times, self.alive, self.tail)[0]

    @property
    def variance(self) -> float:
        first, second = curve_moments(self.times, self.alive, self.tail)
        return max(second - first**2, 0.0)

    @property
    def restricted_mean(self) -> float:
        """The mean of the delay or the last time, whichever is less: what needs no tail."""
        return curve_moments(self.times, self.alive, None)[0]

    @property
    def unseen(self) -> float:
        """The share that comes after the last time."""
        return float(self.alive[-1])

    def quantile(self, share: float) -> float:
        """The time by which this share has arrived."""
        left = 1 - share
        if left < self.alive[-1]:
            assert self.tail is not None
            return float(self.times[-1] + self.tail * np.log(self.alive[-1] / max(left, 1e-300)))
        place = int(np.argmax(self.alive <= left + 1e-12))
        if place == 0:
            return float(self.times[0])
        high, low = self.alive[place - 1], self.alive[place]
        part = (high - left) / (high - low) if high > low else 1.0
        width = self.times[place] - self.times[place - 1]
        return float(self.times[place - 1] + min(max(part, 0.0), 1.0) * width)

    def survival(self, at: Floats) -> Floats:
        """P(delay > at)."""
        return curve_survival(self.times, self.alive, self.tail, at)

    def to_delay(self, rounds_per_unit: float) -> Tabulated:
        """The delay in rounds: every point of the curve, so that nothing of it changes."""
        arrived = np.clip(1 - self.alive, 0.0, 1.0)
        tail = None if self.tail is None or self.unseen < 1e-12 else self.tail * rounds_per_unit
        return Tabulated((self.times * rounds_per_unit).tolist(), arrived.tolist(), tail)


def steps(times: Floats, alive: Floats) -> tuple[Floats, Floats]:
    """A step function, which falls to alive[i] at times[i], as points with jumps.

    >>> [list(map(float, part)) for part in steps(np.array([2.0]), np.array([0.0]))]
    [[0.0, 2.0, 2.0], [1.0, 1.0, 0.0]]
    """
    doubled_times = np.repeat(times, 2)
    before = np.concatenate([[1.0], alive[:-1]])
    doubled_alive = np.column_stack([before, alive]).ravel()
    return np.concatenate([[0.0], doubled_times]), np.concatenate([[1.0], doubled_alive])


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
