"""A world that is only ever played in whole buckets, for delays of many thousands of rounds.

A table of delays in rounds would be huge there. But what matters is the bucket in which a reward
arrives, and only rewards matter, not plays without one: of a block's plays near enough to its end
to spill over, those that pay are drawn one by one with their delays. This is exact for the same law as `World`'s, and
costs O(rewards near the end). Counts per later bucket would not be: how likely a reward is to be late depends on where in
its bucket it was earned, and two rewards are never earned in the same round.
"""

from __future__ import annotations

import functools
import math
import statistics
from typing import NamedTuple

import numpy as np

from latesum._checks import InvalidInput
from latesum.delays import Delay
from latesum.delays.base import Integers
from latesum.simulation.field import FieldProblem, with_mean
from latesum.simulation.problem import Problem, as_reward, refuse_endless
from latesum.simulation.rewards import Bernoulli, Discrete, Floats, Reward

#: Plays further from the end than this quantile of the delay are taken to arrive in the block.
_CERTAIN = 1 - 1e-9
#: With more rewards than this near the end, they are looked at in blocks.
_MANY = 3000


class BucketWorld:
    """One realisation of a problem, played for `buckets` buckets of `bucket` rounds at most.

    Args:
        problem: What is played.
        bucket: The rounds of a bucket.
        buckets: How many there are, from round 0 on.
        rng: The generator to draw from.
        before: What was played until the beginning, for ever: an arm, or a reward (or its mean) that
            is no arm; None: nothing, so that nothing is under way.
        history: The world begins this many buckets before round 0.

    >>> problem = Problem([0.02, 0.03], "exponential(30000)")
    >>> world = BucketWorld(problem, bucket=10_000, buckets=90, rng=np.random.default_rng(1))
    >>> world.play_buckets(0, 2), world.play(0, 30_000), world.buckets_played
    (119.0, 380.0, 5)
    """

    def __init__(
        self,
        problem: Problem,
        *,
        bucket: int,
        buckets: int,
        rng: np.random.Generator,
        before: Reward | float | str | None = None,
        history: int = 0,
    ) -> None:
        self._problem = problem
        self._field = problem if isinstance(problem, FieldProblem) else None
        self._bucket = bucket
        self._rng = rng
        self._background = None
        what = before if before is None or isinstance(before, int) else as_reward(before)
        # What is still under way of something that was always played: all of it was played within
        # the longest delay.
        always = 0
        if what is not None:
            refuse_endless(self._delay(what))
            always = -(-longest(self._delay(what)) // bucket)
        self._earlier = always + history
        self._due = np.zeros(self._earlier + buckets)  # what will arrive in each bucket
        self._played = 0
        if what is not None:
            self.play_buckets(what, always)
        self._background = None if self._field is None else self._field.background

    @property
    def buckets_played(self) -> int:
        """The buckets from round 0 on; negative in a history."""
        return self._played - self._earlier

    def play(self, arm: int, rounds: int) -> float:
        """Play `arm` for `rounds` rounds, which are whole buckets; the total that arrives."""
        buckets, more = divmod(rounds, self._bucket)
        if more:
            raise InvalidInput(f"this world is played in whole buckets of {self._bucket} rounds.")
        return self.play_buckets(arm, buckets)

    def play_buckets(self, arm: int | Reward, buckets: int) -> float:
        """Play `arm` for `buckets` buckets and return the total that arrives during them."""
        start, end = self._played, self._played + buckets
        if end > len(self._due):
            raise InvalidInput(f"this world ends after {len(self._due) - self._earlier} buckets.")
        self._played = end
        arrived = float(self._due[start:end].sum())
        left = buckets * self._bucket
        first = (start - self._earlier) * self._bucket
        while left:  # the calendar's steps; one piece where there is none
            rounds, reward = self._piece(arm, first, left)
            left -= rounds
            first += rounds
            arrived += self._play_piece(arm, reward, rounds, after=left, end=end)
        if self._background is not None:
            arrived += self._background.draw(buckets * self._bucket, self._rng)
        return arrived

    @property
    def rounds_played(self) -> int:
        """The rounds from round 0 on; negative in a history."""
        return self.buckets_played * self._bucket

    def _delay(self, arm: int | Reward) -> Delay:
        """That of an arm; what is no arm has the delay that most arms have."""
        delays = self._problem.delays
        return delays[arm] if isinstance(arm, int) else statistics.mode(delays)

    def _piece(self, arm: int | Reward, first: int, left: int) -> tuple[int, Reward]:
        calendar = None if self._field is None else self._field.calendar
        if self._field is None or calendar is None:
            return left, self._problem.arms[arm] if isinstance(arm, int) else arm
        number, past = divmod(first, calendar.step)
        rounds = min(left, calendar.step - past)
        if isinstance(arm, int):
            return rounds, self._field.rewards_at(number)[arm]
        return rounds, with_mean(arm, arm.mean * calendar.factors[number % len(calendar.factors)])

    def _play_piece(
        self, arm: int | Reward, reward: Reward, rounds: int, *, after: int, end: int
    ) -> float:
        """Play rounds that are followed by `after` more of the same block."""
        delay = self._delay(arm)
        near = min(rounds, max(longest(delay) - after, 0))
        arrived = reward.draw_sum(rounds - near, self._rng) if rounds > near else 0.0
        if near == 0:
            return arrived
        pays = _pays(reward)
        rng = self._rng
        if pays is not None and pays.chance * near > _MANY:
            in_time, waits = self._spilled(delay, pays, near, after)
            arrived += in_time
            rewards = pays.draw(len(waits), rng)
        else:
            places, rewards = _paying(reward, pays, near, rng)
            waits = delay.draw(len(places), rng) - (places + after)
        late = waits > 0
        arrived += float(rewards[~late].sum())
        bucket = end + (waits[late] - 1) // self._bucket
        seen = bucket < len(self._due)
        np.add.at(self._due, bucket[seen], rewards[late][seen])
        return arrived

    def _spilled(self, delay: Delay, pays: _Pays, near: int, after: int) -> tuple[float, Integers]:
        """Where many plays pay: look only at those whose delay exceeds the start of their block.

        Distances from the end are cut into blocks. A play in the block from s on can spill over only
        if its delay exceeds s; the number of those that pay is a binomial draw, and so is that of
        the others, which arrive in time. Returns what those are worth, and how long after the end
        each one looked at arrives.
        """
        rng = self._rng
        starts = _blocks(delay, near + after)
        starts = starts[starts < near + after]
        edges = np.maximum(np.append(starts, near + after), after)
        keep = edges[1:] > edges[:-1]
        starts, ends = edges[:-1][keep], edges[1:][keep]
        longer = delay.survival(starts)
        lengths = ends - starts
        counts = rng.binomial(lengths, pays.chance * longer)
        chance_of_rest = pays.chance * (1 - longer) / np.maximum(1 - pays.chance * longer, 1e-300)
        in_time = int(rng.binomial(lengths - counts, np.minimum(chance_of_rest, 1.0)).sum())
        places = np.concatenate(
            [
                start + rng.choice(int(length), int(count), replace=False, shuffle=False)
                for start, length, count in zip(starts, lengths, counts, strict=True)
            ]
        )
        waits = delay.draw_beyond(np.repeat(starts, counts), rng) - places
        return pays.draw_sum(in_time, rng), waits


@functools.lru_cache(maxsize=256)
def longest(delay: Delay) -> int:
    """A delay that is exceeded once in 1e9 times at most.

    >>> longest(Delay.clipped(Problem([0, 1], "exponential(50)").delay, 70))
    70
    """
    return delay.bound if delay.bound is not None else int(delay.quantile(_CERTAIN))


class _Pays(NamedTuple):
    """A reward that is nothing, or one of a few amounts."""

    chance: float  # that it is not nothing
    amounts: Floats
    shares: Floats  # of each amount, given that it is not nothing

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        if len(self.amounts) == 1:
            return np.full(count, self.amounts[0])
        drawn: Floats = rng.choice(self.amounts, size=count, p=self.shares)
        return drawn

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        if len(self.amounts) == 1:
            return count * float(self.amounts[0])
        return float(rng.multinomial(count, self.shares) @ self.amounts)


def _pays(reward: Reward) -> _Pays | None:
    return _few_amounts(reward) if isinstance(reward, Bernoulli | Discrete) else None


@functools.lru_cache(maxsize=1024)
def _few_amounts(reward: Bernoulli | Discrete) -> _Pays | None:
    if isinstance(reward, Bernoulli):
        return _Pays(reward.mean, np.ones(1), np.ones(1))
    if 0.0 in reward.values:
        values, chances = np.array(reward.values), np.array(reward.probabilities)
        some = (values != 0) & (chances > 0)
        share = min(math.fsum(chances[some]), 1.0)
        if share > 0:
            shares = chances[some] / share
            return _Pays(share, values[some], shares)
    return None


def _paying(
    reward: Reward, pays: _Pays | None, plays: int, rng: np.random.Generator
) -> tuple[Integers, Floats]:
    """Which of `plays` plays pay something, and how much."""
    if pays is None:
        return np.arange(plays), reward.draw(plays, rng)
    if pays.chance > 0.1:  # then a number for each play is cheaper than a choice without repetition
        places = np.flatnonzero(rng.random(plays) < pays.chance)
    else:
        count = int(rng.binomial(plays, pays.chance))
        places = rng.choice(plays, count, replace=False, shuffle=False)
    return places, pays.draw(len(places), rng)


def _blocks(delay: Delay, rounds: int) -> Integers:
    """Where the blocks of distances start: closer where more delays end."""
    shares = (0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998)
    starts = {0, *(quantile(delay, share) for share in shares)}
    return np.array(sorted(start for start in starts if start < max(rounds, 1)), dtype=np.int64)


@functools.lru_cache(maxsize=4096)
def quantile(delay: Delay, share: float) -> int:
    """`delay.quantile(share)`, remembered."""
    return delay.quantile(share)
