"""`plan`: will a campaign work, how long will it take, and with which policy?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._plugins import POLICIES
from latesum._progress import chosen_progress
from latesum.experiments.engine import RunOptions
from latesum.planning.market import MarketInputs, read_market
from latesum.planning.report import Plan
from latesum.planning.runs import PlanInputs, Simulator, recommend
from latesum.planning.stream import Candidate, StreamInputs, read_stream, rounded
from latesum.planning.verdict import Scenario, analyze, judge, late_best
from latesum.policies import PolicySpec

#: A change or a scenario has this share of the replications, and so many at least and at most.
_SEARCH_SHARE, _MIN_SEARCH_RUNS, _MAX_SEARCH_RUNS = 0.4, 40, 120
#: The replications without a number, and with a history, where a run takes longer.
_REPLICATIONS, _MARKET_REPLICATIONS = 200, 80
_RUN_OPTIONS = RunOptions.__annotations__


class PlanWords(TypedDict, total=False):
    """What is asked of a plan, in the user's words: the keyword arguments of `plan`."""

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
    #: The mean of each option, in place of one that is better by the lift.
    means: Sequence[float] | None
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
    #: Whether effects change during the run, so that another option is the best at its end.
    nonstationary: bool
    #: Whether all options are surely equally late; otherwise the verdict says what if they are not.
    equal_delays: bool


class PlanArguments(PlanWords, RunOptions, total=False):
    """What is asked, and where and how runs are made."""


def read_inputs(**said: Any) -> PlanInputs:
    """What the user said, as numbers: of one stream, or of the market that a history shows."""
    for name in said:
        known_name(name, list(PlanWords.__annotations__), "argument of a plan")
    for name in sorted(PlanWords.__required_keys__):
        if said.get(name) is None:
            raise InvalidInput(f"say {name}: a plan needs it.")
    history = said.get("history")
    is_file = isinstance(history, str) and (Path(history).suffix or Path(history).is_file())
    if is_file or not isinstance(history, str | None):
        return read_market(said)
    if said.get("regions") is not None or said.get("form") is not None:
        raise InvalidInput(
            "regions are planned from a history: a file of past days with date, region, rounds and "
            "total."
        )
    return read_stream(said)


def plan(
    *,
    finds_best: float = 0.8,
    policies: Sequence[str] | None = None,
    sensitivity: bool = True,
    replications: int | None = None,
    seed: int = 1,
    **asked: Unpack[PlanArguments],
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
    >>> found.verdict.answer
    'go'
    """
    given: dict[str, Any] = dict(asked)
    how: Any = {key: given.pop(key) for key in _RUN_OPTIONS if key in given}
    inputs = read_inputs(**given)
    wanted = finite_number(finds_best, "the share that finds the best", above=0, at_most=1)
    usual, least = _REPLICATIONS, 20
    if isinstance(inputs, MarketInputs):
        usual, least = _MARKET_REPLICATIONS, 1
    given_runs = usual if replications is None else replications
    replications = whole_number(given_runs, "the number of replications", at_least=least)
    how["workers"] = how.get("workers") or os.cpu_count() or 1
    how["progress"] = chosen_progress(how.get("progress"))  # one bar for all that is simulated
    simulator = Simulator(wanted, whole_number(seed, "the seed"), how)
    pairs = [(inputs, each) for each in _chosen(inputs, policies)]
    rows = simulator.rows(pairs, replications, 0, "policies")
    recommended, reason = recommend(rows, wanted)
    fewer = max(_MIN_SEARCH_RUNS, min(round(_SEARCH_SHARE * replications), _MAX_SEARCH_RUNS))
    fewer = min(fewer, replications)
    verdict = judge(inputs, recommended, simulator, fewer)
    scenarios: tuple[Scenario, ...] = ()
    if sensitivity:
        scenarios = analyze(inputs, recommended, rows, simulator, fewer)
        verdict = replace(verdict, late_best=late_best(scenarios))
    return Plan(inputs, tuple(rows), recommended, reason, verdict, scenarios, wanted, seed)


def _chosen(inputs: PlanInputs, labels: Sequence[str] | None) -> list[Candidate]:
    """Those of the candidates that are asked for, and other policies, written as text.

    A policy that is no candidate, such as "flow" or "package.module:Class", is given the inputs.
    """
    candidates = inputs.candidates()
    if labels is None:
        return candidates
    known = [candidate.label for candidate in candidates]
    chosen = [candidate for candidate in candidates if candidate.label in labels]
    for text in labels:
        if text in known:
            continue
        spec = PolicySpec.parse(text)
        is_known = ":" in spec.name or spec.name in POLICIES.names()
        if not is_known or not isinstance(inputs, StreamInputs):
            raise InvalidInput(
                f"there is no candidate {text!r} here; there are {', '.join(known)}"
                + (", and any policy by its name." if isinstance(inputs, StreamInputs) else ".")
            )
        if spec.sees != "totals":
            raise InvalidInput(f"{text} has attributed feedback, and a campaign does not.")
        chosen.append(_given(inputs, text, spec))
    return chosen


def _given(inputs: StreamInputs, label: str, spec: PolicySpec) -> Candidate:
    delay = inputs.delay()
    knowledge: Mapping[str, Any] = {
        "n_arms": inputs.options,
        "horizon": inputs.horizon,
        "mean_delay": rounded(delay.mean),
        "delay_variance": delay.variance,
        "delay_bound": delay.bound,
    }
    spec = spec.given(knowledge)
    return inputs.candidate(label, spec.name, spec.parameters, "as asked for")
