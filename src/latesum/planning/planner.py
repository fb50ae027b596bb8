"""`plan`: the question in the user's words, answered by simulation."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Unpack

from latesum._checks import finite_number, whole_number
from latesum._progress import chosen_progress
from latesum.experiments.engine import RunOptions
from latesum.planning.answers import Case, Forecast, Simulation, Thresholds
from latesum.planning.beliefs import read_beliefs
from latesum.planning.candidates import chosen_candidates
from latesum.planning.present import OnAnswer, PresentAnswer, Stage
from latesum.planning.racing import race
from latesum.planning.result import Plan
from latesum.planning.verdict import judge, next_best, recommend
from latesum.planning.what_if import wrong_beliefs

#: This many runs decide whether a change would make it a go: enough to tell 80% from 70%.
_SEARCH_REPLICATIONS = 120


def plan(
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
    ended_well: float = 0.8,
    percentile: float = 0.05,
    longer: float = 2.0,
    policies: Sequence[str] | None = None,
    check_beliefs: bool = True,
    replications: int = 1000,
    seed: int = 1,
    on_answer: OnAnswer | None = None,
    **how: Unpack[RunOptions],
) -> Plan:
    """Will it work, how long will it take, which policy: by simulating the campaign many times.

    It is a go if enough runs end on the best option, or on one within the lift, and even a bad run
    gains over an equal split; "go, but" if that holds with fewer options or a longer run. What
    happens if beliefs are wrong is found with at most a fifth of the replications.

    Replications are raced: a policy that is clearly behind after a hundred gets no more, and one that takes long
    to simulate has at most a fifth of them, or 200. Each forecast says how many runs it has.

    Args:
        options: How many options there are.
        lift: The smallest difference worth having: "10%", "0.2 points" or "+0.002".
        traffic: The decisions per unit of time, such as "5000 per day".
        late: How late rewards come: "2 days" (the mean), "half within 2 hours, 95% within 3 days",
            "exponential(2 days)", a file, or what `delays.fit` gave.
        run_for: How long the campaign may run, such as "12 weeks".
        rate: Today's rate of conversions, such as 0.03 or "3%"; otherwise give `mean`.
        mean: Today's mean reward, with the range `low` to `high` of a single one.
        low: The lowest reward.
        high: The highest reward.
        sd: The standard deviation of a reward; the largest possible without.
        bucket: Totals are reported by "hour", "day" or "week".
        switch_cost: The cost of a switch, in rewards.
        means: The mean of each option, in place of one that is better by the lift.
        delay_unit: The unit of time in a file of delays, or of a fit.
        status_quo: What runs today, and is still paying when the campaign begins: "option" (one of
            them) or "other"; nothing without.
        history: For how long before the start the totals of that option are known: "4 weeks".
        changing: Whether effects change during the run, so that another option is the best at its end.
        ended_well: The share of runs that must end on the best option or within the lift.
        percentile: The percentile at which the gain over an equal split must be above 0.
        longer: "Go, but" allows a run at most this many times as long.
        policies: What is tried: labels of candidates, and other policies as text, such as "flow"
            or "package.module:Class"; all candidates without.
        check_beliefs: Whether to find out what happens if beliefs are wrong.
        replications: The runs of each policy at most; the recommended one has as many as its cost allows.
        seed: The same seed gives the same plan.
        on_answer: Called with the present answer (`latesum.planning.PresentAnswer`) while the plan is made: after a
            first look at a few runs, after each closer look, and with the main answer, before it is looked for what would have to change
            and what happens if beliefs are wrong.
        how: Where and how runs are made, as `latesum.experiments.engine.run` takes it; `workers` is one per
            core unless given. The result does not depend on it.

    >>> from latesum.planning import plan
    >>> found = plan(
    ...     options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours",
    ...     run_for="8 weeks", replications=20, workers=1, check_beliefs=False)
    >>> found.verdict.answer
    'go'
    """
    beliefs = read_beliefs(
        options=options, lift=lift, traffic=traffic, late=late, run_for=run_for, rate=rate,
        mean=mean, low=low, high=high, sd=sd, bucket=bucket, switch_cost=switch_cost, means=means,
        delay_unit=delay_unit, status_quo=status_quo, history=history, changing=changing,
    )  # fmt: skip
    thresholds = Thresholds(
        finite_number(ended_well, "the share of runs that end well", above=0, at_most=1),
        finite_number(percentile, "the percentile of the gain", above=0, at_most=0.5),
        finite_number(longer, "how many times as long a run may be", at_least=1),
    )
    replications = whole_number(replications, "the number of replications", at_least=20)
    how["workers"] = how.get("workers") or os.cpu_count() or 1
    how["progress"] = chosen_progress(how.get("progress"))  # one bar for all that is simulated
    seed = whole_number(seed, "the seed")
    candidates = chosen_candidates(beliefs, policies)

    simulation = Simulation(thresholds, seed, how)
    started = time.perf_counter()
    cases = [Case(beliefs, candidate) for candidate in candidates]

    def say(stage: Stage, found: list[Forecast]) -> None:
        if on_answer:
            on_answer(PresentAnswer(stage, tuple(found), thresholds))

    def on_look(found: list[Forecast], is_first: bool) -> None:
        say("first look" if is_first else "closer look", found)

    answers = tuple(race(cases, replications, simulation, on_look))
    say("main answer", list(answers))
    seconds = time.perf_counter() - started
    recommended, reason = recommend(list(answers), thresholds)
    fewer = max(replications // 5, 20)
    verdict = judge(beliefs, recommended, simulation, min(fewer, _SEARCH_REPLICATIONS))
    what_ifs = []
    if check_beliefs:
        runner_up = next_best(list(answers), recommended)
        what_ifs = wrong_beliefs(beliefs, recommended, runner_up, simulation, fewer)
    return Plan(
        beliefs, answers, recommended, reason, verdict, tuple(what_ifs), thresholds, seed, seconds
    )
