"""Go, conditional go or no-go: by thresholds, what would have to change, and what if."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from latesum.delays.lateness import as_time
from latesum.planning.runs import PlanInputs, PlanRow, Simulate, recommend
from latesum.planning.stream import StreamInputs

Answer = Literal["go", "conditional go", "no-go"]
#: A conditional go runs at most this many times as long.
LONGER = 2.0
NOTHING_BETTER = "nothing is better"
#: Scenarios by how many times as late as the others the best option is.
LATE_BEST = {factor: f"best option {factor:g} times as late" for factor in (1.5, 2.0, 3.0)}
#: By which factors a change is tried, on one stream and in markets, whose runs take longer; and the
#: candidates that are tried with it: those that are quick to simulate.
_FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
_MARKET_FACTORS = (1.5, 2.0, 3.0, 4.0)
_SEARCHED = ("unmix", "half test")
_MARKET_SEARCHED = ("switchback",)


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


def judge(
    inputs: PlanInputs, recommended: PlanRow, simulate: Simulate, replications: int
) -> tuple[Answer, tuple[Change, ...], dict[str, float]]:
    """The verdict; where it is not a go, what would make it one, and what was tried in vain."""
    if recommended.passes:
        return "go", (), {}
    kinds = _steps(inputs)
    searched = {
        what: _search(inputs, what, steps, simulate, replications) for what, steps in kinds.items()
    }
    found = {what: change for what, change in searched.items() if change is not None}
    small = tuple(
        change
        for what, change in found.items()
        if what == "options" or (what == "horizon" and change.factor <= LONGER)
    )
    if small:
        return "conditional go", small, {}
    in_vain = {what: steps[-1][0] for what, steps in kinds.items() if what not in found}
    return "no-go", tuple(found.values()), in_vain


def _steps(inputs: PlanInputs) -> dict[str, list[tuple[float, Any]]]:
    """What could be changed: factors and inputs, each easier than the one before."""
    stream = isinstance(inputs, StreamInputs)
    factors = _FACTORS if stream else _MARKET_FACTORS
    fewer = range(inputs.options - 1, 1, -1)

    def times(name: str) -> list[tuple[float, Any]]:
        value: Any = getattr(inputs, name)
        return [(each, replace(inputs, **{name: each * value})) for each in factors]

    kinds: dict[str, list[tuple[float, Any]]] = {
        "horizon": times("run_hours"),
        "options": [(each / inputs.options, replace(inputs, options=each)) for each in fewer],
        "traffic": times("traffic") if stream else [],
        "lift": times("lift"),
    }
    kinds = {what: [each for each in steps if each[1].feasible] for what, steps in kinds.items()}
    return {what: steps for what, steps in kinds.items() if steps}


def _search(
    inputs: Any,
    what: str,
    steps: Sequence[tuple[float, Any]],
    simulate: Simulate,
    replications: int,
) -> Change | None:
    """The smallest of the steps that is a go, by bisection; its range is one step to both sides."""
    searched = _SEARCHED if isinstance(inputs, StreamInputs) else _MARKET_SEARCHED
    first, end, passed = 0, len(steps), None
    while first < end:
        middle = (first + end) // 2
        step = steps[middle][1]
        pairs = [(step, each) for each in step.candidates() if each.label in searched]
        row, _ = recommend(simulate(pairs, replications, 1, f"what would have to change: {what}"))
        if row.passes:
            end, passed = middle, row
        else:
            first = middle + 1
    if passed is None:
        return None
    factor, step = steps[end]
    if what == "options":
        said = f"compare {step.options} options in place of {inputs.options}"
        return Change(what, factor, factor, factor, said, passed)
    low, below = steps[end - 1] if end else (1.0, inputs)
    high, above = steps[min(end + 1, len(steps) - 1)]
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
        span = _range(below.lift, above.lift)
        said = f"look for a lift of about {span} in place of {inputs.lift:.3g}"
    return Change(what, factor, low, high, said, passed)


def _range(low: float, high: float) -> str:
    """Two numbers to two digits, or one where they are the same.

    >>> _range(4.13, 8.2), _range(1234, 1260)
    ('4.1 to 8.2', '1,200 to 1,300')
    """
    first, last = (f"{float(f'{each:.2g}'):,g}" for each in (low, high))
    return first if first == last else f"{first} to {last}"


def scenarios(inputs: PlanInputs) -> dict[str, PlanInputs]:
    """What might be true instead, by its name."""
    worlds: dict[str, PlanInputs] = {
        "as given": inputs,
        "delays twice as long": replace(inputs, delay_factor=2.0),
        "delays half as long": replace(inputs, delay_factor=0.5),
        "lift half as large": replace(inputs, lift=inputs.lift / 2),
        NOTHING_BETTER: replace(inputs, lift=0.0),
        "all new options are worse": replace(inputs, today_best=True),
    }
    if not inputs.equal_delays:
        for factor, truth in LATE_BEST.items():
            worlds[truth] = replace(inputs, best_delay_factor=factor)
    if isinstance(inputs, StreamInputs):
        worlds["week-ends a third lower"] = replace(inputs, weekly=True)
    return worlds


def analyze(
    inputs: PlanInputs,
    recommended: PlanRow,
    rows: Sequence[PlanRow],
    simulate: Simulate,
    replications: int,
) -> dict[str, list[PlanRow]]:
    """The recommended policy and the next best, given the inputs, where something else is true."""
    others = [each for each in rows if each.candidate.runnable and each is not recommended]
    next_best = sorted(others, key=lambda each: -each.gain.value)[:1]
    tried = [each.candidate for each in (recommended, *next_best)]
    worlds = scenarios(inputs)
    pairs = [(world, candidate) for world in worlds.values() for candidate in tried]
    made = iter(simulate(pairs, replications, 2, "sensitivity analysis"))
    return {truth: [next(made) for _ in tried] for truth in worlds}
