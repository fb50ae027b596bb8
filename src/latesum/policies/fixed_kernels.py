"""The rules of the policies that do not learn while they play, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from latesum._compile import allocation_free
from latesum.policies.purpose_kernels import COMMIT, LEARN, OVERRIDE

# Places in `plan`.
ARM = 0
LEFT = 1


class SplitState(NamedTuple):
    """What `FixedSplit` is told, and what it has seen."""

    horizon: int
    quota: Any  # the rounds of each arm
    available: Any  # False for arms that were taken away
    played: Any  # per arm the rounds ...
    rounds: Any  # ... those that were learned from ...
    sums: Any  # ... and their totals


class RobinState(NamedTuple):
    """What `RoundRobin` is told, and what it has seen."""

    block: int
    plan: Any
    available: Any
    played: Any
    rounds: Any
    sums: Any


class OracleState(NamedTuple):
    """What `Oracle` is told, and what it has seen."""

    horizon: int
    best_arm: int
    available: Any
    played: Any
    rounds: Any
    sums: Any


@allocation_free
def learn_averages(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a block, for the plain mean of each arm's totals."""
    if purpose == OVERRIDE:
        return
    state.played[arm] += rounds
    if known and purpose == LEARN:  # once the answer stands, it stands
        state.rounds[arm] += rounds
        state.sums[arm] += total


@allocation_free
def mean_of(state, arm):  # type: ignore[no-untyped-def]
    """The mean total per round; minus infinity where nothing is known."""
    return state.sums[arm] / state.rounds[arm] if state.rounds[arm] else -math.inf


@allocation_free
def next_of_split(state, told):  # type: ignore[no-untyped-def]
    """The arm whose quota is not played yet, and then the best."""
    best, largest = -1, -math.inf
    for arm in range(len(state.quota)):
        if not state.available[arm]:
            continue
        if state.played[arm] < state.quota[arm]:
            return arm, state.quota[arm] - state.played[arm], LEARN
        mean = mean_of(state, arm)
        if best < 0 or mean > largest:
            best, largest = arm, mean
    return best, state.horizon - told % state.horizon, COMMIT


@allocation_free
def learn_in_turn(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a block, and go on to the next arm when the turn of this one is over."""
    learn_averages(state, told, arm, rounds, total, known, purpose)
    plan = state.plan
    if purpose == LEARN and arm == plan[ARM]:
        plan[LEFT] -= rounds
        if plan[LEFT] <= 0:
            over = -plan[LEFT]
            take_next(state)
            if plan[ARM] == arm:  # it is the only one left, and this is one long block
                plan[LEFT] -= over % state.block


@allocation_free
def take_next(state):  # type: ignore[no-untyped-def]
    """Plan the turn of the next arm that is left."""
    arm = state.plan[ARM]
    for _ in range(len(state.played)):
        arm = (arm + 1) % len(state.played)
        if state.available[arm]:
            break
    state.plan[ARM], state.plan[LEFT] = arm, state.block


@allocation_free
def next_in_turn(state, told):  # type: ignore[no-untyped-def]
    """The rest of the present turn."""
    return state.plan[ARM], state.plan[LEFT], LEARN


@allocation_free
def next_of_oracle(state, told):  # type: ignore[no-untyped-def]
    """The best arm, or the first that is left."""
    arm = state.best_arm
    if not state.available[arm]:
        arm = 0
        while not state.available[arm]:
            arm += 1
    return arm, state.horizon - told % state.horizon, COMMIT
