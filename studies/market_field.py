"""The rule of `latesum.markets` on problems of one stream, which were not made for it."""

from __future__ import annotations

from typing import NamedTuple, Unpack

from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec
from latesum.simulation import Calendar, FieldProblem, Problem
from suite_problems import PROBLEMS, SuiteProblem

#: What is played with, and what it is called.
POLICIES = {"switchback": "latesum.experiments.markets.one_stream:Switchback", "flow": "flow"}
_DAY = 20_000
_HISTORY = 28
_THREE_RATES = SuiteProblem(
    FieldProblem([0.027, 0.030, 0.033], "exponential(40000)", calendar=Calendar.weekly(_DAY)),
    90 * _DAY,
    bucket=_DAY,
)
#: The problems, and the largest mean regret that switchback may have without and with a history.
FIELD: dict[str, tuple[SuiteProblem, float | None, float | None]] = {
    "daily totals, two days late": (PROBLEMS["daily totals, two days late"], 2_150, 1_500),
    "a weekly pattern": (PROBLEMS["a weekly pattern"], 1_850, 1_000),
    "three rates, weekly pattern": (_THREE_RATES, 970, 800),
    "drift, the best changes": (PROBLEMS["drift, the best changes"], None, None),
}


class FieldRow(NamedTuple):
    """How a policy did on a problem.

    Args:
        problem: The name of the problem, with what was told.
        policy: The policy.
        mean: The mean regret.
        error: Its standard error.
        ended_on_best: The share of runs that ended on the best arm.
        runs: The number of runs.
        goal: The largest mean regret that it may have; None for comparisons.
    """

    problem: str
    policy: str
    mean: float
    error: float
    ended_on_best: float
    runs: int
    goal: float | None


def run_field(
    *, replications: int = 200, seed: int = 50_000, **how: Unpack[RunOptions]
) -> list[FieldRow]:
    """Run what is missing, and return all rows.

    Args:
        replications: The number of runs of each.
        seed: The seed.
        how: Where and how runs are made.

    >>> len(run_field(replications=1))                                    # doctest: +SKIP
    14
    """
    settings, goals = [], []
    for name, (played, goal, goal_with_history) in FIELD.items():
        assert isinstance(played.problem, Problem)
        for history, most in ((0, goal), (_HISTORY, goal_with_history)):
            if history and played.problem.changes and goal is None:
                continue
            words = f"{name}, {history} days of history" if history else name
            for policy, text in POLICIES.items():
                settings.append(
                    RunSpec(
                        played.problem,
                        PolicySpec.parse(text),
                        played.horizon,
                        seed=seed,
                        order="drawn",
                        reports=Reports(played.bucket, played.report_lag),
                        status_quo=0 if history else None,
                        history=history * played.bucket,
                        problem_name=words,
                        policy_name=policy,
                    )
                )
                goals.append(most if policy == "switchback" else None)
    results = run(settings, replications, what="field problems", **how)
    return [
        FieldRow(
            row.problem,
            row.policy,
            row.mean,
            row.standard_error,
            row.ended_on_best,
            row.replications,
            goal,
        )
        for row, goal in zip(results.summary(), goals, strict=True)
    ]
