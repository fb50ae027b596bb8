"""`plan`: will a campaign work, how long will it take, and with which policy?"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Required, Unpack

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._plugins import POLICIES
from latesum._progress import chosen_progress
from latesum.experiments.engine import RunOptions
from latesum.planning.market import MarketInputs, read_market
from latesum.planning.report import Plan
from latesum.planning.runs import PlanInputs, recommend, simulate
from latesum.planning.stream import Candidate, StreamInputs, read_stream
from latesum.planning.verdict import analyze, judge
from latesum.policies import PolicySpec

#: A change or a scenario has this share of the replications, within these limits.
_SEARCH_SHARE, _MIN_SEARCH_RUNS, _MAX_SEARCH_RUNS = 0.4, 40, 120
#: The replications without a number, and with a history, where a run takes longer.
_REPLICATIONS, _MARKET_REPLICATIONS = 200, 80


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
    is_market = isinstance(inputs, MarketInputs)
    if replications is None:
        replications = _MARKET_REPLICATIONS if is_market else _REPLICATIONS
    least = 1 if is_market else 20
    replications = whole_number(replications, "the number of replications", at_least=least)
    how["workers"] = how.get("workers") or os.cpu_count() or 1
    how["progress"] = chosen_progress(how.get("progress"))  # one bar for all that is simulated
    seed = whole_number(seed, "the seed")
    make = functools.partial(simulate, wanted=wanted, seed=seed, how=how)
    pairs = [(inputs, each) for each in _chosen(inputs, policies)]
    rows = make(pairs, replications, 0, "policies")
    recommended, reason = recommend(rows)
    fewer = max(_MIN_SEARCH_RUNS, min(round(_SEARCH_SHARE * replications), _MAX_SEARCH_RUNS))
    fewer = min(fewer, replications)
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
