"""How long Unmix plays: when a visit to an arm ends, which arm is next, how long blocks are.

A visit loses about E|tau - tau'| plays to late rewards, whatever its length, so visits are few and
long: an arm is played until its index falls below the best estimate of the others, or until its data
have doubled.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum.policies.unmix.index_kernels import index_values
from latesum.policies.unmix.rows_kernels import (
    BEGAN,
    CLOCK,
    COUNT,
    FLOWING_FROM,
    KNOWN,
    N_RUNS,
    PENDING,
    PLAYED,
    REWARDS,
    SILENCE,
    VISITS,
)

#: Lengths in length scales (E, the mean delay): of a first block and of a return, of a part, of
#: the very first run at least and at most, of a first visit at most, and the least cap of a later one.
STRETCH = 1.0
PART = 0.5
FIRST_RUN_LEAST, FIRST_RUN_MOST = 2.0, 6.0
FIRST_VISIT, LATER_VISIT = 3.0, 9.0
#: The visit to an arm that is in doubt: its rewards must be seen also if they come twice as late as told.
DOUBT_VISIT = 6.0
#: The same where nothing was told: the delay by which it is in doubt is longer than the likeliest one as it is.
SHORT_DOUBT_VISIT = 2.0
#: The rewards that the very first arm should have shown before it is left. With fewer, "it earns
#: nothing" explains the totals as well as "its rewards are late".
FIRST_REWARDS = 10.0
MIN_BLOCK = 8.0
#: Going on with an arm adds at least this share to its known plays.
STAY_SHARE = 0.1
#: The least rounds that are planned for where no horizon is told.
_LEAST_PLANNED = 1000.0
#: Where nothing was told, arms that were played only before this many length scales had passed are tried once
#: more, for at least this multiple of the time in which no reward came at the start.
_EARLY = 3.0
_PAST_SILENCE = 1.5
#: An arm whose totals are all missing is visited once more, and again while it has had no more than this share of all rounds.
UNSEEN_SHARE = 0.1
#: Why an arm is next.
GOES_ON, NOT_TRIED, MOST_PROMISING, NOTHING_KNOWN = 0, 1, 2, 3


@compiled
def whole(rounds):  # type: ignore[no-untyped-def]
    """The nearest whole number of rounds, at least 1."""
    return max(1.0, math.floor(rounds + 0.5))


@compiled
def first_visit_share(horizon, clock, n_arms):  # type: ignore[no-untyped-def]
    """The most that a first visit may take: a share of the rounds that are planned for.

    These are the horizon, or twice the rounds so far where none is known (0) or it has passed.
    """
    planned = horizon if horizon > clock else max(2.0 * clock, _LEAST_PLANNED)
    return planned / (4 * n_arms)


@compiled
def run_length(numbers, runs):  # type: ignore[no-untyped-def]
    """How long the present arm has been played without a break, since the first row."""
    run = int(numbers[N_RUNS]) - 1
    return numbers[CLOCK] - (max(runs[run, 0], 0.0) if run >= 0 else 0.0)


@compiled
def goes_on(arm, length, order, values, mu, counts, scale, share, rewards):  # type: ignore[no-untyped-def]
    """Whether the visit to `arm`, which has lasted for `length` rounds, goes on.

    `order` are the arms that can be played, `share` is the most that a first visit may take of the
    horizon; `counts` is that of `rows_kernels`.
    """
    rival, known = -1.0, counts[KNOWN, arm]
    for place in range(len(order)):
        other = order[place]
        if other != arm and counts[KNOWN, other] > 0.0:
            rival = max(rival, min(max(mu[other], 0.0), 1.0))
    if rival < 0.0:  # the very first arm is played until it has shown what it earns
        short = length < FIRST_RUN_LEAST * scale or rewards < FIRST_REWARDS
        return short and length < min(FIRST_RUN_MOST * scale, share)
    if counts[VISITS, arm] <= 1.0:
        cap = min(FIRST_VISIT * scale, share)
    else:
        cap = max(LATER_VISIT * scale, known - length)
    return length < cap and (known == 0.0 or values[arm] >= rival)


@compiled
def is_unseen(arm, counts, clock):  # type: ignore[no-untyped-def]
    """Whether an arm was played and all its totals are missing for good, so that nothing is known of it.

    It is visited again at once; if that goes on, it is played for no more than a small share of all rounds.
    """
    played = counts[PLAYED, arm]
    if played == 0.0 or counts[KNOWN, arm] > 0.0 or counts[PENDING, arm] > 0.0:
        return False
    return counts[VISITS, arm] <= 1.0 or played <= UNSEEN_SHARE * clock


@compiled
def choose(present, length, order, values, mu, counts, scale, share, rewards, tried_since, clock):  # type: ignore[no-untyped-def]  # fmt: skip
    """The next arm and why: stay while the visit goes on, then a new arm, then the best index.

    `present` is the arm that was played last if it can be played on, otherwise -1. An arm whose
    last run began before `tried_since` counts as new. An arm that was never played
    ends a later visit, which may be as long as all that is known, once it has lasted for a block. An
    arm whose totals are all missing counts as new.
    """
    if present >= 0 and counts[VISITS, present] > 1.0 and length >= STRETCH * scale:
        for place in range(len(order)):
            arm = order[place]
            if counts[PLAYED, arm] == 0.0 or is_unseen(arm, counts, clock):
                return arm, NOT_TRIED
    if present >= 0 and goes_on(present, length, order, values, mu, counts, scale, share, rewards):
        return present, GOES_ON
    best = order[0]
    for place in range(len(order)):
        arm = order[place]
        if arm != present and (counts[BEGAN, arm] < tried_since or is_unseen(arm, counts, clock)):
            return arm, NOT_TRIED
        if values[arm] > values[best]:
            best = arm
    if values[best] > -math.inf:
        return best, MOST_PROMISING
    return (present if present >= 0 else best), NOTHING_KNOWN


@compiled
def block_length(staying, plays, known, scale, share):  # type: ignore[no-untyped-def]
    """How long to play an arm, with a number of plays and of known plays, before the next decision."""
    if staying:
        return whole(max(STAY_SHARE * known, PART * scale))
    rounds = max(MIN_BLOCK, STRETCH * scale)
    if plays == 0.0:
        rounds = min(rounds, max(MIN_BLOCK, share))
    return whole(rounds)


@compiled
def doubt_length(scale, share, short):  # type: ignore[no-untyped-def]
    """How long an arm that is in doubt is visited at least."""
    visit = SHORT_DOUBT_VISIT if short else DOUBT_VISIT
    return whole(min(max(MIN_BLOCK, visit * scale), max(MIN_BLOCK, share)))


@compiled
def part_length(left, run, scale):  # type: ignore[no-untyped-def]
    """The next part of the `left` rounds of a block: half a length scale, or half of the run."""
    size = whole(max(PART * scale, run / 2.0))
    return left if left - size < PART * scale else min(size, left)


@compiled
def next_part(arm, left, scale, numbers, runs):  # type: ignore[no-untyped-def]
    """The next part of the `left` rounds that `arm` is played."""
    run = int(numbers[N_RUNS]) - 1
    played = run_length(numbers, runs) if run >= 0 and runs[run, 2] == arm else 0.0
    return int(part_length(float(left), played, scale))


@compiled
def decide(order, n_arms, scale, clock, horizon, told_nothing, numbers, counts, runs, points, variances, values):  # type: ignore[no-untyped-def]  # fmt: skip
    """The next arm, why, and for how many rounds.

    `order` are the arms that can be played, in the order of their first visits, `clock` the rounds so
    far, `horizon` 0 where none is known. An arm counts as tried if a run of it began late enough:
    where nothing was told of the delay, what was played before rewards flowed, or soon after the
    start, misleads. "This arm earns nothing" explains its totals as well as a delay does, and rewards
    that come much later than most are missing. `values` is room for the indices.
    """
    share = first_visit_share(horizon, clock, n_arms)
    if numbers[COUNT] == 0.0:
        arm, why = order[0], NOT_TRIED
        rounds = block_length(np.bool_(False), 0.0, 0.0, scale, share)
    else:
        present, last = np.int64(-1), int(runs[int(numbers[N_RUNS]) - 1, 2])
        for place in range(len(order)):
            if order[place] == last:
                present = last  # type: ignore[assignment]
        tried_since = 0.0
        if told_nothing:
            flowing = numbers[FLOWING_FROM]
            tried_since = math.inf if math.isnan(flowing) else max(flowing, _EARLY * scale)
        mu = points[0, points.shape[1] - variances.shape[1] :]
        index_values(mu, variances[1], counts, n_arms, scale, clock, horizon, values)
        arm, why = choose(
            present, run_length(numbers, runs), order, values, mu, counts, scale, share,
            numbers[REWARDS], tried_since, clock,
        )  # fmt: skip
        rounds = block_length(arm == present, counts[PLAYED, arm], counts[KNOWN, arm], scale, share)
    if told_nothing and why == NOT_TRIED:
        # If the silence at the start was a delay, the arm's own rewards must be seen after it.
        silence = min(math.ceil(_PAST_SILENCE * numbers[SILENCE]), math.floor(share))
        rounds = max(rounds, silence)
    if horizon > 0.0 and clock < horizon:
        rounds = min(rounds, horizon - clock)
    return arm, why, int(rounds)
