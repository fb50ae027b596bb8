"""`plan`: the question in the user's words, answered by simulation."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from latesum._checks import finite_number, whole_number
from latesum.lab.engine import RunOptions, run
from latesum.lab.results import Runs
from latesum.lab.setting import Setting
from latesum.planning.answers import answer_of, setting_for
from latesum.planning.beliefs import read_beliefs
from latesum.planning.candidates import chosen_candidates
from latesum.planning.result import Plan
from latesum.planning.verdict import Thresholds, judge, next_best, recommend
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
    rate: float | None = None,
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
    ended_well: float = 0.8,
    percentile: float = 0.05,
    longer: float = 2.0,
    policies: Sequence[str] | None = None,
    check_beliefs: bool = True,
    replications: int = 1000,
    seed: int = 1,
    **how: Unpack[RunOptions],
) -> Plan:
    """Will it work, how long will it take, which policy: by simulating the campaign many times.

    What the user knows: `options`; today's `rate`, or the `mean` reward with the range `low` to
    `high` of a single one and its `sd`; the smallest `lift` worth having ("10%", "0.2 points",
    "+0.002"); `traffic` ("5000 per day"); how `late` rewards come: "2 days" (the mean), "half within
    2 hours, 95% within 3 days", "exponential(2 days)", a file or what `delays.fit` gave (in
    `delay_unit`s); the `bucket` of the reports (hour, day, week); `run_for` ("12 weeks"); the
    `switch_cost`. `means` replaces the assumption that one option is better by the lift. What runs
    today is the `status_quo`: one of the options ("option"), of which a `history` may be known ("4
    weeks"), or something else ("other"); its late rewards arrive when the campaign begins.

    It is a go if the run ends on the best option or one within the lift in at least `ended_well`
    of runs and gains over an equal split even at `percentile`; "go, but" if it is with fewer
    options or a run at most `longer` times as long. `policies` says what is tried: labels of
    candidates, and other policies as text, such as "guarded" or "package.module:Class". What happens
    if beliefs are wrong is found with a fifth of the replications.

    The result depends on `seed`, and not on `workers` (one per core unless given) or what else says
    where and how runs are made, as in `latesum.lab.engine.run`: `runner`, `store`, `progress`.

    >>> from latesum.planning import plan
    >>> found = plan(
    ...     options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours",
    ...     run_for="8 weeks", replications=40, workers=1, check_beliefs=False)
    >>> found.verdict.answer
    'go'
    """
    beliefs = read_beliefs(
        options=options, lift=lift, traffic=traffic, late=late, run_for=run_for, rate=rate,
        mean=mean, low=low, high=high, sd=sd, bucket=bucket, switch_cost=switch_cost, means=means,
        delay_unit=delay_unit, status_quo=status_quo, history=history,
    )  # fmt: skip
    thresholds = Thresholds(
        finite_number(ended_well, "the share of runs that end well", above=0, at_most=1),
        finite_number(percentile, "the percentile of the gain", above=0, at_most=0.5),
        finite_number(longer, "how many times as long a run may be", at_least=1),
    )
    replications = whole_number(replications, "the number of replications", at_least=20)
    how["workers"] = how.get("workers") or os.cpu_count() or 1
    seed = whole_number(seed, "the seed")
    candidates = chosen_candidates(beliefs, policies)

    def simulate(settings: Sequence[Setting], replications: int, what: str) -> list[Runs]:
        numbered = [
            replace(setting, problem_name=f"{number}") for number, setting in enumerate(settings)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            return list(run(numbered, replications, what=what, **how).runs.values())

    started = time.perf_counter()
    settings = [setting_for(beliefs, candidate, (seed, 0)) for candidate in candidates]
    answers = tuple(
        answer_of(beliefs, candidate, setting, runs, thresholds.percentile)
        for candidate, setting, runs in zip(
            candidates, settings, simulate(settings, replications, "policies"), strict=True
        )
    )
    seconds = time.perf_counter() - started
    recommended, reason = recommend(list(answers), thresholds)
    fewer = max(replications // 5, 20)
    verdict = judge(
        beliefs, recommended, thresholds, simulate, seed=seed,
        replications=min(fewer, _SEARCH_REPLICATIONS),
    )  # fmt: skip
    what_ifs = []
    if check_beliefs:
        runner_up = next_best(list(answers), recommended)
        what_ifs = wrong_beliefs(
            beliefs, recommended, runner_up, thresholds, simulate, replications=fewer, seed=seed
        )
    return Plan(
        beliefs, answers, recommended, reason, verdict, tuple(what_ifs), thresholds, seed, seconds
    )
