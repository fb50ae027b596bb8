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
        self._first = self._size = self._count = self._drawn = _NONE
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
        return int(self._count.sum()) + len(self._plays)

    def send(self, end: int, rounds: int, mean: float, rng: np.random.Generator) -> None:
        """Add the plays of a block that ends with round `end`; `mean` is the chance of a reward."""
        cut = int(np.searchsorted(self._edges, rounds, side="left"))
        edges = np.append(self._edges[:cut], rounds)
        size = np.diff(edges)
        self._first = np.concatenate([self._first, end + 1 - edges[1:]])
        self._size = np.concatenate([self._size, size])
        self._count = np.concatenate([self._count, rng.binomial(size, mean)])
        self._drawn = np.concatenate([self._drawn, np.zeros(cut, dtype=np.int64)])
        self._survival = np.concatenate([self._survival, np.ones(cut)])

    def move_to(self, end: int, rng: np.random.Generator) -> tuple[int, Integers]:
        """How many arrive by the round `end`; and rounds in which others do, which are let go."""
        self._end = end
        # Below which levels rewards of each cohort's last and first play are in flight.
        far = end - self._first
        near_and_far = self._delay.survival(np.concatenate([far + 1 - self._size, far]))
        at_near = np.minimum(near_and_far[: len(far)], self._survival)
        at_far = np.minimum(near_and_far[len(far) :], at_near)
        arrived = rng.binomial(self._count, _share(at_near, self._survival))
        unsure = rng.binomial(self._count - arrived, _share(at_far, at_near))
        # Those that are unsure are decided by their levels and their plays.
        which = np.repeat(np.arange(len(unsure)), unsure)
        between = at_near[which] - rng.random(len(which)) * (at_near - at_far)[which]
        plays = np.concatenate([self._plays, self._new_plays(which, rng)])
        levels = np.concatenate([self._levels, between])
        in_flight = self._delay.survival(end - plays) >= levels
        count = int(arrived.sum()) + len(plays) - int(in_flight.sum())
        self._plays, self._levels = plays[in_flight], levels[in_flight]
        self._count, self._survival = self._count - arrived - unsure, at_far
        self._drawn = self._drawn + unsure
        self._looked_at += len(unsure)
        # The rounds of rewards are drawn where it would have cost less to know them.
        known, crowded = _NONE, 2 * self._drawn > self._size
        if self._looked_at > _LOOKS_PER_DRAW * self.in_flight:
            known = self.resolve(rng)
        elif crowded.any():
            known = self._resolve(crowded, rng)
        self._keep(self._count > 0)
        return count, known

    def resolve(self, rng: np.random.Generator) -> Integers:
        """The rounds in which all that is in flight arrives; nothing remains here."""
        rounds = self._resolve(np.ones(len(self._first), dtype=bool), rng)
        drawn = self._plays + self._delay._first_below(self._levels, self._end - self._plays)
        self._plays, self._levels = _NONE, np.zeros(0)
        self._looked_at = 0
        self._keep(self._count > 0)
        return np.concatenate([rounds, drawn])

    def _resolve(self, those: NDArray[np.bool_], rng: np.random.Generator) -> Integers:
        """The rounds in which the rewards of some cohorts arrive that were not drawn one by one."""
        cohorts = np.flatnonzero(those & (self._count > 0))
        sparse = 4 * (self._count + self._drawn)[cohorts] < self._size[cohorts]
        cohorts = np.concatenate([cohorts[sparse], cohorts[~sparse]])
        few = cohorts[: int(sparse.sum())]
        plays = [self._new_plays(np.repeat(few, self._count[few]), rng)]
        for cohort in cohorts[len(few) :]:
            first, size = int(self._first[cohort]), int(self._size[cohort])
            start, stop = np.searchsorted(self._taken, [first, first + size])
            free = np.delete(np.arange(size), self._taken[start:stop] - first)
            plays.append(first + rng.choice(free, int(self._count[cohort]), replace=False))
        which = np.repeat(cohorts, self._count[cohorts])
        levels = self._survival[which] * (1.0 - rng.random(len(which)))
        delays = self._delay._first_below(levels, self._end - self._first[which])
        self._count[cohorts] = 0
        return np.concatenate(plays) + delays

    def _new_plays(self, which: Integers, rng: np.random.Generator) -> Integers:
        """One play of each of these cohorts, whose reward was not drawn before."""
        first, size = self._first[which], self._size[which]
        plays = first + rng.integers(size)
        while True:
            order = np.argsort(plays, kind="stable")
            ordered = plays[order]
            index = np.searchsorted(self._taken, ordered)
            again = self._taken[index] == ordered
            again[1:] |= ordered[1:] == ordered[:-1]
            if not again.any():
                break
            once_more = order[again]
            plays[once_more] = first[once_more] + rng.integers(size[once_more])
        self._taken = np.insert(self._taken, index, ordered)
        return plays

    def _keep(self, those: NDArray[np.bool_]) -> None:
        if those.all():
            return
        for name in ("_first", "_size", "_count", "_drawn", "_survival"):
            setattr(self, name, getattr(self, name)[those])
        oldest = self._first.min(initial=self._end)
        self._taken = self._taken[np.searchsorted(self._taken, oldest) :]


class InFlight:
    """Rewards in flight whose round of arrival is known, in the order of their rounds.

    >>> rewards = InFlight()
    >>> rewards.add(np.array([70_000, 12, 9]), np.array([1.0, 0.5, 1.0]))
    >>> rewards.take(10), rewards.take(100), rewards.total
    (1.0, 0.5, 1.0)
    """

    def __init__(self) -> None:
        self._rounds: Integers = np.zeros(0, dtype=np.int64)
        self._rewards: Floats = np.zeros(0)

    @property
    def total(self) -> float:
        """All that is still in flight."""
        return float(self._rewards.sum())

    def add(self, rounds: Integers, rewards: Floats) -> None:
        """Let each reward arrive in its round; those of 0 are left out."""
        paid = np.flatnonzero(rewards)
        if len(paid) == 0:
            return
        rounds = np.concatenate([self._rounds, rounds[paid]])
        order = np.argsort(rounds, kind="stable")
        self._rounds = rounds[order]
        self._rewards = np.concatenate([self._rewards, rewards[paid]])[order]

    def take(self, end: int) -> float:
        """The sum of what arrives up to the round `end`."""
        if len(self._rounds) == 0 or self._rounds[0] > end:
            return 0.0
        return float(self.take_each(end)[1].sum())

    def take_each(self, end: int) -> tuple[Integers, Floats]:
        """What arrives up to the round `end`, with the rounds."""
        due = int(np.searchsorted(self._rounds, end, side="right"))
        taken = self._rounds[:due], self._rewards[:due]
        self._rounds, self._rewards = self._rounds[due:], self._rewards[due:]
        return taken


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
