"""The inputs of a plan: what is known of a campaign before it begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Required, TypedDict, Unpack

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.delays import Delay
from latesum.planning import words
from latesum.simulation import Bernoulli, Calendar, Discrete, FieldProblem, Problem, Reward
from latesum.simulation.calendar import USUAL_WEEK

BUCKETS = ("hour", "day", "week")
#: With more buckets than this, policies that decide in nearly every one take too long to simulate.
MAX_DECISIONS = 200


@dataclass(frozen=True)
class PlanInputs:
    """All that a plan starts from. Rewards are in the user's unit; times are in hours.

    In the simulated problem one option, any, is better than the others by exactly the smallest lift
    worth having: the hardest case that is still worth it. Where one of the options runs today, it
    has today's mean, and it is the best one as often as any other. With `means`, one for each
    option, they are those.
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
    nonstationary: bool = False
    #: What is true in a scenario of the sensitivity analysis: whether the option of today is the
    #: best, factors on the delays of all options and of the best one, and lower week-ends.
    today_best: bool = False
    delay_factor: float = 1.0
    best_delay_factor: float = 1.0
    weekly: bool = False

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
        if self.means:
            return self.means
        if self.today_best:
            return (self.mean, *[max(self.mean - self.lift, self.low)] * (self.options - 1))
        return (self.mean + self.lift, *[self.mean] * (self.options - 1))

    @property
    def tolerance(self) -> float:
        """An option that is worse than the best by less than this is good enough."""
        if self.today_best:
            return min(self.lift, self.mean - self.option_means[-1])
        return self.lift

    @property
    def today(self) -> int | Reward | None:
        """What runs today: the option that is most like it, or a reward that is no option."""
        if self.status_quo == "option":
            return min(range(self.options), key=lambda arm: abs(self.option_means[arm] - self.mean))
        return self._reward(self.mean) if self.status_quo == "other" else None

    @property
    def history(self) -> int:
        """The rounds of the history, in whole buckets."""
        return int(self.history_hours / words.unit_hours(self.bucket) + 1e-9) * self.bucket_rounds

    @property
    def today_may_be_best(self) -> bool:
        """Whether in some of the runs the option of today is the best one."""
        return self.status_quo == "option" and self.means is None and self.lift > 0

    def worlds(self) -> list[tuple[PlanInputs, int]]:
        """What is simulated, each with the number of options of which one is the best there.

        Of `options` runs the option of today is the best in one, where it is an option.
        """
        if not self.today_may_be_best or self.today_best:
            return [(self, self.options)]
        return [(self, self.options - 1), (self.changed(today_best=True), 1)]

    def hours(self, rounds: float) -> float:
        """Rounds as time."""
        return rounds / self.rounds_per_hour

    def delay(self, factor: float = 1.0) -> Delay:
        """The delay in rounds, `factor` times as long as given."""
        return self.lateness.in_rounds(self.rounds_per_hour, factor=factor)

    def problem(self) -> Problem:
        """The problem to simulate."""
        usual = self.delay(self.delay_factor)
        delays: Delay | list[Delay] = usual
        if self.best_delay_factor != 1:
            best = max(range(self.options), key=self.option_means.__getitem__)
            late = self.delay(self.delay_factor * self.best_delay_factor)
            delays = [late if arm == best else usual for arm in range(self.options)]
        rewards = [self._reward(mean) for mean in self.option_means]
        if self.nonstationary:
            return FieldProblem(rewards, delays, calendar=self._drift())
        if not self.weekly:
            return Problem(rewards, delays)
        day = 24 * self.bucket_rounds if self.bucket == "hour" else round(self.traffic * 24)
        peak = max(USUAL_WEEK)
        factors: tuple[float, ...] = USUAL_WEEK
        if max(self._scaled(mean) for mean in self.option_means) * peak > 1:
            factors = tuple(factor / peak for factor in USUAL_WEEK)  # a rate cannot exceed 1
        return FieldProblem(rewards, delays, calendar=Calendar.weekly(day, weekdays=factors))

    def _drift(self) -> Calendar:
        """The best option and another one change places, in a straight line over the first half."""
        means = list(self.option_means)
        best = max(range(self.options), key=means.__getitem__)
        other = (best + 1) % self.options
        means[best], means[other] = means[other], means[best]
        scaled = tuple(self._scaled(mean) for mean in means)
        return Calendar(self.bucket_rounds, drift_to=scaled, drift_over=max(self.horizon // 2, 1))

    def changed(self, **changes: Any) -> PlanInputs:
        """The same with something else."""
        return dataclasses.replace(self, **changes)

    def _scaled(self, mean: float) -> float:
        return (mean - self.low) / (self.high - self.low)

    def _reward(self, mean: float) -> Reward:
        """A reward of this mean and sd: nothing (`low`), or always the same amount."""
        share = self._scaled(mean)
        if self.sd is None or share <= 0:
            return Bernoulli(share)
        spread = self.sd / (self.high - self.low)
        amount = share + spread**2 / share
        if amount > 1 + 1e-9 and not self.today_best:
            largest = (share * (1 - share)) ** 0.5 * (self.high - self.low)
            raise InvalidInput(
                f"rewards between {self.low:g} and {self.high:g} with a mean of {mean:g} cannot "
                f"have an sd of {self.sd:g}; at most {largest:.4g}."
            )
        if amount >= 1 - 1e-9:
            return Bernoulli(share)
        return Discrete([0.0, amount], [1 - share / amount, share / amount])

    def in_words(self) -> list[str]:
        """The inputs and what was assumed, in sentences."""
        delay = self.delay()
        said = self.lateness.said
        if not said.endswith("on average"):
            said += f"; {words.as_time(self.hours(delay.mean))} on average"
        sentences = [
            self._truth(),
            f"{self.bucket_rounds:,} decisions {words.an(self.bucket)}, for "
            f"{words.as_time(self.run_hours)}: {self.buckets:,} {self.bucket}s, {self.horizon:,} "
            f"rounds. One option is played to everybody for {words.an(self.bucket)}; its total is "
            "known at the end of it.",
            f"Rewards come late: {said}, which is {delay.mean:,.0f} rounds.",
        ]
        if self.status_quo is not None:
            what = "One of the options" if self.status_quo == "option" else "Something else"
            known = words.as_time(self.hours(self.history))
            known = f", of which {known} are known" if self.history else ""
            sentences.append(f"{what} runs today{known}: its late rewards arrive at the beginning.")
        if self.lateness.assumption:
            sentences.append(f"Assumed: {self.lateness.assumption}.")
        if self.sd is not None:
            sentences.append(
                f"A reward is {self.low:g} or one fixed amount, with the sd {self.sd:g} that was "
                "given."
            )
        elif not self.is_rate:
            sentences.append(
                f"No sd was given, so a reward is taken to be {self.low:g} or {self.high:g}: the "
                "most that rewards in this range can vary."
            )
        if self.buckets > MAX_DECISIONS:
            sentences.append(
                f"ars-ucb was left out: with {self.buckets:,} buckets it would decide too often to "
                "be simulated in time."
            )
        return sentences

    def _truth(self) -> str:
        """The means that are simulated."""
        unit = "rate" if self.is_rate else "mean reward"
        lift = f"{self.lift:.3g} ({self.lift / self.mean:.0%})" if self.mean else f"{self.lift:.3g}"
        if self.means is not None:
            given = ", ".join(f"{mean:.4g}" for mean in self.means)
            truth = f"The options have {unit}s of {given}, in any order."
        elif self.today_may_be_best:
            worse = self.changed(today_best=True).option_means[-1]
            truth = (
                f"One of the {self.options} options, today's included, is better than the others "
                f"by the smallest lift worth having, {lift}: a new one with a {unit} of "
                f"{self.mean + self.lift:.4g}, or today's {self.mean:.4g}, with {worse:.4g} for "
                "the new ones then."
            )
        else:
            truth = (
                f"One of the {self.options} options, any of them, has a {unit} of "
                f"{self.mean + self.lift:.4g}; the others have today's {self.mean:.4g}: the "
                f"smallest lift worth having, {lift}."
            )
        if self.nonstationary:
            truth += (
                " They change: the best and another one change places in the first half. "
                "switchback is not tried, because it takes the options' effects to stay as they "
                "are."
            )
        return truth

    @property
    def is_rate(self) -> bool:
        """Whether the reward is a conversion, 0 or 1."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def unit(self) -> str:
        """What rewards are counted in."""
        return "conversions" if self.is_rate else "reward"

    @property
    def campaign(self) -> dict[str, Any]:
        """What a campaign is set up with beside the policy."""
        return {
            "every": self.bucket,
            "bucket": self.bucket_rounds,
            "horizon": self.horizon,
            "scale": {"low": self.low, "high": self.high},
        }

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values."""
        names = (
            "options mean lift low high sd bucket run_hours switch_cost status_quo history_hours"
        )
        names += " nonstationary bucket_rounds buckets horizon"
        delay = self.delay().mean
        return {
            **{name: getattr(self, name) for name in names.split()},
            "means": None if self.means is None else list(self.means),
            "traffic_per_hour": self.traffic,
            "late": self.lateness.said,
            "mean_delay_hours": self.hours(delay),
            "mean_delay_rounds": delay,
        }


class PlanWords(TypedDict, total=False):
    """What is asked of a plan, in the user's words: the keyword arguments of `plan`."""

    #: How many options there are.
    options: Required[int]
    #: The smallest difference worth having: "10%", "0.2 points" or "+0.002".
    lift: Required[Any]
    #: The decisions per unit of time, such as "5000 per day".
    traffic: Required[Any]
    #: How late rewards come: "2 days" (the mean), "up to 10 days", "half within 2 hours, 95% within
    #: 3 days", "exponential(2 days)", a file, or what `delays.fit` gave.
    late: Required[Any]
    #: How long the campaign may run, such as "12 weeks".
    run_for: Required[Any]
    #: Today's rate of conversions, such as 0.03 or "3%"; otherwise give `mean`.
    rate: float | str | None
    #: Today's mean reward, with the range `low` to `high` of a single one.
    mean: float | None
    low: float
    high: float | None
    #: The standard deviation of a reward; the largest possible without.
    sd: float | None
    #: Totals are reported by "hour", "day" or "week".
    bucket: str
    #: The cost of a switch, in rewards.
    switch_cost: float
    #: The mean of each option, in place of one that is better by the lift.
    means: Sequence[float] | None
    #: The unit of time in a file of delays, or of a fit.
    delay_unit: str | None
    #: What runs today, and is still paying when the campaign begins: "option" or "other".
    status_quo: str | None
    #: For how long before the start the totals of that option are known: "4 weeks".
    history: Any
    #: Whether effects change during the run, so that another option is the best at its end.
    nonstationary: bool


def read_inputs(**said: Unpack[PlanWords]) -> PlanInputs:
    """Check what the user said and turn it into numbers.

    >>> inputs = read_inputs(options=2, rate=0.02, lift="10%", traffic="2400 per day",
    ...                      late="2 days", run_for="12 weeks")
    >>> inputs.bucket_rounds, inputs.horizon
    (2400, 201600)
    """
    for name in said:
        known_name(name, list(PlanWords.__annotations__), "argument of a plan")
    for name in sorted(PlanWords.__required_keys__ - set(said)):
        raise InvalidInput(f"say {name}: a plan needs it.")
    rate, mean, means = said.get("rate"), said.get("mean"), said.get("means")
    low, high, sd = said.get("low", 0.0), said.get("high"), said.get("sd")
    status_quo, history = said.get("status_quo"), said.get("history")
    options = whole_number(said["options"], "the number of options", at_least=2)
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
    difference = words.read_lift(said["lift"], mean)
    if mean + difference > high:
        what = "rate" if rate is not None else "mean reward"
        limit = "1" if rate is not None else f"the highest reward {high:g}"
        raise InvalidInput(
            f"a lift of {difference:.4g} on today's {mean:.4g} makes a {what} of "
            f"{mean + difference:.4g}, which exceeds {limit}."
        )
    if status_quo:
        known_name(status_quo, ("option", "other"), "status quo")
    inputs = PlanInputs(
        options=options,
        mean=mean,
        lift=difference,
        low=low,
        high=high,
        sd=None if sd is None else finite_number(sd, "the sd of a reward", above=0),
        traffic=words.read_traffic(said["traffic"]),
        lateness=words.Lateness.read(said["late"], unit=said.get("delay_unit")),
        bucket=_read_bucket(said.get("bucket", "day")),
        run_hours=words.read_duration(said["run_for"], "the run"),
        switch_cost=finite_number(said.get("switch_cost", 0.0), "the cost of a switch", at_least=0),
        means=None if means is None else _read_means(means, options, low, high),
        status_quo=status_quo or None,  # type: ignore[arg-type]
        history_hours=0.0 if history is None else words.read_duration(history, "the history"),
        nonstationary=bool(said.get("nonstationary")),
    )
    if inputs.history_hours and inputs.status_quo != "option":
        raise InvalidInput("a history is that of an option: say status_quo='option' with it.")
    if inputs.bucket_rounds < 1:
        raise InvalidInput(
            f"there is less than one decision in a {inputs.bucket}: take a longer bucket."
        )
    if inputs.buckets < options:
        raise InvalidInput(
            f"{words.as_time(inputs.run_hours)} are {inputs.buckets} whole {inputs.bucket}s, and "
            f"each of the {options} options needs one at least: run for longer or take a shorter "
            "bucket."
        )
    inputs.problem()  # a spread that cannot be is refused here
    return inputs


def _read_means(means: Sequence[float], options: int, low: float, high: float) -> tuple[float, ...]:
    given = tuple(finite_number(mean, "a mean", at_least=low, at_most=high) for mean in means)
    if len(given) != options:
        raise InvalidInput(f"give a mean for each of the {options} options, not {len(given)}.")
    if len(set(given)) == 1:
        raise InvalidInput("options that are all the same leave nothing to find.")
    return given


def _read_bucket(bucket: str) -> str:
    name = str(bucket).strip().lower()
    name = {"hourly": "hour", "daily": "day", "weekly": "week"}.get(name, name.removesuffix("s"))
    if name not in BUCKETS:
        raise InvalidInput(
            f"a bucket is an hour, a day or a week, and longer than nothing: not {bucket!r}."
        )
    return name
