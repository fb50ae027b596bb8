"""Delays made of other delays or of data: mixtures, empirical and tabulated delays."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays.base import FOREVER, Delay, Integers, as_floats, number_text
from latesum.delays.curves import Curve, Floats
from latesum.delays.parsing import law, parse


class Mixture(Delay):
    """One of several delays, each with its own probability."""

    def __init__(self, *parts: tuple[float, Delay | str]) -> None:
        for part in parts:
            if not isinstance(part, tuple) or len(part) != 2:
                raise InvalidInput(
                    f"a mixture is made of (probability, delay) pairs, not {part!r}."
                )
        if not parts:
            raise InvalidInput("a mixture needs at least one (probability, delay) pair.")
        self._weights = [
            finite_number(weight, "a probability of a mixture", at_least=0, at_most=1)
            for weight, _ in parts
        ]
        if abs(math.fsum(self._weights) - 1) > 1e-9:
            raise InvalidInput(
                f"the probabilities of a mixture must sum to 1, not {math.fsum(self._weights):g}."
            )
        self._delays = [parse(delay) for _, delay in parts]

    @property
    def text(self) -> str:
        return self._mixture_of([delay.text for delay in self._delays])

    @property
    def short_text(self) -> str:
        return self._mixture_of([delay.short_text for delay in self._delays])

    def _mixture_of(self, texts: list[str]) -> str:
        pairs = zip(self._weights, texts, strict=True)
        return f"mixture({', '.join(f'({number_text(w)}, {text})' for w, text in pairs)})"

    @property
    def _identity(self) -> tuple[Any, ...]:
        return type(self), *self._weights, *(delay._identity for delay in self._delays)

    @property
    def bound(self) -> int | None:
        bounds = [delay.bound for delay in self._delays]
        known = [bound for bound in bounds if bound is not None]
        return max(known) if len(known) == len(bounds) else None

    @property
    def mean(self) -> float:
        pairs = zip(self._weights, self._delays, strict=True)
        return math.fsum(w * d.mean for w, d in pairs)

    @property
    def variance(self) -> float:
        pairs = zip(self._weights, self._delays, strict=True)
        return math.fsum(w * (d.variance + (d.mean - self.mean) ** 2) for w, d in pairs)

    def survival(self, k: ArrayLike) -> Floats:
        k = np.asarray(k)
        total = np.zeros(k.shape)
        for weight, delay in zip(self._weights, self._delays, strict=True):
            total = total + weight * delay.survival(k)
        return np.minimum(total, 1.0)

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        which = rng.choice(len(self._delays), size=count, p=np.array(self._weights))
        drawn = np.empty(count, dtype=np.int64)
        for index, delay in enumerate(self._delays):
            chosen = which == index
            drawn[chosen] = delay.draw(int(chosen.sum()), rng)
        return drawn


@law
def mixture(*parts: tuple[float, Delay | str]) -> Delay:
    """Mixture: one of several delays, each with its probability.

    Args:
        *parts: Pairs of a probability and a delay or its text.

    >>> mixture((0.05, "constant(500)"), (0.95, "uniform(0, 50)")).mean
    48.75
    """
    return Mixture(*parts)


class Empirical(Delay):
    """The delays that were observed, each as likely as it was frequent."""

    def __init__(self, source: Sequence[float] | str | Path) -> None:
        if isinstance(source, (str, Path)):
            observed: Sequence[float] = _read_column(Path(source))
            self._text = f"empirical({str(source)!r})"
        else:
            observed = source
            self._text = ""
        if len(observed) == 0:
            raise InvalidInput("an empirical delay needs at least one observed delay.")
        whole = [whole_number(value, "an observed delay") for value in observed]
        self._text = self._text or f"empirical({whole})"
        values, counts = np.unique(np.array(whole, dtype=np.int64), return_counts=True)
        self._values = values
        self._counts = counts
        self._alive = 1.0 - np.cumsum(counts) / counts.sum()
        self._alive[-1] = 0.0

    @property
    def text(self) -> str:
        return self._text

    @property
    def _identity(self) -> tuple[Any, ...]:
        # The text may name a file, whose content may have changed since it was read.
        return type(self), self._text, self._values.tobytes(), self._counts.tobytes()

    @property
    def bound(self) -> int:
        return int(self._values[-1])

    @functools.cached_property
    def _moments(self) -> tuple[float, float]:
        mean = float(np.average(self._values, weights=self._counts))
        variance = float(np.average((self._values - mean) ** 2, weights=self._counts))
        return mean, variance

    def survival(self, k: ArrayLike) -> Floats:
        place = np.searchsorted(self._values, np.asarray(k), side="right")
        return np.where(place == 0, 1.0, self._alive[np.maximum(place, 1) - 1])

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        drawn: Integers = rng.choice(self._values, size=count, p=self._counts / self._counts.sum())
        return drawn


def _read_column(path: Path) -> list[float]:
    """The numbers of the first column of a text file; a heading in its first line is skipped."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row and row[0].strip()]
    except OSError as error:
        raise InvalidInput(f"cannot read the delays in {path}: {error.strerror}.") from error
    numbers = []
    for line, row in enumerate(rows, start=1):
        try:
            numbers.append(float(row[0]))
        except ValueError:
            if line > 1:
                raise InvalidInput(
                    f"line {line} of {path} starts with {row[0]!r}; each line must start with a "
                    "delay, a whole number of rounds."
                ) from None
    return numbers


