"""Delays made from other delays or from data: mixed, empirical."""

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
from latesum.delays.base import Delay, Floats, Integers, number_text


class Mixture(Delay):
    """One of several delays, each with its own probability."""

    def __init__(self, parts: Sequence[tuple[float, Delay]]) -> None:
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
        self._delays = [delay for _, delay in parts]

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

    def expected_outstanding(self, rounds: int) -> float:
        pairs = zip(self._weights, self._delays, strict=True)
        return math.fsum(w * d.expected_outstanding(rounds) for w, d in pairs)

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

    @property
    def spread(self) -> float:
        steps = np.diff(self._values) * self._alive[:-1] * (1 - self._alive[:-1])
        return 2 * float(steps.sum())

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
