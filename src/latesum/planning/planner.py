"""`plan`: will a campaign work, how long will it take, and with which policy?"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Required, Unpack

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._plugins import POLICIES
from latesum._progress import chosen_progress
from latesum.delays.lateness import as_time
from latesum.experiments.engine import RunOptions
from latesum.planning.market import read_market
from latesum.planning.report import LATE_BEST, NOTHING_BETTER, Change, Plan
from latesum.planning.runs import PlanInputs, PlanRow, Simulate, recommend, simulate
from latesum.planning.stream import Candidate, StreamInputs, read_stream
from latesum.policies import PolicySpec

#: A change or a scenario has this share of the replications, within these limits.
_SEARCH_SHARE, _MIN_SEARCH_RUNS, _MAX_SEARCH_RUNS = 0.4, 40, 120
#: Candidates that find out whether an option is worse, or only later.
_LATE_AWARE = ("unmix", "switchback")
#: A conditional go runs at most this many times as long.
LONGER = 2.0


class PlanWords(RunOptions, total=False):
    """What is asked of a plan, in the user's words, and where and how runs are made."""

    #: How many options there are.
    options: Required[int]
    #: The smallest difference worth having: "10%", "0.2 points" or "+0.002".
    lift: Required[Any]
    #: How late rewards come: "2 days" (the mean), "about 2 days" (a guess), "up to 10 days", "half
    #: within 2 hours, 95% within 3 days", "exponential(2 days)", a file, or what `delays.fit` gave.
    late: Required[Any]
    #: How long the campaign may run, such as "12 weeks".
    run_for: Required[Any]
    #: The decisions per unit of time, such as "5000 per day"; not with a file of past days.
    traffic: Any
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
    #: The unit of time in a file of delays, or of a fit.
    delay_unit: str | None
    #: What runs today, and is still paying when the campaign begins: "option" or "other".
    status_quo: str | None
    #: A file of past days (or its content, or its rows), in place of traffic and rate; or for how
    #: long before the start the totals of today's option are known: "4 weeks".
    history: Any
    #: With a file of past days: in how many regions options differ; by default those of the file.
    regions: int | None
    #: How that file is written (`latesum.files.FileForm`), where that cannot be seen.
    form: Any
    #: Whether all options are surely equally late; otherwise the verdict says what if they are not.
    equal_delays: bool


def read_inputs(**said: Any) -> PlanInputs:
    """What the user said, as numbers: of one stream, or of the market that a history shows."""
    for name in said:
        known_name(name, list(PlanWords.__annotations__), "argument of a plan")
    for name in sorted(PlanWords.__required_keys__):
        if said.get(name) is None:
            raise InvalidInput(f"say {name}: a plan needs it.")
    history = said.get("history")
    is_file = False
    if isinstance(history, str):  # "1.5 weeks" is no name of a file
        suffix = Path(history).suffix
        is_file = bool(suffix and " " not in suffix) or Path(history).is_file()
    if is_file or not isinstance(history, str | None):
        return read_market(said)
    if said.get("regions") is not None or said.get("form") is not None:
        raise InvalidInput(
            "regions, and how a file is written, are for a history: a file of past days with date, "
            "region, rounds and total."
        )
    return read_stream(said)


