"""How sure a reporting triangle's growth is, by the formula of Mack (1993).

The growth from one lag to the next is a factor f, the sum of the later totals over that of the earlier ones. In Mack's model a
total C grows to f C on average, with the variance sigma^2 C, and factors of different lags are uncorrelated; so no
resampling is needed. T. Mack, "Distribution-free calculation of the standard error of chain ladder reserve
estimates", ASTIN Bulletin 23 (1993).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latesum.delays.base import Floats


class Growth(NamedTuple):
    """The factor of each step from a lag to the next, and its uncertainty.

    Args:
        factors: The later totals over the earlier ones.
        sigmas: Mack's sigma of each step: how much single buckets vary.
        errors: The standard error of each factor.
        buckets: The number of buckets that show each step.
    """

    factors: Floats
    sigmas: Floats
    errors: Floats
    buckets: Floats


def growth_of(triangle: Floats, weights: Floats | None = None) -> Growth:
    """The growth that a triangle shows: one row per bucket, one column per lag, NaN if not known.

    Args:
        triangle: The totals.
        weights: How many times each bucket counts, once if it is left out; one row per weighting
            gives one row of each result per weighting.

    >>> growth = growth_of(np.array([[1.0, 2.0], [2.0, 3.0], [1.0, np.nan]]))
    >>> round(float(growth.factors[0]), 3), round(float(growth.errors[0]), 3)
    (1.667, 0.236)
    """
    both = np.isfinite(triangle[:, 1:]) & np.isfinite(triangle[:, :-1])
    before = np.where(both, triangle[:, :-1], 0.0)
    after = np.where(both, triangle[:, 1:], 0.0)
    times = np.ones(len(triangle)) if weights is None else weights
    sums, later, buckets = times @ before, times @ after, times @ both.astype(np.float64)
    factors = np.divide(later, sums, out=np.full(sums.shape, np.nan), where=sums > 0)
    spread = _spread(before, after, factors, weights)
    variances = np.divide(spread, buckets - 1, out=np.full(sums.shape, np.nan), where=buckets > 1)
    for step in range(2, sums.shape[-1]):  # one bucket shows no variance: Mack's rule for the last
        two, one = variances[..., step - 2], variances[..., step - 1]
        fallen = np.divide(one**2, two, out=np.full(np.shape(one), np.inf), where=two > 0)
        shown = np.minimum(np.minimum(fallen, one), two)
        variances[..., step] = np.where(buckets[..., step] == 1, shown, variances[..., step])
    errors = np.sqrt(np.divide(variances, sums, out=np.full(sums.shape, np.nan), where=sums > 0))
    return Growth(factors, np.sqrt(variances), errors, buckets)


def _spread(before: Floats, after: Floats, factors: Floats, weights: Floats | None) -> Floats:
    """The sum over buckets of (after - f before)^2 / before, of those that begin with something."""
    begun = before > 0
    if weights is None:
        squares = (after - factors * before) ** 2
        return np.asarray(
            np.divide(squares, before, out=np.zeros_like(before), where=begun).sum(axis=0)
        )
    # Multiplied out, for all weightings at once; some digits are lost, and resampling needs few.
    squares = np.divide(after**2, before, out=np.zeros_like(before), where=begun)
    mixed = weights @ np.where(begun, after, 0.0)
    return np.maximum(
        weights @ squares - 2 * factors * mixed + factors**2 * (weights @ before), 0.0
    )


def mean_error(growth: Growth, arrived: Floats) -> float | None:
    """The standard error of the mean delay in buckets, with what comes after the last lag as given.

    The mean is the sum over lags of 1 - arrived, and arrived at lag l is one over the product of the factors
    from l on. So the logarithm of factor j moves the mean by the sum of what has arrived up to lag j.

    Args:
        growth: The factors and their errors.
        arrived: The share that has arrived at each lag.
    """
    steps = len(arrived) - 1
    relative = growth.errors[:steps] / growth.factors[:steps]
    moved = np.cumsum(arrived[:-1])
    known = np.isfinite(relative) | (moved == 0)
    if not known.all():
        return None
    return float(np.sqrt((np.where(moved > 0, moved * relative, 0.0) ** 2).sum()))
