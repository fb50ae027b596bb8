"""The policies, compiled: which arm to play, and what to do with a reward that has arrived.

`choose` and `receive` are all that a policy is. The compiled loop over rounds and the step by
hand call the same two. What a policy knows is the arrays of a `PolicyState`; `layout_kernels` says
what is where in them. The kinds are a closed set: a further one needs a number there and a branch
in `choose` and in `receive`.
"""

from __future__ import annotations

import math

from latesum._compile import allocation_free, inlined
from latesum._kl_kernels import poisson_upper
from latesum.attributed import layout_kernels as layout
from latesum.attributed.index_kernels import arm_with_best_index, sure_feeds
from latesum.attributed.random_kernels import beta


@inlined
def choose(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state
):
    """The arm of the next round, noted as played."""
    kind = whole[layout.KIND]
    if kind == layout.QUEUED:
        arm = _choose_queued(whole, tallies, arms, random_state)
    elif kind == layout.RECEIVED:
        arm = _choose_received(whole, settings, tallies, arms)
    elif kind == layout.WEIGHTED:
        arm = _choose_weighted(whole, settings, tallies, arms, survival, edges)
    else:
        arm = _choose_phased(whole, settings, tallies, arms)
    tallies[layout.PLAYS, arm] += 1
    whole[layout.ROUNDS] += 1
    return arm


@inlined
def receive(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state,
    arm, reward,
):  # fmt: skip
    """Take in one reward of `arm` that has arrived."""
    if whole[layout.KIND] == layout.QUEUED:
        _receive_queued(
            whole, settings, tallies, arms, queue_next, queue_reward, random_state, arm, reward
        )
    else:
        _receive_received(whole, arms, arm, reward)


@allocation_free
def choose_once(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state
):
    """`choose` by itself, for steps by hand."""
    return choose(
        whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state
    )


@allocation_free
def receive_all(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state,
    arrived_arms, rewards,
):  # fmt: skip
    """`receive` for each arrival in turn, for steps by hand."""
    for place in range(len(rewards)):
        receive(
            whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
            random_state, arrived_arms[place], rewards[place],
        )  # fmt: skip


@inlined
def _choose_queued(whole, tallies, arms, random_state):  # type: ignore[no-untyped-def]
    """QPM-D: the queue of the arm that the base asks for is empty, so that arm is played."""
    asked = whole[layout.ASKED]
    if whole[layout.HEURISTIC] == layout.NO_HEURISTIC:
        return asked
    return _heuristic_arm(whole, tallies, arms, asked, random_state)


@inlined
def _receive_queued(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, random_state, arm, reward
):
    """Into the arm's queue; but the arm that the base waits for feeds it, while it can.

    Between two calls the queue of the arm asked for is empty.
    """
    if whole[layout.HEURISTIC] != layout.NO_HEURISTIC:
        arms[layout.RECEIVED_COUNT, arm] += 1.0
        arms[layout.RECEIVED_TOTAL, arm] += reward
    if arm != whole[layout.ASKED]:
        _put_into_queue(whole, tallies, queue_next, queue_reward, arm, reward)
        return
    fed = reward
    while True:
        _feed_base(whole, settings, tallies, arms, fed, random_state)
        asked = whole[layout.ASKED]
        place = tallies[layout.QUEUE_HEAD, asked]
        if place < 0:
            break
        fed = queue_reward[place]
        tallies[layout.QUEUE_HEAD, asked] = queue_next[place]
        queue_next[place] = whole[layout.QUEUE_FREE]
        whole[layout.QUEUE_FREE] = place
        whole[layout.QUEUED_NOW] -= 1


@inlined
def _put_into_queue(whole, tallies, queue_next, queue_reward, arm, reward):  # type: ignore[no-untyped-def]
    place = whole[layout.QUEUE_FREE]
    if place >= 0:
        whole[layout.QUEUE_FREE] = queue_next[place]
    else:
        place = whole[layout.QUEUE_TOP]
        whole[layout.QUEUE_TOP] += 1
    queue_reward[place] = reward
    queue_next[place] = -1
    if tallies[layout.QUEUE_HEAD, arm] < 0:
        tallies[layout.QUEUE_HEAD, arm] = place
    else:
        queue_next[tallies[layout.QUEUE_TAIL, arm]] = place
    tallies[layout.QUEUE_TAIL, arm] = place
    whole[layout.QUEUED_NOW] += 1


