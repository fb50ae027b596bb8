"""The rule of FLOW, compiled: which arm comes next and for how long, from the flow balance.

The other flow policies use its parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latesum._compile import compiled
from latesum.policies.balance_kernels import (
    PREVIOUS,
    ROUNDS_PLAYED,
    add,
    disturbing_plays,
    has_room,
    own_plays,
)
from latesum.policies.flow_kernels import index_values, solve_balance, thinned_index_values
from latesum.policies.purpose_kernels import LEARN

# Places in `plan`.
ARM = 0
LEFT = 1

#: The number of UCB1 among the indices.
_UCB1 = 2
#: Coming back to an arm, or staying with it, adds at least this share to its known rounds.
RETURN_SHARE = 0.25
STAY_SHARE = 0.1


class FlowState(NamedTuple):
    """What a flow policy is told, and what it has learned."""

    horizon: int  # 0 if it is not known
    first_rounds: int  # the shortest stretches: the first of an arm ...
    later_rounds: int  # ... and a later one
    index_kind: int  # of `latesum.policies.indices.INDICES`
    caution: float
    thinned: bool
    noise: float  # how many mean delays' worth of plays disturb a total at each boundary
    balance: Any
    order: Any  # of the first tries
    available: Any  # False for arms that were taken away
    plan: Any
    widths: Any  # what `thinned_index_values` keeps


@compiled
def learn(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a stretch; `told` is the rounds told so far, with its own."""
    add(state.balance, arm, rounds, total, known)
    if not goes_on(state, arm, rounds):
        chosen = choose(state)
        plan(state, told, chosen, rounds_for(state, chosen))


@compiled
def next_stretch(state, told):  # type: ignore[no-untyped-def]
    """What is left of the planned stretch."""
    return state.plan[ARM], state.plan[LEFT], LEARN


@compiled
def can_learn(state):  # type: ignore[no-untyped-def]
    """Whether there is room for one more stretch."""
    return has_room(state.balance)


@compiled
def goes_on(state, arm, rounds):  # type: ignore[no-untyped-def]
    """Whether something is left of the planned stretch, of which these rounds were played."""
    if arm == state.plan[ARM] and rounds < state.plan[LEFT]:
        state.plan[LEFT] -= rounds
        return True
    return False


@compiled
def plan(state, told, arm, rounds):  # type: ignore[no-untyped-def]
    """Plan a stretch, cut at the horizon."""
    if told < state.horizon:
        rounds = min(rounds, state.horizon - told)
    state.plan[ARM], state.plan[LEFT] = arm, max(1, rounds)


@compiled
def choose(state):  # type: ignore[no-untyped-def]
    """An arm that was never played, or the one with the best index."""
    arm = untried(state)
    if arm >= 0:
        return arm
    _, optimistic, counts = beliefs(state)
    return pick(state, counts, values(state, optimistic, counts))


@compiled
def beliefs(state):  # type: ignore[no-untyped-def]
    """Per arm: the mean, the mean to take for the index, and the plays that it is worth."""
    balance = state.balance
    means = _solution(balance, 1.0)
    optimistic = means
    if state.caution > 0.0:
        optimistic = np.maximum(means, _solution(balance, 1.0 + state.caution))
    own = own_plays(balance)
    return means, optimistic, own * own / disturbing_plays(balance, state.noise)


@compiled
def _solution(balance, stretched):  # type: ignore[no-untyped-def]
    return solve_balance(
        balance.weights,
        balance.leaks,
        balance.leak_counts,
        balance.rounds,
        balance.totals,
        stretched,
    )


@compiled
def values(state, means, counts):  # type: ignore[no-untyped-def]
    """The index of every arm, from what is believed of it."""
    balance = state.balance
    clock, horizon = float(balance.counters[ROUNDS_PLAYED]), float(state.horizon)
    if state.index_kind == _UCB1 or not state.thinned:
        return index_values(state.index_kind, means, counts, clock, horizon)
    plays = disturbing_plays(balance, state.noise)
    return thinned_index_values(
        state.index_kind, means, own_plays(balance), plays, balance.totals, clock, horizon,
        state.widths,
    )  # fmt: skip


@compiled
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


@compiled
def untried(state):  # type: ignore[no-untyped-def]
    """The next arm that was never played, or -1."""
    for arm in state.order:
        if not state.balance.last_played[arm] and state.available[arm]:
            return arm
    return -1


@compiled
def overdue(state, counts):  # type: ignore[no-untyped-def]
    """An arm none of whose totals is known, though as many rounds again have passed since; or -1."""
    balance = state.balance
    for arm in state.order:
        waiting = counts[arm] == 0 and state.available[arm]
        if waiting and balance.counters[ROUNDS_PLAYED] >= 2 * balance.last_played[arm]:
            return arm
    return -1


@compiled
def _stay_put(state):  # type: ignore[no-untyped-def]
    """The arm to go on with while nothing at all is known."""
    previous = state.balance.counters[PREVIOUS]
    if previous >= 0 and state.available[previous]:
        return previous
    for arm in state.order:
        if state.available[arm]:
            return arm
    return -1


@compiled
def rounds_for(state, arm):  # type: ignore[no-untyped-def]
    """How long to play `arm` next."""
    known = int(state.balance.rounds[arm])
    if arm == state.balance.counters[PREVIOUS]:
        return max(1, int(STAY_SHARE * known)) if known else state.first_rounds
    if known == 0:
        return state.first_rounds
    return max(state.later_rounds, int(RETURN_SHARE * known))
