"""What the user believes, in rounds and rewards between 0 and 1, and back in the user's units."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.delays import Delay
from latesum.planning import words
from latesum.simulation import Bernoulli, Calendar, Discrete, FieldProblem, Problem, Reward
from latesum.simulation.calendar import USUAL_WEEK

BUCKETS = ("hour", "day", "week")


@dataclass(frozen=True)
class Beliefs:
    """All that a plan starts from. Rewards are in the user's unit; times are in hours.

    In the simulated problem one option, any, is better than the others by exactly the smallest lift
    worth having, and the others are as today: the hardest case that is still worth it. With
    `means`, one for each option, they are those.
    """

    options: int
    mean: float
    lift: float
    low: float
    high: float
    sd: float | None
    traffic: float  # decisions an hour
    lateness: words.Lateness
    bucket: str
    run_hours: float
    switch_cost: float = 0.0
    means: tuple[float, ...] | None = None
    #: What runs today and is still paying when the campaign begins: one of the options, something
    #: else, or nothing; and for how long before the start its totals are known.
    status_quo: Literal["option", "other"] | None = None
    history_hours: float = 0.0
    #: Whether the options' means change during the run, so that another one is the best at its end.
    changing: bool = False

    @property
    def bucket_rounds(self) -> int:
        """The decisions in a bucket. A week is seven whole days."""
        if self.bucket == "week":
            return 7 * round(self.traffic * 24)
        return round(self.traffic * words.unit_hours(self.bucket))

    @property
    def buckets(self) -> int:
        """The whole buckets in the run."""
        return int(self.run_hours / words.unit_hours(self.bucket) + 1e-9)

    @property
    def horizon(self) -> int:
        """The rounds of the run."""
        return self.buckets * self.bucket_rounds

    @property
    def rounds_per_hour(self) -> float:
        """Rounds an hour, after rounding a bucket to whole rounds."""
        return self.bucket_rounds / words.unit_hours(self.bucket)

    @property
    def option_means(self) -> tuple[float, ...]:
        """The means of the simulated options, the best first unless they were given."""
        return self.means or (self.mean + self.lift, *[self.mean] * (self.options - 1))

    @property
    def before(self) -> int | Reward | None:
        """What runs today: the option that is most like it, or a reward that is no option."""
        if self.status_quo == "option":
            return min(range(self.options), key=lambda arm: abs(self.option_means[arm] - self.mean))
        return self._reward(self.mean) if self.status_quo == "other" else None

    @property
    def history(self) -> int:
        """The rounds of the history, in whole buckets."""
        return int(self.history_hours / words.unit_hours(self.bucket) + 1e-9) * self.bucket_rounds

    def hours(self, rounds: float) -> float:
        """Rounds as time."""
        return rounds / self.rounds_per_hour

    def delay(self, factor: float = 1.0) -> Delay:
        """The delay in rounds, `factor` times as long as believed."""
        return self.lateness.in_rounds(self.rounds_per_hour, factor=factor)

    def problem(
        self, *, delay_factors: Sequence[float] | None = None, weekly: bool = False
    ) -> Problem:
        """The problem to simulate, with a factor on the delay of each option, or a weekly pattern."""
        if delay_factors is None:
            delays: Delay | list[Delay] = self.delay()
        elif len(set(delay_factors)) == 1:
            delays = self.delay(delay_factors[0])
        else:
            delays = [self.delay(factor) for factor in delay_factors]
        rewards = [self._reward(mean) for mean in self.option_means]
        if not weekly and not self.changing:
            return Problem(rewards, delays)
        if self.changing:
            return FieldProblem(rewards, delays, calendar=self._drift())
        day = 24 * self.bucket_rounds if self.bucket == "hour" else round(self.traffic * 24)
        peak = max(USUAL_WEEK)
        factors: tuple[float, ...] = USUAL_WEEK
        if max(self._scaled(mean) for mean in self.option_means) * peak > 1:
            factors = tuple(factor / peak for factor in USUAL_WEEK)  # a rate cannot exceed 1
        return FieldProblem(rewards, delays, calendar=Calendar.weekly(day, weekdays=factors))

    def _drift(self) -> Calendar:
        """The best option and another one change places, in a straight line over the first half of the run."""
        means = list(self.option_means)
        best = max(range(self.options), key=means.__getitem__)
        other = (best + 1) % self.options
        means[best], means[other] = means[other], means[best]
        scaled = tuple(self._scaled(mean) for mean in means)
        return Calendar(self.bucket_rounds, drift_to=scaled, drift_over=max(self.horizon // 2, 1))

    def changed(self, **changes: Any) -> Beliefs:
        """The same with something else."""
        return dataclasses.replace(self, **changes)

    def _scaled(self, mean: float) -> float:
        return (mean - self.low) / (self.high - self.low)

    def _reward(self, mean: float) -> Reward:
        """A reward of this mean and sd: nothing (`low`), or always the same amount."""
        share = self._scaled(mean)
        if self.sd is None:
            return Bernoulli(share)
        spread = self.sd / (self.high - self.low)
        amount = share + spread**2 / share
        if amount > 1 + 1e-9:
            raise InvalidInput(
                f"rewards between {self.low:g} and {self.high:g} with a mean of {mean:g} cannot have "
                f"an sd of {self.sd:g}; at most {(share * (1 - share)) ** 0.5 * (self.high - self.low):.4g}."
            )
        if amount >= 1 - 1e-9:
            return Bernoulli(share)
        return Discrete([0.0, amount], [1 - share / amount, share / amount])

    def in_words(self) -> list[str]:
        """What is believed and what was assumed, in sentences."""
        unit = "rate" if self.is_rate else "mean reward"
        if self.means is None:
            truth = (
                f"One of the {self.options} options, any of them, has a {unit} of "
                f"{self.mean + self.lift:.4g}; the others have today's {self.mean:.4g}: the smallest "
                f"lift worth having, {self.lift:.3g} ({self.lift / self.mean:.0%})."
                if self.mean
                else f"One of the {self.options} options is better by {self.lift:.3g}."
            )
        else:
            truth = f"The options have {unit}s of {', '.join(f'{m:.4g}' for m in self.means)}, in any order."
        if self.changing:
            truth += (
                " They change: the best and another one change places in the first half. switchback is not tried, because "
                "it takes the options' effects to stay as they are."
            )
        delay = self.delay()
        said = self.lateness.said
        if not said.endswith("on average"):
            said += f"; {words.as_time(self.hours(delay.mean))} on average"
        late = f"Rewards come late: {said}, which is {delay.mean:,.0f} rounds."
        sentences = [
            truth,
            f"{self.bucket_rounds:,} decisions {words.an(self.bucket)}, for {words.as_time(self.run_hours)}: "
            f"{self.buckets:,} {self.bucket}s, {self.horizon:,} rounds. One option is played to "
            f"everybody for {words.an(self.bucket)}; its total is known at the end of it.",
            late,
        ]
        if self.status_quo is not None:
            what = "One of the options" if self.status_quo == "option" else "Something else"
            known = (
                f", of which {words.as_time(self.hours(self.history))} are known"
                if self.history
                else ""
            )
            sentences.append(f"{what} runs today{known}: its late rewards arrive at the beginning.")
        if self.lateness.assumption:
            sentences.append(f"Assumed: {self.lateness.assumption}.")
        if self.sd is not None:
            sentences.append(
                f"A reward is {self.low:g} or one fixed amount, with the sd {self.sd:g} that was given."
            )
        elif not self.is_rate:
            sentences.append(
                f"No sd was given, so a reward is taken to be {self.low:g} or {self.high:g}: the most "
                "that rewards in this range can vary."
            )
        return sentences

    @property
    def is_rate(self) -> bool:
        """Whether the reward is a conversion, 0 or 1."""
        return (self.low, self.high) == (0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values."""
        names = "options mean lift low high sd bucket run_hours switch_cost status_quo history_hours changing"
        delay = self.delay().mean
        return {
            **{name: getattr(self, name) for name in names.split()},
            "means": None if self.means is None else list(self.means),
            "traffic_per_hour": self.traffic, "late": self.lateness.said,
            "mean_delay_hours": self.hours(delay), "mean_delay_rounds": delay,
            "bucket_rounds": self.bucket_rounds, "buckets": self.buckets, "horizon": self.horizon,
        }  # fmt: skip


