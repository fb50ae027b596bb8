"""The indices, compiled: UCB1, KL-UCB, KL-UCB++, and the arm with the largest."""

from __future__ import annotations

import math

from latesum._compile import inlined
from latesum._kl_kernels import TO_THE_LAST_DIGIT, bernoulli_divergence, bernoulli_upper
from latesum.attributed import layout_kernels as layout

#: A test that an index is above a level is trusted when it holds by more than this share.
_MARGIN = 1e-9
#: An upper bound of an index holds until the clock has grown by one part in this many.
_LOOK_AHEAD = 1024
#: Upper bounds are made larger by this factor, so that rounding cannot make one too small.
_ROUNDING = 1.0 + 1e-12


@inlined
def _allowance(base, log_clock, count, settings):  # type: ignore[no-untyped-def]
    """What count * kl(mean, q) may reach in the index of this base."""
    if base == layout.KL_UCB:
        return log_clock
    share = max(1.0, settings[layout.HORIZON_PER_ARM] / count)
    logarithm = math.log(share)
    return math.log(share * (1.0 + logarithm * logarithm))


@inlined
def index_of(base, mean, count, log_clock, settings):  # type: ignore[no-untyped-def]
    """The index of an arm with `count` rewards of this mean."""
    if base == layout.UCB1:
        return mean + math.sqrt(settings[layout.EXPLORATION] * log_clock / count)
    return bernoulli_upper(
        mean, _allowance(base, log_clock, count, settings) / count, TO_THE_LAST_DIGIT
    )


@inlined
def is_above(base, mean, count, log_clock, settings, level):  # type: ignore[no-untyped-def]
    """Whether the index is surely above `level`: False also means too close to tell."""
    if base == layout.UCB1:
        return mean + math.sqrt(settings[layout.EXPLORATION] * log_clock / count) > level
    if level < mean:
        return True
    if level >= 1.0 or mean <= 0.0 or mean >= level:
        return False
    reached = count * bernoulli_divergence(mean, level)
    return reached < _allowance(base, log_clock, count, settings) * (1.0 - _MARGIN)


@inlined
def sure_feeds(clock, leader, n_arms, settings, arms):  # type: ignore[no-untyped-def]
    """For how many more rewards of the leader UCB1 surely stays with it, whatever they are.

    `arm_with_best_index` has just found that it leads. With n rewards and index I, m more that are
    all 0 leave it an index of at least I n / (n + m): its mean falls by that factor, and the rest by
    less. The bounds of the others hold until they expire.
    """
    rival, until = 0.0, math.inf
    for arm in range(n_arms):
        if arm != leader:
            rival = max(rival, arms[layout.UPPER, arm])
            until = min(until, arms[layout.EXPIRY, arm])
    count = arms[layout.COUNT, leader]
    index = index_of(
        layout.UCB1,
        arms[layout.TOTAL, leader] / count,
        count,
        settings[layout.EARLIER_LOG],
        settings,
    )
    ahead = until - clock
    if rival > 0.0:
        ahead = min(ahead, count * (index / rival - 1.0) * (1.0 - _MARGIN) - 1.0)
    return int(ahead) if ahead > 0.0 else 0


@inlined
def lead_of(leader, clock, settings, arms):  # type: ignore[no-untyped-def]
    """By how much UCB1's leader leads: it surely stays while what this becomes is positive.

    With n rewards and their total S it leads if S + sqrt(n c) > n r, r being the largest bound of the
    others. n only grows, so under the root the present one will do; then a reward x adds x - r to the
    lead. Returns the lead, r, and for how many rewards the bounds of the others hold.
    """
    rival, until = 0.0, math.inf
    for arm in range(arms.shape[1]):
        if arm != leader:
            rival = max(rival, arms[layout.UPPER, arm])
            until = min(until, arms[layout.EXPIRY, arm])
    count = arms[layout.COUNT, leader]
    spread = math.sqrt(settings[layout.EXPLORATION] * settings[layout.EARLIER_LOG] * count)
    lead = arms[layout.TOTAL, leader] + spread - count * rival * (1.0 + _MARGIN)
    return lead, rival, int(until - clock) if until > clock else 0


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
            if clock > arms[layout.EXPIRY, arm]:
                count = arms[layout.COUNT, arm]
                ahead = float(clock + clock // _LOOK_AHEAD)
                index = index_of(
                    base, arms[layout.TOTAL, arm] / count, count, math.log(ahead), settings
                )
                arms[layout.UPPER, arm] = index * _ROUNDING
                arms[layout.EXPIRY, arm] = ahead
            rival = max(rival, arms[layout.UPPER, arm])
    leader_count = arms[layout.COUNT, leader]
    mean = arms[layout.TOTAL, leader] / leader_count
    if is_above(base, mean, leader_count, settings[layout.EARLIER_LOG], settings, rival):
        return leader
    log_clock = math.log(float(clock))
    settings[layout.EARLIER_LOG] = log_clock
    best = leader
    largest = index_of(base, mean, leader_count, log_clock, settings)
    for arm in range(n_arms):
        if arm != leader and arms[layout.UPPER, arm] >= largest:
            count = arms[layout.COUNT, arm]
            index = index_of(base, arms[layout.TOTAL, arm] / count, count, log_clock, settings)
            if index > largest or (index == largest and arm < best):
                best, largest = arm, index
    if best != leader:
        arms[layout.EXPIRY, leader] = -1.0  # its bound was not kept up while it led
    return best
