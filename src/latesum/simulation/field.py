"""Problems as they are found in the field: rates that change, and rewards that no arm earned.

Rates are constant within the steps of a calendar, so a block is played step by step, each with the
same shortcut as in the paper's world: exactly.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum._render import changed_fields
from latesum.delays import Delay
from latesum.delays.base import Integers
from latesum.simulation.composite import CompositeProblem
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
    def weekly(cls, rounds_per_day: int, *, weekdays: Sequence[float] = USUAL_WEEK) -> Calendar:
        """A factor for each day of the week, Monday first.

        >>> Calendar.weekly(2400).step
        2400
        """
        if len(weekdays) != 7:
            raise InvalidInput(f"a week has 7 days, not {len(weekdays)}.")
        return cls(rounds_per_day, tuple(weekdays))

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
    """One realization of a `FieldProblem`."""

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
        if self._problem.background:
            total += float(self._rng.poisson(self._problem.background * rounds))
        return total

    def play_rounds(self, arm: int, rounds: int) -> Floats:
        *_, rounds = self._check(arm, rounds)
        seen, remaining = [np.zeros(0)], rounds
        while remaining:
            segment = self._enter_step(remaining)
            seen.append(super().play_rounds(arm, segment))
            remaining -= segment
        total = np.concatenate(seen)
        if self._problem.background:
            total += self._rng.poisson(self._problem.background, rounds)
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
    """K arms whose rates follow a calendar, or whose totals hold more than their rewards.

    Regret is against the best arm of each round.

    Args:
        calendar: How the means change over time, if they do.
        background: The mean per round of rewards that are in every total, whatever is played: a
            Poisson number of 1s.

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
        background: float = 0.0,
    ) -> None:
        super().__init__(arms, delay)
        self.calendar, self.changes = calendar, calendar is not None
        self.background = finite_number(background, "the mean of the background", at_least=0)
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

    def plain(self) -> dict[str, Any]:
        data = super().plain()
        if self.calendar is not None:
            data["calendar"] = changed_fields(self.calendar)
        if self.background:
            data["background"] = self.background
        return data

    def __repr__(self) -> str:
        parts = [super().__repr__().replace("Problem", "FieldProblem", 1)[:-1]]
        for name in ("calendar", "background"):
            if part := getattr(self, name):
                parts.append(f"{name}={shortened(repr(part), 80)}")
        return ", ".join(parts) + ")"


def problem_from(data: Mapping[str, Any]) -> Problem:
    """The opposite of `Problem.plain`; a calendar may be weekly, by `rounds_per_day`.

    >>> problem_from({"arms": [0.5, 0.6], "delay": "poisson(3)", "background": 0.1})
    FieldProblem([0.5, 0.6], 'poisson(3)', background=0.1)
    """
    for key in data:
        known_name(key, ("arms", "delay", "parts", "calendar", "background"), "part of a problem")
    arms, delay = data["arms"], data["delay"]
    if "parts" in data:
        if others := sorted(set(data) - {"arms", "delay", "parts"}):
            raise InvalidInput(f"a problem with parts has no {others[0]}.")
        return CompositeProblem(arms, delay, parts=data["parts"])
    calendar, background = data.get("calendar"), data.get("background", 0.0)
    if calendar is None and not background:
        return Problem(arms, delay)
    if calendar is not None:
        kind: Any = Calendar.weekly if "rounds_per_day" in calendar else Calendar
        try:
            inspect.signature(kind).bind(**calendar)
            calendar = kind(**calendar)
        except TypeError as error:
            raise InvalidInput(f"a calendar cannot be made of {calendar}: {error}.") from None
    return FieldProblem(arms, delay, calendar=calendar, background=background)
