"""A problem, and a world in which it is played block by block.

Of a block of L rounds with delays up to D only the last D plays can spill over its end; the sum
of the other L - D is one draw. So a block costs O(D), whatever L is, exactly in distribution.

Delays with a longer tail than their table are exact too. A play at distance i >= D from the end
spills over only if its delay exceeds i. Distances are taken in blocks [D, 2D), [2D, 4D), ...; in
the block from s on, a binomial number of plays has a delay above s, and only those are looked at
one by one. Next to none is: where more than a few delays are longer than a table, plays are kept in
cohorts (`latesum.simulation.cohorts`), and a block costs about the square root of D.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from latesum import _render
from latesum._checks import InvalidInput, whole_number
from latesum._render import new_table
from latesum.delays import Delay, parse
from latesum.delays.base import Integers, Table
from latesum.simulation.cohorts import Cohorts
from latesum.simulation.in_flight import InFlight
from latesum.simulation.reward_text import parse_reward
from latesum.simulation.rewards import Bernoulli, Floats, Reward

#: With more rewards than this in a block with long delays, it costs less to count them in cohorts.
_MAX_DRAWN = 2000


class Problem:
    """K arms and how late their rewards come.

    Args:
        arms: Rewards, their means (of Bernoulli rewards), or rewards as text.
        delay: One delay for all arms, or a list with one for each; as delays or as text.

    >>> problem = Problem([0.5, 0.6], "uniform(0, 100)")
    >>> problem.means, problem.best
    ((0.5, 0.6), 1)
    """

    def __init__(
        self, arms: Sequence[Reward | float | str], delay: Delay | str | Sequence[Delay | str]
    ) -> None:
        if isinstance(arms, str) or not hasattr(arms, "__len__"):
            raise InvalidInput(f"the arms are a list of rewards or of means, not {arms!r}.")
        if len(arms) < 2:
            raise InvalidInput(f"a problem needs at least 2 arms to choose from, not {len(arms)}.")
        self.arms: tuple[Reward, ...] = tuple(as_reward(arm) for arm in arms)
        if isinstance(delay, (str, Delay)) or not isinstance(delay, Sequence):
            self.delays: tuple[Delay, ...] = (parse(delay),) * len(self.arms)
        else:
            self.delays = tuple(parse(each) for each in delay)
            if len(self.delays) != len(self.arms):
                raise InvalidInput(
                    f"give one delay for all arms or one for each of the {len(self.arms)}, "
                    f"not {len(self.delays)}."
                )

    @property
    def n_arms(self) -> int:
        """The number of arms (the paper's K)."""
        return len(self.arms)

    @property
    def delay(self) -> Delay:
        """The delay, where all arms have the same one."""
        if len(set(self.delays)) > 1:
            raise InvalidInput("the arms have different delays: see problem.delays.")
        return self.delays[0]

    @functools.cached_property
    def means(self) -> tuple[float, ...]:
        """The mean reward of each arm (the paper's mu_j)."""
        return tuple(arm.mean for arm in self.arms)

    @functools.cached_property
    def best(self) -> int:
        """The arm with the largest mean, the first of them if there are several."""
        return int(np.argmax(self.means))

    @functools.cached_property
    def gaps(self) -> tuple[float, ...]:
        """How far each arm's mean is below the best (the paper's Delta_j)."""
        return tuple(self.means[self.best] - mean for mean in self.means)

    @functools.cached_property
    def gaps_by_arm(self) -> Floats:
        """The gaps as an array."""
        return np.array(self.gaps)

    @property
    def changes(self) -> bool:
        """Whether the means change over time."""
        return False

    def is_best(self, arm: int, rounds: int) -> bool:
        """Whether no arm is better in the last of `rounds` rounds.

        Args:
            arm: The arm.
            rounds: The number of rounds.
        """
        return self.gaps[arm] == 0

    def permuted(self, order: Sequence[int]) -> Problem:
        """The same arms and delays in another order: arm `j` is now arm `order[j]` of this.

        Args:
            order: The arms, in the new order.

        >>> problem = Problem([0.2, 0.5, 0.9], ["constant(1)", "constant(2)", "constant(3)"])
        >>> problem.permuted([2, 0, 1])
        Problem([0.9, 0.2, 0.5], ['constant(3)', 'constant(1)', 'constant(2)'])
        """
        order = self._checked_order(order)
        # All arms and delays were checked when this one was made.
        result = object.__new__(Problem)
        result.arms = tuple(self.arms[arm] for arm in order)
        result.delays = tuple(self.delays[arm] for arm in order)
        return result

    def _checked_order(self, order: Sequence[int]) -> list[int]:
        arms = [whole_number(arm, "an arm of the order") for arm in order]
        if sorted(arms) != list(range(self.n_arms)):
            raise InvalidInput(
                f"an order names each of the arms 0 to {self.n_arms - 1} once, and {arms} does not."
            )
        return arms

    def lost_by(self, arm: int, rounds: Integers) -> Floats:
        """What playing `arm` all the time has lost to the best of each moment, after `rounds`.

        Args:
            arm: The arm.
            rounds: Numbers of rounds.

        >>> Problem([0.5, 0.6], "constant(2)").lost_by(0, np.array([10, 20])).round(6).tolist()
        [1.0, 2.0]
        """
        return self.gaps[arm] * np.asarray(rounds, dtype=np.float64)

    def start(
        self,
        *,
        rng: np.random.Generator,
        status_quo: Reward | float | str | None = None,
        at: int = 0,
    ) -> World:
        """A world in which nothing has been played yet, or something has always been played.

        Args:
            rng: The generator to draw from.
            status_quo: What was played until now, for ever: an arm (a whole number), a reward or
                its mean that is no arm, or None: nothing, so that nothing is in flight.
            at: The round in which the world begins, for means that change; negative if it begins
                before a campaign does.

        >>> world = Problem([0.5, 0.6], "constant(2)").start(rng=np.random.default_rng(1))
        >>> world.play(0, 2)                # nothing can have arrived yet
        0.0
        >>> problem = Problem([0.5, 0.6], "constant(2)")
        >>> world = problem.start(rng=np.random.default_rng(1), status_quo=1.0)
        >>> world.play(0, 2)                # two rounds of a reward that is always 1
        2.0
        """
        return World(self, rng, status_quo=status_quo, at=at)

    def __repr__(self) -> str:
        arms = [arm.mean if isinstance(arm, Bernoulli) else arm for arm in self.arms]
        texts = [delay.short_text for delay in self.delays]
        return f"Problem({arms}, {texts[0] if len(set(texts)) == 1 else texts!r})"

    def _repr_html_(self) -> str:
        """As a notebook shows it: what each arm pays, what it loses, and how late it pays."""
        table = new_table(None, ["arm", "reward", "mean", "gap", "delay", "mean delay"])
        for arm, (reward, delay) in enumerate(zip(self.arms, self.delays, strict=True)):
            table.add_row(
                f"{arm}{' (best)' if arm == self.best else ''}",
                str(reward),
                f"{reward.mean:g}",
                f"{self.gaps[arm]:.4g}",
                delay.short_text,
                f"{delay.mean:.4g}",
            )
        return _render.heading(repr(self)) + _render.table(table)

    @functools.cached_property
    def _channels(self) -> tuple[_Channel, ...]:
        return tuple(
            _Channel(
                reward,
                reward.mean if isinstance(reward, Bernoulli) else None,
                delay,
                delay.table,
                len(delay.table.tail) == 0,
                len(delay.table.tail) > 0 and not delay.fits_table(),
            )
            for reward, delay in zip(self.arms, self.delays, strict=True)
        )

    @functools.cached_property
    def _carried(self) -> int:
        """How many rounds ahead it is kept in a table what is due."""
        return max((each.table.spread for each in self._channels if not each.long), default=0)


class _Channel(NamedTuple):
    """What playing one arm needs, looked up once."""

    reward: Reward
    bernoulli_mean: float | None
    delay: Delay
    table: Table
    bounded: bool
    long: bool  # its plays are kept in cohorts


class World:
    """One realisation of a problem: what is still in flight, and the rounds played so far.

    Args:
        problem: What is played.
        rng: The generator to draw from.
        status_quo: As for `Problem.start`.
        at: As for `Problem.start`.
    """

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        status_quo: Reward | float | str | None = None,
        at: int = 0,
    ) -> None:
        # Compiled at first use: importing latesum stays fast.
        from latesum.simulation import kernels

        self._kernels = kernels
        self._problem = problem
        self._channels = problem._channels
        self._rng = rng
        self.rounds_played = at
        size = problem._carried
        #: carry[s] is due s + 1 rounds from now; what is due later still is in `_in_flight`, and
        #: what is due in a round that need not be known yet is in a cohort.
        self._carry = np.zeros(size)
        self._beyond = np.empty(size, dtype=np.int64)
        self._in_flight = InFlight()
        self._cohorts: dict[tuple[int, int], tuple[Cohorts, Reward | None]] = {}
        if status_quo is not None:
            self._fill(status_quo)

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: all but the compiled module."""
        return {name: value for name, value in vars(self).items() if name != "_kernels"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from latesum.simulation import kernels

        vars(self).update(state, _kernels=kernels)

    @property
    def outstanding(self) -> float:
        """The rewards earned so far that have not arrived yet."""
        counted = 0
        for cohorts, reward in self._cohorts.values():
            if reward is None:
                counted += cohorts.left
            else:  # what each of them is was not drawn yet
                self._postpone(cohorts.resolve(self._rng), reward)
        return float(self._carry.sum()) + self._in_flight.total + counted

    def play(self, arm: int, rounds: int) -> float:
        """Play `arm` for `rounds` rounds and return the total that arrives during them.

        Args:
            arm: The arm.
            rounds: The number of rounds.
        """
        if type(arm) is int and type(rounds) is int and 0 <= arm < len(self._channels):
            channel = self._channels[arm]
        else:
            channel, rounds = self._check(arm, rounds)
        if rounds <= 0:
            self._check(arm, rounds)
            return 0.0
        self.rounds_played += rounds
        arrived = self._send_long(channel, rounds) if channel.long else self._send(channel, rounds)
        if self._cohorts:
            arrived += self._arrived_of_cohorts()
        return float(arrived + self._in_flight.take(self.rounds_played))

    def _send(self, channel: _Channel, rounds: int) -> float:
        """What arrives of a block that was just played, and of what was due in the next rounds.

        Only the last plays can spill over the end, up to the largest delay of the table: these are
        drawn one by one.
        """
        rng, table, mean = self._rng, channel.table, channel.bernoulli_mean
        one_by_one = min(rounds, table.spread)
        uniforms = rng.random(one_by_one)
        if mean is not None:
            rewards = None
            arrived, late = self._kernels.spill_bernoulli(
                self._carry, rounds, uniforms, mean, table.cdf, table.guide, self._beyond
            )
        else:
            rewards = channel.reward.draw(one_by_one, rng)
            arrived, late = self._kernels.spill_rewards(
                self._carry, rounds, rewards, uniforms, table.cdf, table.guide, self._beyond
            )
        if late:
            places = self._beyond[:late].copy()
            waits = channel.delay.draw_beyond(np.full(late, table.spread), rng) - places
            paid = np.ones(late) if rewards is None else rewards[places]
            self._in_flight.add(self.rounds_played + waits, paid)
        rest = rounds - min(rounds, table.spread)
        if rest and not channel.bounded:
            looked_at, total = self._play_far_tail(channel, rounds)
            rest -= looked_at
            arrived += total
        if rest:
            arrived += (
                channel.reward.draw_sum(rest, rng) if mean is None else rng.binomial(rest, mean)
            )
        return float(arrived)

    def _send_long(self, channel: _Channel, rounds: int) -> float:
        """The same where delays are longer than a table: the plays are kept in cohorts.

        Where few plays pay, these are drawn one by one: what arrives in the block is due with all
        the rest.
        """
        arrived = self._kernels.take_arrivals(self._carry, rounds) if len(self._carry) else 0.0
        cohorts, reward = self._cohorts_of(channel)
        mean = 1.0 if channel.bernoulli_mean is None else channel.bernoulli_mean
        rng, end = self._rng, self.rounds_played
        if mean * rounds > _MAX_DRAWN:
            cohorts.send(end, rounds, mean, rng)
        else:
            count = int(rng.binomial(rounds, mean))
            plays = rng.choice(rounds, count, replace=False, shuffle=False)
            arrivals = end - rounds + 1 + plays + channel.delay.draw(len(plays), rng)
            self._postpone(arrivals, reward)
        return arrived

    def _cohorts_of(self, channel: _Channel) -> tuple[Cohorts, Reward | None]:
        """The cohorts of all rewards of 1 that have this delay, or of all rewards of this kind."""
        reward = None if channel.bernoulli_mean is not None else channel.reward
        key = (id(channel.delay), id(reward))
        if key not in self._cohorts:
            self._cohorts[key] = (Cohorts(channel.delay), reward)
        return self._cohorts[key]

    def _arrived_of_cohorts(self) -> float:
        total = 0.0
        for cohorts, reward in self._cohorts.values():
            arrived, rounds = cohorts.move_to(self.rounds_played, self._rng)
            self._postpone(rounds, reward)
            total += arrived if reward is None else reward.draw_sum(arrived, self._rng)
        return total

    def play_rounds(self, arm: int, rounds: int) -> Floats:
        """Play `arm` for `rounds` rounds and return what arrives in each (the paper's X_t).

        Every play is drawn by itself: slow, plain, and what `play` is tested against.

        Args:
            arm: The arm.
            rounds: The number of rounds.
        """
        channel, rounds = self._check(arm, rounds)
        start = self.rounds_played
        for cohorts, kind in self._cohorts.values():
            self._postpone(cohorts.resolve(self._rng), kind)
        seen = np.zeros(rounds)
        due = min(rounds, len(self._carry))
        seen[:due] = self._carry[:due]
        self._carry = np.concatenate([self._carry[due:], np.zeros(due)])
        self.rounds_played += rounds
        arrivals, rewards = self._in_flight.take_each(self.rounds_played)
        np.add.at(seen, arrivals - start - 1, rewards)
        rewards = channel.reward.draw(rounds, self._rng)
        arrivals = np.arange(rounds) + channel.delay.draw(rounds, self._rng)
        inside = arrivals < rounds
        np.add.at(seen, arrivals[inside], rewards[inside])
        waits, rewards = arrivals[~inside] - rounds + 1, rewards[~inside]
        self._carry_on(waits, rewards)
        return seen

    def _play_far_tail(self, channel: _Channel, rounds: int) -> tuple[int, float]:
        """The plays further from the end than the table's spread whose delay is very long.

        Returns how many were looked at one by one, and what of them arrives in the block.
        """
        rng, table = self._rng, channel.table
        far = rounds - table.spread
        if far * table.tail[0] < 1:  # so few that one block will do
            count = int(rng.binomial(far, table.tail[0]))
            if count == 0:
                return 0, 0.0
            starts, ends, counts = np.array([table.spread]), np.array([rounds]), np.array([count])
        else:
            blocks = (-(-rounds // table.spread) - 1).bit_length()  # those that start in time
            starts = table.spread * 2 ** np.arange(blocks, dtype=np.int64)
            ends = np.minimum(2 * starts, rounds)
            counts = rng.binomial(ends - starts, table.tail[:blocks])
        looked_at = int(counts.sum())
        if looked_at == 0:
            return 0, 0.0
        places = np.concatenate(
            [
                start + rng.choice(int(stop - start), count, replace=False, shuffle=False)
                for start, stop, count in zip(starts, ends, counts, strict=True)
                if count
            ]
        )
        waits = channel.delay.draw_beyond(np.repeat(starts, counts), rng) - places
        rewards = channel.reward.draw(looked_at, rng)
        later = waits > 0
        self._in_flight.add(self.rounds_played + waits[later], rewards[later])
        return looked_at, float(rewards[~later].sum())

    def _fill(self, status_quo: Reward | float | str) -> None:
        """Let all be in flight that `status_quo`, played for ever until now, has not paid yet.

        A play i rounds ago still has to arrive if its delay exceeds i. The last plays are looked at
        one by one, those before in blocks, as in `_play_far_tail`.
        """
        what: Reward | int
        if isinstance(status_quo, int) and not isinstance(status_quo, bool):
            what, delay = status_quo, self._check(status_quo, 0)[0].delay
        else:  # what is no arm has the delay that most arms have
            what, delay = as_reward(status_quo), statistics.mode(self._problem.delays)
        refuse_endless(delay)
        rng, table = self._rng, delay.table
        places = [np.arange(table.spread)]
        waits = [delay.draw(table.spread, rng) - places[0]]
        starts = table.spread * 2 ** np.arange(len(table.tail), dtype=np.int64)
        for start, count in zip(starts, rng.binomial(starts, table.tail), strict=True):
            if count:
                places.append(start + rng.choice(int(start), count, replace=False, shuffle=False))
                waits.append(delay.draw_beyond(np.full(count, start), rng) - places[-1])
        wait, place = np.concatenate(waits), np.concatenate(places)
        wait, place = wait[wait > 0], place[wait > 0]
        earned = self._earned_before(what, place)
        self._carry_on(wait, earned)

    def _earned_before(self, what: Reward | int, places: Integers) -> Floats:
        """What an arm or a reward earned in rounds before the start, counted backwards from it."""
        reward = self._channels[what].reward if isinstance(what, int) else what
        return reward.draw(len(places), self._rng)

    def _carry_on(self, waits: Integers, rewards: Floats) -> None:
        """Let each reward arrive `waits` rounds from now."""
        near = waits <= len(self._carry)
        np.add.at(self._carry, waits[near] - 1, rewards[near])
        self._in_flight.add(self.rounds_played + waits[~near], rewards[~near])

    def _postpone(self, rounds: Integers, reward: Reward | None) -> None:
        """Let a reward of this kind, or one of 1, arrive in each of these rounds."""
        count = len(rounds)
        self._in_flight.add(
            rounds, np.ones(count) if reward is None else reward.draw(count, self._rng)
        )

    def _check(self, arm: int, rounds: int) -> tuple[_Channel, int]:
        if not (type(arm) is int and 0 <= arm < len(self._channels)):
            arm = whole_number(arm, "an arm")
            if arm >= len(self._channels):
                raise InvalidInput(
                    f"there is no arm {arm}; the arms are 0 to {len(self._channels) - 1}."
                )
        if not (type(rounds) is int and rounds >= 0):
            rounds = whole_number(rounds, "rounds")
        return self._channels[arm], rounds


def refuse_endless(delay: Delay) -> None:
    """Refuse a delay of which something that was always played has no finite number in flight."""
    if not np.isfinite(delay.mean):
        raise InvalidInput(
            f"{delay.text} has no finite mean: of what was played for ever, infinitely many "
            "rewards would be in flight."
        )


def as_reward(arm: Reward | float | str) -> Reward:
    """A reward, also from its text or from a mean, which means a Bernoulli one."""
    if isinstance(arm, str):
        arm = parse_reward(arm)
    if isinstance(arm, (int, float, np.number)) and not isinstance(arm, bool):
        return Bernoulli(float(arm))
    if not isinstance(arm, Reward):
        raise InvalidInput(f"an arm is a reward or a number between 0 and 1, not {arm!r}.")
    lowest, highest = arm.support
    if lowest < 0 or highest > 1:
        raise InvalidInput(
            f"rewards must lie between 0 and 1, and {arm!r} lies between {lowest:g} and "
            f"{highest:g}; declare its range with Scaled(reward, low, high)."
        )
    return arm
