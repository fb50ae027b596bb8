"""The indices, compiled: UCB1, KL-UCB, KL-UCB++, their solvers, and the arm with the largest."""

from __future__ import annotations

import math

from latesum._compile import compiled
from latesum.attributed import layout_kernels as at
from latesum.attributed.inline_kernels import inlined

#: Newton's method from above converges in a handful of steps; this only ends a stalled one.
_MOST_STEPS = 60
#: A test that an index is above a level is trusted when it holds by more than this share.
_MARGIN = 1e-9
#: An upper bound of an index holds until the clock has grown by one part in this many.
_LOOK_AHEAD = 1024
#: Upper bounds are made larger by this factor, so that rounding cannot make one too small.
_ROUNDING = 1.0 + 1e-12


@compiled
def bernoulli_divergence(p, q):  # type: ignore[no-untyped-def]
    """kl(p, q) of Bernoulli laws for 0 < p < q < 1; by log1p, so that it is exact for q near p."""
    gap = q - p
    return -p * math.log1p(gap / p) - (1.0 - p) * math.log1p(-gap / (1.0 - p))


@compiled
def bernoulli_upper(p, allowance):  # type: ignore[no-untyped-def]
    """The largest q in [p, 1] with kl(p, q) <= allowance.

    The divergence is convex and increasing in q, so Newton's method from a q that is too large
    comes down to the solution without passing it. It stops where it no longer comes down.
    """
    if p >= 1.0:
        return 1.0
    if allowance <= 0.0:
        return p
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
        lower = q - (bernoulli_divergence(p, q) - allowance) / slope
        if not lower < q:
            break
        close = q - lower < 1e-15 * q
        q = max(lower, p)
        if close:
            break
    return q


@compiled
def poisson_upper(p, allowance):  # type: ignore[no-untyped-def]
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
        close = q - lower < 1e-15 * q
        q = max(lower, p)
        if close:
            break
    return q


@inlined
def _allowance(base, log_clock, count, settings):  # type: ignore[no-untyped-def]
    """What count * kl(mean, q) may reach in the index of this base."""
    if base == at.KL_UCB:
        return log_clock
    share = max(1.0, settings[at.HORIZON_PER_ARM] / count)
    logarithm = math.log(share)
    return math.log(share * (1.0 + logarithm * logarithm))


@inlined
def index_of(base, mean, count, log_clock, settings):  # type: ignore[no-untyped-def]
    """The index of an arm with `count` rewards of this mean."""
    if base == at.UCB1:
        return mean + math.sqrt(settings[at.EXPLORATION] * log_clock / count)
    return bernoulli_upper(mean, _allowance(base, log_clock, count, settings) / count)


@inlined
def is_above(base, mean, count, log_clock, settings, level):  # type: ignore[no-untyped-def]
    """Whether the index is surely above `level`: False also means too close to tell."""
    if base == at.UCB1:
        return mean + math.sqrt(settings[at.EXPLORATION] * log_clock / count) > level
    if level < mean:
        return True
    if level >= 1.0 or mean <= 0.0 or mean >= level:
        return False
    reached = count * bernoulli_divergence(mean, level)
    return reached < _allowance(base, log_clock, count, settings) * (1.0 - _MARGIN)


@inlined
def arm_with_best_index(base, clock, leader, n_arms, settings, arms):  # type: ignore[no-untyped-def]
    """The arm with the largest index, the first of equals, given who led last.

    Usually the leader still leads. The others keep an upper bound of their index that holds for
    some time to come; while the leader is above all of them, no other index is computed. For the
    leader a logarithm of an earlier clock will do: with it the index is at most too small.
    """
    rival = -math.inf
    for arm in range(n_arms):
        if arm != leader:
            if clock > arms[at.EXPIRY, arm]:
                count = arms[at.COUNT, arm]
                ahead = float(clock + clock // _LOOK_AHEAD)
                index = index_of(
                    base, arms[at.TOTAL, arm] / count, count, math.log(ahead), settings
                )
                arms[at.UPPER, arm] = index * _ROUNDING
                arms[at.EXPIRY, arm] = ahead
            rival = max(rival, arms[at.UPPER, arm])
    leader_count = arms[at.COUNT, leader]
    mean = arms[at.TOTAL, leader] / leader_count
    if is_above(base, mean, leader_count, settings[at.EARLIER_LOG], settings, rival):
        return leader
    log_clock = math.log(float(clock))
    settings[at.EARLIER_LOG] = log_clock
    best = leader
    largest = index_of(base, mean, leader_count, log_clock, settings)
    for arm in range(n_arms):
        if arm != leader and arms[at.UPPER, arm] >= largest:
            count = arms[at.COUNT, arm]
            index = index_of(base, arms[at.TOTAL, arm] / count, count, log_clock, settings)
            if index > largest or (index == largest and arm < best):
                best, largest = arm, index
    if best != leader:
        arms[at.EXPIRY, leader] = -1.0  # its bound was not kept up while it led
    return best
