"""Go, conditional go or no-go: by thresholds, and what would have to change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from latesum.planning.candidates import candidates_for
from latesum.planning.inputs import PlanInputs
from latesum.planning.racing import Forecast, Simulator, Thresholds, recommend
from latesum.planning.words import as_time, ordinal

Answer = Literal["go", "conditional go", "no-go"]
#: The search tries these candidates only: those that decide, and are quick to simulate.
_SEARCHED = ("unmix", "half test")
#: A test that ends right in this share of runs gains over an equal split at its 5th percentile.
_SURE = 0.96
#: Tried around the guess, the smallest first: an adaptive policy may need much less than a test.
_AROUND = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
MAX_FACTOR = 32.0
#: Campaigns with more rewards than this take too long to simulate for a search.
_MAX_REWARDS = 1e6
#: What was tried, up to a factor, in words for where it does not help.
_ALONE = {
    "horizon": "a run up to {:g} times as long",
    "options": "fewer options",
    "traffic": "up to {:g} times the traffic",
    "lift": "a lift up to {:g} times as large",
}


class Step(NamedTuple):
    """Inputs with one thing changed, and by which factor."""

    what: str  # horizon, options, traffic or lift
    factor: float
    inputs: PlanInputs


@dataclass(frozen=True)
class Change:
    """Something that would make it a go, as a range of factors within which simulation finds it."""

    what: str
    factor: float  # the smallest that was a go
    low: float
    high: float
    sentence: str
    forecast: Forecast

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "what": self.what,
            "factor": self.factor,
            "range": [self.low, self.high],
            "sentence": self.sentence,
            "label": self.forecast.candidate.label,
            "finds_best": self.forecast.finds_best._asdict(),
        }


@dataclass(frozen=True)
class PlanVerdict:
    """The answer, and what would have to change where it is not a go.

    Args:
        answer: "go", "conditional go" or "no-go".
        sure: Whether it stays so within the uncertainty of the simulation.
        reason: Why, in sentences.
        changes: What would make it a go.
        replications: The runs of each step of the search for them.
        not_enough: What does not help by itself, in a sentence.
    """

    answer: Answer
    sure: bool
    reason: str
    changes: tuple[Change, ...] = ()
    replications: int = 0
    not_enough: str = ""

    @property
    def headline(self) -> str:
        """The answer, with how sure it is."""
        return self.answer if self.sure else f"{self.answer}, not sure"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        changes = [change.to_json() for change in self.changes]
        return {**vars(self), "headline": self.headline, "changes": changes}


def reason_for(recommended: Forecast, thresholds: Thresholds) -> str:
    """Why it is a go or not, how sure that is, and how often a winner is named."""
    label, percentile = recommended.candidate.label, ordinal(thresholds.percentile)
    found, named = recommended.finds_best, recommended.winner
    shares = f"{found.value:.0%} of runs"
    said = []
    if recommended.passes(thresholds):
        said.append(
            f"{label} ends on the best option, or one within the lift, in {shares} and gains over "
            f"an equal split even at its {percentile} percentile"
        )
    if found.value < thresholds.finds_best:
        said.append(
            f"even {label} ends on the best option, or one within the lift, in only {shares}; "
            f"{thresholds.finds_best:.0%} are wanted"
        )
    if recommended.gain_low.value <= 0:
        said.append(f"at its {percentile} percentile {label} does not gain over an equal split")
    reason = "; ".join(said)
    reason = f"{reason[0].upper()}{reason[1:]}."
    if not math.isnan(named.value):
        reason += f" A winner is named in {named.value:.0%} of runs by the end"
        kept = "; in the others the option that looks best is kept without being sure of it."
        reason += "." if named.value == 1 else kept
    if not recommended.is_sure(thresholds):
        reason += (
            f" It is not sure: {recommended.replications:,} runs do not settle it, and within the "
            "uncertainty of the simulation the answer may be another one."
        )
    return reason


def judge(
    inputs: PlanInputs, recommended: Forecast, simulator: Simulator, replications: int
) -> PlanVerdict:
    """The verdict; where it is not a go, simulation finds what would make it one."""
    thresholds = simulator.thresholds
    reason, sure = reason_for(recommended, thresholds), recommended.is_sure(thresholds)
    if recommended.passes(thresholds):
        return PlanVerdict("go", sure, reason)
    found, tried = _search(inputs, simulator, replications)
    small = tuple(
        change
        for change in found
        if change.what == "options"
        or (change.what == "horizon" and change.factor <= thresholds.longer)
    )
    if small:
        return PlanVerdict("conditional go", sure, reason, small, replications)
    helps = {change.what for change in found}
    useless = [_ALONE[what].format(factor) for what, factor in tried.items() if what not in helps]
    not_enough = f"Not enough by itself: {'; '.join(useless)}." if useless else ""
    return PlanVerdict("no-go", sure, reason, tuple(found), replications, not_enough)


def _search(
    inputs: PlanInputs, simulator: Simulator, replications: int
) -> tuple[list[Change], dict[str, float]]:
    """The smallest change of each kind that makes it a go, by bisection, all kinds at once.

    Also how far each kind was tried.
    """
    kinds = [steps for steps in steps_for(inputs, simulator.thresholds.longer) if steps]
    bounds = [[0, len(steps)] for steps in kinds]
    passed: list[Forecast | None] = [None] * len(kinds)
    most = max((len(steps) for steps in kinds), default=0).bit_length()
    for turn in range(most):
        open_kinds = [kind for kind, (first, last) in enumerate(bounds) if first < last]
        if not open_kinds:
            break
        steps = [kinds[kind][sum(bounds[kind]) // 2] for kind in open_kinds]
        what = f"what would have to change ({turn + 1} of at most {most})"
        found = _try(steps, simulator, replications, what)
        for kind, forecast in zip(open_kinds, found, strict=True):
            middle = sum(bounds[kind]) // 2
            if forecast.passes(simulator.thresholds):
                passed[kind], bounds[kind][1] = forecast, middle
            else:
                bounds[kind][0] = middle + 1
    changes = [
        _change(inputs, steps, last, forecast)
        for steps, (_, last), forecast in zip(kinds, bounds, passed, strict=True)
        if forecast is not None
    ]
    return changes, {steps[-1].what: steps[-1].factor for steps in kinds}


def _try(steps: list[Step], simulator: Simulator, replications: int, what: str) -> list[Forecast]:
    """For each step the forecast of the policy that would be recommended."""
    pairs = [
        [(step.inputs, each) for each in candidates_for(step.inputs) if each.label in _SEARCHED]
        for step in steps
    ]
    made = iter(simulator.forecasts(list(itertools.chain(*pairs)), replications, 1, what))
    return [
        recommend(list(itertools.islice(made, len(tried))), simulator.thresholds)[0]
        for tried in pairs
    ]


def _change(inputs: PlanInputs, steps: list[Step], place: int, forecast: Forecast) -> Change:
    """The change at a place of the steps; its range reaches one step to both sides."""
    step = steps[place]
    low = steps[place - 1] if place else Step(step.what, 1.0, inputs)
    high = steps[min(place + 1, len(steps) - 1)]
    if step.what == "options":
        said = f"compare {step.inputs.options} options in place of {inputs.options}"
        return Change(step.what, step.factor, step.factor, step.factor, said, forecast)
    times = _range(low.factor, high.factor)
    if step.what == "horizon":
        unit = "weeks" if high.inputs.run_hours >= 14 * 24 else "days"
        hours = 7 * 24 if unit == "weeks" else 24
        span = _range(low.inputs.run_hours / hours, high.inputs.run_hours / hours)
        said = f"run for about {span} {unit} in place of {as_time(inputs.run_hours)}"
    elif step.what == "traffic":
        a_day = _range(low.inputs.traffic * 24, high.inputs.traffic * 24)
        said = f"have about {times} times the traffic ({a_day} a day)"
    elif inputs.mean > 0:
        share = _range(100 * low.inputs.lift / inputs.mean, 100 * high.inputs.lift / inputs.mean)
        said = f"look for a lift of about {share}% in place of {inputs.lift / inputs.mean:.0%}"
    else:
        lifts = _range(low.inputs.lift, high.inputs.lift)
        said = f"look for a lift of about {lifts} in place of {inputs.lift:.3g}"
    return Change(step.what, step.factor, low.factor, high.factor, said, forecast)


def _range(low: float, high: float) -> str:
    """Two numbers to two digits, or one where they are the same.

    >>> _range(4.13, 8.2), _range(1234, 1260)
    ('4.1 to 8.2', '1,200 to 1,300')
    """
    first, last = (f"{float(f'{each:.2g}'):,g}" for each in (low, high))
    return first if first == last else f"{first} to {last}"


def steps_for(inputs: PlanInputs, longer: float) -> list[list[Step]]:
    """Steps for each thing that could be changed; each step is easier than the one before.

    >>> from latesum.planning.inputs import read_inputs
    >>> inputs = read_inputs(options=2, rate=0.02, lift="10%", traffic="1000 per day",
    ...                      late="2 days", run_for="4 weeks")
    >>> [steps[0].what for steps in steps_for(inputs, 2.0)]
    ['horizon', 'traffic', 'lift']
    """
    kinds = [_longer(inputs, longer)]
    if inputs.means is None and inputs.options > 2:
        fewer = range(inputs.options - 1, 1, -1)
        kinds.append(
            Step("options", each / inputs.options, inputs.changed(options=each)) for each in fewer
        )
    kinds.append(_busier(inputs))
    if inputs.means is None:
        kinds.append(_larger_lift(inputs))
    return [list(steps) for steps in kinds]


def power_of_test(
    inputs: PlanInputs, rounds: float | None = None, lift: float | None = None
) -> float:
    """How often an even test without delays over half of the rounds would find the best option.

    >>> from latesum.planning.inputs import read_inputs
    >>> inputs = read_inputs(options=2, rate=0.02, lift="10%", traffic="1000 per day",
    ...                      late="2 days", run_for="4 weeks")
    >>> round(power_of_test(inputs), 2)
    0.8
    """
    from scipy.special import ndtr

    rounds = inputs.horizon if rounds is None else rounds
    lift = inputs.lift if lift is None else lift
    scale = inputs.high - inputs.low
    share = (inputs.mean - inputs.low) / scale
    sd = scale * math.sqrt(share * (1 - share)) if inputs.sd is None else inputs.sd
    error = sd / math.sqrt(rounds / 2 / inputs.options)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    chances = ndtr(nodes + lift / error) ** (inputs.options - 1)
    return float((weights * chances).sum() / weights.sum())


def _guess(power: Callable[[float], float]) -> float:
    """The factor at which a test would be sure enough."""
    factor = 1.0
    while factor < MAX_FACTOR and power(factor) < _SURE:
        factor *= 1.1
    return factor


def _factors(guess: float, *more: float) -> list[float]:
    around = [float(f"{guess * part:.2g}") for part in _AROUND]
    return sorted({each for each in [*around, *more] if 1.05 < each <= MAX_FACTOR})


def _longer(inputs: PlanInputs, longer: float) -> Iterator[Step]:
    guess = _guess(lambda factor: power_of_test(inputs, rounds=inputs.horizon * factor))
    # Delays of other options must have time to fade as well, however large the traffic.
    settling = inputs.hours(inputs.delay().mean) * 12 * inputs.options / inputs.run_hours
    for factor in _factors(max(guess, min(settling, 8.0)), longer):
        changed = inputs.changed(run_hours=inputs.run_hours * factor)
        if _is_feasible(changed):
            yield Step("horizon", factor, changed)


def _busier(inputs: PlanInputs) -> Iterator[Step]:
    guess = _guess(lambda factor: power_of_test(inputs, rounds=inputs.horizon * factor))
    for factor in _factors(guess):
        changed = inputs.changed(traffic=inputs.traffic * factor)
        if _is_feasible(changed):
            yield Step("traffic", factor, changed)


def _larger_lift(inputs: PlanInputs) -> Iterator[Step]:
    guess = _guess(lambda factor: power_of_test(inputs, lift=inputs.lift * factor))
    for factor in _factors(guess, MAX_FACTOR / 4, MAX_FACTOR):
        if inputs.mean + inputs.lift * factor >= inputs.high:
            return
        yield Step("lift", factor, inputs.changed(lift=inputs.lift * factor))


def _is_feasible(inputs: PlanInputs) -> bool:
    share = (inputs.mean - inputs.low) / (inputs.high - inputs.low)
    return inputs.horizon * share <= _MAX_REWARDS
