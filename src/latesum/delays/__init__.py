"""How late rewards come: distributions on 0, 1, 2, ... rounds.

>>> from latesum import delays
>>> delays.uniform(0, 100).mean
50.0
>>> round(delays.exponential(50).mean, 3)           # rounded up to whole rounds
50.502
>>> delays.parse("exponential(50).clipped(75)").bound
75
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from latesum._checks import InvalidInput
from latesum._registry import DELAYS
from latesum.delays.base import Delay
from latesum.delays.combined import Clipped, Empirical, Mixture, Truncated
from latesum.delays.families import (
    Constant,
    Exponential,
    Geometric,
    HalfNormal,
    NegativeBinomial,
    Pareto,
    Poisson,
    TruncatedNormal,
    Uniform,
)
from latesum.delays.fitting import FittedDelay, fit
from latesum.delays.parsing import parse
from latesum.delays.tabulated import Tabulated

__all__ = [
    "Clipped",
    "Delay",
    "FittedDelay",
    "Truncated",
    "constant",
    "empirical",
    "exponential",
    "fit",
    "geometric",
    "half_normal",
    "mixture",
    "negative_binomial",
    "pareto",
    "parse",
    "poisson",
    "tabulated",
    "truncated_normal",
    "uniform",
]


def constant(delay: int) -> Delay:
    """Always `delay` rounds.

    >>> constant(3).cdf(2), constant(3).cdf(3)
    (np.float64(0.0), np.float64(1.0))
    """
    return Constant(delay)


def uniform(low: int, high: int) -> Delay:
    """Every whole number from `low` to `high`, both included.

    >>> uniform(0, 50).bound
    50
    """
    return Uniform(low, high)


def geometric(mean: float) -> Delay:
    """Geometric on 0, 1, 2, ... with this mean.

    >>> geometric(50).variance
    2550.0
    """
    return Geometric(mean)


def poisson(mean: float) -> Delay:
    """Poisson with this mean.

    >>> poisson(50).variance
    50.0
    """
    return Poisson(mean)


def exponential(mean: float) -> Delay:
    """Exponential with this mean, rounded up to whole rounds.

    >>> round(exponential(50).mean, 3)
    50.502
    """
    return Exponential(mean)


def half_normal(location: float, sd: float) -> Delay:
    """`location` + |Normal(0, sd)|, rounded up.

    >>> round(half_normal(40, 5).mean, 2)
    44.5
    """
    return HalfNormal(location, sd)


def truncated_normal(location: float, sd: float) -> Delay:
    """Normal(location, sd) given that it is at least 0, rounded up.

    >>> round(truncated_normal(0, 10).mean, 2)
    8.49
    """
    return TruncatedNormal(location, sd)


def negative_binomial(mean: float, variance: float) -> Delay:
    """Negative binomial with this mean and this variance, which is larger.

    >>> negative_binomial(50, 500).mean
    50.0
    """
    return NegativeBinomial(mean, variance)


def pareto(shape: float, mean: float) -> Delay:
    """Pareto type II (Lomax) from 0 with this mean, rounded up; infinite variance up to shape 2.

    >>> pareto(1.5, 50).variance
    inf
    """
    return Pareto(shape, mean)


def mixture(*parts: tuple[float, Delay | str]) -> Delay:
    """One of several delays: `mixture((probability, delay), ...)`.

    >>> mixture((0.05, constant(500)), (0.95, "uniform(0, 50)")).mean
    48.75
    """
    for part in parts:
        if not isinstance(part, tuple) or len(part) != 2:
            raise InvalidInput(f"a mixture is made of (probability, delay) pairs, not {part!r}.")
    return Mixture([(weight, parse(delay)) for weight, delay in parts])


def empirical(source: Sequence[float] | str | Path) -> Delay:
    """The observed delays, from a sequence or from the first column of a text file.

    >>> empirical([0, 1, 1, 4]).mean
    1.5
    """
    return Empirical(source)


def tabulated(times: Sequence[float], shares: Sequence[float], tail: float | None = None) -> Delay:
    """By `times[i]` the share `shares[i]` has arrived; the rest exponentially later by `tail`.

    >>> tabulated([0, 100], [0, 1]).mean, tabulated([30, 30], [0, 1]).bound
    (50.5, 30)
    """
    return Tabulated(times, shares, tail)


for _family in (
    constant, uniform, geometric, poisson, exponential, half_normal, truncated_normal,
    negative_binomial, pareto, mixture, empirical, tabulated,
):  # fmt: skip
    DELAYS.add(_family.__name__, _family)
