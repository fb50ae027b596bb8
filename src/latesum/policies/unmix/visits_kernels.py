"""How long Unmix plays: when a visit to an arm ends, which arm is next, how long stretches are.

A visit loses about E|tau - tau'| plays to late rewards, whatever its length, so visits are few and
long: an arm is played until its index falls below the best estimate of the others, or until its data
have doubled.
"""

from __future__ import annotations

import math

from latesum._compile import compiled
from latesum.policies.unmix.index_kernels import index_values

#: Lengths in length scales (E, the mean delay): of a first stretch and of a return, of a part, of
#: the very first run at least and at most, of a first visit at most, and the least cap of a later one.
STRETCH = 1.0
PART = 0.5
FIRST_RUN_LEAST, FIRST_RUN_MOST = 2.0, 6.0
FIRST_VISIT, LATER_VISIT = 3.0, 9.0
#: The rewards that the very first arm should have shown before it is left. With fewer, "it earns
#: nothing" explains the totals as well as "its rewards are late".
FIRST_REWARDS = 10.0
SHORTEST_STRETCH = 8.0
#: Going on with an arm adds at least this share to its known plays.
STAY_SHARE = 0.1
#: Why an arm is next.
GOES_ON, NOT_TRIED, MOST_PROMISING, NOTHING_KNOWN = 0, 1, 2, 3


@compiled
def whole(rounds):  # type: ignore[no-untyped-def]
    """The nearest whole number of rounds, at least 1."""
    return max(1.0, math.floor(rounds + 0.5))


@compiled
def goes_on(arm, length, order, values, mu, counts, scale, share, rewards):  # type: ignore[no-untyped-def]
    """Whether the visit to `arm`, which has lasted for `length` rounds, goes on.

    `order` are the arms that can be played, `counts` per arm the known plays, all plays, the
    runs and when the last one began, `share` the most that a first visit may take of the horizon.
    """
    rival, known = -1.0, counts[0, arm]
    for other in order:
        if other != arm and counts[0, other] > 0.0:
            rival = max(rival, min(max(mu[other], 0.0), 1.0))
    if rival < 0.0:  # the very first arm is played until it has shown what it earns
        short = length < FIRST_RUN_LEAST * scale or rewards < FIRST_REWARDS
        return short and length < min(FIRST_RUN_MOST * scale, share)
    if counts[2, arm] <= 1.0:
        cap = min(FIRST_VISIT * scale, share)
    else:
        cap = max(LATER_VISIT * scale, known - length)
    return length < cap and (known == 0.0 or values[arm] >= rival)


@compiled
def choose(present, length, order, values, mu, counts, scale, share, rewards, tried_since, new_first):  # type: ignore[no-untyped-def]  # fmt: skip
    """The next arm and why: stay while the visit goes on, then a new arm, then the best index.

    `present` is the arm that was played last if it can be played on, otherwise -1. An arm whose
    last run began before `tried_since` counts as new. With `new_first` an arm that was never played
    ends a later visit, which may be as long as all that is known, once it has lasted for a stretch.
    """
    if new_first and present >= 0 and counts[2, present] > 1.0 and length >= STRETCH * scale:
        for arm in order:
            if counts[1, arm] == 0.0:
                return arm, NOT_TRIED
    if present >= 0 and goes_on(present, length, order, values, mu, counts, scale, share, rewards):
        return present, GOES_ON
    best = order[0]
    for arm in order:
        if arm != present and counts[3, arm] < tried_since:
            return arm, NOT_TRIED
        if values[arm] > values[best]:
            best = arm
    if values[best] > -math.inf:
        return best, MOST_PROMISING
    return (present if present >= 0 else best), NOTHING_KNOWN


@compiled
def stretch_length(staying, plays, known, scale, share):  # type: ignore[no-untyped-def]
    """How long to play an arm, with a number of plays and of known plays, before the next decision."""
    if staying:
        return whole(max(STAY_SHARE * known, PART * scale))
    rounds = max(SHORTEST_STRETCH, STRETCH * scale)
    if plays == 0.0:
        rounds = min(rounds, max(SHORTEST_STRETCH, share))
    return whole(rounds)


@compiled
def part_length(left, run, scale):  # type: ignore[no-untyped-def]
    """The next part of the `left` rounds of a stretch: half a length scale, or half of the run."""
    size = whole(max(PART * scale, run / 2.0))
    return left if left - size < PART * scale else min(size, left)


@compiled
def decide(present, length, order, mu, variances, counts, pending, n_arms, scale, clock, horizon, share, rewards, tried_since, new_first):  # type: ignore[no-untyped-def]  # fmt: skip
    """The next arm, why, and for how many rounds: one call from Python per decision."""
    values = index_values(mu, variances, counts, pending, n_arms, scale, clock, horizon)
    arm, why = choose(
        present, length, order, values, mu, counts, scale, share, rewards, tried_since, new_first
    )
    return arm, why, stretch_length(arm == present, counts[1, arm], counts[0, arm], scale, share)
