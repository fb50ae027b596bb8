"""One run of a policy on a problem, and several policies on one problem, many times over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from latesum._checks import InvalidInput
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.results import Results
from latesum.experiments.run import Run
from latesum.experiments.spec import USUAL_MEASURES, AnyPolicy, Order, RunSpec
from latesum.policies import PolicySpec
from latesum.simulation import Problem, Reward
from latesum.simulation.market import Market

if TYPE_CHECKING:
    from latesum.experiments.markets.spec import MarketRunSpec


def simulate(
    problem: Problem,
    policy: AnyPolicy | str,
    horizon: int,
    *,
    seed: int,
    number: int = 0,
    bucket: int = 1,
    report_lag: int = 0,
    status_quo: Reward | float | str | None = None,
    history: int = 0,
) -> Run:
    """Play a fresh copy of `policy` for `horizon` rounds.

    With `bucket` or `report_lag` the policy lives with data as they are in practice: it decides
    only at the ends of buckets, on totals that become known some time after the end of theirs.

    Args:
        problem: What is played.
        policy: What decides; the object itself is left as it is. As text, such as "flow", it is
            given what is true of the problem.
        horizon: The number of rounds.
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
    spec = RunSpec(
        problem,
        PolicySpec.of(policy),
        horizon,
        seed=seed,
        reports=Reports(bucket, report_lag),
        status_quo=status_quo,
        history=history,
    )
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
    status_quo: Reward | float | str | None = None,
    history: int = 0,
    order: Order = "listed",
    measures: Sequence[str] = (),
    **how: Unpack[RunOptions],
) -> Results:
    """Play every policy `replications` times; the result does not depend on where that is done.

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
        bucket: The rounds between two decisions, where they are not taken in any round.
        report_lag: The rounds after which the total of a bucket, or without buckets that of a
            block, becomes known.
        status_quo: What was played until the start, and is still arriving, as for `simulate`.
        history: For how many rounds of it the totals are known, as for `simulate`.
        order: "listed", or "drawn": the order of the arms is drawn anew in every replication, the
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
    named = _named(policies)
    kept = (*USUAL_MEASURES, *(text for text in measures if text not in USUAL_MEASURES))
    if isinstance(problem, Market):
        given = {
            "bucket": bucket != 1,
            "report_lag": report_lag,
            "status_quo": status_quo is not None,
            "history": history,
            "order": order != "listed",
        }
        if said := [name for name, value in given.items() if value]:
            raise InvalidInput(
                f"a market says this itself: leave out {', '.join(said)}, and set it in the Market."
            )
        return run(_in_market(problem, named, horizon, seed, measures), replications, **how)
    if order == "drawn" and not all(isinstance(policy, str) for policy in named.values()):
        raise InvalidInput(
            "in random order a policy is built for the arms as each run meets them: give policies "
            'as text, such as "flow".'
        )
    specs = [
        RunSpec(
            problem,
            PolicySpec.of(policy),
            horizon,
            seed=seed,
            reports=Reports(bucket, report_lag),
            checkpoints=default_checkpoints(horizon),
            measures=kept,
            order=order,
            status_quo=status_quo,
            history=history,
            policy_name=name,
        )
        for name, policy in named.items()
    ]
    return run(specs, replications, **how)


def _named(policies: Mapping[str, AnyPolicy | str] | Sequence[str]) -> dict[str, AnyPolicy | str]:
    """Policies by name; those of a list are called by their texts."""
    if isinstance(policies, str):
        policies = [policies]
    if not isinstance(policies, Mapping):
        texts = list(policies)
        for text in texts:
            if not isinstance(text, str):
                raise InvalidInput(
                    f"a list has policies as text; give {text!r} a name: {{name: policy}}."
                )
            if texts.count(text) > 1:
                raise InvalidInput(f"{text!r} is in the list twice; give each policy once.")
        policies = {text: text for text in texts}
    if not policies:
        raise InvalidInput("give at least one policy to compare, as a list or as {name: policy}.")
    return dict(policies)


def _in_market(
    market: Market,
    policies: Mapping[str, AnyPolicy | str],
    horizon: int,
    seed: int,
    measures: Sequence[str],
) -> list[MarketRunSpec]:
    from latesum.experiments.markets.spec import MarketRunSpec  # it takes a while to import

    market = replace(market, buckets=horizon)
    return [
        MarketRunSpec.compared(
            market, policy, seed=seed, measures=measures, problem_name="market", policy_name=name
        )
        for name, policy in policies.items()
    ]


def default_checkpoints(horizon: int, count: int = 200, early: int = 100) -> tuple[int, ...]:
    """Rounds at which regret is kept: dense at first, even later, the horizon last.

    >>> default_checkpoints(10)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    """
    if not isinstance(horizon, int) or horizon < 1:
        return ()  # refused by the specification
    spread = np.concatenate([np.geomspace(1, horizon, early), np.linspace(1, horizon, count)])
    return tuple(np.unique(np.rint(spread).astype(np.int64)).tolist())