@inlined
def _feed_base(whole, settings, tallies, arms, reward, random_state):  # type: ignore[no-untyped-def]
    """Give the base a reward of the arm it asked for, and let it ask for the next."""
    asked = whole[layout.ASKED]
    arms[layout.COUNT, asked] += 1.0
    arms[layout.TOTAL, asked] += reward
    whole[layout.CLOCK] += 1
    if whole[layout.SURE_FEEDS] > 0 and reward >= 0.0:
        whole[layout.SURE_FEEDS] -= 1
        return
    clock = whole[layout.CLOCK]
    base = whole[layout.BASE]
    n_arms = tallies.shape[1]
    if base == layout.FIXED:
        return
    if base == layout.THOMPSON:
        whole[layout.ASKED] = _sampled_arm(layout.COUNT, layout.TOTAL, arms, n_arms, random_state)
    elif clock < n_arms:
        whole[layout.ASKED] = clock  # first every arm once, as given
    else:
        best = arm_with_best_index(base, clock, asked, n_arms, settings, arms)
        whole[layout.ASKED] = best
        whole[layout.SURE_FEEDS] = 0
        if base == layout.UCB1 and best == asked:
            whole[layout.SURE_FEEDS] = sure_feeds(clock, best, n_arms, settings, arms)


@inlined
def _sampled_arm(counts, totals, arms, n_arms, random_state):  # type: ignore[no-untyped-def]
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
    if whole[layout.HEURISTIC] == layout.THOMPSON_HEURISTIC:
        arm = _sampled_arm(layout.RECEIVED_COUNT, layout.RECEIVED_TOTAL, arms, n_arms, random_state)
    else:
        arm = asked
        largest = -1.0
        for other in range(n_arms):
            if arms[layout.RECEIVED_COUNT, other] > 0.0:
                mean = arms[layout.RECEIVED_TOTAL, other] / arms[layout.RECEIVED_COUNT, other]
                if mean > largest:
                    arm, largest = other, mean
    # Queued and outstanding together: what was played and not yet fed to the base.
    if (
        arm != asked
        and tallies[layout.PLAYS, arm] - arms[layout.COUNT, arm] >= whole[layout.MAX_DELAY]
    ):
        return asked
    return arm


@inlined
def _choose_received(whole, settings, tallies, arms):  # type: ignore[no-untyped-def]
    """Delayed-UCB1: the best index on what was received, with all rounds in the logarithm."""
    n_arms = tallies.shape[1]
    if whole[layout.UNSEEN] > 0:
        # An arm of which nothing is known comes first; of several, the one played least.
        best = -1
        for arm in range(n_arms):
            if arms[layout.COUNT, arm] == 0.0 and (
                best < 0 or tallies[layout.PLAYS, arm] < tallies[layout.PLAYS, best]
            ):
                best = arm
        whole[layout.ASKED] = best
        return best
    leader = whole[layout.ASKED]
    best = arm_with_best_index(
        whole[layout.BASE], whole[layout.ROUNDS], leader, n_arms, settings, arms
    )
    whole[layout.ASKED] = best
    return best


@inlined
def _receive_received(whole, arms, arm, reward):  # type: ignore[no-untyped-def]
    if arms[layout.COUNT, arm] == 0.0:
        whole[layout.UNSEEN] -= 1
    arms[layout.COUNT, arm] += 1.0
    arms[layout.TOTAL, arm] += reward
    arms[layout.EXPIRY, arm] = -1.0


@inlined
def _choose_weighted(whole, settings, tallies, arms, survival, edges):  # type: ignore[no-untyped-def]
    """DUCB: each play counts by the chance that it has arrived (N~ of the paper)."""
    n_arms = tallies.shape[1]
    now = whole[layout.ROUNDS] + 1  # the paper's t
    if now <= n_arms:
        best = tallies[layout.FIRST_PLAYS, now - 1]
    else:
        logarithm = (1.0 + settings[layout.EPSILON]) * math.log(float(now))
        best = -1
        largest = -math.inf
        for arm in range(n_arms):
            plays = float(tallies[layout.PLAYS, arm])
            expected = plays - tallies[layout.MISSING, arm] / layout.CHANCE_UNITS
            if expected <= 0.0:
                index = math.inf
            elif whole[layout.POISSON_KL] == 1:
                index = poisson_upper(arms[layout.TOTAL, arm] / expected, logarithm / expected)
            else:
                index = (arms[layout.TOTAL, arm] + math.sqrt(plays * logarithm / 2.0)) / expected
            if index > largest:
                best, largest = arm, index
            elif index == math.inf and tallies[layout.PLAYS, arm] < tallies[layout.PLAYS, best]:
                best = arm
    _age_plays(whole, tallies, survival, edges, now, best)
    return best


