"""One run of a policy on a problem, and several policies on one problem, many times over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from latesum._checks import InvalidInput
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.results import Results
from latesum.experiments.run import Run
from latesum.experiments.spec import USUAL_MEASURES, AnyPolicy, Order, RunSpec, StatusQuo
from latesum.policies import PolicySpec
from latesum.simulation import Problem
from latesum.simulation.market import Market


def simulate(
    problem: Problem,
    policy: AnyPolicy | str,
    horizon: int,
    *,
    seed: int,
    number: int = 0,
    bucket: int = 1,
    report_lag: int = 0,
    status_quo: StatusQuo = None,
    history: int = 0,
) -> Run:
    """Play a fresh copy of `policy` for `horizon` rounds.

    With `bucket` or `report_lag` the policy lives with data as they are in practice: it decides
    only at the ends of buckets, on totals that become known some time after the end of theirs.

    Args:
        policy: What decides; the object itself is left as it is. As text, such as "flow", it is
            given what is true of the problem.
        seed: The same seed gives the same run.
        number: Which run of that seed: number 3 is the fourth replication that `compare` makes.
        bucket: The rounds between two decisions, where they are not taken in any round.
        report_lag: The rounds after which the total of a bucket, or without buckets that of a
            block, becomes known.
        status_quo: What was played until the start, and is still arriving: an arm, or a reward (or
            its mean) that is no arm. A policy that was built before has a parameter of its own.
        history: For how many rounds before the start the totals of the arm `status_quo` are known;
            the policy is given them, in segments of a bucket.

    >>> from latesum import ODAAFB, Problem, simulate
    >>> policy = ODAAFB(2, 250_000, mean_delay=50, delay_bound=100)
    >>> simulate(Problem([0.5, 0.6], "uniform(0, 100)"), policy, 250_000, seed=1)
    Run(250,000 rounds, 12 blocks, regret 2,049.1)
    """
    more: dict[str, Any] = {"seed": seed, "status_quo": status_quo, "history": history}
    reports = Reports(bucket, report_lag)
    spec = RunSpec(problem, PolicySpec.of(policy), horizon, reports=reports, **more)
    spec.check()
    return spec.run(number)


def compare(
    problem: Problem | Market,
    policies: Mapping[str, AnyPolicy | str] | Sequence[str],
    horizon: int,
    *,
    replications: int,
    seed: int,
    bucket: int = 1,
    report_lag: int = 0,
    status_quo: StatusQuo = None,
    history: int = 0,
    order: Order = "listed",
    measures: Sequence[str] = (),
    **how: Unpack[RunOptions],
) -> Results:
    """Play every policy `replications` times; the result does not depend on where that is done.

    `bucket`, `report_lag`, `status_quo` and `history` are those of `simulate`.

    Args:
        problem: What is played: a problem, or a law of markets, from which every run draws one. In
            a market policies are given as text, "switchback" and the analysts' tests
            ("half-time-test", "geo-test") among them; those of one stream show the same in all
            regions, and are given the history.
        policies: Policies by name, or a list of texts such as "flow" or "package.module:Class". A
            policy that is text is given what is true of the problem.
        horizon: The number of rounds; of a market, of its buckets.
        replications: How often each policy is run.
        seed: The same seed gives the same result.
        order: "listed", or "drawn": the order of the arms is drawn in every replication, the
            same for all policies; these must be text then, since each is built for the order it
            meets.
        measures: What is kept of every run beside regret, `ended_on_best` and `switches`.
        how: Where and how runs are made: `workers`, a folder `store` to keep them in,
            `progress=True` for a bar, `runner=OnDask(client)` for a Dask cluster, and the rest of
            what `latesum.experiments.engine.run` takes.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> results = compare(problem, ["odaaf", "flow"], 5_000, replications=4, seed=1)
    >>> results.summary()[0].ended_on_best
    1.0
    >>> from latesum.simulation.market import Market
    >>> names = ["half-time-test", "equal-split"]
    >>> found = compare(Market(regions=2), names, 28, replications=4, seed=1)
    >>> found["equal-split"].regrets.shape  # sales lost, after each of 28 buckets
    (4, 28)
    """
    policies = [policies] if isinstance(policies, str) else policies
    named = policies if isinstance(policies, Mapping) else {text: text for text in policies}
    if not named or len(named) < len(policies):
        raise InvalidInput(
            "give at least one policy to compare, and none twice, as a list or as {name: policy}."
        )
    if not isinstance(policies, Mapping) and not all(isinstance(name, str) for name in named):
        raise InvalidInput("a list has policies as text; give others a name: {name: policy}.")
    kept = tuple(dict.fromkeys([*USUAL_MEASURES, *measures]))
    fields = {"status_quo": status_quo, "history": history, "order": order}
    if isinstance(problem, Market):
        from latesum.experiments.markets.spec import MarketRunSpec  # it takes a while to import

        given = fields | {"bucket": bucket, "report_lag": report_lag}
        usual = {"status_quo": None, "history": 0, "order": "listed", "bucket": 1, "report_lag": 0}
        if said := sorted(name for name, value in given.items() if value != usual[name]):
            raise InvalidInput(
                f"a market says this itself: leave out {', '.join(said)}, and set it in the Market."
            )
        law = replace(problem, buckets=horizon)
        shared: dict[str, Any] = {"seed": seed, "measures": measures, "problem_name": "market"}
        markets = [
            MarketRunSpec.compared(law, policy, policy_name=name, **shared)
            for name, policy in named.items()
        ]
        return run(markets, replications, **how)
    if order == "drawn" and not all(isinstance(policy, str) for policy in named.values()):
        raise InvalidInput(
            "in random order a policy is built for the arms as each run meets them: give policies "
            'as text, such as "flow".'
        )
    shared = {"seed": seed, "checkpoints": default_checkpoints(horizon), "measures": kept, **fields}
    reports = Reports(bucket, report_lag)
    specs = [
        RunSpec(problem, PolicySpec.of(each), horizon, reports=reports, policy_name=name, **shared)
        for name, each in named.items()
    ]
    return run(specs, replications, **how)


def default_checkpoints(horizon: int, count: int = 200, early: int = 100) -> tuple[int, ...]:
    """Rounds at which regret is kept: dense at first, even later, the horizon last.

    >>> default_checkpoints(10)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    """
    if not isinstance(horizon, int) or horizon < 1:
        return ()  # refused by the specification
    spread = np.concatenate([np.geomspace(1, horizon, early), np.linspace(1, horizon, count)])
    return tuple(np.unique(np.rint(spread).astype(np.int64)).tolist())