def read_beliefs(
    *,
    options: int,
    lift: Any,
    traffic: Any,
    late: Any,
    run_for: Any,
    rate: float | str | None = None,
    mean: float | None = None,
    low: float = 0.0,
    high: float | None = None,
    sd: float | None = None,
    bucket: str = "day",
    switch_cost: float = 0.0,
    means: Sequence[float] | None = None,
    delay_unit: str | None = None,
    status_quo: str | None = None,
    history: Any = None,
    changing: bool = False,
) -> Beliefs:
    """Check what the user said and turn it into numbers.

    >>> beliefs = read_beliefs(options=2, rate=0.02, lift="10%", traffic="2400 per day",
    ...                        late="2 days", run_for="12 weeks")
    >>> beliefs.bucket_rounds, beliefs.horizon
    (2400, 201600)
    """
    options = whole_number(options, "the number of options", at_least=2)
    if (rate is None) == (mean is None):
        raise InvalidInput("say today's rate or today's mean reward: one of the two.")
    if rate is not None:
        if high is not None or sd is not None or low != 0:
            raise InvalidInput("low, high and sd go with a mean reward, not with a rate.")
        mean, high = words.read_rate(rate), 1.0
    if high is None:
        raise InvalidInput("a mean reward needs the range of a single reward: give high (and low).")
    low = finite_number(low, "the lowest reward")
    high = finite_number(high, "the highest reward", above=low)
    mean = finite_number(mean, "today's mean reward", above=low, at_most=high)
    sd = None if sd is None else finite_number(sd, "the sd of a reward", above=0)
    difference = words.read_lift(lift, mean)
    if mean + difference > high:
        what = "rate" if rate is not None else "mean reward"
        limit = "1" if rate is not None else f"the highest reward {high:g}"
        raise InvalidInput(
            f"a lift of {difference:.4g} on today's {mean:.4g} makes a {what} of "
            f"{mean + difference:.4g}, which exceeds {limit}."
        )
    given = None
    if means is not None:
        given = tuple(finite_number(m, "a mean", at_least=low, at_most=high) for m in means)
        if len(given) != options:
            raise InvalidInput(f"give a mean for each of the {options} options, not {len(given)}.")
        if len(set(given)) == 1:
            raise InvalidInput("options that are all the same leave nothing to find.")
    name = str(bucket).strip().lower()
    name = {"hourly": "hour", "daily": "day", "weekly": "week"}.get(name, name.removesuffix("s"))
    if name not in BUCKETS:
        raise InvalidInput(
            f"a bucket is an hour, a day or a week, and longer than nothing: not {bucket!r}."
        )
    beliefs = Beliefs(
        options, mean, difference, low, high, sd, words.read_traffic(traffic),
        words.Lateness.read(late, unit=delay_unit), name, words.read_duration(run_for, "the run"),
        finite_number(switch_cost, "the cost of a switch", at_least=0), given,
        known_name(status_quo, ("option", "other"), "status quo") if status_quo else None,  # type: ignore[arg-type]
        0.0 if history is None else words.read_duration(history, "the history"), bool(changing),
    )  # fmt: skip
    if beliefs.history_hours and beliefs.status_quo != "option":
        raise InvalidInput("a history is that of an option: say status_quo='option' with it.")
    if beliefs.bucket_rounds < 1:
        raise InvalidInput(f"there is less than one decision in a {name}: take a longer bucket.")
    if beliefs.buckets < options:
        raise InvalidInput(
            f"{words.as_time(beliefs.run_hours)} are {beliefs.buckets} whole {name}s, and each of the "
            f"{options} options needs one at least: run for longer or take a shorter bucket."
        )
    beliefs.problem()  # a spread that cannot be is refused here
    return beliefs
