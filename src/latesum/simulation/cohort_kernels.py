# mypy: ignore-errors
"""What `latesum.simulation.cohorts` does with each block, compiled, for 0/1 rewards of one delay.

The draws are NumPy's in the same order, so that a run is the same whether NumPy or this plays it. What is rare is
left to Python: short blocks, rewards whose rounds must be known, arrays that are full.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.np.random.generator_core import next_uint32

from latesum._compile import compiled
from latesum._draw_kernels import binomial, uniform
from latesum.delays.law_kernels import longer_than
from latesum.simulation.kernels import DONE, NOT_SENT, ON_THE_WAY

#: Looking at this number of cohorts costs about what it costs to draw a reward's round.
LOOKS_PER_DRAW = 8
#: Cohorts of longer blocks may be too large for the draws that are made here.
_LONGEST = 1 << 33
_HALF = np.uint64(0xFFFFFFFF)
_TINY = np.finfo(np.float64).tiny

# Places in `counters`.
COHORTS = 0  # how many there are
WAITING = 1  # rewards that were drawn one by one and are under way
TAKEN = 2  # the rounds of plays that were drawn one by one, and one more
LOOKED_AT = 3
END = 4  # the round that the time has moved on to
COUNT = 5  # how many arrived, as far as they are counted
UNPLACED = 6  # 1 where it is known how many rewards are unsure, and not which
COUNTERS = 7


class LongTables(NamedTuple):
    """What playing an arm needs where all rewards are 0 or 1 and have one delay, which is kept in cohorts."""

    means: Any
    law: Any
    shortest: int  # the fewest plays of a cohort that is cut from a longer block
    edges: Any  # how far from the end of a block its cohorts begin and end


class CohortState(NamedTuple):
    """What a `Cohorts` has, with room for more."""

    first: Any
    size: Any
    left: Any
    drawn: Any
    alive: Any
    arrived: Any  # per cohort, of the step that is under way ...
    unsure: Any
    at_near: Any
    at_far: Any
    plays: Any
    levels: Any
    taken: Any
    counters: Any


@compiled
def play_long(tables, state, words, arm, rounds, end):
    """Play a block that ends with round `end`: what is left to do, and what arrived in it."""
    counters, edges = state.counters, tables.edges
    parts = 0
    while edges[parts] < rounds:
        parts += 1
    if not 2 * tables.shortest <= rounds < _LONGEST or counters[COHORTS] + parts > len(state.first):
        return NOT_SENT, 0.0, 0, 0
    for part in range(parts):
        last = min(edges[part + 1], rounds)
        cohort = counters[COHORTS]
        state.first[cohort], state.size[cohort] = end + 1 - last, last - edges[part]
        state.left[cohort] = binomial(words, state.size[cohort], tables.means[arm])
        state.drawn[cohort], state.alive[cohort] = 0, 1.0
        counters[COHORTS] = cohort + 1
    counters[END], counters[COUNT], counters[UNPLACED] = end, 0, 1
    unsure = _count(tables.law, state, words)
    if max(counters[WAITING], counters[TAKEN]) + unsure > len(state.plays):
        return ON_THE_WAY, 0.0, 0, 0
    _place(state, words, unsure)
    _settle(tables.law, state)
    counters[UNPLACED] = 0
    if _costs_too_much(state):
        return ON_THE_WAY, 0.0, 0, 0
    _let_go(state)
    return DONE, float(counters[COUNT]), 0, 0


@compiled
def _count(law, state, words):
    """Draw how many of each cohort arrive wherever they were earned, and for how many it is unsure."""
    cohorts, end, all_unsure = state.counters[COHORTS], state.counters[END], 0
    for cohort in range(cohorts):
        far, alive = end - state.first[cohort], state.alive[cohort]
        at_near = min(longer_than(law, far + 1 - state.size[cohort]), alive)
        state.at_near[cohort] = at_near
        state.at_far[cohort] = min(longer_than(law, far), at_near)
        chance = 1.0 - at_near / max(alive, _TINY)
        state.arrived[cohort] = binomial(words, state.left[cohort], chance)
    for cohort in range(cohorts):
        chance = 1.0 - state.at_far[cohort] / max(state.at_near[cohort], _TINY)
        left = state.left[cohort] - state.arrived[cohort]
        state.unsure[cohort] = binomial(words, left, chance)
        all_unsure += state.unsure[cohort]
    return all_unsure


@compiled
def _place(state, words, unsure):
    """Draw the level and the play of each reward for which they decide."""
    counters = state.counters
    waiting = counters[WAITING]
    first, size = np.empty(unsure, dtype=np.int64), np.empty(unsure, dtype=np.int64)
    place = 0
    for cohort in range(counters[COHORTS]):
        for _ in range(state.unsure[cohort]):
            width = state.at_near[cohort] - state.at_far[cohort]
            state.levels[waiting + place] = state.at_near[cohort] - uniform(words) * width
            first[place], size[place] = state.first[cohort], state.size[cohort]
            place += 1
    plays = state.plays[waiting : waiting + unsure]
    for place in range(unsure):
        plays[place] = first[place] + _below(words, size[place])
    taken = state.taken[: counters[TAKEN]]
    while True:
        order = np.argsort(plays, kind="mergesort")
        again = 0
        before = -1
        for place in order:
            play = plays[place]
            if play == before or taken[np.searchsorted(taken, play)] == play:
                plays[place] = first[place] + _below(words, size[place])
                again += 1
            before = play
        if again == 0:
            break
    _merge(state, plays, order)
    counters[WAITING] = waiting + unsure


@compiled
def _below(words, size):
    """What `Generator.integers` draws below one of an array of whole numbers, by Lemire's method."""
    if size == 1:
        return 0
    many = np.uint64(size)
    drawn = np.uint64(next_uint32(words)) * many
    if drawn & _HALF < many:
        least = (_HALF - (many - np.uint64(1))) % many
        while drawn & _HALF < least:
            drawn = np.uint64(next_uint32(words)) * many
    return np.int64(drawn >> np.uint64(32))


