"""The delays by name: one function per law, which is also what a delay's text calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from latesum._checks import InvalidInput
from latesum.delays.base import Delay
from latesum.delays.combined import Empirical, Mixture
from latesum.delays.families import (
    ConstantDelay,
    ExponentialDelay,
    GeometricDelay,
    HalfNormalDelay,
    NegativeBinomialDelay,
    ParetoDelay,
    PoissonDelay,
    TruncatedNormalDelay,
    UniformDelay,
)
from latesum.delays.parsing import law, parse
from latesum.delays.tabulated import Tabulated


@law
def constant(delay: int) -> Delay:
    """Always the same delay.

    Args:
        delay: The delay in rounds.

    >>> constant(3).cdf(2), constant(3).cdf(3)
    (np.float64(0.0), np.float64(1.0))
    """
    return ConstantDelay(delay)


@law
def uniform(low: int, high: int) -> Delay:
    """Every whole number from `low` to `high`, equally likely.

    Args:
        low: The smallest delay in rounds.
        high: The largest delay in rounds, included.

    >>> uniform(0, 50).bound
    50
    """
    return UniformDelay(low, high)


@law
def geometric(mean: float) -> Delay:
    """Geometric on 0, 1, 2, ...

    Args:
        mean: The mean delay in rounds.

    >>> geometric(50).variance
    2550.0
    """
    return GeometricDelay(mean)


@law
def poisson(mean: float) -> Delay:
    """Poisson.

    Args:
        mean: The mean delay in rounds.

    >>> poisson(50).variance
    50.0
    """
    return PoissonDelay(mean)


@law
def exponential(mean: float) -> Delay:
    """Exponential, rounded up to whole rounds.

    Args:
        mean: The mean before it is rounded up.

    >>> round(exponential(50).mean, 3)
    50.502
    """
    return ExponentialDelay(mean)


@law
def half_normal(location: float, sd: float) -> Delay:
    """`location` + |Normal(0, sd)|, rounded up.

    Args:
        location: The smallest delay.
        sd: The standard deviation of the normal law.

    >>> round(half_normal(40, 5).mean, 2)
    44.5
    """
    return HalfNormalDelay(location, sd)


@law
def truncated_normal(location: float, sd: float) -> Delay:
    """Normal(location, sd) given that it is at least 0, rounded up.

    Args:
        location: The mean of the normal law.
        sd: Its standard deviation.

    >>> round(truncated_normal(0, 10).mean, 2)
    8.49
    """
    return TruncatedNormalDelay(location, sd)


@law
def negative_binomial(mean: float, variance: float) -> Delay:
    """Negative binomial: like Poisson with a larger variance.

    Args:
        mean: The mean delay in rounds.
        variance: The variance, which is larger than the mean.

    >>> negative_binomial(50, 500).mean
    50.0
    """
    return NegativeBinomialDelay(mean, variance)


@law
def pareto(shape: float, mean: float) -> Delay:
    """Pareto type II (Lomax) from 0, rounded up; its variance is infinite up to shape 2.

    Args:
        shape: The power of the tail, above 1.
        mean: The mean before it is rounded up.

    >>> pareto(1.5, 50).variance
    inf
    """
    return ParetoDelay(shape, mean)


@law
def mixture(*parts: tuple[float, Delay | str]) -> Delay:
    """One of several delays: `mixture((probability, delay), ...)`.

    Args:
        *parts: Pairs of a probability and a delay or its text.

    >>> mixture((0.05, constant(500)), (0.95, "uniform(0, 50)")).mean
    48.75
    """
    for part in parts:
        if not isinstance(part, tuple) or len(part) != 2:
            raise InvalidInput(f"a mixture is made of (probability, delay) pairs, not {part!r}.")
    return Mixture([(weight, parse(delay)) for weight, delay in parts])


@law
def empirical(source: Sequence[float] | str | Path) -> Delay:
    """The observed delays, each as likely as it was frequent.

    Args:
        source: The delays in rounds, or a text file with the delays in its first column.

    >>> empirical([0, 1, 1, 4]).mean
    1.5
    """
    return Empirical(source)


@law
def tabulated(
    times: Sequence[float],
    shares: Sequence[float],
    tail: float | None = None,
    bounded: bool = True,
) -> Delay:
    """By `times[i]` the share `shares[i]` has arrived, with straight lines between.

    Args:
        times: Times in rounds, which need not be whole: delays are rounded up.
        shares: The share of the rewards that has arrived by each time.
        tail: If the last share is below 1, the rest comes exponentially later with this mean.
        bounded: Whether the last time is the largest delay possible; False: the largest one seen.

    >>> tabulated([0, 100], [0, 1]).mean, tabulated([30, 30], [0, 1]).bound
    (50.5, 30)
    """
    return Tabulated(times, shares, tail, bounded)
