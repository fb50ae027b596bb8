"""The rule of ARS-UCB, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from latesum._compile import allocation_free
from latesum.policies.purpose_kernels import LEARN, OVERRIDE

# Places in `plan`.
ARM = 0
LEFT = 1
#: No block is longer, whatever its power.
_LONGEST = float(1 << 53)


class ArsState(NamedTuple):
    """What ARS-UCB is told, and what it has learned."""

    growth: float
    exploration: float
    plan: Any
    available: Any  # False for arms that were taken away
    played: Any  # per arm the rounds ...
    rounds: Any  # ... those whose totals are known ...
    sums: Any  # ... and these totals
    chosen: Any  # how often


@allocation_free
def learn(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a block; `told` is the rounds told so far, with its own."""
    if purpose != OVERRIDE:
        state.played[arm] += rounds
        if known:
            state.rounds[arm] += rounds
            state.sums[arm] += total
        if arm == state.plan[ARM] and rounds < state.plan[LEFT]:
            state.plan[LEFT] -= rounds
            return
        state.chosen[arm] += 1
    decide(state, told)


@allocation_free
def decide(state, told):  # type: ignore[no-untyped-def]
    """Plan a block of an arm that was never played, or of the one with the best bound."""
    best, largest = -1, -math.inf
    for arm in range(len(state.played)):
        if not state.available[arm]:
            continue
        if state.played[arm] == 0:
            plan(state, arm)
            return
        bound = _upper_bound(state, arm, told)
        if best < 0 or bound > largest:
            best, largest = arm, bound
    plan(state, best)


@allocation_free
def plan(state, arm):  # type: ignore[no-untyped-def]
    """Plan the next block of an arm."""
    length = math.pow(state.chosen[arm] + 1, state.growth)
    state.plan[ARM], state.plan[LEFT] = arm, math.ceil(min(length, _LONGEST))


@allocation_free
def next_block(state, told):  # type: ignore[no-untyped-def]
    """What is left of the planned block."""
    return state.plan[ARM], state.plan[LEFT], LEARN


@allocation_free
def _upper_bound(state, arm, told):  # type: ignore[no-untyped-def]
    known = state.rounds[arm]
    if known == 0:  # played, and its totals are not known yet
        return -math.inf
    spread = state.exploration * math.log(told) / known
    return state.sums[arm] / known + math.sqrt(spread)