@compiled
def _merge(state, plays, order):
    """Write down in order which plays are taken."""
    taken, old, new = state.taken, state.counters[TAKEN] - 1, len(plays) - 1
    state.counters[TAKEN] += len(plays)
    for place in range(state.counters[TAKEN] - 1, -1, -1):
        if new < 0:
            break
        if taken[old] > plays[order[new]]:
            taken[place] = taken[old]
            old -= 1
        else:
            taken[place] = plays[order[new]]
            new -= 1


@compiled
def _settle(law, state):
    """Take out what has arrived."""
    counters, kept = state.counters, 0
    for place in range(counters[WAITING]):
        play, level = state.plays[place], state.levels[place]
        state.plays[kept], state.levels[kept] = play, level
        kept += longer_than(law, counters[END] - play) >= level
    counters[COUNT] += counters[WAITING] - kept
    counters[WAITING] = kept
    for cohort in range(counters[COHORTS]):
        counters[COUNT] += state.arrived[cohort]
        state.left[cohort] -= state.arrived[cohort] + state.unsure[cohort]
        state.alive[cohort] = state.at_far[cohort]
        state.drawn[cohort] += state.unsure[cohort]
    counters[LOOKED_AT] += counters[COHORTS]


@compiled
def _costs_too_much(state):
    """Whether it is better to know when the rewards of some cohort arrive."""
    counters, left, crowded = state.counters, state.counters[WAITING], False
    for cohort in range(counters[COHORTS]):
        left += state.left[cohort]
        crowded |= 2 * state.drawn[cohort] > state.size[cohort]
    return crowded or counters[LOOKED_AT] > LOOKS_PER_DRAW * left


@compiled
def _let_go(state):
    """Forget cohorts of which nothing is left."""
    counters, kept, oldest = state.counters, 0, state.counters[END]
    for cohort in range(counters[COHORTS]):
        if state.left[cohort] > 0:
            state.first[kept], state.size[kept] = state.first[cohort], state.size[cohort]
            state.left[kept], state.drawn[kept] = state.left[cohort], state.drawn[cohort]
            state.alive[kept] = state.alive[cohort]
            oldest = min(oldest, state.first[cohort])
            kept += 1
    if kept == counters[COHORTS]:
        return
    counters[COHORTS] = kept
    passed = np.searchsorted(state.taken[: counters[TAKEN]], oldest)
    counters[TAKEN] -= passed
    for place in range(counters[TAKEN]):
        state.taken[place] = state.taken[place + passed]