def plan(
    *,
    finds_best: float = 0.8,
    policies: Sequence[str] | None = None,
    sensitivity: bool = True,
    replications: int | None = None,
    seed: int = 1,
    **asked: Unpack[PlanWords],
) -> Plan:
    """Will it work, how long will it take, which policy: by simulating the campaign many times.

    It is a go if enough runs end on the best option, or on one within the lift, and even a bad run
    gains over an equal split; a conditional go if that holds with fewer options or a longer run.
    What happens if inputs are wrong is found with fewer replications, and so is how a policy does
    that takes long to simulate. Each row says how many runs it has.

    With a `history`, markets like the one that it shows are simulated, with and without regions.

    Args:
        finds_best: It is a go if this share of runs finds the best option, or one within the lift,
            and the 5th percentile of the gain over an equal split is above 0.
        policies: What is tried: labels of candidates, and other policies as text, such as "flow"
            or "package.module:Class"; all candidates without.
        sensitivity: Whether to find out what happens if inputs are wrong.
        replications: The runs of each policy at most: 200, or 80 with a history.
        seed: The same seed gives the same plan.
        asked: What is asked, as `latesum.planning.PlanWords` describes it; and where and how runs
            are made, as `latesum.experiments.engine.run` takes it: `workers` is one per core
            unless given. The result does not depend on it.

    >>> from latesum.planning import plan
    >>> found = plan(
    ...     options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours",
    ...     run_for="8 weeks", replications=20, workers=1, sensitivity=False)
    >>> found.verdict
    'go'
    """
    given: dict[str, Any] = dict(asked)
    how: Any = {key: given.pop(key) for key in RunOptions.__annotations__ if key in given}
    inputs = read_inputs(**given)
    wanted = finite_number(finds_best, "the share that finds the best", above=0, at_most=1)
    runs = inputs.default_runs if replications is None else replications
    runs = whole_number(runs, "the number of replications", at_least=1)
    how.setdefault("workers", os.cpu_count() or 1)
    how["progress"] = chosen_progress(how.get("progress"))  # one bar for all that is simulated
    seed = whole_number(seed, "the seed")
    make = functools.partial(simulate, wanted=wanted, seed=seed, how=how)
    pairs = [(inputs, each) for each in _chosen(inputs, policies)]
    rows = make(pairs, runs, 0, "policies")
    recommended, reason = recommend(rows)
    fewer = min(max(_MIN_SEARCH_RUNS, round(_SEARCH_SHARE * runs)), _MAX_SEARCH_RUNS, runs)
    judged = judge(inputs, recommended, make, fewer)
    scenarios = analyze(inputs, recommended, rows, make, fewer) if sensitivity else {}
    return Plan(inputs, tuple(rows), recommended, reason, *judged, scenarios, seed)


def _chosen(inputs: PlanInputs, labels: Sequence[str] | None) -> list[Candidate]:
    """Those of the candidates that are asked for, and other policies, written as text."""
    candidates = inputs.candidates()
    if labels is None:
        return candidates
    known = [candidate.label for candidate in candidates]
    chosen = [candidate for candidate in candidates if candidate.label in labels]
    for text in labels:
        if text in known:
            continue
        name = PolicySpec.parse(text).name
        is_known = ":" in name or name in POLICIES.names()
        if not is_known or not isinstance(inputs, StreamInputs):
            raise InvalidInput(
                f"there is no candidate {text!r} here; there are {', '.join(known)}"
                + (", and any policy by its name." if isinstance(inputs, StreamInputs) else ".")
            )
        chosen.append(inputs.candidate(text))
    if not any(candidate.runnable for candidate in chosen):
        others = ", ".join(each.label for each in candidates if each.runnable)
        raise InvalidInput(
            f"{', '.join(labels)} is there to compare with and cannot run a campaign; "
            f"add one that can: {others}."
        )
    return chosen


def judge(
    inputs: PlanInputs, recommended: PlanRow, simulate: Simulate, replications: int
) -> tuple[Any, tuple[Change, ...], dict[str, float]]:
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
    fewer = range(inputs.options - 1, 1, -1)

    def times(name: str) -> list[tuple[float, Any]]:
        value: Any = getattr(inputs, name)
        return [(each, replace(inputs, **{name: each * value})) for each in inputs.factors]

    kinds: dict[str, list[tuple[float, Any]]] = {
        "horizon": times("run_hours"),
        "options": [(each / inputs.options, replace(inputs, options=each)) for each in fewer],
        "traffic": times("traffic") if isinstance(inputs, StreamInputs) else [],
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
    first, end, passed = 0, len(steps), None
    while first < end:
        middle = (first + end) // 2
        step = steps[middle][1]
        pairs = [(step, each) for each in step.candidates() if each.label in inputs.searched]
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
    """The recommended policy and one more, given the inputs, where something else is true.

    That is the other one that knows that options may differ in their delays, if it is among them;
    otherwise the next best.
    """
    others = [each for each in rows if each.candidate.runnable and each is not recommended]
    others.sort(key=lambda each: (each.label not in _LATE_AWARE, -each.gain.value))
    tried = [each.candidate for each in (recommended, *others[:1])]
    worlds = scenarios(inputs)
    pairs = [(world, candidate) for world in worlds.values() for candidate in tried]
    made = iter(simulate(pairs, replications, 2, "sensitivity analysis"))
    return {truth: [next(made) for _ in tried] for truth in worlds}