@law
def empirical(source: Sequence[float] | str | Path) -> Delay:
    """Empirical: the observed delays, each as likely as it was frequent.

    Args:
        source: The delays in rounds, or a text file with the delays in its first column.

    >>> empirical([0, 1, 1, 4]).mean
    1.5
    """
    return Empirical(source)


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

    @classmethod
    def from_curve(cls, curve: Curve, rounds_per_unit: float) -> Tabulated:
        """The delay in rounds of a curve: every point of it, so that nothing of it changes.

        It has a bound if the largest delay is known; the largest that was seen is none.
        """
        whole = curve.completed
        tail = None if whole.tail is None or whole.unseen < 1e-12 else float(whole.tail)
        return cls(
            (whole.times * rounds_per_unit).tolist(),
            np.clip(1 - whole.alive, 0.0, 1.0).tolist(),
            None if tail is None else tail * rounds_per_unit,
            bounded=curve.largest is not None,
        )

    @functools.cached_property
    def curve(self) -> Curve:
        """The law on the real line that gives this delay when rounded up."""
        times = self._times if self._tail else np.minimum(self._times, self._last)
        return Curve(times, 1 - self._shares, self._tail)

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
        return self.curve.survival(as_floats(k))

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
        # numbers of a straight line P(delay > k) is start + slope * j with j = 0, 1, ..., count -
        # 1.
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


@law
def tabulated(
    times: Sequence[float],
    shares: Sequence[float],
    tail: float | None = None,
    bounded: bool = True,
) -> Delay:
    """Tabulated: by `times[i]` the share `shares[i]` has arrived, with straight lines between.

    Args:
        times: Times in rounds, which need not be whole: delays are rounded up.
        shares: The share of the rewards that has arrived by each time.
        tail: If the last share is below 1, the rest comes exponentially later with this mean.
        bounded: Whether the last time is the largest delay possible; False: the largest one seen.

    >>> tabulated([0, 100], [0, 1]).mean, tabulated([30, 30], [0, 1]).bound
    (50.5, 30)
    """
    return Tabulated(times, shares, tail, bounded)


def _truth(value: bool) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"bounded must be True or False, not {value!r}.")
    return bool(value)


def _written(value: float) -> str:
    return f"{value:.12g}"


def _kept(value: float) -> float:
    return float(_written(value))
