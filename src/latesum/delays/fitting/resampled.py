"""Many curves at once: what other data of the same size might have given."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from latesum.delays.base import Floats


@dataclass(frozen=True)
class Curves:
    """Curves as `Curve` is one, with times in common: one row of `alive` and one tail per curve.

    >>> curves = Curves(np.array([0.0, 2.0, 6.0]), np.array([[1.0, 0.5, 0.0], [1.0, 1.0, 0.0]]))
    >>> curves.means().tolist(), curves.quantiles(0.5).tolist()
    ([2.5, 4.0], [2.0, 4.0])
    """

    times: Floats
    alive: Floats
    #: How much later the rest comes, where something is left; None if the largest delay is known.
    tails: Floats | None = None
    largest: float | None = None

    def __len__(self) -> int:
        return len(self.alive)

    @property
    def unseen(self) -> Floats:
        """The share that comes after the last time."""
        last: Floats = self.alive[:, -1]
        return last

    def means(self) -> Floats:
        """The mean of each."""
        return self._moments()[0]

    def variances(self) -> Floats:
        """The variance of each."""
        first, second = self._moments()
        return np.maximum(second - first**2, 0.0)

    def quantiles(self, share: float) -> Floats:
        """The time by which this share has arrived, for each."""
        left = 1 - share
        below = self.alive <= left + 1e-12
        place = np.argmax(below, axis=1)
        rows = np.arange(len(self))
        before = np.maximum(place - 1, 0)
        high, low = self.alive[rows, before], self.alive[rows, place]
        part = np.divide(high - left, high - low, out=np.ones_like(high), where=high > low)
        width = self.times[place] - self.times[before]
        found = self.times[before] + np.clip(part, 0.0, 1.0) * width
        found = np.where(place == 0, self.times[0], found)
        beyond = ~below[:, -1]
        if beyond.any():
            assert self.tails is not None
            later = self.tails * np.log(np.maximum(self.unseen, 1e-300) / max(left, 1e-300))
            found = np.where(beyond, self.times[-1] + later, found)
        return np.asarray(found)

    def survivals(self, at: Floats) -> Floats:
        """P(delay > at): one row per curve."""
        place = np.searchsorted(self.times, at, side="right")
        left = np.maximum(place - 1, 0)
        right = np.minimum(place, len(self.times) - 1)
        width = self.times[right] - self.times[left]
        part = np.where(width > 0, (at - self.times[left]) / np.where(width > 0, width, 1.0), 0.0)
        inside = self.alive[:, left] + part * (self.alive[:, right] - self.alive[:, left])
        inside = np.where(place == 0, 1.0, inside)
        if self.tails is None:
            return inside
        later = np.maximum(at - self.times[-1], 0.0) / self.tails[:, None]
        return np.where(at >= self.times[-1], self.alive[:, -1:] * np.exp(-later), inside)

    def earliest(self) -> Curves:
        """All that is unseen comes right after the data end: the smallest that `largest` allows."""
        return self._with_rest(np.zeros(len(self)))

    def latest(self) -> Curves:
        """All that is unseen comes at `largest`."""
        return self._with_rest(self.unseen)

    def widest(self) -> Curves:
        """The unseen share is where the variance is the largest; see `Curve.widest`."""
        until = float(self.times[-1])
        if self.largest is None or self.largest <= until:
            return self
        restricted = replace(self, tails=None).means()
        moved = ((self.largest + until) / 2 - restricted) / (self.largest - until)
        return self._with_rest(np.clip(moved, 0.0, self.unseen))

    def with_even_rest(self) -> Curves:
        """What is unseen comes at an even pace up to `largest`: the placement that is reported."""
        if self.largest is None:
            return self
        largest = max(self.largest, float(self.times[-1]))
        alive = np.concatenate([self.alive, np.zeros((len(self), 1))], axis=1)
        return Curves(np.append(self.times, largest), alive)

    def _with_rest(self, at_largest: Floats) -> Curves:
        if self.largest is None:
            return self
        until, largest = float(self.times[-1]), max(self.largest, float(self.times[-1]))
        rest = np.column_stack([at_largest, at_largest, np.zeros(len(self))])
        times = np.append(self.times, [until, largest, largest])
        return Curves(times, np.concatenate([self.alive, rest], axis=1))

    def _moments(self) -> tuple[Floats, Floats]:
        before, after, width = self.times[:-1], self.times[1:], np.diff(self.times)
        # The integrals of straight lines, as weights of their ends.
        plain = np.append(width, 0.0) / 2 + np.append(0.0, width) / 2
        squared = np.append(width * (2 * before + after), 0.0) / 3
        squared += np.append(0.0, width * (before + 2 * after)) / 3
        first = self.times[0] + self.alive @ plain
        second = self.times[0] ** 2 + self.alive @ squared
        if self.tails is not None:
            first = first + self.unseen * self.tails
            second = second + 2 * self.unseen * self.tails * (self.times[-1] + self.tails)
        return first, second
