"""QPM-D and SBD, compiled: queues of rewards that feed a base algorithm."""

from __future__ import annotations

from latesum.attributed import layout_kernels as at
from latesum.attributed.index_kernels import arm_with_best_index
from latesum.attributed.inline_kernels import inlined
from latesum.attributed.random_kernels import beta


@inlined
def choose_queued(whole, tallies, arms, random_state):  # type: ignore[no-untyped-def]
    """QPM-D: the queue of the arm that the base asks for is empty, so that arm is played."""
    asked = whole[at.ASKED]
    if whole[at.HEURISTIC] == at.NO_HEURISTIC:
        return asked
    return _heuristic_arm(whole, tallies, arms, asked, random_state)


@inlined
def receive_queued(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, random_state, arm, reward
):
    """Into the arm's queue; but the arm that the base waits for feeds it, while it can.

    Between two calls the queue of the arm asked for is empty.
    """
    if whole[at.HEURISTIC] != at.NO_HEURISTIC:
        arms[at.RECEIVED_COUNT, arm] += 1.0
        arms[at.RECEIVED_TOTAL, arm] += reward
    if arm != whole[at.ASKED]:
        _put_into_queue(whole, tallies, queue_next, queue_reward, arm, reward)
        return
    fed = reward
    while True:
        _feed_base(whole, settings, tallies, arms, fed, random_state)
        asked = whole[at.ASKED]
        place = tallies[at.QUEUE_HEAD, asked]
        if place < 0:
            break
        fed = queue_reward[place]
        tallies[at.QUEUE_HEAD, asked] = queue_next[place]
        queue_next[place] = whole[at.QUEUE_FREE]
        whole[at.QUEUE_FREE] = place
        whole[at.QUEUED_NOW] -= 1


@inlined
def _put_into_queue(whole, tallies, queue_next, queue_reward, arm, reward):  # type: ignore[no-untyped-def]
    place = whole[at.QUEUE_FREE]
    if place >= 0:
        whole[at.QUEUE_FREE] = queue_next[place]
    else:
        place = whole[at.QUEUE_TOP]
        whole[at.QUEUE_TOP] += 1
    queue_reward[place] = reward
    queue_next[place] = -1
    if tallies[at.QUEUE_HEAD, arm] < 0:
        tallies[at.QUEUE_HEAD, arm] = place
    else:
        queue_next[tallies[at.QUEUE_TAIL, arm]] = place
    tallies[at.QUEUE_TAIL, arm] = place
    whole[at.QUEUED_NOW] += 1


@inlined
def _feed_base(whole, settings, tallies, arms, reward, random_state):  # type: ignore[no-untyped-def]
    """Give the base a reward of the arm it asked for, and let it ask for the next."""
    asked = whole[at.ASKED]
    arms[at.COUNT, asked] += 1.0
    arms[at.TOTAL, asked] += reward
    whole[at.CLOCK] += 1
    clock = whole[at.CLOCK]
    base = whole[at.BASE]
    n_arms = tallies.shape[1]
    if base == at.FIXED:
        return
    if base == at.THOMPSON:
        whole[at.ASKED] = sampled_arm(at.COUNT, at.TOTAL, arms, n_arms, random_state)
    elif clock < n_arms:
        whole[at.ASKED] = clock  # first every arm once, as given
    else:
        whole[at.ASKED] = arm_with_best_index(base, clock, asked, n_arms, settings, arms)


@inlined
def sampled_arm(counts, totals, arms, n_arms, random_state):  # type: ignore[no-untyped-def]
    """Thompson sampling: the arm with the largest draw from Beta(1 + total, 1 + count - total)."""
    best = 0
    largest = -1.0
    for arm in range(n_arms):
        total = arms[totals, arm]
        draw = beta(1.0 + total, 1.0 + arms[counts, arm] - total, random_state)
        if draw > largest:
            best, largest = arm, draw
    return best


@inlined
def _heuristic_arm(whole, tallies, arms, asked, random_state):  # type: ignore[no-untyped-def]
    """SBD: the heuristic's arm, unless it already has as many unused rewards as `max_delay`."""
    n_arms = tallies.shape[1]
    if whole[at.HEURISTIC] == at.THOMPSON_HEURISTIC:
        arm = sampled_arm(at.RECEIVED_COUNT, at.RECEIVED_TOTAL, arms, n_arms, random_state)
    else:
        arm = asked
        largest = -1.0
        for other in range(n_arms):
            if arms[at.RECEIVED_COUNT, other] > 0.0:
                mean = arms[at.RECEIVED_TOTAL, other] / arms[at.RECEIVED_COUNT, other]
                if mean > largest:
                    arm, largest = other, mean
    # Queued and outstanding together: what was played and not yet fed to the base.
    if arm != asked and tallies[at.PLAYS, arm] - arms[at.COUNT, arm] >= whole[at.MAX_DELAY]:
        return asked
    return arm