@inlined
def _age_plays(whole, tallies, survival, edges, now, arm):  # type: ignore[no-untyped-def]
    """Bring MISSING to the next round.

    A run of one arm over the rounds [a, b) misses S(now - a) - S(now - b), where S sums the
    chances of a longer delay over the lags. One round later it misses survival(now - a) more and
    survival(now - b) less: only the changes of arm within the window have to be looked at.
    """
    mask = edges.shape[1] - 1
    window = whole[layout.WINDOW]
    before = whole[layout.LAST_ARM]
    if arm != before:
        place = whole[layout.END_EDGE] & mask
        edges[layout.EDGE_ROUND, place] = now
        edges[layout.EDGE_FROM, place] = before
        edges[layout.EDGE_TO, place] = arm
        whole[layout.END_EDGE] += 1
        whole[layout.LAST_ARM] = arm
    first = whole[layout.FIRST_EDGE]
    while first < whole[layout.END_EDGE] and now - edges[layout.EDGE_ROUND, first & mask] >= window:
        first += 1
    whole[layout.FIRST_EDGE] = first
    for edge in range(first, whole[layout.END_EDGE]):
        place = edge & mask
        lag = now - edges[layout.EDGE_ROUND, place]
        entered = edges[layout.EDGE_TO, place]
        left = edges[layout.EDGE_FROM, place]
        tallies[layout.MISSING, entered] += survival[entered, lag]
        if left >= 0:
            tallies[layout.MISSING, left] -= survival[left, lag]


@inlined
def _choose_phased(whole, settings, tallies, arms):  # type: ignore[no-untyped-def]
    """Improved UCB: active arms in turn up to the phase's plays; then eliminate and halve."""
    n_arms = tallies.shape[1]
    while whole[layout.COMMITTED] < 0:
        for arm in range(n_arms):
            if (
                tallies[layout.ACTIVE, arm] == 1
                and tallies[layout.PLAYS, arm] < whole[layout.PHASE_PLAYS]
            ):
                return arm
        _end_phase(whole, settings, tallies, arms)
    return whole[layout.COMMITTED]


@inlined
def _end_phase(whole, settings, tallies, arms):  # type: ignore[no-untyped-def]
    n_arms = tallies.shape[1]
    tolerance = settings[layout.TOLERANCE]
    logarithm = math.log(settings[layout.HORIZON] * tolerance * tolerance)
    best = -1
    largest = -math.inf
    for arm in range(n_arms):
        if tallies[layout.ACTIVE, arm] == 1 and whole[layout.PHASE_PLAYS] > 0:
            mean = arms[layout.TOTAL, arm] / arms[layout.COUNT, arm]
            if mean > largest:
                best, largest = arm, mean
    if best < 0:
        whole[layout.COMMITTED] = 0  # a horizon too short for any phase
        return
    width = math.sqrt(max(logarithm, 0.0) / (2.0 * whole[layout.PHASE_PLAYS]))
    left = 0
    for arm in range(n_arms):
        if tallies[layout.ACTIVE, arm] == 1:
            if arms[layout.TOTAL, arm] / arms[layout.COUNT, arm] + width < largest - width:
                tallies[layout.ACTIVE, arm] = 0
            else:
                left += 1
    tolerance /= 2.0
    scaled = settings[layout.HORIZON] * tolerance * tolerance
    # The phases of the paper end at m = floor(log2(T / e) / 2): while T * tolerance^2 >= e.
    if left == 1 or scaled < math.e:
        whole[layout.COMMITTED] = best
        return
    settings[layout.TOLERANCE] = tolerance
    needed = math.ceil(2.0 * math.log(scaled) / (tolerance * tolerance))
    whole[layout.PHASE_PLAYS] = max(whole[layout.PHASE_PLAYS], int(needed))
