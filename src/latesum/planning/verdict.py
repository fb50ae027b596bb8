"""Go, conditional go or no-go: by thresholds, and what would have to change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from latesum.delays.lateness import as_time
from latesum.planning.runs import PlanInputs, PlanRow, Simulator, recommend
from latesum.planning.stream import StreamInputs

#: A conditional go runs at most this many times as long.
LONGER = 2.0
NOTHING_BETTER = "nothing is better"
#: How many times as late as the others the best option is in scenarios, and what these are called.
LATE_BEST = (1.5, 2.0, 3.0)
_LATE_BEST = "best option {:g} times as late"
#: By which factors a change is tried, on one stream and in markets, whose runs take longer; and the
#: candidates that are tried with it: those that are quick to simulate.
_FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
_MARKET_FACTORS = (1.5, 2.0, 3.0, 4.0)
_SEARCHED = ("unmix", "half test")
_MARKET_SEARCHED = ("switchback",)
#: What was tried, up to a factor, in words for where it does not help.
_ALONE = {
    "horizon": "a run up to {:g} times as long",
    "options": "fewer options",
    "traffic": "up to {:g} times the traffic",
    "lift": "a lift up to {:g} times as large",
}


@dataclass(frozen=True)
class Change:
    """Something that would make it a go, as a range of factors within which simulation finds it.

    Args:
        what: "horizon", "options", "traffic" or "lift".
        factor: The smallest that was a go.
        low: One step below it, and ...
        high: ... one above.
        sentence: What to do.
        row: How the policy does that would be recommended then.
    """

    what: str
    factor: float
    low: float
    high: float
    sentence: str
    row: PlanRow

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "what": self.what,
            "factor": self.factor,
            "range": [self.low, self.high],
            "sentence": self.sentence,
            "label": self.row.label,
            "finds_best": self.row.finds_best._asdict(),
        }


@dataclass(frozen=True)
class Verdict:
    """The answer, and what would have to change where it is not a go.

    Args:
        answer: "go", "conditional go" or "no-go".
        sure: Whether it stays so within the uncertainty of the simulation.
        reason: Why, in sentences.
        changes: What would make it a go.
        replications: The runs of each step of the search for them.
        not_enough: What does not help by itself, in a sentence.
        late_best: What if the best option is later than the others, in a sentence.
    """

    answer: Literal["go", "conditional go", "no-go"]
    sure: bool
    reason: str
    changes: tuple[Change, ...] = ()
    replications: int = 0
    not_enough: str = ""
    late_best: str = ""

    @property
    def headline(self) -> str:
        """The answer, with how sure it is."""
        return self.answer if self.sure else f"{self.answer}, not sure"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        changes = [change.to_json() for change in self.changes]
        return {**vars(self), "headline": self.headline, "changes": changes}


@dataclass(frozen=True)
class Scenario:
    """Something else that may be true, and what becomes of the recommended policy then.

    Args:
        truth: What is true, in words.
        row: How the recommended policy does.
        runner_up: How the next best does in the same world; it may be the sturdier one.
        wanted: The share of runs that must find the best option.
    """

    truth: str
    row: PlanRow
    runner_up: PlanRow | None
    wanted: float

    @property
    def still_go(self) -> bool | None:
        """Whether it is still a go; None where there is nothing to gain."""
        return None if self.truth == NOTHING_BETTER else self.row.passes(self.wanted)

    @property
    def in_short(self) -> str:
        """Whether it is still a go, with a question mark where the runs do not settle it."""
        if self.still_go is None:
            return "–"
        unsure = "" if self.row.is_sure(self.wanted) else "?"
        return ("yes" if self.still_go else "no") + unsure

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        kept = ["regret", "gain", "gain_low", "finds_best", "decided_after", "winner", "switches"]
        numbers = self.row.to_json()
        result = {
            "truth": self.truth,
            "still_go": self.still_go,
            "sure": self.row.is_sure(self.wanted),
            **{name: numbers[name] for name in ("replications", *kept)},
        }
        if self.runner_up is not None:
            others = self.runner_up.to_json()
            result["runner_up"] = {name: others[name] for name in ("label", *kept)}
        return result


def analyze(
    inputs: PlanInputs,
    recommended: PlanRow,
    rows: Sequence[PlanRow],
    simulator: Simulator,
    replications: int,
) -> tuple[Scenario, ...]:
    """The recommended policy and the next best, given the inputs, where something else is true."""
    others = [each for each in rows if each.candidate.runnable and each is not recommended]
    next_best = max(others, key=lambda each: each.gain.value, default=None)
    tried = [each.candidate for each in (recommended, next_best) if each is not None]
    worlds = scenarios(inputs)
    pairs = [(world, candidate) for world in worlds.values() for candidate in tried]
    made = iter(simulator.rows(pairs, replications, 2, "sensitivity analysis"))
    return tuple(
        Scenario(truth, next(made), next(made) if next_best else None, simulator.wanted)
        for truth in worlds
    )


def late_best(scenarios: Sequence[Scenario]) -> str:
    """How often the best option is found where it is later than the others, in a sentence."""
    by_truth = {each.truth: each for each in scenarios}
    names = {_LATE_BEST.format(factor): factor for factor in LATE_BEST}
    found = [(names[truth], each) for truth, each in by_truth.items() if truth in names]
    if not found:
        return ""
    shares = ", ".join(
        f"{each.row.finds_best.value:.0%} of runs where it is {factor:g} times as late"
        for factor, each in found
    )
    others = [each.runner_up for _, each in found if each.runner_up is not None]
    if others:
        values = ", ".join(f"{other.finds_best.value:.0%}" for other in others)
        shares += f" ({others[0].label} in {values})"
    return (
        f"If the best option's rewards come later than the others', {found[0][1].row.label} finds "
        f"it in {shares}. Say --equal-delays if all options are surely equally late."
    )


def scenarios(inputs: PlanInputs) -> dict[str, PlanInputs]:
    """What might be true instead, by its name."""
    worlds = {
        "as given": inputs,
        "delays twice as long": inputs.changed(delay_factor=2.0),
        "delays half as long": inputs.changed(delay_factor=0.5),
    }
    stream = inputs if isinstance(inputs, StreamInputs) else None
    if stream is None or stream.means is None:
        worlds["lift half as large"] = inputs.changed(lift=inputs.lift / 2)
        worlds[NOTHING_BETTER] = inputs.changed(lift=0.0)
        worlds["all new options are worse"] = inputs.changed(today_best=True)
    if not inputs.equal_delays:
        for factor in LATE_BEST:
            worlds[_LATE_BEST.format(factor)] = inputs.changed(best_delay_factor=factor)
    if stream:
        worlds["week-ends a third lower"] = inputs.changed(weekly=True)
    return worlds


def _steps(inputs: PlanInputs) -> dict[str, list[tuple[float, Any]]]:
    """What could be changed: factors and inputs, each easier than the one before."""
    stream = isinstance(inputs, StreamInputs)
    factors = _FACTORS if stream else _MARKET_FACTORS
    tried = {"horizon": ("run_hours", sorted({*factors, LONGER})), "lift": ("lift", factors)}
    if stream:
        tried["traffic"] = ("traffic", factors)
    kinds = {
        what: [(each, inputs.changed(**{name: each * getattr(inputs, name)})) for each in given]
        for what, (name, given) in tried.items()
    }
    fewer = range(inputs.options - 1, 1, -1)
    kinds["options"] = [(each / inputs.options, inputs.changed(options=each)) for each in fewer]
    if isinstance(inputs, StreamInputs) and inputs.means is not None:
        del kinds["lift"], kinds["options"]
    kinds = {what: [step for step in steps if step[1].feasible] for what, steps in kinds.items()}
    return {what: kinds[what] for what in _ALONE if kinds.get(what)}


def judge(
    inputs: PlanInputs, recommended: PlanRow, simulator: Simulator, replications: int
) -> Verdict:
    """The verdict; where it is not a go, simulation finds what would make it one."""
    wanted = simulator.wanted
    reason, sure = _reason(recommended, wanted), recommended.is_sure(wanted)
    if recommended.passes(wanted):
        return Verdict("go", sure, reason)
    found, tried = _search(inputs, simulator, replications)
    small = tuple(
        change
        for change in found
        if change.what == "options" or (change.what == "horizon" and change.factor <= LONGER)
    )
    if small:
        return Verdict("conditional go", sure, reason, small, replications)
    helps = {change.what for change in found}
    useless = [_ALONE[what].format(factor) for what, factor in tried.items() if what not in helps]
    not_enough = f"Not enough by itself: {'; '.join(useless)}." if useless else ""
    return Verdict("no-go", sure, reason, tuple(found), replications, not_enough)


def _reason(recommended: PlanRow, wanted: float) -> str:
    """Why it is a go or not, how sure that is, and how often a winner is named."""
    label = recommended.label
    found, named = recommended.finds_best, recommended.winner
    shares = f"{found.value:.0%} of runs"
    said = []
    if recommended.passes(wanted):
        said.append(
            f"{label} ends on the best option, or one within the lift, in {shares} and gains over "
            f"an equal split even at its 5th percentile"
        )
    if found.value < wanted:
        said.append(
            f"even {label} ends on the best option, or one within the lift, in only {shares}; "
            f"{wanted:.0%} are wanted"
        )
    if recommended.gain_low.value <= 0:
        said.append(f"at its 5th percentile {label} does not gain over an equal split")
    reason = "; ".join(said)
    reason = f"{reason[0].upper()}{reason[1:]}."
    if not math.isnan(named.value):
        reason += f" A winner is named in {named.value:.0%} of runs by the end"
        kept = "; in the others the option that looks best is kept without being sure of it."
        reason += "." if named.value == 1 else kept
    if not recommended.is_sure(wanted):
        reason += (
            f" It is not sure: {recommended.replications:,} runs do not settle it, and within the "
            "uncertainty of the simulation the answer may be another one."
        )
    return reason


def _search(
    inputs: PlanInputs, simulator: Simulator, replications: int
) -> tuple[list[Change], dict[str, float]]:
    """The smallest change of each kind that makes it a go, by bisection, all kinds at once.

    Also how far each kind was tried.
    """
    wanted = simulator.wanted
    kinds = _steps(inputs)
    searched = _SEARCHED if isinstance(inputs, StreamInputs) else _MARKET_SEARCHED
    bounds = {what: (0, len(steps)) for what, steps in kinds.items()}
    passed: dict[str, PlanRow] = {}
    most = max((len(steps) for steps in kinds.values()), default=0).bit_length()
    for turn in range(most):
        middles = {what: sum(each) // 2 for what, each in bounds.items() if each[0] < each[1]}
        tried = [
            [(step, each) for each in step.candidates() if each.label in searched]
            for step in (kinds[what][middle][1] for what, middle in middles.items())
        ]
        title = f"what would have to change ({turn + 1} of at most {most})"
        made = iter(simulator.rows(list(itertools.chain(*tried)), replications, 1, title))
        for (what, middle), pairs in zip(middles.items(), tried, strict=True):
            row, _ = recommend(list(itertools.islice(made, len(pairs))), wanted)
            first, last = bounds[what]
            if row.passes(wanted):
                passed[what], bounds[what] = row, (first, middle)
            else:
                bounds[what] = (middle + 1, last)
    changes = [
        _change(inputs, what, kinds[what], bounds[what][1], row) for what, row in passed.items()
    ]
    return changes, {what: steps[-1][0] for what, steps in kinds.items()}


def _change(
    inputs: Any, what: str, steps: list[tuple[float, Any]], place: int, row: PlanRow
) -> Change:
    """The change at a place of the steps; its range reaches one step to both sides."""
    factor, step = steps[place]
    low, below = steps[place - 1] if place else (1.0, inputs)
    high, above = steps[min(place + 1, len(steps) - 1)]
    if what == "options":
        said = f"compare {step.options} options in place of {inputs.options}"
        return Change(what, factor, factor, factor, said, row)
    if what == "horizon":
        unit, hours = ("weeks", 168) if above.run_hours >= 14 * 24 else ("days", 24)
        span = _range(below.run_hours / hours, above.run_hours / hours)
        said = f"run for about {span} {unit} in place of {as_time(inputs.run_hours)}"
    elif what == "traffic":
        a_day = _range(below.traffic * 24, above.traffic * 24)
        said = f"have about {_range(low, high)} times the traffic ({a_day} a day)"
    elif math.isfinite(inputs.lift_share):
        share = _range(100 * below.lift_share, 100 * above.lift_share)
        said = f"look for a lift of about {share}% in place of {inputs.lift_share:.0%}"
    else:
        said = f"look for a lift of about {_range(below.lift, above.lift)} in place of "
        said += f"{inputs.lift:.3g}"
    return Change(what, factor, low, high, said, row)


def _range(low: float, high: float) -> str:
    """Two numbers to two digits, or one where they are the same.

    >>> _range(4.13, 8.2), _range(1234, 1260)
    ('4.1 to 8.2', '1,200 to 1,300')
    """
    first, last = (f"{float(f'{each:.2g}'):,g}" for each in (low, high))
    return first if first == last else f"{first} to {last}"
