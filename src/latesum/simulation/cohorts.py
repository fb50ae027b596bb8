"""Plays whose rewards are in flight for long, as counts: how `World` plays delays of any length.

A cohort is a block of consecutive plays. Each of its rewards has a level, uniform on (0, 1]: its
delay is the smallest k with P(delay > k) below the level. Of a cohort it is known how many rewards
have a level of at most `survival`; all others have arrived. When the time moves on to round `end`,

- a reward whose level exceeds P(delay > near), near being the distance from `end` to the
  cohort's last play, has arrived wherever in the cohort it was earned: these are counted;
- one whose level exceeds P(delay > far) only, far being the distance to its first play, has
  arrived or not: its level and its play are drawn, no play twice, and decide it, now and later;
- all others are still in flight, and `survival` is P(delay > far).

The counts are binomial, so this is exact. Plays nearer to the end of a block than most delays are
long are in cohorts of about the square root of that, and those further off in ever longer ones: a
block costs about that square root, however long it is, and a tail without a bound is no exception.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay
from latesum.delays.base import Integers
from latesum.simulation.rewards import Floats

#: The fewest plays of a cohort that is cut from a longer block.
SHORTEST = 64
#: Delays up to this quantile are most delays; beyond it by d, cohorts have d / _GROWTH plays more.
_MOST = 0.9
_GROWTH = 16
_NONE: Integers = np.zeros(0, dtype=np.int64)
_NEVER = np.iinfo(np.int64).max
#: Looking at this number of cohorts costs about what it costs to draw a reward's round.
_LOOKS_PER_DRAW = 8
_TINY = np.finfo(np.float64).tiny


class Cohorts:
    """The rewards in flight of one kind, of which all have the same delay."""

    def __init__(self, delay: Delay) -> None:
        self._delay = delay
        self._edges = _layout(delay, SHORTEST)
        #: A column for each cohort: its first play, its number of plays, how many rewards are in
        #: flight, and how many were drawn one by one.
        self._cohorts: Integers = np.zeros((4, 0), dtype=np.int64)
        self._survival: Floats = np.zeros(0)
        #: Of the rewards drawn one by one that have not arrived: their plays and their levels.
        self._plays, self._levels = _NONE, np.zeros(0)
        #: In order the rounds of the plays whose rewards were drawn one by one, and one more.
        self._taken: Integers = np.array([_NEVER])
        self._end = 0
        self._looked_at = 0

    @property
    def in_flight(self) -> int:
        """How many rewards are in flight."""
        return int(self._cohorts[2].sum()) + len(self._plays)

    def send(self, end: int, rounds: int, mean: float, rng: np.random.Generator) -> None:
        """Add the plays of a block that ends with round `end`; `mean` is the chance of a reward."""
        cut = int(self._edges.searchsorted(rounds))
        edges = self._edges[: cut + 1].copy()
        edges[-1] = rounds
        new = np.zeros((4, cut), dtype=np.int64)
        new[0], new[1] = end + 1 - edges[1:], edges[1:] - edges[:-1]
        new[2] = rng.binomial(new[1], mean)
        self._cohorts = np.concatenate([self._cohorts, new], axis=1)
        self._survival = np.concatenate([self._survival, np.ones(cut)])

    def move_to(self, end: int, rng: np.random.Generator) -> tuple[int, Integers]:
        """How many arrive by the round `end`; and rounds in which others do, which are let go."""
        self._end = end
        first, size, count, drawn = self._cohorts
        # Below which levels rewards of each cohort's last and first play are in flight.
        far = end - first
        near_and_far = self._delay.survival(np.concatenate([far + 1 - size, far]))
        at_near = np.minimum(near_and_far[: len(far)], self._survival)
        at_far = np.minimum(near_and_far[len(far) :], at_near)
        arrived = rng.binomial(count, _share(at_near, self._survival))
        count -= arrived
        unsure = rng.binomial(count, _share(at_far, at_near))
        count -= unsure
        drawn += unsure
        self._survival = at_far
        # Those that are unsure are decided by their levels and their plays.
        which = np.repeat(np.arange(len(unsure)), unsure)
        between = at_near[which] - rng.random(len(which)) * (at_near - at_far)[which]
        plays = np.concatenate([self._plays, self._new_plays(which, rng)])
        levels = np.concatenate([self._levels, between])
        in_flight = self._delay.survival(end - plays) >= levels
        self._plays, self._levels = plays[in_flight], levels[in_flight]
        total = int(arrived.sum()) + len(plays) - len(self._plays)
        self._looked_at += len(unsure)
        # The rounds of rewards are drawn where it would have cost less to know them.
        known, crowded = _NONE, 2 * drawn > size
        if self._looked_at > _LOOKS_PER_DRAW * self.in_flight:
            known = self.resolve(rng)
        elif crowded.any():
            known = self._resolve(crowded, rng)
        self._forget_empty()
        return total, known

    def resolve(self, rng: np.random.Generator) -> Integers:
        """The rounds in which all that is in flight arrives; nothing remains here."""
        rounds = self._resolve(np.ones(len(self._survival), dtype=bool), rng)
        drawn = self._plays + self._delay._first_below(self._levels, self._end - self._plays)
        self._plays, self._levels = _NONE, np.zeros(0)
        self._looked_at = 0
        self._forget_empty()
        return np.concatenate([rounds, drawn])

    def _resolve(self, those: NDArray[np.bool_], rng: np.random.Generator) -> Integers:
        """The rounds in which the rewards of some cohorts arrive that were not drawn one by one."""
        first, size, count, drawn = self._cohorts
        cohorts = np.flatnonzero(those & (count > 0))
        sparse = 4 * (count + drawn)[cohorts] < size[cohorts]
        cohorts = np.concatenate([cohorts[sparse], cohorts[~sparse]])
        few = cohorts[: int(sparse.sum())]
        plays = [self._new_plays(np.repeat(few, count[few]), rng)]
        for cohort in cohorts[len(few) :]:
            start, stop = np.searchsorted(
                self._taken, [first[cohort], first[cohort] + size[cohort]]
            )
            free = np.delete(np.arange(size[cohort]), self._taken[start:stop] - first[cohort])
            plays.append(first[cohort] + rng.choice(free, int(count[cohort]), replace=False))
        which = np.repeat(cohorts, count[cohorts])
        levels = self._survival[which] * (1.0 - rng.random(len(which)))
        delays = self._delay._first_below(levels, self._end - first[which])
        count[cohorts] = 0
        return np.concatenate(plays) + delays

    def _new_plays(self, which: Integers, rng: np.random.Generator) -> Integers:
        """One play of each of these cohorts, whose reward was not drawn before."""
        first, size = self._cohorts[0, which], self._cohorts[1, which]
        plays: Integers = first + rng.integers(size)
        while True:
            order = plays.argsort(kind="stable")
            ordered = plays[order]
            again = self._taken[self._taken.searchsorted(ordered)] == ordered
            again[1:] |= ordered[1:] == ordered[:-1]
            if not again.any():
                break
            once_more = order[again]
            plays[once_more] = first[once_more] + rng.integers(size[once_more])
        self._taken = np.concatenate([self._taken, ordered])
        self._taken.sort(kind="stable")  # which merges two ordered arrays
        return plays

    def _forget_empty(self) -> None:
        """Let cohorts go of which nothing is in flight, and plays before the oldest that stays."""
        remaining = self._cohorts[2] > 0
        if not remaining.all():
            self._cohorts = self._cohorts[:, remaining]
            self._survival = self._survival[remaining]
            oldest = self._cohorts[0].min(initial=self._end)
            self._taken = self._taken[self._taken.searchsorted(oldest) :]


@functools.lru_cache(maxsize=64)
def _layout(delay: Delay, shortest: int) -> Integers:
    """How far from the end of a block its cohorts begin and end."""
    most = delay.quantile(_MOST)
    shortest = max(shortest, math.isqrt(most))
    edges = list(range(0, most + 1, shortest))
    while edges[-1] < 1 << 61:
        edges.append(edges[-1] + shortest + max(edges[-1] - most, 0) // _GROWTH)
    return np.array(edges, dtype=np.int64)


def _share(remaining: Floats, of: Floats) -> Floats:
    """The chance not to be among those that remain; 1 where nothing does."""
    chance: Floats = 1.0 - remaining / np.maximum(of, _TINY)
    return chance
