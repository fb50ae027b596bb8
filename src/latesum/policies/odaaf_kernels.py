"""The rule of ODAAF, compiled: what it learns from a block, and which block comes next.

The policy's `ask` and `tell` and a whole compiled run call the same functions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from latesum._compile import allocation_free
from latesum.policies.purpose_kernels import BRIDGE, COMMIT, LEARN

# Places in `counters`.
PHASES_DONE = 0
SURVIVORS = 1  # how many of `in_order` are arms that survive
BRIDGE_LEFT = 2
ELIMINATED = 3  # how many rows of `eliminations` are filled in


class OdaafState(NamedTuple):
    """What ODAAF is told, and what it has learned."""

    horizon: int
    first_tolerance: float
    has_bridge: bool
    leader_first: bool
    phase_rounds: Any  # n_m of every phase
    counters: Any
    in_order: Any  # the surviving arms, as this phase plays them
    rounds: Any  # |T_j(m)|, known learning rounds, per arm ...
    sums: Any  # ... and their totals
    pending: Any  # learning rounds whose totals are not known
    blocks: Any  # in how many blocks an arm was learned about
    eliminations: Any  # rows: phase, tolerance, arm, its mean, leader, the leader's mean


@allocation_free
def learn(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a block; `told` is the rounds told so far, with its own."""
    counters = state.counters
    if purpose == BRIDGE:
        counters[BRIDGE_LEFT] = max(0, counters[BRIDGE_LEFT] - rounds)
    elif purpose == LEARN:
        counters[BRIDGE_LEFT] = 0  # learning has begun: the rest of the bridge is left out
        state.blocks[arm] += 1
        if not known:
            state.pending[arm] += rounds
            return
        state.rounds[arm] += rounds
        state.sums[arm] += total
        finish_phases(state)


@allocation_free
def finish_phases(state):  # type: ignore[no-untyped-def]
    """Steps 2 and 3 for every phase whose n_m all surviving arms have reached by now."""
    counters, in_order = state.counters, state.in_order
    while counters[SURVIVORS] > 1 and counters[PHASES_DONE] < len(state.phase_rounds):
        done = counters[PHASES_DONE]
        needed = state.phase_rounds[done]
        for place in range(counters[SURVIVORS]):
            if state.rounds[in_order[place]] < needed:
                return
        tolerance = state.first_tolerance / 2.0**done
        leader = leading(state)
        best = mean_of(state, leader)
        if state.leader_first:  # by their numbers again: the leader of the last phase is first
            place = 1
            while place < counters[SURVIVORS] and in_order[place] < in_order[place - 1]:
                in_order[place - 1], in_order[place] = in_order[place], in_order[place - 1]
                place += 1
        survivors = 0
        for place in range(counters[SURVIVORS]):
            arm = in_order[place]
            mean = mean_of(state, arm)
            if mean + tolerance < best:
                row = state.eliminations[counters[ELIMINATED]]
                row[0], row[1], row[2] = done + 1, tolerance, arm
                row[3], row[4], row[5] = mean, leader, best
                counters[ELIMINATED] += 1
            else:
                in_order[survivors] = arm
                survivors += 1
        counters[SURVIVORS] = survivors
        if state.leader_first:
            place = 0
            while in_order[place] != leader:
                place += 1
            for later in range(place, 0, -1):
                in_order[later] = in_order[later - 1]
            in_order[0] = leader
        before = state.phase_rounds[done - 1] if done else 0
        counters[BRIDGE_LEFT] = needed - before if state.has_bridge else 0
        counters[PHASES_DONE] = done + 1


@allocation_free
def next_block(state, told):  # type: ignore[no-untyped-def]
    """Arm, rounds and purpose of the next block, `told` rounds having been told."""
    counters, left = state.counters, state.horizon - told
    done, survivors = counters[PHASES_DONE], counters[SURVIVORS]
    if left <= 0 or survivors == 1 or done == len(state.phase_rounds):
        # Past the horizon: the answer stands, for another horizon each time.
        return leading(state), state.horizon - told % state.horizon, COMMIT
    if counters[BRIDGE_LEFT]:
        return leading(state), min(counters[BRIDGE_LEFT], left), BRIDGE
    needed = state.phase_rounds[done]
    for place in range(survivors):
        arm = state.in_order[place]
        missing = needed - state.rounds[arm] - state.pending[arm]
        if missing > 0:
            return arm, min(missing, left), LEARN
    return leading(state), 1, BRIDGE  # results are pending: wait for them


@allocation_free
def mean_of(state, arm):  # type: ignore[no-untyped-def]
    """The mean total per round; minus infinity where nothing is known."""
    return state.sums[arm] / state.rounds[arm] if state.rounds[arm] else -math.inf


@allocation_free
def leading(state):  # type: ignore[no-untyped-def]
    """The surviving arm with the largest mean, the first of equals."""
    leader = state.in_order[0]
    best = mean_of(state, leader)
    for place in range(1, state.counters[SURVIVORS]):
        arm = state.in_order[place]
        mean = mean_of(state, arm)
        if mean > best:
            leader, best = arm, mean
    return leader
