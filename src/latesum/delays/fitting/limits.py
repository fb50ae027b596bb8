"""Limits of quantiles from limits of the share that is left: exact where single delays are all seen.

A quantile is above a time if and only if the share left there is above 1 - p. So the limits of the quantile are
where the limits of the share cross 1 - p. Those are Clopper and Pearson's, of a binomial number out of the number of delays; where
some are censored, out of the number that would give the variance of Greenwood's formula.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latesum.delays.base import Floats
from latesum.delays.fitting.curve import Curve


def effective_numbers(alive: Floats, events: Floats, at_risk: Floats, total: float) -> Floats:
    """How many delays without censoring would show the share left at each time as well.

    Args:
        alive: The Kaplan-Meier estimate after each time.
        events: The number that ended at each time.
        at_risk: The number that had not ended before.
        total: The number of all.

    >>> alive, ones = np.array([0.75, 0.5, 0.25, 0.0]), np.ones(4)
    >>> effective_numbers(alive, ones, np.array([4.0, 3.0, 2.0, 1.0]), 4.0).round(9).tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    left = at_risk * (at_risk - events)
    terms = np.divide(events, left, out=np.zeros_like(events), where=left > 0)
    relative = np.cumsum(terms)  # the variance of log(alive), by Greenwood
    inner = (alive > 0) & (relative > 0)
    found = np.full(len(alive), np.nan)
    found[inner] = (1 - alive[inner]) / (alive[inner] * relative[inner])
    if not inner.any():
        return np.full(len(alive), total)
    # Before the first end all are there, and after the last nothing is left to learn.
    last = np.maximum.accumulate(np.where(inner, np.arange(len(found)), -1))
    return np.asarray(np.where(last < 0, total, np.minimum(found[last], total)))


def share_limits(alive: Floats, numbers: Floats, level: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's limits of the share left, at each of the points of a curve.

    Args:
        alive: The share left.
        numbers: Out of how many.
        level: The level of the limits.

    >>> low, high = share_limits(np.array([0.5]), np.array([10.0]), 0.95)
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.1871, 0.8129)
    """
    from scipy.special import betaincinv

    side = (1 - level) / 2
    count, rest = numbers * alive, numbers * (1 - alive)
    low = np.where(count > 0, betaincinv(np.maximum(count, 1e-9), rest + 1, side), 0.0)
    high = np.where(rest > 0, betaincinv(count + 1, np.maximum(rest, 1e-9), 1 - side), 1.0)
    return np.minimum.accumulate(low), np.maximum.accumulate(high[::-1])[::-1]


def quantile_limits(
    curve: Curve, numbers: Floats, shares: Sequence[float], level: float
) -> dict[float, tuple[float | None, float | None]]:
    """The limits of quantiles; None where the data end before that limit.

    Args:
        curve: The estimate.
        numbers: Out of how many delays each of its points was found.
        shares: The shares that have arrived by the quantiles.
        level: The level of the limits.
    """
    low, high = (Curve(curve.times, limit) for limit in share_limits(curve.alive, numbers, level))

    def within(limit: Curve, share: float) -> float | None:
        return limit.quantile(share) if limit.unseen <= 1 - share + 1e-12 else None

    return {share: (within(low, share), within(high, share)) for share in shares}
