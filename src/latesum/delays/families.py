"""Families of delays: each a function that gives its formulas. Continuous ones are rounded up."""

from __future__ import annotations

import math

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays.base import Delay, Family, Integers, number_text, rounded_up
from latesum.delays.curves import Floats
from latesum.delays.parsing import law


def _text(name: str, *parameters: float) -> str:
    return f"{name}({', '.join(map(number_text, parameters))})"


def _between(low: int, high: int, text: str) -> Delay:
    count = high - low + 1
    return Family(
        text,
        lambda k: np.minimum(np.maximum((high - k) / count, 0.0), 1.0),
        lambda n, rng: rng.integers(low, high, size=n, endpoint=True),
        bound=high,
        mean=(low + high) / 2,
        variance=(count**2 - 1) / 12,
    )


@law
def constant(delay: int) -> Delay:
    """Constant: always the same delay, in rounds.

    >>> constant(3).cdf(2), constant(3).cdf(3)
    (np.float64(0.0), np.float64(1.0))
    """
    delay = whole_number(delay, "a constant delay")
    return _between(delay, delay, f"constant({delay})")


@law
def uniform(low: int, high: int) -> Delay:
    """Uniform: every whole number of rounds from `low` to `high`, both included, equally likely.

    >>> uniform(0, 50).bound
    50
    """
    low = whole_number(low, "the smallest uniform delay")
    high = whole_number(high, "the largest uniform delay", at_least=low)
    return _between(low, high, f"uniform({low}, {high})")


@law
def geometric(mean: float) -> Delay:
    """Geometric on 0, 1, 2, ...: the failures before a first success.

    >>> geometric(50).variance
    2550.0
    """
    mean = finite_number(mean, "the mean of a geometric delay", at_least=0)
    stay = mean / (1 + mean)

    def draw(count: int, rng: np.random.Generator) -> Integers:
        return rng.geometric(1 - stay, count) - 1

    return Family(
        _text("geometric", mean),
        lambda k: np.asarray(stay ** np.maximum(k + 1, 0.0)),
        draw,
        bound=None if mean > 0 else 0,
        mean=mean,
        variance=mean * (1 + mean),
        draw_beyond=lambda k, rng: k + 1 + draw(len(k), rng),  # it has no memory
    )


@law
def poisson(mean: float) -> Delay:
    """Poisson.

    >>> poisson(50).variance
    50.0
    """
    mean = finite_number(mean, "the mean of a Poisson delay", at_least=0)

    def survival(k: Floats) -> Floats:
        from scipy.special import gammainc

        return np.where(k < 0, 1.0, gammainc(np.maximum(k, 0.0) + 1, mean))

    return Family(
        _text("poisson", mean),
        survival,
        lambda count, rng: rng.poisson(mean, count),
        bound=None if mean > 0 else 0,
        mean=mean,
        variance=mean,
    )


@law
def negative_binomial(mean: float, variance: float) -> Delay:
    """Negative binomial: like Poisson with a variance larger than the mean.

    >>> negative_binomial(50, 500).mean
    50.0
    """
    mean = finite_number(mean, "the mean of a negative binomial delay", above=0)
    variance = finite_number(variance, "the variance of a negative binomial delay")
    if variance <= mean:
        raise InvalidInput(
            f"a negative binomial delay needs a variance above its mean {mean:g}, not "
            f"{variance:g}; for a variance equal to the mean use poisson({mean:g})."
        )
    success, failures = mean / variance, mean**2 / (variance - mean)

    def survival(k: Floats) -> Floats:
        from scipy.special import betainc

        return np.where(k < 0, 1.0, betainc(np.maximum(k, 0.0) + 1, failures, 1 - success))

    return Family(
        _text("negative_binomial", mean, variance),
        survival,
        lambda count, rng: rng.negative_binomial(failures, success, count),
        mean=mean,
        variance=variance,
    )


@law
def exponential(mean: float) -> Delay:
    """Exponential, rounded up to whole rounds: what is drawn has a mean about 1/2 larger.

    >>> round(exponential(50).mean, 3)
    50.502
    """
    mean = finite_number(mean, "the mean of an exponential delay", above=0)

    def draw(count: int, rng: np.random.Generator) -> Integers:
        return rounded_up(rng.exponential(mean, count))

    return Family(
        _text("exponential", mean),
        lambda k: np.exp(-np.maximum(k, 0.0) / mean),
        draw,
        mean=-1 / math.expm1(-1 / mean),
        variance=math.exp(-1 / mean) / math.expm1(-1 / mean) ** 2,
        draw_beyond=lambda k, rng: k + draw(len(k), rng),  # it has no memory
    )


@law
def half_normal(location: float, sd: float) -> Delay:
    """Half-normal: `location` + |Normal(0, sd)|, rounded up.

    >>> round(half_normal(40, 5).mean, 2)
    44.5
    """
    location = finite_number(location, "the location of a half-normal delay", at_least=0)
    sd = finite_number(sd, "the sd of a half-normal delay", above=0)

    def survival(k: Floats) -> Floats:
        from scipy.special import erfc

        return np.asarray(erfc(np.maximum(k - location, 0.0) / (sd * math.sqrt(2))))

    return Family(
        _text("half_normal", location, sd),
        survival,
        lambda n, rng: rounded_up(location + sd * np.abs(rng.standard_normal(n))),
    )


@law
def truncated_normal(location: float, sd: float) -> Delay:
    """Truncated normal: Normal(location, sd) given that it is at least 0, rounded up.

    >>> round(truncated_normal(0, 10).mean, 2)
    8.49
    """
    location = finite_number(location, "the location of a truncated normal delay")
    sd = finite_number(sd, "the sd of a truncated normal delay", above=0)
    if location < -30 * sd:
        raise InvalidInput(
            "a truncated normal delay needs a location of at least -30 sd; "
            f"{location:g} with sd {sd:g} leaves next to nothing above 0."
        )

    def survival(k: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr((location - np.maximum(k, 0.0)) / sd) / ndtr(location / sd))

    def draw(count: int, rng: np.random.Generator) -> Integers:
        from scipy.special import ndtr, ndtri

        above = (1.0 - rng.random(count)) * ndtr(location / sd)
        return rounded_up(np.maximum(location - sd * ndtri(above), 0.0))

    return Family(_text("truncated_normal", location, sd), survival, draw)


@law
def pareto(shape: float, mean: float) -> Delay:
    """Pareto type II (Lomax) from 0, rounded up: a heavy tail.

    Args:
        shape: The power of the tail, above 1; up to 2 the variance is infinite.
        mean: The mean before it is rounded up.

    >>> pareto(1.5, 50).variance
    inf
    """
    shape = finite_number(shape, "the shape of a Pareto delay", above=1)
    mean = finite_number(mean, "the mean of a Pareto delay", above=0)
    scale = mean * (shape - 1)
    return Family(
        _text("pareto", shape, mean),
        lambda k: np.asarray((1 + np.maximum(k, 0.0) / scale) ** -shape),
        lambda count, rng: rounded_up(scale * rng.pareto(shape, count)),
        # Given more than k, the rest is Pareto again, with its scale grown by k.
        draw_beyond=lambda k, rng: rounded_up(k + (scale + k) * rng.pareto(shape, len(k))),
    )
