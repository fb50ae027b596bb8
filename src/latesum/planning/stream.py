"""A plan for one stream of decisions, from traffic and today's rate: no history is needed.

`StreamInputs`, and `MarketInputs` of `latesum.planning.market`, say which worlds are simulated
(`spec`), with which policies (`candidates`), and what all of it is in words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from latesum import _durations
from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.delays import Delay
from latesum.delays.lateness import Lateness, as_time, read_duration, unit_hours
from latesum.delays.parsing import text_of
from latesum.experiments.loop import Reports
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec
from latesum.simulation import Bernoulli, Calendar, Discrete, FieldProblem, Problem, Reward
from latesum.simulation.field import USUAL_WEEK

#: `switchback` as a policy of one stream, which every problem can be played with.
STREAM = "latesum.experiments.markets.one_stream:Switchback"
#: `switchback` needs this many buckets, and with more it takes too long to simulate.
_MIN_BUCKETS, _MAX_BUCKETS = 28, 200
#: Campaigns with more rewards than this take too long to simulate for a search.
_MAX_REWARDS = 1e6
_TRAFFIC = re.compile(
    rf"\s*(?P<number>{_durations.NUMBER})\s*(?:per|a|an|/)\s*(?P<unit>{_durations.UNIT})\s*", re.I
)
#: A point before three digits, which stands between thousands in half of the world.
_TWO_WAYS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")


class Candidate(NamedTuple):
    """A policy to try, with its parameters, under the name that tables have."""

    label: str
    spec: PolicySpec
    #: Whether it may be recommended; others are there to compare with.
    runnable: bool = True
    #: In how many regions a campaign with it has options of their own.
    regions: int = 1
    #: Whether a run takes long, so that there are fewer. Declared, not measured, so that a plan has
    #: the same runs on any machine.
    slow: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamInputs:
    """What is known of one stream. Rewards are in the user's unit; times are in hours.

    In the simulated world one option, any, is better than the others by exactly the smallest lift
    worth having: the hardest case that is still worth it. Where one of the options runs today, it
    has today's mean, and it is the best one as often as any other.
    """

    options: int
    lift: float
    run_hours: float
    lateness: Lateness
    mean: float
    low: float
    high: float
    sd: float | None
    traffic: float  # decisions an hour
    bucket: str
    bucket_hours: float
    #: What rewards are counted in: a conversion is 0 or 1.
    unit: Literal["conversions", "reward"]
    switch_cost: float = 0.0
    #: What runs today and is still paying when the campaign begins: one of the options, something
    #: else, or nothing; and for how long before the start its totals are known.
    status_quo: Literal["option", "other"] | None = None
    history_hours: float = 0.0
    #: Whether all options are surely equally late.
    equal_delays: bool = False
    #: What is true in a scenario of the sensitivity analysis: whether the option of today is the
    #: best, factors on the delays of all options and of the best one, and lower week-ends.
    today_best: bool = False
    delay_factor: float = 1.0
    best_delay_factor: float = 1.0
    weekly: bool = False

    default_runs = 200
    #: By which factors a change is tried, and with which candidates.
    factors = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
    searched = ("unmix", "half test")

    @property
    def bucket_rounds(self) -> int:
        """The decisions in a bucket. A week is seven whole days."""
        if self.bucket == "week":
            return 7 * round(self.traffic * 24)
        return round(self.traffic * self.bucket_hours)

    @property
    def buckets(self) -> int:
        """The whole buckets in the run."""
        return int(self.run_hours / self.bucket_hours + 1e-9)

    @property
    def horizon(self) -> int:
        """The rounds of the run."""
        return self.buckets * self.bucket_rounds

    @property
    def history(self) -> int:
        """The rounds of the history, in whole buckets."""
        return int(self.history_hours / self.bucket_hours + 1e-9) * self.bucket_rounds

    @property
    def scale(self) -> float:
        """What a simulated reward of 1 is in the user's unit."""
        return self.high - self.low

    @property
    def best_reward(self) -> float:
        """What always playing the best option earns."""
        return self.option_means[0] * self.horizon

    @property
    def lift_share(self) -> float:
        """The lift as a share of today's mean."""
        return self.lift / self.mean if self.mean else math.nan

    @property
    def feasible(self) -> bool:
        """Whether a changed world can be, and be simulated in time."""
        rewards = self.horizon * (self.mean - self.low) / self.scale
        return self.mean + self.lift < self.high and rewards <= _MAX_REWARDS

    @property
    def option_means(self) -> tuple[float, ...]:
        """The means of the simulated options, the best first."""
        if self.today_best:
            return (self.mean, *[max(self.mean - self.lift, self.low)] * (self.options - 1))
        return (self.mean + self.lift, *[self.mean] * (self.options - 1))

    def worlds(self) -> list[tuple[StreamInputs, int]]:
        """What is simulated, by weight: of `options` runs the option of today is best in one."""
        if self.status_quo != "option" or self.today_best or not self.lift:
            return [(self, self.options)]
        return [(self, self.options - 1), (replace(self, today_best=True), 1)]

    def delay(self, factor: float = 1.0) -> Delay:
        """The delay in rounds, `factor` times as long as given."""
        return self.lateness.in_rounds(self.bucket_rounds / self.bucket_hours, factor=factor)

    def problem(self) -> Problem:
        """The problem to simulate."""
        delays: Delay | list[Delay] = self.delay(self.delay_factor)
        if self.best_delay_factor != 1:
            late = self.delay(self.delay_factor * self.best_delay_factor)
            delays = [late, *[self.delay(self.delay_factor)] * (self.options - 1)]
        rewards = [self._reward(mean) for mean in self.option_means]
        if not self.weekly:
            return Problem(rewards, delays)
        day = 24 * self.bucket_rounds if self.bucket == "hour" else round(self.traffic * 24)
        peak = max(USUAL_WEEK)
        factors: tuple[float, ...] = USUAL_WEEK
        if rewards[0].mean * peak > 1:
            factors = tuple(factor / peak for factor in USUAL_WEEK)  # a rate cannot exceed 1
        return FieldProblem(rewards, delays, calendar=Calendar.weekly(day, weekdays=factors))

    def spec(self, candidate: Candidate, seed: tuple[int, ...], name: str) -> RunSpec:
        """The runs of a candidate; the options stand in any order."""
        means = self.option_means
        within = min(self.lift, means[0] - means[-1]) if self.today_best else self.lift
        before: int | Reward | None = None
        if self.status_quo == "option":
            before = 0 if self.today_best or not self.lift else 1
        elif self.status_quo == "other":
            before = self._reward(self.mean)
        return RunSpec(
            self.problem(),
            candidate.spec,
            self.horizon,
            seed=seed,
            reports=Reports(self.bucket_rounds),
            order="drawn",
            given=None,
            status_quo=before,
            history=self.history if "history" in candidate.spec.accepted else 0,
            measures=(f"latesum.planning.runs:outcome(within={within / self.scale})",),
            problem_name=name,
            policy_name=candidate.label,
        )

    def _reward(self, mean: float) -> Reward:
        """A reward of this mean and sd: nothing (`low`), or always the same amount."""
        share = (mean - self.low) / self.scale
        if self.sd is None or share <= 0:
            return Bernoulli(share)
        amount = share + (self.sd / self.scale) ** 2 / share
        if amount > 1 + 1e-9 and not self.today_best:
            largest = (share * (1 - share)) ** 0.5 * self.scale
            raise InvalidInput(
                f"rewards between {self.low:g} and {self.high:g} with a mean of {mean:g} cannot "
                f"have an sd of {self.sd:g}; at most {largest:.4g}."
            )
        if amount >= 1 - 1e-9:
            return Bernoulli(share)
        return Discrete([0.0, amount], [1 - share / amount, share / amount])

    def candidates(self) -> list[Candidate]:
        """All policies worth trying, the equal split last.

        >>> inputs = read_stream(
        ...     {"options": 2, "rate": 0.02, "lift": "10%", "traffic": "2400 per day",
        ...      "late": "2 days", "run_for": "12 weeks"})
        >>> [candidate.label for candidate in inputs.candidates()][-2:]
        ['half test', 'equal split']
        """
        # Where the shape of the delay was given, Unmix is given it too, and so is the campaign.
        known = {"n_arms": self.options, "horizon": self.horizon}
        mean = {"mean_delay": float(f"{self.delay().mean:.4g}")}
        shape = None if self.lateness.mean_only else text_of(self.delay())
        late = mean if shape is None else {"delay": shape}
        found = [Candidate("unmix", PolicySpec("unmix", {**known, **late}))]
        # switchback does not know how far an amount varies.
        fits = self.bucket != "hour" and _MIN_BUCKETS <= self.buckets <= _MAX_BUCKETS
        if fits and self.unit == "conversions":
            more: dict[str, Any] = {"differing_delays": 0} if self.equal_delays else {}
            more |= {} if shape is None else {"shape": shape}
            pattern = "weekday" if self.bucket == "day" else "none"
            given = {**known, **mean, "bucket": self.bucket_rounds, "pattern": pattern, **more}
            found.append(Candidate("switchback", PolicySpec(STREAM, given), slow=True))
        for label, share in (("quarter test", 0.25), ("half test", 0.5)):
            each = max(round(self.buckets * share / self.options), 1)
            if each * self.options < self.buckets:
                found.append(Candidate(label, self._test(each * self.options * self.bucket_rounds)))
        return [*found, Candidate("equal split", self._test(self.horizon), runnable=False)]

    def candidate(self, text: str) -> Candidate:
        """Another policy, such as "flow" or "package.module:Class", with what is known here."""
        spec, delay = PolicySpec.parse(text), self.delay()
        if spec.sees != "totals":
            raise InvalidInput(f"{text} has attributed feedback, and a campaign does not.")
        known = {
            "n_arms": self.options,
            "horizon": self.horizon,
            "mean_delay": float(f"{delay.mean:.4g}"),
            "delay_variance": delay.variance,
            "delay_bound": delay.bound,
        }
        return Candidate(text, spec.given(known))

    def _test(self, rounds: int) -> PolicySpec:
        """Each option once, in `rounds` in all; buckets soon after a switch do not count."""
        # Three mean delays after a switch, 95% of what an exponential delay holds back has arrived.
        late = math.ceil(3 * self.delay().mean / self.bucket_rounds)
        skipped = min(late, rounds // (2 * self.options * self.bucket_rounds))
        parameters = {"n_arms": self.options, "horizon": rounds}
        if skipped:
            parameters["washout"] = skipped * self.bucket_rounds
        return PolicySpec("fixed-split", parameters)

    def campaign(self, candidate: Candidate) -> dict[str, Any]:
        """What a campaign with this policy is set up with."""
        policy, parameters = candidate.spec.name, dict(candidate.spec.parameters)
        if policy == STREAM:  # in a campaign its spans are in buckets
            policy, rounds = "switchback", parameters.pop("bucket")
            del parameters["pattern"]
            late = float(f"{self.delay().mean / rounds:.4g}")
            parameters |= {"horizon": self.buckets, "mean_delay": late, "certainty": "guess"}
        return {
            "policy": policy,
            "parameters": parameters,
            "every": self.bucket,
            "bucket": self.bucket_rounds,
            "horizon": self.horizon,
            "scale": {"low": self.low, "high": self.high},
        }

    def in_words(self) -> list[str]:
        """The inputs and what was assumed, in sentences."""
        mean, said = self.delay().mean, self.lateness.said
        if not said.endswith("on average"):
            said += f"; {as_time(self.mean_delay_hours)} on average"
        each = "an hour" if self.bucket == "hour" else f"a {self.bucket}"
        sentences = [
            self._truth(),
            f"{self.bucket_rounds:,} decisions {each}, for {as_time(self.run_hours)}: "
            f"{self.buckets:,} {self.bucket}s, {self.horizon:,} rounds. One option is played to "
            f"everybody for {each}; its total is known at the end of it.",
            f"Rewards come late: {said}, which is {mean:,.0f} rounds.",
        ]
        if self.status_quo is not None:
            what = "One of the options" if self.status_quo == "option" else "Something else"
            known = as_time(self.history / self.bucket_rounds * self.bucket_hours)
            known = f", of which {known} are known" if self.history else ""
            sentences.append(f"{what} runs today{known}: its late rewards arrive at the beginning.")
        if self.lateness.assumption:
            sentences.append(f"Assumed: {self.lateness.assumption}.")
        if self.sd is not None:
            sentences.append(
                f"A reward is {self.low:g} or one fixed amount, with the sd {self.sd:g} that was "
                "given."
            )
        elif self.unit == "reward":
            sentences.append(
                f"No sd was given, so a reward is taken to be {self.low:g} or {self.high:g}: the "
                "most that rewards in this range can vary."
            )
        return sentences

    def _truth(self) -> str:
        """The means that are simulated."""
        unit = "rate" if self.unit == "conversions" else "mean reward"
        lift = f"{self.lift:.3g} ({self.lift_share:.0%})" if self.mean else f"{self.lift:.3g}"
        if len(worlds := self.worlds()) > 1:
            worse = worlds[1][0].option_means[-1]
            return (
                f"One of the {self.options} options, today's included, is better than the others "
                f"by the smallest lift worth having, {lift}: a new one with a {unit} of "
                f"{self.mean + self.lift:.4g}, or today's {self.mean:.4g}, with {worse:.4g} for "
                "the new ones then."
            )
        return (
            f"One of the {self.options} options, any of them, has a {unit} of "
            f"{self.mean + self.lift:.4g}; the others have today's {self.mean:.4g}: the "
            f"smallest lift worth having, {lift}."
        )

    @property
    def mean_delay_hours(self) -> float:
        """The mean delay as time."""
        return self.delay().mean * self.bucket_hours / self.bucket_rounds

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values."""
        names = (
            "options mean lift low high sd bucket run_hours switch_cost status_quo history_hours"
            " equal_delays bucket_rounds buckets horizon mean_delay_hours"
        )
        return {
            **{name: getattr(self, name) for name in names.split()},
            "traffic_per_hour": self.traffic,
            "late": self.lateness.said,
            "mean_delay_rounds": self.delay().mean,
        }


def read_stream(said: Mapping[str, Any]) -> StreamInputs:
    """Check what the user said and turn it into numbers.

    >>> inputs = read_stream(
    ...     {"options": 2, "rate": 0.02, "lift": "10%", "traffic": "2400 per day",
    ...      "late": "2 days", "run_for": "12 weeks"})
    >>> inputs.bucket_rounds, inputs.horizon
    (2400, 201600)
    """
    if said.get("traffic") is None:
        raise InvalidInput('say traffic, such as "5000 per day"; or history, a file of past days.')
    rate, mean = said.get("rate"), said.get("mean")
    low, high, sd = said.get("low", 0.0), said.get("high"), said.get("sd")
    status_quo, history = said.get("status_quo") or None, said.get("history")
    options = whole_number(said["options"], "the number of options", at_least=2)
    if (rate is None) == (mean is None):
        raise InvalidInput("say today's rate or today's mean reward: one of the two.")
    if rate is not None:
        if high is not None or sd is not None or low != 0:
            raise InvalidInput("low, high and sd go with a mean reward, not with a rate.")
        mean, high = read_rate(rate), 1.0
    if high is None:
        raise InvalidInput("a mean reward needs the range of a single reward: give high (and low).")
    low = finite_number(low, "the lowest reward")
    high = finite_number(high, "the highest reward", above=low)
    mean = finite_number(mean, "today's mean reward", above=low, at_most=high)
    lift = read_lift(said["lift"], mean)
    if mean + lift > high:
        what = "rate" if rate is not None else "mean reward"
        limit = "1" if rate is not None else f"the highest reward {high:g}"
        raise InvalidInput(
            f"a lift of {lift:.4g} on today's {mean:.4g} makes a {what} of {mean + lift:.4g}, "
            f"which exceeds {limit}."
        )
    if status_quo:
        known_name(status_quo, ("option", "other"), "status quo")
    if history is not None and status_quo != "option":
        raise InvalidInput("a history is that of an option: say status_quo='option' with it.")
    bucket = known_name(said.get("bucket") or "day", ("hour", "day", "week"), "bucket")
    inputs = StreamInputs(
        options=options,
        mean=mean,
        lift=lift,
        low=low,
        high=high,
        sd=None if sd is None else finite_number(sd, "the sd of a reward", above=0),
        traffic=read_traffic(said["traffic"]),
        lateness=Lateness.read(said["late"], unit=said.get("delay_unit")),
        bucket=bucket,
        bucket_hours=unit_hours(bucket),
        unit="conversions" if (low, high) == (0.0, 1.0) else "reward",
        run_hours=read_duration(said["run_for"], "the run"),
        switch_cost=finite_number(said.get("switch_cost", 0.0), "the cost of a switch", at_least=0),
        status_quo=status_quo,
        history_hours=0.0 if history is None else read_duration(history, "the history"),
        equal_delays=bool(said.get("equal_delays")),
    )
    if inputs.bucket_rounds < 1:
        raise InvalidInput(
            f"there is less than one decision in a {inputs.bucket}: take a longer bucket."
        )
    if inputs.buckets < options:
        raise InvalidInput(
            f"{as_time(inputs.run_hours)} are {inputs.buckets} whole {inputs.bucket}s, and "
            f"each of the {options} options needs one at least: run for longer or take a shorter "
            "bucket."
        )
    inputs.problem()  # a spread that cannot be is refused here
    return inputs


def read_traffic(text: Any) -> float:
    """Traffic such as "5,000 per day", as decisions per hour.

    >>> read_traffic("2,400 per day")
    100.0
    """
    match = _TRAFFIC.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput(f'traffic must be written such as "5000 per day", not {text!r}.')
    number = _durations.number_of(match["number"])
    if _TWO_WAYS.fullmatch(match["number"]):
        whole = match["number"].replace(".", "")
        raise InvalidInput(
            f"the traffic {text!r} can be read in two ways; write {whole} or {number:g} per "
            f"{match['unit']}."
        )
    if number <= 0:
        raise InvalidInput("traffic must be above 0: without it there is nothing to decide.")
    return number / unit_hours(match["unit"])


def read_rate(rate: Any) -> float:
    """Today's rate: a share as a number or as text, in percent or not.

    >>> read_rate(0.03), read_rate("3%"), read_rate("0.03")
    (0.03, 0.03, 0.03)
    """
    if isinstance(rate, str):
        text = rate.strip()
        try:
            rate = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            raise InvalidInput(
                f'today\'s rate must be written such as "3%" or 0.03, not {rate!r}.'
            ) from None
    found = finite_number(rate, "today's rate", above=0)
    if found > 1:
        raise InvalidInput(
            f"today's rate must be at most 1, not {found:g}; for {found:g}% write {found:g}%."
        )
    return found


def read_lift(lift: Any, mean: float) -> float:
    """The smallest difference worth having, in units of the reward.

    A number or a text with % is relative (0.1 and "10%" are the same), "0.2 points" are percentage
    points, and "+0.002" is the difference itself.

    >>> read_lift("10%", 0.02), read_lift("0.2 points", 0.02), read_lift("+0.002", 0.02)
    (0.002, 0.002, 0.002)
    """
    wanted = f'the lift must be written such as "10%", "0.2 points" or "+0.002", not {lift!r}.'
    if isinstance(lift, str):
        text = lift.strip().lower()
        try:
            if text.endswith("%"):
                value = float(text[:-1]) / 100 * abs(mean)
            elif text.endswith(("points", "point", "pp")):
                value = float(re.sub(r"(percentage\s+)?(points?|pp)$", "", text)) / 100
            elif text.startswith("+"):
                value = float(text)
            else:
                raise InvalidInput(wanted)
        except ValueError:
            raise InvalidInput(wanted) from None
    else:
        value = finite_number(lift, "the lift") * abs(mean)
    if not value > 0:
        raise InvalidInput(f"the smallest lift worth having must be above 0, not {lift!r}.")
    return round(value, 12)
