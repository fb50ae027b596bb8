"""A delay given by how many rewards have arrived by certain times: what data and words give."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from latesum._checks import InvalidInput, finite_number
from latesum.delays.base import FOREVER, Delay, DrawnCurve, Floats, Integers, as_floats


class Tabulated(Delay):
    """By `times[i]` the share `shares[i]` has arrived, with straight lines between.

    A time given twice is a jump. If the last share is below 1, the rest comes later, exponentially
    with the mean `tail`; otherwise the last time is the bound, even if all have arrived before it,
    unless `bounded` is false: then it is the largest delay seen, and no promise.
    Times are in rounds and need not be whole: delays are rounded up.

    All numbers are kept to the 12 digits that `text` has. So what is read back is the same delay,
    and 0.28 days of 25 rounds are 7 rounds, not 7.000000000000001, which would be rounded up to 8.
    """

    def __init__(
        self,
        times: Sequence[float],
        shares: Sequence[float],
        tail: float | None = None,
        bounded: bool = True,
    ) -> None:
        if len(times) == 0 or len(times) != len(shares):
            raise InvalidInput(
                "a tabulated delay needs as many shares as times, at least one of each; there are "
                f"{len(times)} times and {len(shares)} shares."
            )
        self._times = np.array([_kept(finite_number(t, "a time", at_least=0)) for t in times])
        self._shares = np.array(
            [
                _kept(finite_number(s, "a share that has arrived", at_least=0, at_most=1))
                for s in shares
            ]
        )
        if (np.diff(self._times) < 0).any() or (np.diff(self._shares) < 0).any():
            raise InvalidInput("the times and the shares of a tabulated delay must not decrease.")
        rest = 1 - self._shares[-1]
        if rest < 1e-12:
            self._shares[-1], tail = 1.0, None
        elif tail is None:
            raise InvalidInput(
                f"{rest:.1%} of the delays come after the last time {self._times[-1]:g}; say with "
                "tail=... how much later on average, or let the last share be 1."
            )
        if tail is not None:
            tail = _kept(finite_number(tail, "the mean of the tail", above=0))
        self._tail = tail
        self._bounded = _truth(bounded) and tail is None

    @functools.cached_property
    def text(self) -> str:  # type: ignore[override]
        times = ", ".join(map(_written, self._times))
        shares = ", ".join(map(_written, self._shares))
        tail = "" if self._tail is None else f", {_written(self._tail)}"
        promise = "" if self._bounded or self._tail is not None else ", bounded=False"
        return f"tabulated([{times}], [{shares}]{tail}{promise})"

    @property
    def short_text(self) -> str:
        if len(self._times) <= 4:
            return self.text
        return f"tabulated({len(self._times)} points, mean {self.mean:.6g})"

    @property
    def bound(self) -> int | None:
        if not self._bounded:
            return None
        return math.ceil(float(self._times[-1]))

    @property
    def drawn_curve(self) -> DrawnCurve:
        times = np.minimum(self._times, self._last)
        return DrawnCurve(times, 1 - self._shares, self._tail or 0.0)

    def scaled(self, factor: float) -> Tabulated:
        """The same with all times multiplied.

        >>> Tabulated([2, 2, 10], [0, 0.5, 1]).scaled(1.5)
        delays.tabulated([3, 3, 15], [0, 0.5, 1])
        """
        tail = None if self._tail is None else self._tail * factor
        times = (self._times * factor).tolist()
        return Tabulated(times, self._shares.tolist(), tail, self._bounded)

    @functools.cached_property
    def _last(self) -> float:
        """When the last of what the table shows arrives; the bound may be later."""
        return float(self._times[np.searchsorted(self._shares, self._shares[-1])])

    def survival(self, k: ArrayLike) -> Floats:
        return curve_survival(self._times, 1 - self._shares, self._tail, as_floats(k))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return self._at(rng.random(count), np.array(-1.0), rng)

    def draw_beyond(self, k: Integers, rng: np.random.Generator) -> Integers:
        arrived = 1 - self.survival(k)
        drawn = self._at(arrived + (1 - arrived) * rng.random(len(k)), as_floats(k), rng)
        return np.maximum(drawn, k + 1)  # rounding must not bring back what has passed

    def _at(self, levels: Floats, beyond: Floats, rng: np.random.Generator) -> Integers:
        """The delays at these levels of the distribution function; in the tail, drawn anew."""
        times = np.interp(levels, self._shares, np.minimum(self._times, self._last))
        if self._shares[0] > 0:  # what has arrived by the first time arrived then
            times = np.where(levels < self._shares[0], self._times[0], times)
        if self._tail is not None:
            late = levels >= self._shares[-1]
            start = np.broadcast_to(np.maximum(self._times[-1], beyond), levels.shape)[late]
            times[late] = start + rng.exponential(self._tail, int(late.sum()))
        whole: Integers = np.minimum(np.ceil(times), float(FOREVER)).astype(np.int64)
        return whole

    @functools.cached_property
    def _moments(self) -> tuple[float, float]:
        # Sums over k of P(delay > k) and of (2k + 1) P(delay > k), piece by piece: on the whole
        # numbers of a straight line P(delay > k) is start + slope * j with j = 0, 1, ..., count - 1.
        alive = 1 - self._shares
        knots = np.append(0.0, self._times)
        left, right = np.append(1.0, alive[:-1]), np.append(1.0, alive[1:])  # 1 at the beginning
        whole, width = np.ceil(knots), np.diff(knots)
        begin, count = whole[:-1], np.diff(whole)
        slope = np.divide(right - left, width, out=np.zeros_like(width), where=width > 0)
        start = left + slope * (begin - knots[:-1])
        triangle = count * (count - 1) / 2
        plain = count * start + slope * triangle
        weighted = start * triangle + slope * triangle * (2 * count - 1) / 3
        first = float(plain.sum())
        second = float(((2 * begin + 1) * plain + 2 * weighted).sum())
        if self._tail is not None:
            fallen = -math.expm1(-1 / self._tail)  # per round
            begin_tail = float(whole[-1])
            start_tail = float(self.survival(begin_tail))
            first += start_tail / fallen
            second += (2 * begin_tail + 1) * start_tail / fallen
            second += 2 * start_tail * (1 - fallen) / fallen**2
        return first, max(second - first**2, 0.0)


def _truth(value: bool) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"bounded must be True or False, not {value!r}.")
    return bool(value)


def _written(value: float) -> str:
    return f"{value:.12g}"


def _kept(value: float) -> float:
    return float(_written(value))


def curve_survival(times: Floats, alive: Floats, tail: float | None, at: Floats) -> Floats:
    """P(T > at) of the law with P(T > times[i]) = alive[i], straight lines between.

    Where there is a jump it is continuous from the right.

    >>> times, alive = np.array([0.0, 4.0, 4.0]), np.array([1.0, 0.5, 0.0])
    >>> curve_survival(times, alive, None, np.array([-1.0, 2.0, 4.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    place = np.searchsorted(times, at, side="right")
    left = np.maximum(place - 1, 0)
    right = np.minimum(place, len(times) - 1)
    width = times[right] - times[left]
    part = np.where(width > 0, (at - times[left]) / np.where(width > 0, width, 1.0), 0.0)
    inside = np.where(place == 0, 1.0, alive[left] + part * (alive[right] - alive[left]))
    if tail is None:
        return inside
    later = alive[-1] * np.exp(-np.maximum(at - times[-1], 0.0) / tail)
    return np.where(at >= times[-1], later, inside)


def curve_moments(times: Floats, alive: Floats, tail: float | None) -> tuple[float, float]:
    """E[T] and E[T^2] of the law with P(T > times[i]) = alive[i], straight lines between.

    >>> mean, square = curve_moments(np.array([0.0, 10.0]), np.array([1.0, 0.0]), None)
    >>> mean, round(square, 4)                      # uniform on 0 to 10
    (5.0, 33.3333)
    """
    before, after, width = times[:-1], times[1:], np.diff(times)
    first = float(times[0] + (width * (alive[:-1] + alive[1:]) / 2).sum())
    weighted = before * (2 * alive[:-1] + alive[1:]) + after * (alive[:-1] + 2 * alive[1:])
    second = float(times[0] ** 2 + (width * weighted).sum() / 3)
    if tail is not None and alive[-1] > 0:
        first += float(alive[-1]) * tail
        second += 2 * float(alive[-1]) * tail * (float(times[-1]) + tail)
    return first, second
