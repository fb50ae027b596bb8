"""What a benchmark reports: ratios to attributed feedback, stuck runs, coverage."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.experiments.stats import Uncertain, rate_upper_limit

Floats = NDArray[np.float64]

#: An entry is safe if the upper limit of its rate of stuck runs on `random-1` is at most this.
SAFE_RATE = 1 / 300
_RESAMPLES = 2_000


def log_ratios(regrets: Floats, reference: Floats) -> Floats:
    """By cell, the logarithm of the ratio of the mean regrets; rows are runs, columns cells.

    >>> log_ratios(np.array([[2.0], [4.0]]), np.array([[3.0], [3.0]])).tolist()
    [0.0]
    """
    ratios: Floats = np.log(np.maximum(regrets.mean(axis=0), 1e-9) / reference.mean(axis=0))
    return ratios


def score(regrets: Floats, reference: Floats, *, seed: int = 0) -> Uncertain:
    """The mean log ratio over cells, with bootstrap limits.

    Runs of one number share their seeds in all cells, so that run numbers are resampled.

    >>> score(np.full((4, 2), 2.0), np.full((4, 2), 1.0))
    Uncertain(value=0.6931471805599453, low=0.6931471805599453, high=0.6931471805599453)
    """
    runs = len(regrets)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(runs, np.full(runs, 1 / runs), size=_RESAMPLES) / runs
    means = np.maximum(weights @ regrets, 1e-9), np.maximum(weights @ reference, 1e-9)
    resampled = np.log(means[0] / means[1]).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Uncertain(float(log_ratios(regrets, reference).mean()), float(low), float(high))


class Rate(NamedTuple):
    """How often something was seen, with Clopper and Pearson's 95% limits."""

    seen: int
    runs: int
    low: float
    high: float


def rate(count: int, runs: int) -> Rate:
    """A rate with exact limits.

    >>> found = rate(0, 1_000)
    >>> found.low, round(found.high, 5)
    (0.0, 0.00368)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(count, runs - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, runs - count, 0.975)) if count < runs else 1.0
    return Rate(count, runs, low, high)


def is_safe(stuck: Rate) -> bool:
    """Whether the one-sided 95% limit of the rate of stuck runs is at most `SAFE_RATE`.

    >>> is_safe(rate(0, 1_000)), is_safe(rate(1, 1_000))
    (True, False)
    """
    return rate_upper_limit(stuck.seen, stuck.runs) <= SAFE_RATE
