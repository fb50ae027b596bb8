"""The rule of FLOW, compiled: which arm comes next and for how long, from the flow balance.

The other flow policies use its parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latesum._compile import allocation_free, compiled
from latesum.policies.balance_kernels import (
    PREVIOUS,
    ROUNDS_PLAYED,
    add,
    count_disturbing,
    has_room,
)
from latesum.policies.flow_kernels import fill_index, fill_thinned_index, solve_into
from latesum.policies.purpose_kernels import LEARN

# Places in `plan`.
ARM = 0
LEFT = 1

# Rows of `room`: what one choice needs, per arm.
MEANS = 0
OPTIMISTIC = 1
COUNTS = 2
PLAYS = 3
INDEX = 4
ROOM = 5

#: The number of UCB1 among the indices.
_UCB1 = 2
#: Coming back to an arm, or staying with it, adds at least this share to its known rounds.
RETURN_SHARE = 0.25
STAY_SHARE = 0.1


class FlowState(NamedTuple):
    """What a flow policy is told, and what it has learned."""

    horizon: int  # 0 if it is not known
    first_rounds: int  # the shortest blocks: the first of an arm ...
    later_rounds: int  # ... and a later one
    index_kind: int  # of `latesum.policies.indices.INDICES`
    caution: float
    noise: float  # how many mean delays' worth of plays disturb a total at each boundary
    balance: Any
    order: Any  # of the first tries
    available: Any  # False for arms that were taken away
    plan: Any
    widths: Any  # what `fill_thinned_index` keeps
    room: Any  # what a choice writes down: arrays of its own would cost more than its arithmetic


@allocation_free
def learn(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a block; `told` is the rounds told so far, with its own."""
    add(state.balance, arm, rounds, total, known)
    if not goes_on(state, arm, rounds):
        chosen = choose(state)
        plan(state, told, chosen, rounds_for(state, chosen))


@allocation_free
def next_block(state, told):  # type: ignore[no-untyped-def]
    """What is left of the planned block."""
    return state.plan[ARM], state.plan[LEFT], LEARN


@allocation_free
def can_learn(state):  # type: ignore[no-untyped-def]
    """Whether there is room for one more block."""
    return has_room(state.balance)


@allocation_free
def goes_on(state, arm, rounds):  # type: ignore[no-untyped-def]
    """Whether something is left of the planned block, of which these rounds were played."""
    if arm == state.plan[ARM] and rounds < state.plan[LEFT]:
        state.plan[LEFT] -= rounds
        return True
    return False


@allocation_free
def plan(state, told, arm, rounds):  # type: ignore[no-untyped-def]
    """Plan a block, cut at the horizon."""
    if told < state.horizon:
        rounds = min(rounds, state.horizon - told)
    state.plan[ARM], state.plan[LEFT] = arm, max(1, rounds)


@allocation_free
def choose(state):  # type: ignore[no-untyped-def]
    """An arm that was never played, or the one with the best index."""
    arm = untried(state)
    if arm >= 0:
        return arm
    room = state.room
    believe(state, room[MEANS], room[OPTIMISTIC], room[COUNTS])
    rank(state, room[OPTIMISTIC], room[COUNTS], room[INDEX])
    return pick(state, room[COUNTS], room[INDEX])


@allocation_free
def believe(state, means, optimistic, counts):  # type: ignore[no-untyped-def]
    """Write per arm the mean, the mean to take for the index, and the plays that it is worth."""
    balance, plays = state.balance, state.room[PLAYS]
    solve_into(balance, 1.0, means)
    if state.caution > 0.0:
        solve_into(balance, 1.0 + state.caution, optimistic)
    count_disturbing(balance, state.noise, plays)
    for arm in range(len(means)):
        if state.caution > 0.0:
            optimistic[arm] = np.maximum(means[arm], optimistic[arm])
        else:
            optimistic[arm] = means[arm]
        counts[arm] = balance.own[arm] * balance.own[arm] / plays[arm]


@allocation_free
def rank(state, means, counts, index):  # type: ignore[no-untyped-def]
    """Write the index of every arm, from what is believed of it."""
    balance, plays = state.balance, state.room[PLAYS]
    clock, horizon = float(balance.counters[ROUNDS_PLAYED]), float(state.horizon)
    if state.index_kind == _UCB1:
        fill_index(state.index_kind, means, counts, clock, horizon, index)
        return
    count_disturbing(balance, state.noise, plays)
    fill_thinned_index(
        state.index_kind, means, balance.own, plays, balance.totals, clock, horizon,
        state.widths, index,
    )  # fmt: skip


@compiled
def beliefs(state):  # type: ignore[no-untyped-def]
    """What `believe` finds, in arrays of their own."""
    n_arms = len(state.order)
    means, optimistic, counts = np.empty(n_arms), np.empty(n_arms), np.empty(n_arms)
    believe(state, means, optimistic, counts)
    return means, optimistic, counts


@compiled
def values(state, means, counts):  # type: ignore[no-untyped-def]
    """What `rank` finds, in an array of its own."""
    index = np.empty(len(means))
    rank(state, means, counts, index)
    return index


@allocation_free
def pick(state, counts, index):  # type: ignore[no-untyped-def]
    """An arm that is overdue, or the one with the best index, or any while nothing is known."""
    arm = overdue(state, counts)
    if arm >= 0:
        return arm
    best = -1
    for arm in state.order:  # ties go by the order of the first tries
        if state.available[arm] and index[arm] > -np.inf and (best < 0 or index[arm] > index[best]):
            best = arm
    return best if best >= 0 else _stay_put(state)


@allocation_free
def untried(state):  # type: ignore[no-untyped-def]
    """The next arm that was never played, or -1."""
    for arm in state.order:
        if not state.balance.last_played[arm] and state.available[arm]:
            return arm
    return -1


@allocation_free
def overdue(state, counts):  # type: ignore[no-untyped-def]
    """An arm none of whose totals is known, though as many rounds again have passed since; or -1."""
    balance = state.balance
    for arm in state.order:
        waiting = counts[arm] == 0 and state.available[arm]
        if waiting and balance.counters[ROUNDS_PLAYED] >= 2 * balance.last_played[arm]:
            return arm
    return -1


@allocation_free
def _stay_put(state):  # type: ignore[no-untyped-def]
    """The arm to go on with while nothing at all is known."""
    previous = state.balance.counters[PREVIOUS]
    if previous >= 0 and state.available[previous]:
        return previous
    for arm in state.order:
        if state.available[arm]:
            return arm
    return -1


@allocation_free
def rounds_for(state, arm):  # type: ignore[no-untyped-def]
    """How long to play `arm` next."""
    known = int(state.balance.rounds[arm])
    if arm == state.balance.counters[PREVIOUS]:
        return max(1, int(STAY_SHARE * known)) if known else state.first_rounds
    if known == 0:
        return state.first_rounds
    return max(state.later_rounds, int(RETURN_SHARE * known))
