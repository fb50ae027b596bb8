"""The league table: every policy on a fixed set of problems, good and bad for it.

Results are kept in a folder, one file a policy and problem, so that a league that was stopped goes
on where it was. The same seed gives the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from latesum._checks import InvalidInput
from latesum._extras import need
from latesum.lab.comparison import Comparison, compare
from latesum.lab.league.lock_ins import count_lock_ins
from latesum.lab.league.problems import PROBLEMS, Setting
from latesum.lab.roster import policy_for
from latesum.lab.simulation import AnyPolicy
from latesum.policies import Policy


class Entrant(NamedTuple):
    """A policy of the league: its text, how often it is run, and who has the same index."""

    text: str
    replications: int
    #: The policy with the same index that sees which arm paid: the price of anonymity is the
    #: ratio of the two mean regrets.
    same_index: str | None = None


ENTRANTS: dict[str, Entrant] = {
    "flow": Entrant("flow", 500, "qpm-d KL-UCB++"),
    "flow, UCB1": Entrant("flow(index='ucb1')", 200, "qpm-d UCB1"),
    "flow-lookahead": Entrant("flow-lookahead", 200, "qpm-d KL-UCB++"),
    "guarded": Entrant("guarded", 500, "qpm-d KL-UCB++"),
    "odaaf-s": Entrant("odaaf-s", 500),
    "ars-ucb": Entrant("ars-ucb", 200),
    "odaaf": Entrant("odaaf", 200),
    "odaaf-b": Entrant("odaaf-b", 200),
    "odaaf-v": Entrant("odaaf-v", 200),
    "odaaf-v-tightened": Entrant("odaaf-v-tightened", 200),
    "round-robin": Entrant("round-robin(stretch=1000)", 20),
    "qpm-d UCB1": Entrant("qpm-d", 100),
    "qpm-d KL-UCB++": Entrant("qpm-d(base='kl-ucb++')", 100),
}


class Row(NamedTuple):
    """How one policy did on one problem."""

    problem: str
    policy: str
    replications: int
    mean: float
    standard_error: float
    percentile_99: float
    worst: float
    switches: float
    lock_ins: int | None  # None where they are not counted: baselines, changing rates
    price_of_anonymity: float | None


def run_league(
    folder: str | Path,
    *,
    replications: int | None = None,
    seed: int = 1,
    workers: int = 1,
    problems: dict[str, Setting] = PROBLEMS,
    entrants: dict[str, Entrant] = ENTRANTS,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Row]:
    """Run what is missing in `folder`, and return all rows; at most `replications` runs each.

    >>> import tempfile
    >>> few = {"two": Setting(PROBLEMS["two arms, exponential(50)"].problem, 20_000)}
    >>> some = {name: ENTRANTS[name] for name in ("odaaf", "qpm-d UCB1")}
    >>> rows = run_league(tempfile.mkdtemp(), replications=3, problems=few, entrants=some)
    >>> [row.policy for row in rows]
    ['odaaf', 'qpm-d UCB1']
    """
    need("lab")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make the folder {folder}: {error.strerror}.") from error
    cells = [
        (problem, setting, name, entrant, policy)
        for problem, setting in problems.items()
        for name, entrant in entrants.items()
        if (policy := _policy(entrant.text, setting)) is not None
    ]
    rows: list[Row] = []
    for done, (problem, setting, name, entrant, policy) in enumerate(cells):
        if progress:
            progress(done, len(cells), f"{name} on {problem}")
        runs = min(entrant.replications, replications or entrant.replications)
        result = _kept_or_run(folder, problem, setting, name, policy, runs, seed, workers)
        summary = result.summary()[0]
        rows.append(
            Row(
                problem, name, runs, summary.mean, summary.standard_error, summary.percentile_99,
                summary.worst, summary.switches, result.description["lock_ins"], None,
            )
        )  # fmt: skip
    if progress:
        progress(len(cells), len(cells), "")
    means = {(row.problem, row.policy): row.mean for row in rows}
    return [
        row._replace(price_of_anonymity=row.mean / yardstick)
        if (yardstick := means.get((row.problem, entrants[row.policy].same_index or "")))
        else row
        for row in rows
    ]


def _policy(text: str, setting: Setting) -> AnyPolicy | None:
    """The policy, or None where it cannot be told what it must know, or cannot play."""
    try:
        policy = policy_for(text, setting.problem, setting.horizon)
    except InvalidInput:
        return None
    live = setting.bucket > 1 or setting.problem.changes
    return policy if isinstance(policy, Policy) or not live else None


def _kept_or_run(
    folder: Path, problem: str, setting: Setting, name: str, policy: AnyPolicy,
    replications: int, seed: int, workers: int,
) -> Comparison:  # fmt: skip
    letters = "".join(letter if letter.isalnum() else "-" for letter in f"{problem}--{name}")
    path = folder / f"{letters}.parquet"
    told = repr(policy.parameters) if isinstance(policy, Policy) else repr(policy)
    wanted = {
        "replications": replications, "seed": seed, "horizon": setting.horizon,
        "problem": repr(setting.problem), "told": told,
    }  # fmt: skip
    if path.exists():
        kept = Comparison.from_parquet(path)
        if wanted.items() <= kept.description.items():
            return kept
    result = compare(
        setting.problem, {name: policy}, setting.horizon, replications=replications, seed=seed,
        workers=workers, bucket=setting.bucket, report_lag=setting.report_lag,
    )  # fmt: skip
    last = np.array([len(result.checkpoints) - 1])
    kept_runs = result.runs[name]._replace(regrets=result.runs[name].regrets[:, last])
    lock_ins = None
    if isinstance(policy, Policy) and not setting.problem.changes:
        lock_ins = count_lock_ins(setting, policy, kept_runs.regrets[:, -1], seed)
    description = {**result.description, "told": told, "lock_ins": lock_ins}
    result = Comparison(result.checkpoints[last], {name: kept_runs}, description)
    result.to_parquet(path)
    return result
