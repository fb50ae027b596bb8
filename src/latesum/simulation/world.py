"""The sampler: a world in which a problem is played block by block.

Of a block of L rounds with delays up to D only the last D plays can spill over its end; the sum
of the other L - D is one draw. So a block costs O(D), whatever L is, exactly in distribution.

Delays with a longer tail than their table are exact too. A play at distance i >= D from the end
spills over only if its delay exceeds i. Distances are taken in blocks [D, 2D), [2D, 4D), ...; in
the block from s on, a binomial number of plays has a delay above s, and only those are drawn one by
one. They are few: where more delays are longer than the table, plays are kept in cohorts
(`latesum.simulation.cohorts`), and a block costs about the square root of D.
"""

from __future__ import annotations

import functools
import statistics
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum.delays import Delay
from latesum.delays.base import Integers
from latesum.simulation.cohorts import Cohorts
from latesum.simulation.rewards import Bernoulli, Floats, Reward, as_reward

#: With more rewards than this in a block with long delays, it costs less to count them in cohorts.
_MAX_DRAWN = 2000


@functools.cache
def _kernels() -> Any:
    """Compiled at first use: importing latesum stays fast."""
    from latesum.simulation import kernels

    return kernels


class World:
    """One realization of a problem: what is still in flight, and the rounds played so far.

    `Problem.start` makes it.
    """

    def __init__(
        self,
        problem: Any,  # a Problem, which names the class of its world
        rng: np.random.Generator,
        *,
        status_quo: Reward | float | str | None = None,
        at: int = 0,
    ) -> None:
        self._rewards, self._delays = problem.arms, problem.delays
        self._rng, self.rounds_played = rng, at
        size = max((each.table.spread for each in problem.delays if not each.table.long), default=0)
        #: carry[s] is due s + 1 rounds from now; what is due later still is in `_in_flight`, and
        #: what is due in a round that need not be known yet is in a cohort.
        self._carry = np.zeros(size)
        self._beyond = np.empty(size, dtype=np.int64)
        self._in_flight = InFlight()
        self._cohorts: dict[tuple[int, int], tuple[Cohorts, Reward | None]] = {}
        if status_quo is not None:
            self._fill(status_quo)

    @property
    def outstanding(self) -> float:
        """The rewards earned so far that have not arrived yet."""
        counted = 0
        for cohorts, reward in self._cohorts.values():
            if reward is None:
                counted += cohorts.in_flight
            else:  # what each of them is was not drawn yet
                self._postpone(cohorts.resolve(self._rng), reward)
        return float(self._carry.sum()) + self._in_flight.total + counted

    def play(self, arm: int, rounds: int) -> float:
        """Play `arm` for `rounds` rounds and return the total that arrives during them."""
        reward, delay, rounds = self._check(arm, rounds)
        if rounds == 0:
            return 0.0
        self.rounds_played += rounds
        send = self._send_long if delay.table.long else self._send
        arrived = send(reward, delay, rounds)
        counted = 0.0
        for cohorts, paid in self._cohorts.values():
            count, later = cohorts.move_to(self.rounds_played, self._rng)
            self._postpone(later, paid)
            counted += count if paid is None else paid.draw_sum(count, self._rng)
        return float(arrived + counted + self._in_flight.take(self.rounds_played))

    def play_rounds(self, arm: int, rounds: int) -> Floats:
        """Play `arm` for `rounds` rounds and return what arrives in each (the paper's X_t).

        Every play is drawn by itself: slow, plain, and what `play` is tested against.
        """
        reward, delay, rounds = self._check(arm, rounds)
        for cohorts, paid in self._cohorts.values():
            self._postpone(cohorts.resolve(self._rng), paid)
        start, due = self.rounds_played, min(rounds, len(self._carry))
        seen = np.zeros(rounds)
        seen[:due] = self._carry[:due]
        self._carry = np.concatenate([self._carry[due:], np.zeros(due)])
        self.rounds_played += rounds
        arrivals, rewards = self._in_flight.take_each(self.rounds_played)
        np.add.at(seen, arrivals - start - 1, rewards)
        rewards = reward.draw(rounds, self._rng)
        arrivals = np.arange(rounds) + delay.draw(rounds, self._rng)
        inside = arrivals < rounds
        np.add.at(seen, arrivals[inside], rewards[inside])
        self._carry_on(arrivals[~inside] - rounds + 1, rewards[~inside])
        return seen

    def _send(self, reward: Reward, delay: Delay, rounds: int) -> float:
        """What arrives of a block that was just played, and of what was due in the next rounds.

        Only the last plays can spill over the end, up to the largest delay of the table: these are
        drawn one by one.
        """
        rng, table = self._rng, delay.table
        one_by_one = min(rounds, table.spread)
        uniforms = rng.random(one_by_one)
        law = (table.cdf, table.guide, self._beyond)
        paid: Any  # the mean, or the rewards
        if isinstance(reward, Bernoulli):
            spill, paid = _kernels().spill_bernoulli, reward.mean
        else:
            spill, paid = _kernels().spill_rewards, reward.draw(one_by_one, rng)
        arrived, late = spill(self._carry, rounds, uniforms, paid, *law)
        if late:
            ages = self._beyond[:late].copy()
            waits = delay.draw_beyond(np.full(late, table.spread), rng) - ages
            earned = np.ones(late) if isinstance(reward, Bernoulli) else paid[ages]
            self._in_flight.add(self.rounds_played + waits, earned)
        rest = rounds - one_by_one
        if rest and len(table.tail):
            drawn, total = self._play_far_tail(reward, delay, rounds)
            rest -= drawn
            arrived += total
        return float(arrived + (reward.draw_sum(rest, rng) if rest else 0.0))

    def _play_far_tail(self, reward: Reward, delay: Delay, rounds: int) -> tuple[int, float]:
        """The plays further from the end than the table's spread whose delay is very long.

        Returns how many were drawn one by one, and what of them arrives in the block.
        """
        rng, table = self._rng, delay.table
        far = rounds - table.spread
        if far * table.tail[0] < 1:  # so few that one block will do
            starts, ends = np.array([table.spread]), np.array([rounds])
            counts = np.array([rng.binomial(far, table.tail[0])])
        else:
            blocks = (-(-rounds // table.spread) - 1).bit_length()  # those that start in time
            starts = table.spread * 2 ** np.arange(blocks, dtype=np.int64)
            ends = np.minimum(2 * starts, rounds)
            counts = rng.binomial(ends - starts, table.tail[:blocks])
        drawn = int(counts.sum())
        if drawn == 0:
            return 0, 0.0
        ages = np.concatenate(
            [_some(*each, rng) for each in zip(starts, ends, counts, strict=True)]
        )
        waits = delay.draw_beyond(np.repeat(starts, counts), rng) - ages
        rewards = reward.draw(drawn, rng)
        later = waits > 0
        self._in_flight.add(self.rounds_played + waits[later], rewards[later])
        return drawn, float(rewards[~later].sum())

    def _send_long(self, reward: Reward, delay: Delay, rounds: int) -> float:
        """As `_send` where delays are longer than a table: the plays are kept in cohorts.

        Where few plays pay, these are drawn one by one: what arrives in the block is due with all
        the rest.
        """
        arrived = self._take_carried(rounds)
        # One for all rewards of 1 that have this delay, or for all rewards of this kind.
        mean, paid = (reward.mean, None) if isinstance(reward, Bernoulli) else (1.0, reward)
        key = (id(delay), id(paid))
        if key not in self._cohorts:
            self._cohorts[key] = (Cohorts(delay), paid)
        rng, end = self._rng, self.rounds_played
        if mean * rounds > _MAX_DRAWN:
            self._cohorts[key][0].send(end, rounds, mean, rng)
        else:
            plays = _some(0, rounds, int(rng.binomial(rounds, mean)), rng)
            arrivals = end - rounds + 1 + plays + delay.draw(len(plays), rng)
            self._postpone(arrivals, paid)
        return arrived

    def _take_carried(self, rounds: int) -> float:
        """What was due in the next rounds."""
        return float(_kernels().take_arrivals(self._carry, rounds)) if len(self._carry) else 0.0

    def _carry_on(self, waits: Integers, rewards: Floats) -> None:
        """Let each reward arrive `waits` rounds from now."""
        near = waits <= len(self._carry)
        np.add.at(self._carry, waits[near] - 1, rewards[near])
        self._in_flight.add(self.rounds_played + waits[~near], rewards[~near])

    def _postpone(self, rounds: Integers, reward: Reward | None) -> None:
        """Let a reward of this kind, or one of 1, arrive in each of these rounds."""
        if (count := len(rounds)) == 0:
            return
        paid = np.ones(count) if reward is None else reward.draw(count, self._rng)
        self._in_flight.add(rounds, paid)

    def _fill(self, status_quo: Reward | float | str) -> None:
        """Put in flight what has not arrived yet of `status_quo`, always played until now.

        The reward of a play i rounds ago is in flight if its delay exceeds i. The last plays are
        drawn one by one, those before in blocks, as in `_play_far_tail`.
        """
        what, delay = self._status_quo(status_quo)
        rng, table = self._rng, delay.table
        ages = [np.arange(table.spread)]
        waits = [delay.draw(table.spread, rng) - ages[0]]
        starts = table.spread * 2 ** np.arange(len(table.tail), dtype=np.int64)
        for start, count in zip(starts, rng.binomial(starts, table.tail), strict=True):
            if count:
                ages.append(_some(int(start), 2 * int(start), count, rng))
                waits.append(delay.draw_beyond(np.full(count, start), rng) - ages[-1])
        wait, age = np.concatenate(waits), np.concatenate(ages)
        wait, age = wait[wait > 0], age[wait > 0]
        self._carry_on(wait, self._earned_before(what, age))

    def _status_quo(self, status_quo: Reward | float | str) -> tuple[Reward | int, Delay]:
        """The status quo, an arm or a reward, and how late its rewards come."""
        what: Reward | int
        if isinstance(status_quo, int) and not isinstance(status_quo, bool):
            what, delay = status_quo, self._check(status_quo, 0)[1]
        else:  # what is no arm has the delay that most arms have
            what = as_reward(status_quo)
            delay = statistics.mode(self._delays)
        if not np.isfinite(delay.mean):
            raise InvalidInput(
                f"{delay.text} has no finite mean: of what was played forever, infinitely many "
                "rewards would be in flight."
            )
        return what, delay

    def _earned_before(self, what: Reward | int, ages: Integers) -> Floats:
        """What an arm or a reward earned in rounds before the start, counted backwards from it."""
        reward = self._rewards[what] if isinstance(what, int) else what
        return reward.draw(len(ages), self._rng)

    def _check(self, arm: int, rounds: int) -> tuple[Reward, Delay, int]:
        arm, last = whole_number(arm, "an arm"), len(self._rewards) - 1
        if arm > last:
            raise InvalidInput(f"there is no arm {arm}; the arms are 0 to {last}.")
        return self._rewards[arm], self._delays[arm], whole_number(rounds, "rounds")


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


def _some(start: int, end: int, count: int, rng: np.random.Generator) -> Integers:
    """As many of the numbers from `start` to `end` - 1, in any order."""
    return start + rng.choice(int(end - start), count, replace=False, shuffle=False)
