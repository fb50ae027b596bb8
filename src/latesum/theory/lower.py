"""What no policy can beat."""

from __future__ import annotations

import math
from collections.abc import Sequence

from latesum._checks import InvalidInput, finite_number, whole_number


def lai_robbins(means: Sequence[float], horizon: int) -> float:
    """The lower bound of Lai and Robbins for Bernoulli arms: eq. (lairobbins) times ln(T).

    The sum over suboptimal arms of G / kl(mean, best mean), times ln(T). It is asymptotic: for
    every policy that is good on all problems, regret / ln(T) does not stay below the sum; at one
    horizon a policy may do better. The paper suspects that it holds for late sums too. It does:
    a player of the plain bandit can draw the delays himself, add up, and so use any policy for
    late sums, with the same regret.

    >>> round(lai_robbins([0.5, 0.6], 250_000), 2)
    60.89
    """
    if len(means) < 2:
        raise InvalidInput(f"give the means of at least 2 arms, not of {len(means)}.")
    horizon = whole_number(horizon, "the horizon", at_least=1)
    checked = [finite_number(mean, "a mean", at_least=0, at_most=1) for mean in means]
    best = max(checked)
    slopes = [(best - mean) / bernoulli_divergence(mean, best) for mean in checked if mean < best]
    return math.fsum(slopes) * math.log(horizon)


def bernoulli_divergence(p: float, q: float) -> float:
    """kl(p, q), the Kullback-Leibler divergence of Bernoulli(q) from Bernoulli(p).

    >>> bernoulli_divergence(0.5, 0.5), bernoulli_divergence(0.5, 1)
    (0.0, inf)
    """
    p = finite_number(p, "a mean", at_least=0, at_most=1)
    q = finite_number(q, "a mean", at_least=0, at_most=1)
    if (q == 0 < p) or (p < 1 == q):
        return math.inf
    ones = p * math.log(p / q) if p > 0 else 0.0
    zeros = (1 - p) * (math.log1p(-p) - math.log1p(-q)) if p < 1 else 0.0
    # Pinsker's inequality: rounding cannot bring two different means to a divergence of 0.
    return max(ones + zeros, 2 * (p - q) ** 2)
