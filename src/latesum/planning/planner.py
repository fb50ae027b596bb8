"""`plan`: will a campaign work, how long will it take, and with which policy?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

from latesum._checks import whole_number
from latesum._progress import chosen_progress
from latesum.experiments.engine import RunOptions
from latesum.planning.candidates import chosen_candidates
from latesum.planning.inputs import PlanWords, read_inputs
from latesum.planning.racing import OnInterim, Simulator, Thresholds, race, recommend
from latesum.planning.report import Plan
from latesum.planning.sensitivity import analyze, next_best
from latesum.planning.verdict import judge

#: This many runs decide whether a change would make it a go: enough to tell 80% from 70%.
_MAX_SEARCH_RUNS = 120
#: A change or a scenario has a fifth of the replications, and this many at least.
_MIN_SEARCH_RUNS = 40


_RUN_OPTIONS = RunOptions.__annotations__


class PlanArguments(PlanWords, RunOptions, total=False):
    """What is asked, and where and how runs are made."""


def plan(
    *,
    thresholds: Thresholds | None = None,
    policies: Sequence[str] | None = None,
    sensitivity: bool = True,
    replications: int = 1000,
    seed: int = 1,
    on_interim: OnInterim | None = None,
    **asked: Unpack[PlanArguments],
) -> Plan:
    """Will it work, how long will it take, which policy: by simulating the campaign many times.

    It is a go if enough runs end on the best option, or on one within the lift, and even a bad run
    gains over an equal split; a conditional go if that holds with fewer options or a longer run.
    What happens if inputs are wrong is found with at most a fifth of the replications.

    Replications are raced: a policy that is dominated after a hundred gets no more, and one that
    takes long to simulate has at most a fifth of them, or 200. Each forecast says how many runs it
    has.

    Args:
        thresholds: When it is a go: by default, if 80% of runs find the best option (or one within
            the lift) and the 5th percentile of the gain over an equal split is above 0.
        policies: What is tried: labels of candidates, and other policies as text, such as "flow"
            or "package.module:Class"; all candidates without.
        sensitivity: Whether to find out what happens if inputs are wrong.
        replications: The runs of each policy at most; the recommended one has as many as its cost
            allows.
        seed: The same seed gives the same plan.
        on_interim: Called with each interim result (`latesum.planning.InterimResult`): after a few
            runs, after more of them, and with all of them, before it is looked for what would have
            to change and what happens if inputs are wrong.
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
    options: Any = {key: given.pop(key) for key in _RUN_OPTIONS if key in given}
    how: RunOptions = options
    inputs = read_inputs(**given)
    thresholds = Thresholds() if thresholds is None else thresholds.checked()
    replications = whole_number(replications, "the number of replications", at_least=20)
    how["workers"] = how.get("workers") or os.cpu_count() or 1
    how["progress"] = chosen_progress(how.get("progress"))  # one bar for all that is simulated
    simulator = Simulator(thresholds, whole_number(seed, "the seed"), how)
    candidates = chosen_candidates(inputs, policies)
    forecasts = race(inputs, candidates, replications, simulator, on_interim)
    recommended, reason = recommend(forecasts, thresholds)
    fewer = max(replications // 5, min(replications, _MIN_SEARCH_RUNS))
    verdict = judge(inputs, recommended, simulator, min(fewer, _MAX_SEARCH_RUNS))
    scenarios = []
    if sensitivity:
        runner_up = next_best(forecasts, recommended)
        scenarios = analyze(inputs, recommended, runner_up, simulator, fewer)
    return Plan(
        inputs, tuple(forecasts), recommended, reason, verdict, tuple(scenarios), thresholds, seed
    )
