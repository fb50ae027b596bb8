"""The delay families, one class each. Continuous ones are rounded up to the next whole round."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays.base import (
    FOREVER,
    Delay,
    DrawnCurve,
    Floats,
    Integers,
    as_floats,
    number_text,
)


def _rounded_up(values: Floats) -> Integers:
    return np.minimum(np.ceil(values), float(FOREVER)).astype(np.int64)


class UniformDelay(Delay):
    """Every whole number from `low` to `high`, both included, equally likely."""

    def __init__(self, low: int, high: int) -> None:
        self.low = whole_number(low, "the smallest uniform delay")
        self.high = whole_number(high, "the largest uniform delay", at_least=self.low)

    @property
    def text(self) -> str:
        return f"uniform({self.low}, {self.high})"

    @property
    def bound(self) -> int:
        return self.high

    @property
    def drawn_curve(self) -> DrawnCurve:
        return DrawnCurve(np.array([self.low - 1.0, self.high]), np.array([1.0, 0.0]), 0.0)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        return ((self.high - self.low + 1) ** 2 - 1) / 12

    @property
    def spread(self) -> float:
        values = self.high - self.low + 1
        return (values**2 - 1) / (3 * values)

    def survival(self, k: ArrayLike) -> Floats:
        return np.clip((self.high - as_floats(k)) / (self.high - self.low + 1), 0.0, 1.0)

    def _law(self) -> tuple[int, float, float]:
        from latesum.delays.law_kernels import UNIFORM

        return (UNIFORM, float(self.low), float(self.high))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return rng.integers(self.low, self.high, size=count, endpoint=True)


class ConstantDelay(UniformDelay):
    """Always the same delay."""

    def __init__(self, delay: int) -> None:
        delay = whole_number(delay, "a constant delay")
        super().__init__(delay, delay)

    @property
    def text(self) -> str:
        return f"constant({self.high})"


class GeometricDelay(Delay):
    """The failures before a first success, with the given mean."""

    def __init__(self, mean: float) -> None:
        self._mean = finite_number(mean, "the mean of a geometric delay", at_least=0)
        self._stay = self._mean / (1 + self._mean)

    @property
    def text(self) -> str:
        return f"geometric({number_text(self._mean)})"

    @property
    def bound(self) -> int | None:
        return None if self._mean > 0 else 0

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def drawn_curve(self) -> DrawnCurve | None:
        if self._mean == 0:
            return None
        return DrawnCurve(np.array([-1.0]), np.ones(1), 1 / math.log1p(1 / self._mean))

    @property
    def variance(self) -> float:
        return self._mean * (1 + self._mean)

    @property
    def spread(self) -> float:
        return 2 * self._mean * (1 + self._mean) / (1 + 2 * self._mean)

    def survival(self, k: ArrayLike) -> Floats:
        return as_floats(self._stay ** np.maximum(as_floats(k) + 1, 0.0))

    def _law(self) -> tuple[int, float, float]:
        from latesum.delays.law_kernels import GEOMETRIC

        return (GEOMETRIC, float(self._stay), 0.0)

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return rng.geometric(1 - self._stay, count) - 1

    def draw_beyond(self, k: Integers, rng: np.random.Generator) -> Integers:
        return k + 1 + self.draw(len(k), rng)  # it has no memory


class PoissonDelay(Delay):
    """Poisson with the given mean."""

    def __init__(self, mean: float) -> None:
        self._mean = finite_number(mean, "the mean of a Poisson delay", at_least=0)

    @property
    def text(self) -> str:
        return f"poisson({number_text(self._mean)})"

    @property
    def bound(self) -> int | None:
        return None if self._mean > 0 else 0

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def variance(self) -> float:
        return self._mean

    @property
    def spread(self) -> float:
        from scipy.special import ive

        return float(2 * self._mean * (ive(0, 2 * self._mean) + ive(1, 2 * self._mean)))

    def survival(self, k: ArrayLike) -> Floats:
        from scipy.special import gammainc

        at = as_floats(k)
        return np.where(at < 0, 1.0, gammainc(np.maximum(at, 0.0) + 1, self._mean))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return rng.poisson(self._mean, count)


class NegativeBinomialDelay(Delay):
    """Negative binomial: like Poisson with a larger variance."""

    def __init__(self, mean: float, variance: float) -> None:
        self._mean = finite_number(mean, "the mean of a negative binomial delay", above=0)
        self._variance = finite_number(variance, "the variance of a negative binomial delay")
        if self._variance <= self._mean:
            raise InvalidInput(
                f"a negative binomial delay needs a variance above its mean {mean:g}, not "
                f"{variance:g}; for a variance equal to the mean use poisson({mean:g})."
            )
        self._p = self._mean / self._variance
        self._r = self._mean**2 / (self._variance - self._mean)

    @property
    def text(self) -> str:
        return f"negative_binomial({number_text(self._mean)}, {number_text(self._variance)})"

    @property
    def bound(self) -> None:
        return None

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def variance(self) -> float:
        return self._variance

    def survival(self, k: ArrayLike) -> Floats:
        from scipy.special import betainc

        at = as_floats(k)
        return np.where(at < 0, 1.0, betainc(np.maximum(at, 0.0) + 1, self._r, 1 - self._p))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return rng.negative_binomial(self._r, self._p, count)


class ExponentialDelay(Delay):
    """Exponential with the given mean, rounded up: what is drawn has a mean about 1/2 larger."""

    def __init__(self, mean: float) -> None:
        self._parent_mean = finite_number(mean, "the mean of an exponential delay", above=0)

    @property
    def text(self) -> str:
        return f"exponential({number_text(self._parent_mean)})"

    @property
    def bound(self) -> None:
        return None

    @property
    def drawn_curve(self) -> DrawnCurve:
        return DrawnCurve(np.zeros(1), np.ones(1), self._parent_mean)

    @property
    def mean(self) -> float:
        return -1 / math.expm1(-1 / self._parent_mean)

    @property
    def variance(self) -> float:
        stay = math.exp(-1 / self._parent_mean)
        return stay / math.expm1(-1 / self._parent_mean) ** 2

    @property
    def spread(self) -> float:
        return -2 * math.exp(-1 / self._parent_mean) / math.expm1(-2 / self._parent_mean)

    def survival(self, k: ArrayLike) -> Floats:
        return np.exp(-np.maximum(as_floats(k), 0.0) / self._parent_mean)

    def _law(self) -> tuple[int, float, float]:
        from latesum.delays.law_kernels import EXPONENTIAL

        return (EXPONENTIAL, float(self._parent_mean), 0.0)

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return _rounded_up(rng.exponential(self._parent_mean, count))

    def draw_beyond(self, k: Integers, rng: np.random.Generator) -> Integers:
        return k + self.draw(len(k), rng)  # it has no memory


class HalfNormalDelay(Delay):
    """`location` + |Normal(0, sd)|, rounded up."""

    def __init__(self, location: float, sd: float) -> None:
        self._location = finite_number(location, "the location of a half-normal delay", at_least=0)
        self._sd = finite_number(sd, "the sd of a half-normal delay", above=0)

    @property
    def text(self) -> str:
        return f"half_normal({number_text(self._location)}, {number_text(self._sd)})"

    @property
    def bound(self) -> None:
        return None

    def survival(self, k: ArrayLike) -> Floats:
        from scipy.special import erfc

        excess = np.maximum(as_floats(k) - self._location, 0.0)
        return as_floats(erfc(excess / (self._sd * math.sqrt(2))))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return _rounded_up(self._location + self._sd * np.abs(rng.standard_normal(count)))


class TruncatedNormalDelay(Delay):
    """Normal(location, sd) given that it is at least 0, rounded up."""

    def __init__(self, location: float, sd: float) -> None:
        self._location = finite_number(location, "the location of a truncated normal delay")
        self._sd = finite_number(sd, "the sd of a truncated normal delay", above=0)
        if self._location < -30 * self._sd:
            raise InvalidInput(
                "a truncated normal delay needs a location of at least -30 sd; "
                f"{location:g} with sd {sd:g} leaves next to nothing above 0."
            )

    @property
    def text(self) -> str:
        return f"truncated_normal({number_text(self._location)}, {number_text(self._sd)})"

    @property
    def bound(self) -> None:
        return None

    def survival(self, k: ArrayLike) -> Floats:
        from scipy.special import ndtr

        at = np.maximum(as_floats(k), 0.0)
        kept = ndtr(self._location / self._sd)
        return as_floats(ndtr((self._location - at) / self._sd) / kept)

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        if self.fits_table():
            return self._draw_by_table(count, rng)
        from scipy.special import ndtr, ndtri

        above = (1.0 - rng.random(count)) * ndtr(self._location / self._sd)
        return _rounded_up(np.maximum(self._location - self._sd * ndtri(above), 0.0))


class ParetoDelay(Delay):
    """Pareto type II (Lomax) with the given shape and mean, from 0, rounded up: a heavy tail."""

    def __init__(self, shape: float, mean: float) -> None:
        self._shape = finite_number(shape, "the shape of a Pareto delay", above=1)
        self._parent_mean = finite_number(mean, "the mean of a Pareto delay", above=0)
        self._scale = self._parent_mean * (self._shape - 1)

    @property
    def text(self) -> str:
        return f"pareto({number_text(self._shape)}, {number_text(self._parent_mean)})"

    @property
    def bound(self) -> None:
        return None

    @property
    def mean(self) -> float:
        return self._zeta(self._shape, self._scale)

    @property
    def variance(self) -> float:
        if self._shape <= 2:
            return math.inf
        # E[tau^2] = sum of (2k + 1) P(tau > k), and k = (k + scale) - scale.
        mean = self.mean
        weighted = self._scale * self._zeta(self._shape - 1, self._scale)
        return float(2 * (weighted - self._scale * mean) + mean - mean**2)

    @property
    def spread(self) -> float:
        # The sum of 2 (P - P^2) with P = P(tau > k): twice the mean less twice another zeta sum.
        found = 2 * (self.mean - self._zeta(2 * self._shape, self._scale))
        return found if math.isfinite(found) else super().spread

    def expected_outstanding(self, rounds: int) -> float:
        rounds = whole_number(rounds, "rounds")
        left = self._scale + rounds
        beyond = (self._scale / left) ** self._shape * self._zeta(self._shape, left)
        return float(self.mean - beyond)

    def survival(self, k: ArrayLike) -> Floats:
        at = np.maximum(as_floats(k), 0.0)
        return as_floats((1 + at / self._scale) ** -self._shape)

    def _law(self) -> tuple[int, float, float]:
        from latesum.delays.law_kernels import PARETO

        return (PARETO, float(self._scale), float(self._shape))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return _rounded_up(self._scale * rng.pareto(self._shape, count))

    def draw_beyond(self, k: Integers, rng: np.random.Generator) -> Integers:
        # Given more than k, the rest is Pareto again, with its scale grown by k.
        return _rounded_up(k + (self._scale + k) * rng.pareto(self._shape, len(k)))

    @staticmethod
    def _zeta(power: float, first: float) -> float:
        """The sum over k >= 0 of (first / (first + k)) ** power."""
        from scipy.special import zeta

        if power * math.log(max(first, 1.0)) < 600:
            return float(first**power * zeta(power, first))
        if first > 20 * power:  # Euler and Maclaurin; what is left out is below 1e-7 of it
            return first / (power - 1) + 0.5 + power / (12 * first)
        return float(((1 + np.arange(100_000) / first) ** -power).sum())
