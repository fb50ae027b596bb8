"""Samples of delays for tests of fits: ten families, three kinds of data, three sizes.

Times are in buckets. The families have a mean of about six and all kinds of shapes: with and without a largest delay, from zero or from
later on, with light and with heavy tails, with one mode and with two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from latesum.delays.curves import POINTS


class Mixed:
    """One of two laws, with the mean and the quantiles of the mixture."""

    def __init__(self, weight, first, second) -> None:
        self.weight, self.first, self.second = weight, first, second

    def rvs(self, size, random_state):
        both = [each.rvs(size, random_state=random_state) for each in (self.first, self.second)]
        return np.where(random_state.random(size) < self.weight, *both)

    def mean(self):
        return self.weight * self.first.mean() + (1 - self.weight) * self.second.mean()

    def ppf(self, share):
        from scipy.optimize import brentq

        def above(at):
            return (
                self.weight * self.first.cdf(at) + (1 - self.weight) * self.second.cdf(at) - share
            )

        return brentq(above, 0.0, 1000.0)


FAMILIES: dict[str, Any] = {
    "uniform": stats.uniform(0, 12),
    "exponential": stats.expon(0, 6),
    "gamma": stats.gamma(2.5, 0, 2.4),
    "lognormal": stats.lognorm(0.6, 0, 5),
    "Weibull": stats.weibull_min(1.6, 0, 7),
    "half-normal": stats.halfnorm(0, 7.5),
    "truncated normal": stats.truncnorm(-2, 8, 6, 3),
    "late exponential": stats.expon(2, 4),
    "Lomax": stats.lomax(6, 0, 27),
    "mixed": Mixed(0.6, stats.gamma(4, 0, 0.75), stats.gamma(20, 0, 0.5)),
}

EDGES = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30.0])


def single(law, size, rng, until=None):
    """Delays, censored at a random time, or all at one."""
    drawn = law.rvs(size, random_state=rng)
    limits = rng.uniform(12, 60, size) if until is None else np.full(size, until)
    return {"delay": np.minimum(drawn, limits), "censored": drawn > limits}


def histogram(law, size, rng):
    """Counts in bins, the last one open."""
    counts, _ = np.histogram(law.rvs(size, random_state=rng), np.append(EDGES, np.inf))
    return {"from": EDGES, "to": [*EDGES[1:].tolist(), None], "count": counts}


def triangle(law, size, rng, buckets=45, depth=25):
    """Buckets of about `size` rewards, each looked at for `depth` buckets or until the end."""
    rows = []
    for bucket in range(buckets):
        count = rng.poisson(size)
        arrival = np.sort(rng.random(count) + law.rvs(count, random_state=rng))
        lags = np.arange(min(buckets - bucket, depth))
        known = np.searchsorted(arrival, lags + 1, side="right")
        rows += [(bucket, bucket + lag, total) for lag, total in zip(lags, known, strict=True)]
    bucket, as_of, total = np.array(rows).T
    return {"bucket": bucket, "as_of": as_of, "total": total}


def averages_of(surviving):
    """The averages over buckets of a curve that `from_averages` made."""
    points = surviving.reshape((*surviving.shape[:-1], -1, POINTS))
    return points @ (np.array([1.0, 2.0, 1.0]) / 4)


#: How the data are drawn, and three sizes of them.
KINDS: dict[str, tuple[Callable[..., Any], tuple[int, int, int]]] = {
    "single": (single, (100, 400, 1600)),
    "histogram": (histogram, (200, 1000, 5000)),
    "triangle": (triangle, (30, 100, 300)),
}
