"""How long Unmix plays: when a visit to an arm ends, how long stretches are, and their parts.

A visit loses about E|tau - tau'| plays to late rewards, whatever its length, so visits are few and
long: an arm is played until its index falls below the best estimate of the others, or until its data
have doubled.
"""

from __future__ import annotations

import math

#: Lengths in length scales (E, the mean delay): of a first stretch and of a return, of a part, of
#: the very first run at least and at most, of a first visit at most, and the least cap of a later one.
STRETCH = 1.0
PART = 0.5
FIRST_RUN_LEAST, FIRST_RUN_MOST = 2.0, 6.0
FIRST_VISIT, LATER_VISIT = 3.0, 9.0
#: The rewards that the very first arm should have shown before it is left. With fewer, "it earns
#: nothing" explains the totals as well as "its rewards are late".
FIRST_REWARDS = 10
SHORTEST_STRETCH = 8
#: Going on with an arm adds at least this share to its known plays.
STAY_SHARE = 0.1
#: Once a run is this many length scales long, a further part is added to its last row.
MERGED_AFTER = 8.0
#: While nothing is known of the delay, stretches double until one is twice the length scale and
#: this many rewards were seen.
RAMP_REWARDS = 20


def first_run_goes_on(length: float, scale: float, rewards: float, share: float) -> bool:
    """Whether the very first arm is played on, so that it shows what it earns.

    Args:
        length: The rounds of its run so far.
        scale: The length scale, E.
        rewards: The rewards that were seen so far.
        share: The most that a first visit may take of the horizon, in rounds.

    >>> first_run_goes_on(100, 50, 30, 10_000), first_run_goes_on(100, 50, 2, 10_000)
    (False, True)
    """
    short = length < FIRST_RUN_LEAST * scale or rewards < FIRST_REWARDS
    return short and length < min(FIRST_RUN_MOST * scale, share)


def visit_cap(first: bool, length: float, plays: float, scale: float, share: float) -> float:
    """The longest that a visit may last: until the arm's data have doubled, or nine scales.

    Args:
        first: Whether this is the arm's first visit.
        length: The rounds of the visit so far.
        plays: The known plays of the arm, this visit's among them.
        scale: The length scale, E.
        share: The most that a first visit may take of the horizon, in rounds.

    >>> visit_cap(True, 50, 50, 50, 10_000), visit_cap(False, 50, 2050, 50, 10_000)
    (150.0, 2000)
    """
    if first:
        return min(FIRST_VISIT * scale, share)
    return max(LATER_VISIT * scale, plays - length)


def stretch_length(staying: bool, new: bool, plays: float, scale: float, share: float) -> int:
    """How long to play an arm before the next decision.

    Args:
        staying: Whether it is the arm that is being played.
        new: Whether it was never played.
        plays: Its known plays.
        scale: The length scale, E.
        share: The most that a first visit may take of the horizon, in rounds.

    >>> stretch_length(True, False, 2000, 50, 10_000), stretch_length(False, True, 0, 50, 10_000)
    (200, 50)
    """
    if staying:
        return whole(max(STAY_SHARE * plays, PART * scale))
    rounds = max(SHORTEST_STRETCH, STRETCH * scale)
    if new:
        rounds = min(rounds, max(SHORTEST_STRETCH, share))
    return whole(rounds)


def part_length(left: int, run: float, scale: float, longest: int | None = None) -> int:
    """The next part of a stretch: half a length scale, or half of the run so far.

    Args:
        left: The rounds of the stretch that are left.
        run: The rounds of the run so far.
        scale: The length scale, E.
        longest: The length to take instead, while the delay is not known at all.

    >>> part_length(50, 0, 50), part_length(30, 20, 50), part_length(400, 600, 50)
    (25, 30, 300)
    """
    size = whole(max(PART * scale, run / 2)) if longest is None else longest
    return left if left - size < PART * scale else min(size, left)


def whole(rounds: float) -> int:
    """The nearest whole number of rounds, at least 1.

    >>> whole(0.2), whole(2.5)
    (1, 3)
    """
    return max(1, math.floor(rounds + 0.5))
