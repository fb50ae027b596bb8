"""Problems as they are found in the field: rates that change, noise, and poor reports.

Rates are constant within the steps of a calendar, so a block is played step by step, each with the
same shortcut as in the paper's world: exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.delays import Delay
from latesum.simulation.calendar import Calendar
from latesum.simulation.problem import Problem
from latesum.simulation.reporting import Background, Reporting
from latesum.simulation.rewards import Bernoulli, Discrete, Floats, Reward
from latesum.simulation.world import RewardSource, World

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Thinned:
    """`reward` with probability `share`, else 0.

    >>> Thinned(Bernoulli(0.5), 0.5).mean
    0.25
    """

    reward: Reward
    share: float

    @property
    def mean(self) -> float:
        return self.share * self.reward.mean

    @property
    def support(self) -> tuple[float, float]:
        lowest, highest = self.reward.support
        return (min(lowest, 0.0), max(highest, 0.0))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        kept: Floats = self.reward.draw(count, rng) * (rng.random(count) < self.share)
        return kept

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        return self.reward.draw_sum(int(rng.binomial(count, self.share)), rng)


def with_mean(reward: Reward, mean: float) -> Reward:
    """The reward with another mean: it comes more or less often, and is as large when it comes.

    >>> with_mean(Discrete([0, 0.5], [0.5, 0.5]), 0.125)
    Discrete(values=(0.0, 0.5), probabilities=(0.75, 0.25))
    """
    if isinstance(reward, Bernoulli):
        if mean > 1:
            raise InvalidInput(f"a rate of {mean:g} exceeds 1; use smaller factors or means.")
        return Bernoulli(mean)
    factor = mean / reward.mean if reward.mean else 1.0
    if isinstance(reward, Discrete) and 0.0 in reward.values:
        zero = reward.values.index(0.0)
        chances = [p * factor for p in reward.probabilities]
        chances[zero] = 0.0
        if sum(chances) <= 1:
            chances[zero] = 1 - sum(chances)
            return Discrete(reward.values, chances)
    if factor <= 1:
        return Thinned(reward, factor)
    raise InvalidInput(
        f"{reward!r} cannot come {factor:g} times as often as always; give the arms as they are at "
        "their best and factors of at most 1."
    )


class FieldProblem(Problem):
    """K arms whose rates follow a calendar, whose totals hold a background, or are poorly reported.

    Regret is against the best arm of each moment.

    Args:
        arms: As for `Problem`.
        delay: As for `Problem`.
        calendar: How the means change over time, if they do.
        background: What is in every total whatever is played, if anything.
        reporting: How totals are reported, if not at once and as they are.

    >>> calendar = Calendar(step=1000, drift_to=(0.6, 0.5), drift_over=10_000)
    >>> problem = FieldProblem([0.5, 0.6], "uniform(0, 100)", calendar=calendar)
    >>> problem.gaps_at(0), problem.gaps_at(20_000)
    ((0.09, 0.0), (0.0, 0.1))
    """

    def __init__(
        self,
        arms: Sequence[Reward | float],
        delay: Delay | str | Sequence[Delay | str],
        *,
        calendar: Calendar | None = None,
        background: Background | None = None,
        reporting: Reporting | None = None,
    ) -> None:
        super().__init__(arms, delay)
        drift_to = None if calendar is None else calendar.drift_to
        if drift_to is not None and len(drift_to) != self.n_arms:
            raise InvalidInput(
                f"drift_to needs a mean for each of the {self.n_arms} arms, not {len(drift_to)}."
            )
        self.calendar = calendar
        self.background = background
        self.reporting = reporting
        self._sources_by_means: dict[tuple[float, ...], tuple[RewardSource, ...]] = {}
        if calendar is not None:  # a rate above 1 is refused now, not in the middle of a run
            ends = [self.means] if calendar.drift_to is None else [self.means, calendar.drift_to]
            for means in ends:
                for factor in (min(calendar.factors), max(calendar.factors)):
                    for arm, mean in zip(self.arms, means, strict=True):
                        with_mean(arm, mean * factor)

    @property
    def changes(self) -> bool:
        return self.calendar is not None

    def permuted(self, order: Sequence[int]) -> FieldProblem:
        """The same arms, with their delays and drifts, in another order.

        Args:
            order: The arms, in the new order.

        >>> calendar = Calendar(step=1000, drift_to=(0.6, 0.5), drift_over=10_000)
        >>> problem = FieldProblem([0.5, 0.6], "uniform(0, 100)", calendar=calendar)
        >>> problem.permuted([1, 0]).calendar.drift_to
        (0.5, 0.6)
        """
        order = self._checked_order(order)
        return FieldProblem(
            [self.arms[arm] for arm in order],
            [self.delays[arm] for arm in order],
            calendar=None if self.calendar is None else self.calendar.permuted(order),
            background=self.background,
            reporting=self.reporting,
        )

    def start(
        self,
        *,
        rng: np.random.Generator,
        status_quo: Reward | float | str | None = None,
        at: int = 0,
    ) -> FieldWorld:
        """A world in which nothing has been played yet, or something has always been played.

        The rates before the start follow the calendar's cycle too; a drift begins in round 0.

        Args:
            rng: The generator to draw from.
            status_quo: As for `Problem.start`.
            at: As for `Problem.start`.
        """
        return FieldWorld(self, rng, status_quo=status_quo, at=at)

    def gaps_at(self, rounds: int) -> tuple[float, ...]:
        """How far each arm is below the best after `rounds` rounds.

        Args:
            rounds: The number of rounds.
        """
        if self.calendar is None:
            return self.gaps
        means = self.calendar.means_at(self.means, step=rounds // self.calendar.step)
        return tuple(round(max(means) - mean, 15) for mean in means)

    def is_best(self, arm: int, rounds: int) -> bool:
        return self.gaps_at(max(rounds - 1, 0))[arm] == 0

    def lost_by(self, arm: int, rounds: Integers) -> Floats:
        if self.calendar is None:
            return super().lost_by(arm, rounds)
        step = self.calendar.step
        steps = -(-int(np.max(rounds, initial=0)) // step)
        # Rounded up to a power of two, so that runs of different lengths share the table.
        steps = 1 << max(steps, 1).bit_length()
        table = self.calendar.cumulative_gaps(self.means, steps)[:, arm]
        return np.interp(rounds, np.arange(steps + 1) * step, table)

    def rewards_at(self, step: int) -> tuple[Reward, ...]:
        """What each arm earns in a step of the calendar.

        Args:
            step: The number of the step.
        """
        return tuple(source.reward for source in self._sources_at(step))

    def _sources_at(self, step: int) -> tuple[RewardSource, ...]:
        if self.calendar is None:
            return self._sources
        means = self.calendar.means_at(self.means, step=step)
        known = self._sources_by_means.get(means)
        if known is None:
            rewards = [with_mean(arm, mean) for arm, mean in zip(self.arms, means, strict=True)]
            known = Problem(rewards, self.delays)._sources
            self._sources_by_means[means] = known
        return known

    def __repr__(self) -> str:
        parts = [super().__repr__().replace("Problem", "FieldProblem", 1)[:-1]]
        parts += [part.text for part in (self.calendar, self.background, self.reporting) if part]
        return "; ".join(parts) + ")"


class FieldWorld(World):
    """One realisation of a `FieldProblem`; its `reporting` is for the loop that plays it."""

    def __init__(self, problem: FieldProblem, rng: np.random.Generator, **start: Any) -> None:
        self._problem = problem
        super().__init__(problem._sources, rng, **start)

    def play(self, arm: int, rounds: int) -> float:
        _, rounds = self._check(arm, rounds)
        total, left = 0.0, rounds
        while left:
            piece = self._enter_step(left)
            total += super().play(arm, piece)
            left -= piece
        background = self._problem.background
        if background is not None and rounds:
            total += background.draw(rounds, self._rng)
        return total

    def play_rounds(self, arm: int, rounds: int) -> Floats:
        _, rounds = self._check(arm, rounds)
        seen, left = [np.zeros(0)], rounds
        while left:
            piece = self._enter_step(left)
            seen.append(super().play_rounds(arm, piece))
            left -= piece
        total = np.concatenate(seen)
        background = self._problem.background
        if background is not None:
            total += [background.draw(1, self._rng) for _ in range(rounds)]
        return total

    def _earned_before(self, what: Reward | int, ages: Integers) -> Floats:
        calendar = self._problem.calendar
        if calendar is None:
            return super()._earned_before(what, ages)
        earned = np.zeros(len(ages))
        numbers = (self.rounds_played - 1 - ages) // calendar.step
        for number in np.unique(numbers):
            those = numbers == number
            earned[those] = self._reward_in(what, int(number)).draw(int(those.sum()), self._rng)
        return earned

    def _reward_in(self, what: Reward | int, step: int) -> Reward:
        if isinstance(what, int):
            return self._problem.rewards_at(step)[what]
        calendar = self._problem.calendar
        assert calendar is not None
        return with_mean(what, what.mean * calendar.factors[step % len(calendar.factors)])

    def _enter_step(self, rounds: int) -> int:
        """Take up the rates of the present step, and say how many of `rounds` are in it."""
        calendar = self._problem.calendar
        if calendar is None:
            return rounds
        number, past = divmod(self.rounds_played, calendar.step)
        self._sources = self._problem._sources_at(number)
        return min(rounds, calendar.step - past)
