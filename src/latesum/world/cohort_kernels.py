# mypy: ignore-errors
"""Plays whose 0/1 rewards are under way for long, as counts, compiled.

What a cohort is, `latesum.world.cohorts` says. Here its rewards that were drawn one by one are a chain of
entries, so that none is drawn twice. Where it costs less to know when each reward arrives than to look at
the cohorts again and again, they leave them for a heap of rounds.

Arrays can be full. A step then stops and says so; with more room, `move_on` goes on where it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latesum._compile import compiled
from latesum._draw_kernels import binomial, uniform
from latesum.delays.law_kernels import first_below, longer_than
from latesum.world.kernels import DONE, NOT_SENT, ON_THE_WAY

#: Looking at this number of cohorts costs about what it costs to draw a reward's round.
_LOOKS_PER_DRAW = 8
_TINY = np.finfo(np.float64).tiny

# Places in `counters`.
COHORTS = 0  # how many there are
WAITING = 1  # rewards that were drawn one by one and are under way
ENTRIES = 2  # entries that were ever used
FREE = 3  # the first entry that can be used again, or -1
DUE = 4  # how many rounds are in the heap
LOOKED_AT = 5  # cohorts, since nothing was under way in one
END = 6  # the round that the time has moved on to
PHASE = 7  # of `move_on`: what it does next ...
NEXT = 8  # ... from which cohort on ...
UNSURE = 9  # ... with how many rewards left to draw of this one; -1 if it is not looked at yet
ARRIVED = 10
COUNTERS = 11

# Phases of `move_on`.
_COUNT, _SETTLE, _RESOLVE_SOME, _RESOLVE_ALL, _LET_GO = range(5)


class LongTables(NamedTuple):
    """What playing an arm needs where all rewards are 0 or 1 and have one delay, which is kept in cohorts."""

    means: Any
    law: Any
    shortest: int  # the fewest plays of a cohort that is cut from a longer stretch
    edges: Any  # how far from the end of a stretch its cohorts begin and end


class CohortState(NamedTuple):
    """All that is under way."""

    first: Any  # per cohort its first play, ...
    size: Any  # ... how many plays, ...
    left: Any  # ... how many rewards that were not drawn one by one and are under way, ...
    drawn: Any  # ... how many were drawn, ...
    alive: Any  # ... below which level those left are, ...
    chain: Any  # ... and the first entry of a drawn one, or -1
    entry_play: Any
    entry_next: Any
    waiting_play: Any
    waiting_level: Any
    due: Any  # a heap of the rounds in which rewards arrive
    counters: Any


@compiled
def play_long(tables, state, words, arm, rounds, end):
    """Play a stretch that ends with round `end`: what is left to do, and what arrived in it."""
    if not send(tables, state, words, tables.means[arm], rounds, end):
        return NOT_SENT, 0.0, 0, 0
    begin_move(state, end)
    if not move_on(tables.law, state, words):
        return ON_THE_WAY, 0.0, 0, 0
    return DONE, float(state.counters[ARRIVED]), 0, 0


@compiled
def send(tables, state, words, mean, rounds, end):
    """Add the plays of a stretch; False, with nothing done, where there is no room for them.

    A short stretch is drawn play by play. One uniform number serves for the reward and, where it is 1,
    for its level.
    """
    counters = state.counters
    if rounds < 2 * tables.shortest:
        if counters[DUE] + rounds > len(state.due):
            return False
        for play in range(end - rounds + 1, end + 1):
            drawn = uniform(words)
            if drawn < mean:
                level = max(1.0 - drawn / mean, _TINY)
                _push(state, play + first_below(tables.law, level, -1))
        return True
    edges = tables.edges
    parts = 0
    while edges[parts] < rounds:
        parts += 1
    if counters[COHORTS] + parts > len(state.first):
        return False
    for part in range(parts):
        last = min(edges[part + 1], rounds)
        cohort = counters[COHORTS]
        state.first[cohort] = end + 1 - last
        state.size[cohort] = last - edges[part]
        state.left[cohort] = binomial(words, last - edges[part], mean)
        state.drawn[cohort], state.alive[cohort], state.chain[cohort] = 0, 1.0, -1
        counters[COHORTS] = cohort + 1
    return True


@compiled
def begin_move(state, end):
    """Let the time move on to round `end`."""
    counters = state.counters
    counters[END], counters[PHASE], counters[NEXT], counters[UNSURE] = end, _COUNT, 0, -1
    counters[ARRIVED] = 0


@compiled
def move_on(law, state, words):
    """Count what arrives until then; False where more room is needed first."""
    counters = state.counters
    if counters[PHASE] == _COUNT:
        if not _count(law, state, words):
            return False
        counters[PHASE] = _SETTLE
    if counters[PHASE] == _SETTLE:
        _settle(law, state)
        counters[LOOKED_AT] += counters[COHORTS]
        costly = counters[LOOKED_AT] > _LOOKS_PER_DRAW * (under_way(state) - counters[DUE])
        counters[PHASE] = _RESOLVE_ALL if costly else _RESOLVE_SOME
        counters[NEXT] = 0
    if counters[PHASE] != _LET_GO:
        if not _resolve(law, state, words, counters[PHASE] == _RESOLVE_ALL):
            return False
        counters[PHASE] = _LET_GO
    _let_go(state)
    return True


@compiled
def under_way(state):
    """How many rewards have not arrived."""
    count = state.counters[WAITING] + state.counters[DUE]
    for cohort in range(state.counters[COHORTS]):
        count += state.left[cohort]
    return count


@compiled
def _count(law, state, words):
    """Those that have arrived wherever they were earned, and those for which their play decides."""
    counters, end = state.counters, state.counters[END]
    while counters[NEXT] < counters[COHORTS]:
        cohort = counters[NEXT]
        far = end - state.first[cohort]
        alive = state.alive[cohort]
        at_near = min(longer_than(law, far + 1 - state.size[cohort]), alive)
        at_far = min(longer_than(law, far), at_near)
        if counters[UNSURE] < 0:
            arrived = _share_of(words, state.left[cohort], at_near, alive)
            unsure = _share_of(words, state.left[cohort] - arrived, at_far, at_near)
            counters[ARRIVED] += arrived
            counters[UNSURE] = unsure
            state.left[cohort] -= arrived + unsure
        while counters[UNSURE] > 0:
            if counters[WAITING] == len(state.waiting_play) or not _has_entry(state):
                return False
            place = counters[WAITING]
            state.waiting_level[place] = at_near - uniform(words) * (at_near - at_far)
            state.waiting_play[place] = _new_play(state, cohort, words)
            counters[WAITING] = place + 1
            counters[UNSURE] -= 1
        state.alive[cohort] = at_far
        counters[NEXT] += 1
        counters[UNSURE] = -1
    return True


@compiled
def _share_of(words, count, left, of):
    """How many of `count` are not among those left, of which there is the share left / of."""
    if count == 0:
        return 0
    chance = 1.0 - left / max(of, _TINY)
    if chance <= 0.0:
        return 0
    return count if chance >= 1.0 else binomial(words, count, chance)


@compiled
def _has_entry(state):
    return state.counters[FREE] >= 0 or state.counters[ENTRIES] < len(state.entry_play)


@compiled
def _new_play(state, cohort, words):
    """A play of a cohort whose reward was not drawn before."""
    counters, first, size = state.counters, state.first[cohort], state.size[cohort]
    while True:
        play = first + int(uniform(words) * size)
        entry = state.chain[cohort]
        while entry >= 0 and state.entry_play[entry] != play:
            entry = state.entry_next[entry]
        if entry < 0:
            break
    entry = counters[FREE]
    if entry >= 0:
        counters[FREE] = state.entry_next[entry]
    else:
        entry = counters[ENTRIES]
        counters[ENTRIES] = entry + 1
    state.entry_play[entry], state.entry_next[entry] = play, state.chain[cohort]
    state.chain[cohort] = entry
    state.drawn[cohort] += 1
    return play


@compiled
def _settle(law, state):
    """Those that were drawn one by one: their play and their level decide."""
    counters, end, kept = state.counters, state.counters[END], 0
    for place in range(counters[WAITING]):
        play, level = state.waiting_play[place], state.waiting_level[place]
        state.waiting_play[kept], state.waiting_level[kept] = play, level
        kept += longer_than(law, end - play) >= level
    counters[ARRIVED] += counters[WAITING] - kept
    counters[WAITING] = kept


@compiled
def _resolve(law, state, words, everything):
    """Find out when each reward arrives: of cohorts of which most plays were drawn, or of all."""
    counters, end = state.counters, state.counters[END]
    while counters[NEXT] < counters[COHORTS]:
        cohort = counters[NEXT]
        left, size = state.left[cohort], state.size[cohort]
        if left > 0 and (everything or 2 * state.drawn[cohort] > size):
            if counters[DUE] + left > len(state.due):
                return False
            taken = (
                np.zeros(size, dtype=np.bool_) if size <= 8 * left else np.zeros(0, dtype=np.bool_)
            )
            if len(taken):
                entry = state.chain[cohort]
                while entry >= 0:
                    taken[state.entry_play[entry] - state.first[cohort]] = True
                    entry = state.entry_next[entry]
            elif counters[ENTRIES] + left > len(state.entry_play):
                return False
            free, place = size - state.drawn[cohort], 0
            for missing in range(left, 0, -1):
                if len(
                    taken
                ):  # each of those free in turn, by the chance that it is among the missing
                    while taken[place] or uniform(words) * free >= missing:
                        free -= not taken[place]
                        place += 1
                    play = state.first[cohort] + place
                    free -= 1
                    place += 1
                else:
                    play = _new_play(state, cohort, words)
                level = state.alive[cohort] * (1.0 - uniform(words))
                _push(state, play + first_below(law, level, end - play))
            state.left[cohort] = 0
        counters[NEXT] += 1
    if everything:
        if counters[DUE] + counters[WAITING] > len(state.due):
            return False
        for place in range(counters[WAITING]):
            play = state.waiting_play[place]
            _push(state, play + first_below(law, state.waiting_level[place], end - play))
        counters[WAITING] = counters[LOOKED_AT] = 0
    return True


@compiled
def _let_go(state):
    """Forget cohorts of which nothing is left, and take what the heap has until now."""
    counters, kept = state.counters, 0
    for cohort in range(counters[COHORTS]):
        if state.left[cohort] > 0:
            state.first[kept], state.size[kept] = state.first[cohort], state.size[cohort]
            state.left[kept], state.drawn[kept] = state.left[cohort], state.drawn[cohort]
            state.alive[kept], state.chain[kept] = state.alive[cohort], state.chain[cohort]
            kept += 1
            continue
        entry = state.chain[cohort]
        while entry >= 0:
            following = state.entry_next[entry]
            state.entry_next[entry] = counters[FREE]
            counters[FREE] = entry
            entry = following
    counters[COHORTS] = kept
    while counters[DUE] > 0 and state.due[0] <= counters[END]:
        _pop(state)
        counters[ARRIVED] += 1


@compiled
def _push(state, moment):
    heap, place = state.due, state.counters[DUE]
    state.counters[DUE] = place + 1
    while place > 0 and heap[(place - 1) // 2] > moment:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = moment


@compiled
def _pop(state):
    heap, count = state.due, state.counters[DUE] - 1
    state.counters[DUE] = count
    moment, place = heap[count], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= moment:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moment


@compiled
def resolve_all(law, state, words):
    """Find out when each reward arrives; False where more room is needed first."""
    if state.counters[PHASE] != _RESOLVE_ALL:
        state.counters[PHASE], state.counters[NEXT] = _RESOLVE_ALL, 0
    if not _resolve(law, state, words, True):
        return False
    state.counters[PHASE] = _LET_GO
    state.counters[ARRIVED] = 0
    _let_go(state)
    return True
