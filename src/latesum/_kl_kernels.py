"""How far a mean can lie from what was seen: bounds by Kullback-Leibler divergence, compiled."""

from __future__ import annotations

import math

from latesum._compile import compiled

#: Newton's method from above converges in a handful of steps; this only ends a stalled one.
_MOST_STEPS = 60
#: It ends with a step below this share of the bound. The attributed baselines compare indices of
#: arms that are nearly equal and go to the last digit; the policies do with less. Another number
#: would change the last digits of recorded runs.
TO_THE_LAST_DIGIT = 1e-15
CLOSE = 1e-13


@compiled
def bernoulli_divergence(p: float, q: float) -> float:
    """kl(p, q) of Bernoulli laws for 0 < p < q < 1; by log1p, so that it is exact for q near p."""
    gap = q - p
    return -p * math.log1p(gap / p) - (1.0 - p) * math.log1p(-gap / (1.0 - p))


@compiled
def bernoulli_upper(p: float, allowance: float, tolerance: float) -> float:
    """The largest q in [p, 1] with kl(p, q) <= allowance.

    The divergence is convex and increasing in q, so Newton's method from a q that is too large
    comes down to the solution without passing it. It stops where it no longer comes down.
    """
    if p >= 1.0:
        return 1.0
    if allowance <= 0.0:
        return max(p, 0.0)
    if p <= 0.0:
        return -math.expm1(-allowance)
    entropy = -p * math.log(p) - (1.0 - p) * math.log1p(-p)
    # Pinsker's bound, and kl(p, q) >= -(1 - p) ln(1 - q) - entropy(p).
    q = min(p + math.sqrt(allowance / 2.0), -math.expm1(-(allowance + entropy) / (1.0 - p)))
    if q >= 1.0:
        return 1.0  # closer to 1 than numbers can say
    for _ in range(_MOST_STEPS):
        slope = (q - p) / (q * (1.0 - q))
        if slope <= 0.0:
            break
        lower = max(q - (bernoulli_divergence(p, q) - allowance) / slope, p)
        if not lower < q:
            break
        close = q - lower < tolerance * q
        q = lower
        if close:
            break
    return q


@compiled
def bernoulli_lower(p: float, allowance: float, tolerance: float) -> float:
    """The smallest q in [0, p] with kl(p, q) <= allowance."""
    return 1.0 - bernoulli_upper(1.0 - p, allowance, tolerance)


@compiled
def exploration(count: float, n_arms: int, clock: float, horizon: float) -> float:
    """What `count` times the divergence may be, by KL-UCB++ for a horizon T > 0, else by KL-UCB.

    ln(x (1 + ln(x)^2)) with x = max(1, T / (K count)); past the horizon, the clock takes the place
    of T. Without a horizon (0) it is ln(clock + 1).
    """
    if horizon <= 0.0:
        return math.log(clock + 1.0)
    share = max(1.0, max(horizon, clock) / (n_arms * count))
    logarithm = math.log(share)
    return math.log(share * (1.0 + logarithm * logarithm))


@compiled
def poisson_upper(p: float, allowance: float) -> float:
    """The largest q in [p, 1] with q - p + p ln(p / q) <= allowance: the Poisson divergence."""
    if p >= 1.0:
        return 1.0
    if allowance <= 0.0:
        return p
    if p <= 0.0:
        return min(1.0, allowance)
    # Convex and increasing again, and at least (q - p)^2 / (2 q): so not above this q.
    q = p + allowance + math.sqrt(allowance * (allowance + 2.0 * p))
    if q >= 1.0:
        if 1.0 - p + p * math.log(p) <= allowance:
            return 1.0
        q = 1.0
    for _ in range(_MOST_STEPS):
        gap = q - p
        slope = gap / q
        if slope <= 0.0:
            break
        lower = q - (gap - p * math.log1p(gap / p) - allowance) / slope
        if not lower < q:
            break
        close = q - lower < TO_THE_LAST_DIGIT * q
        q = max(lower, p)
        if close:
            break
    return q
