"""Problems as they are found in the field: rates that change, noise, and poor reports.

Rates are constant within the steps of a calendar, so a block is played step by step, each with the
same shortcut as in the paper's world: exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, shortened, whole_number
from latesum.delays import Delay
from latesum.delays.base import Integers
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import Bernoulli, Discrete, Floats, Reward
from latesum.simulation.world import World

#: A working week and a quieter week-end, with an average of 1: the pattern to try when the real one
#: is not known.
USUAL_WEEK = (1.1, 1.1, 1.1, 1.1, 1.1, 0.75, 0.75)


@dataclass(frozen=True)
class Calendar:
    """How the mean rewards of all arms change over time; constant within steps.

    Args:
        step: The number of rounds in which nothing changes: an hour or a day.
        factors: What multiplies every mean, one factor per step, in a cycle.
        drift_to: A mean for each arm. The means go in a straight line from those of the problem to
            these, and stay there.
        drift_over: The number of rounds that this takes.

    >>> Calendar(step=100, factors=(1.0, 0.5)).means_at([0.2, 0.4], step=3)
    (0.1, 0.2)
    """

    step: int
    factors: tuple[float, ...] = (1.0,)
    drift_to: tuple[float, ...] | None = None
    drift_over: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.step, "the step of a calendar", at_least=1)
        what = "a factor of a calendar"
        vars(self)["factors"] = tuple(finite_number(f, what, at_least=0) for f in self.factors)
        if len(self.factors) == 0:
            raise InvalidInput("a calendar needs at least one factor.")
        if (self.drift_to is None) != (self.drift_over is None):
            raise InvalidInput("a drift needs both drift_to and drift_over.")
        if self.drift_to is not None:
            what = "a mean to drift to"
            vars(self)["drift_to"] = tuple(
                finite_number(m, what, at_least=0) for m in self.drift_to
            )
            whole_number(self.drift_over, "the rounds of a drift", at_least=1)

    @classmethod
    def weekly(
        cls,
        rounds_per_day: int,
        *,
        weekdays: Sequence[float] = USUAL_WEEK,
        hours: Sequence[float] | None = None,
    ) -> Calendar:
        """A factor for each day of the week, Monday first, and for each hour of the day if given.

        >>> Calendar.weekly(2400).step, len(Calendar.weekly(2400, hours=[1.0] * 24).factors)
        (2400, 168)
        """
        rounds = whole_number(rounds_per_day, "the rounds per day", at_least=1)
        if len(weekdays) != 7:
            raise InvalidInput(f"a week has 7 days, not {len(weekdays)}.")
        if hours is None:
            return cls(rounds, tuple(weekdays))
        if len(hours) != 24 or rounds % 24:
            raise InvalidInput("a day has 24 hours, and its rounds must be a multiple of 24.")
        return cls(rounds // 24, tuple(day * hour for day in weekdays for hour in hours))

    def means_at(self, means: Sequence[float], *, step: int) -> tuple[float, ...]:
        """The mean of each arm in a step, the first being 0."""
        return tuple(float(mean) for mean in self.table(tuple(means), step, step + 1)[0])

    def table(self, means: tuple[float, ...], first: int, last: int) -> Floats:
        """The mean of each arm (columns) in the steps `first` to `last` - 1 (rows)."""
        numbers, base = np.arange(first, last), np.array(means)
        table = np.broadcast_to(base, (len(numbers), len(base)))
        if self.drift_to is not None and self.drift_over is not None:
            way = np.clip((numbers + 0.5) * self.step / self.drift_over, 0.0, 1.0)[:, None]
            table = table + way * (np.array(self.drift_to) - base)
        result: Floats = table * np.array(self.factors)[numbers % len(self.factors)][:, None]
        return result

    @functools.lru_cache(maxsize=32)  # noqa: B019 - frozen, and there are few calendars
    def cumulative_gaps(self, means: tuple[float, ...], steps: int) -> Floats:
        """Row s: what each arm, played for s steps, has lost to the best arm of each step."""
        table = self.table(means, 0, steps)
        gaps = (table.max(axis=1, keepdims=True) - table) * self.step
        result: Floats = np.concatenate([np.zeros((1, len(means))), np.cumsum(gaps, axis=0)])
        return result


@dataclass(frozen=True)
class Background:
    """What is in every total whatever is played: sales that no option caused, and noise.

    Rounds are independent, so a block has one draw.

    Args:
        mean: The mean per round.
        sd: The standard deviation per round, where it is normal.
        counts: Whether it is Poisson with that mean, in place of normal.

    >>> Background(0.01, counts=True).draw(0, np.random.default_rng(1))
    0.0
    """

    mean: float = 0.0
    sd: float = 0.0
    counts: bool = False

    def __post_init__(self) -> None:
        least = 0.0 if self.counts else -np.inf
        finite_number(self.mean, "the mean of the background", at_least=least)
        finite_number(self.sd, "the sd of the background", at_least=0)
        if self.counts and self.sd:
            raise InvalidInput("a background of counts is Poisson: its sd follows from its mean.")

    def draw(self, rounds: int, rng: np.random.Generator) -> float:
        """What comes in `rounds` rounds."""
        if self.counts:
            return float(rng.poisson(self.mean * rounds))
        return float(self.mean * rounds + self.sd * np.sqrt(rounds) * rng.standard_normal())


@dataclass(frozen=True)
class Reporting:
    """What happens to a bucket's total before it is known.

    Args:
        missing: The chance that it never comes.
        noise: The scale of Laplace noise that is added to every report, for privacy.
        final_after: The number of buckets after which a total is restated.
        first_share: The factor by which the report is off until then.
        first_error: The standard deviation of its relative error until then.
        together: The number of buckets that are reported at once, at the end of the last.
        summed: Whether only their sum is reported; this is of use only where one option was played
            in all of them.

    >>> Reporting(missing=0.05, together=24).is_missing(np.random.default_rng(1))
    False
    """

    missing: float = 0.0
    noise: float = 0.0
    final_after: int = 0
    first_share: float = 1.0
    first_error: float = 0.0
    together: int = 1
    summed: bool = False

    def __post_init__(self) -> None:
        finite_number(self.missing, "the chance of a missing total", at_least=0, at_most=1)
        finite_number(self.noise, "the scale of the noise", at_least=0)
        whole_number(self.final_after, "the buckets until a total is final")
        finite_number(self.first_share, "the share in a first report", above=0)
        finite_number(self.first_error, "the error of a first report", at_least=0)
        whole_number(self.together, "the buckets reported together", at_least=1)

    def first_report(self, total: float, rng: np.random.Generator) -> float:
        """What is said of a total before it is restated."""
        return total * self.first_share * (1 + self.first_error * float(rng.standard_normal()))

    def is_missing(self, rng: np.random.Generator) -> bool:
        """Whether a total never comes."""
        return self.missing > 0 and float(rng.random()) < self.missing

    def noisy(self, total: float, rng: np.random.Generator) -> float:
        """A total with the noise of its report."""
        return total + float(rng.laplace(0.0, self.noise)) if self.noise else total


@dataclass(frozen=True)
class Thinned(Reward):
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


class FieldWorld(World):
    """One realization of a `FieldProblem`; its `reporting` is for the loop that plays it."""

    def __init__(self, problem: FieldProblem, rng: np.random.Generator, **start: Any) -> None:
        self._problem = problem
        super().__init__(problem, rng, **start)

    def play(self, arm: int, rounds: int) -> float:
        *_, rounds = self._check(arm, rounds)
        total, remaining = 0.0, rounds
        while remaining:
            segment = self._enter_step(remaining)
            total += super().play(arm, segment)
            remaining -= segment
        background = self._problem.background
        if background is not None and rounds:
            total += background.draw(rounds, self._rng)
        return total

    def play_rounds(self, arm: int, rounds: int) -> Floats:
        *_, rounds = self._check(arm, rounds)
        seen, remaining = [np.zeros(0)], rounds
        while remaining:
            segment = self._enter_step(remaining)
            seen.append(super().play_rounds(arm, segment))
            remaining -= segment
        total = np.concatenate(seen)
        background = self._problem.background
        if background is not None:
            total += [background.draw(1, self._rng) for _ in range(rounds)]
        return total

    def _enter_step(self, rounds: int) -> int:
        """Take up the rates of the present step, and say how many of `rounds` are in it."""
        calendar = self._problem.calendar
        if calendar is None:
            return rounds
        number, past = divmod(self.rounds_played, calendar.step)
        self._rewards = self._problem.rewards_at(number)
        return min(rounds, calendar.step - past)

    def _earned_before(self, what: Reward | int, ages: Integers) -> Floats:
        calendar = self._problem.calendar
        if calendar is None:
            return super()._earned_before(what, ages)
        earned = np.zeros(len(ages))
        steps = (self.rounds_played - 1 - ages) // calendar.step
        for step in np.unique(steps):
            if isinstance(what, int):
                reward = self._problem.rewards_at(int(step))[what]
            else:
                factor = calendar.factors[int(step) % len(calendar.factors)]
                reward = with_mean(what, what.mean * factor)
            those = steps == step
            earned[those] = reward.draw(int(those.sum()), self._rng)
        return earned


class FieldProblem(Problem):
    """K arms whose rates follow a calendar, whose totals hold a background, or are poorly reported.

    Regret is against the best arm of each round.

    Args:
        calendar: How the means change over time, if they do.
        background: What is in every total whatever is played, if anything.
        reporting: How totals are reported, if not at once and as they are.

    >>> calendar = Calendar(step=1000, drift_to=(0.6, 0.5), drift_over=10_000)
    >>> problem = FieldProblem([0.5, 0.6], "uniform(0, 100)", calendar=calendar)
    >>> problem.gaps_at(0), problem.gaps_at(20_000)
    ((0.09, 0.0), (0.0, 0.1))
    """

    _world = FieldWorld

    def __init__(
        self,
        arms: Sequence[Reward | float | str],
        delay: Delay | str | Sequence[Delay | str],
        *,
        calendar: Calendar | None = None,
        background: Background | None = None,
        reporting: Reporting | None = None,
    ) -> None:
        super().__init__(arms, delay)
        self.calendar, self.background, self.reporting = calendar, background, reporting
        self._rewards_by_means: dict[tuple[float, ...], tuple[Reward, ...]] = {}
        if calendar is None:
            return
        drift_to = self.means if calendar.drift_to is None else calendar.drift_to
        if len(drift_to) != self.n_arms:
            raise InvalidInput(
                f"drift_to needs a mean for each of the {self.n_arms} arms, not {len(drift_to)}."
            )
        for means in (self.means, drift_to):  # a rate above 1 is refused now, not in a run
            for arm, mean in zip(self.arms, means, strict=True):
                with_mean(arm, mean * min(calendar.factors))
                with_mean(arm, mean * max(calendar.factors))

    @property
    def changes(self) -> bool:
        return self.calendar is not None

    def permuted(self, order: Sequence[int]) -> FieldProblem:
        """The same arms, with their delays and drifts, in another order."""
        result = super().permuted(order)
        assert isinstance(result, FieldProblem)
        result._rewards_by_means = {}
        if self.calendar is not None and self.calendar.drift_to is not None:
            drift_to = tuple(self.calendar.drift_to[arm] for arm in order)
            result.calendar = replace(self.calendar, drift_to=drift_to)
        return result

    def gaps_at(self, rounds: int) -> tuple[float, ...]:
        if self.calendar is None:
            return self.gaps
        means = self.calendar.means_at(self.means, step=rounds // self.calendar.step)
        return tuple(round(max(means) - mean, 15) for mean in means)

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
        """The reward of each arm in a step of the calendar."""
        if self.calendar is None:
            return self.arms
        means = self.calendar.means_at(self.means, step=step)
        if means not in self._rewards_by_means:
            self._rewards_by_means[means] = tuple(map(with_mean, self.arms, means))
        return self._rewards_by_means[means]

    def __repr__(self) -> str:
        parts = [super().__repr__().replace("Problem", "FieldProblem", 1)[:-1]]
        for name in ("calendar", "background", "reporting"):
            if part := getattr(self, name):
                parts.append(f"{name}={shortened(repr(part), 80)}")
        return ", ".join(parts) + ")"
