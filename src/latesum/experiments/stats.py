"""What many runs say: means, shares, quantiles and ratios, each with how far it may be off.

One run has no standard error: it is NaN here, and printed as "–". All limits are 95% ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latesum.delays.curves import Floats, Uncertain

#: The 97.5% quantile of the normal law.
Z = 1.959964


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
    return np.sqrt(variance(values) / len(values))


def mean_of(values: Floats) -> Uncertain:
    """A mean with its limits."""
    mean, error = float(values.mean()), float(standard_error(values))
    return Uncertain(mean, mean - Z * error, mean + Z * error)


def share_of(count: int, total: int, z: float = Z) -> Uncertain:
    """A share with Wilson's limits, of 95% or of the level that belongs to `z`.

    >>> [round(number, 3) for number in share_of(80, 100)]
    [0.8, 0.711, 0.867]
    """
    share = count / total
    center = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) * z / (1 + z**2 / total)
    low, high = min(center - half, share), max(center + half, share)
    return Uncertain(share, max(low, 0.0), min(high, 1.0))


def quantile_of(values: Floats, share: float) -> Uncertain:
    """A quantile with limits from the order of the values.

    >>> quantile_of(np.arange(100.0), 0.5)
    Uncertain(value=49.0, low=39.0, high=59.0)
    """
    ordered, count = np.sort(values), len(values)
    half = Z * math.sqrt(count * share * (1 - share))
    rank = max(math.ceil(share * count) - 1, 0)
    low = min(max(math.floor(share * count - half) - 1, 0), rank)
    high = max(min(math.ceil(share * count + half) - 1, count - 1), rank)
    return Uncertain(float(ordered[rank]), float(ordered[low]), float(ordered[high]))


def rate_upper_limit(count: int, runs: int, level: float = 0.95) -> float:
    """The exact (Clopper-Pearson) one-sided upper limit of a rate of which `count` were seen.

    >>> round(rate_upper_limit(0, 10_000), 6)
    0.0003
    """
    from scipy.special import betaincinv

    return 1.0 if count == runs else float(betaincinv(count + 1, runs - count, level))


def ratio_of_means(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """The ratio of the means of two samples and its standard error (delta method), by column.

    Runs of one number (rows) share a seed: with as many runs, the error allows for correlation.

    >>> ratio, error = ratio_of_means(np.array([[2.0], [4.0]]), np.array([[1.0], [2.0]]))
    >>> ratio.tolist(), error.tolist()              # in step: no error at all
    ([2.0], [0.0])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = above.mean(axis=0) / below.mean(axis=0)
        if len(above) == len(below) > 1:
            in_step = above / above.mean(axis=0) - below / below.mean(axis=0)
            return ratio, np.abs(ratio) * standard_error(in_step)
        return ratio, independent_ratio_error(above, below, len(above), len(below))


def independent_ratio_error(above: Floats, below: Floats, *runs: int) -> Floats:
    """The standard error of the ratio of two means, each of its number of independent runs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = [variance(each / each.mean(axis=0)) for each in (above, below)]
        squared = relative[0] / runs[0] + relative[1] / runs[-1]
        error: Floats = np.abs(above.mean(axis=0) / below.mean(axis=0)) * np.sqrt(squared)
    return error


def number_text(value: float, digits: int = 1) -> str:
    """A number for a table: no decimals from 1,000 on, and a dash where there is none.

    >>> number_text(12.34), number_text(1234.5), number_text(float("nan"))
    ('12.3', '1,234', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:,.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"
