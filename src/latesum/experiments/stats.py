"""What many runs say: means, shares, quantiles and ratios, each with how far it may be off.

One run has no standard error: it is NaN here, and printed as "–". All limits are 95% ones.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The 97.5% quantile of the normal law.
Z = 1.959964


class Uncertain(NamedTuple):
    """A number and 95% confidence limits for what endless simulation would give."""

    value: float
    low: float
    high: float


class RatioOfMeans(NamedTuple):
    """A ratio of two means, such as mean regrets at every checkpoint.

    `error` is its standard error (delta method). Runs of one number draw from the same seed in
    every setting, so numerator and denominator may be correlated, and `error` allows for that.
    """

    value: Floats
    error: Floats
    relative_variance_per_run: Floats

    def error_if_independent(self, replications: int) -> Floats:
        """The standard error with `replications` runs each of an independent pair."""
        error: Floats = np.abs(self.value) * np.sqrt(self.relative_variance_per_run / replications)
        return error


def variance(values: Floats) -> Any:
    """The variance along the first axis; NaN for a single run."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return values.var(axis=0, ddof=1)


def standard_error(values: Floats) -> Any:
    """The standard error of the mean along the first axis; NaN for a single run.

    >>> float(standard_error(np.array([1.0, 3.0]))), float(standard_error(np.array([1.0])))
    (1.0, nan)
    """
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def mean_of(values: Floats) -> Uncertain:
    """A mean with its limits.

    >>> mean_of(np.array([1.0, 2.0, 3.0])).value
    2.0
    """
    mean, error = float(values.mean()), float(standard_error(values))
    return Uncertain(mean, mean - Z * error, mean + Z * error)


def share_of(count: int, total: int, z: float = Z) -> Uncertain:
    """A share with Wilson's limits, of 95% or of the level that belongs to `z`.

    >>> [round(number, 3) for number in share_of(80, 100)]
    [0.8, 0.711, 0.867]
    """
    share = count / total
    centre = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) * z / (1 + z**2 / total)
    return Uncertain(
        share, max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)
    )


def quantile_of(values: Floats, share: float) -> Uncertain:
    """A quantile with limits from the order of the values.

    >>> quantile_of(np.arange(100.0), 0.5)
    Uncertain(value=49.0, low=39.0, high=59.0)
    """
    ordered = np.sort(values)
    count = len(ordered)
    place = max(math.ceil(share * count) - 1, 0)
    half = Z * math.sqrt(count * share * (1 - share))
    low = max(math.floor(share * count - half) - 1, 0)
    high = min(math.ceil(share * count + half) - 1, count - 1)
    low, high = min(low, place), max(high, place)
    return Uncertain(float(ordered[place]), float(ordered[low]), float(ordered[high]))


def rate_upper_limit(count: int, runs: int, level: float = 0.95) -> float:
    """The exact (Clopper-Pearson) one-sided upper limit of a rate of which `count` were seen.

    >>> round(rate_upper_limit(0, 10_000), 6)
    0.0003
    """
    from scipy.special import betaincinv

    return 1.0 if count == runs else float(betaincinv(count + 1, runs - count, level))


def ratio_of_means(above: Floats, below: Floats) -> RatioOfMeans:
    """The ratio of the means of two samples; rows are runs, columns checkpoints.

    >>> ratio = ratio_of_means(np.array([[2.0], [4.0]]), np.array([[1.0], [2.0]]))
    >>> ratio.value.tolist(), ratio.error.tolist()              # in step: no error at all
    ([2.0], [0.0])
    """
    mean_above, mean_below = above.mean(axis=0), below.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = mean_above / mean_below
        relative_above, relative_below = above / mean_above - 1, below / mean_below - 1
        variance_above, variance_below = variance(relative_above), variance(relative_below)
        squared = variance_above / len(above) + variance_below / len(below)
        if len(above) == len(below) > 1:
            squared = variance(relative_above - relative_below) / len(above)
        error = np.abs(value) * np.sqrt(squared)
    return RatioOfMeans(value, error, variance_above + variance_below)


def number_text(value: float, digits: int = 1) -> str:
    """A number for a table: no decimals from 1,000 on, and a dash where there is none.

    >>> number_text(12.34), number_text(1234.5), number_text(float("nan"))
    ('12.3', '1,234', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:,.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
