"""One run of a policy on a problem, and several policies on one problem, many times over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from latesum import _render
from latesum._checks import InvalidInput
from latesum._extras import as_frame, require
from latesum._render import TextTable, new_table
from latesum.attributed import AttributedPolicy
from latesum.attributed import run as run_attributed
from latesum.experiments.assumptions import broken_assumptions
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.figures import plot_comparison
from latesum.experiments.loop import Reports
from latesum.experiments.results import Runs, Summary, from_column, to_columns
from latesum.experiments.run import Run
from latesum.experiments.spec import ORDER, USUAL_MEASURES, WORLD, AnyPolicy, RunSpec
from latesum.experiments.stats import number_text
from latesum.experiments.store import written_aside
from latesum.policies import Play
from latesum.policies.spec import PolicySpec
from latesum.simulation import Problem, Reward
from latesum.simulation.market import Market

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FORMAT = "1"


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`: it prints as a table, plots, and is saved as Parquet.

    Args:
        runs: The runs of each policy, by its name.
        description: What was compared, as JSON values.
    """

    runs: dict[str, Runs]
    description: dict[str, Any]

    @property
    def policies(self) -> list[str]:
        """The names of the policies compared."""
        return list(self.runs)

    @property
    def checkpoints(self) -> Integers:
        """The rounds at which regret was kept."""
        return next(iter(self.runs.values())).checkpoints

    def summary(self) -> list[Summary]:
        """One row per policy, at the horizon."""
        problem = self.description["problem"]
        return [runs.summary(problem, name) for name, runs in self.runs.items()]

    def to_json(self) -> dict[str, Any]:
        """What was compared, and the summary, as JSON values."""
        return {**self.description, "policies": [row.to_json() for row in self.summary()]}

    def table(self) -> TextTable:
        """One row per policy: the regret at the horizon and what else matters."""
        about = self.description
        shuffled = (
            about.get("arm_order") == "random"
        )  # results saved by earlier versions do not say
        title = (
            f"Regret after {about['horizon']:,} {about.get('unit', 'rounds')}, "
            f"{about['replications']} replications"
            f"{', arms in random order' if shuffled else ''}\n{about['problem']}"
        )
        columns = ["policy", "mean", "± s.e.", "median", "95%", "99%", "worst"]
        columns += ["ends on best", "switches"]
        table = new_table(title, columns)
        broken = about.get("broken_assumptions", [])  # results saved by earlier versions have none
        for row in self.summary():
            numbers = [row.mean, row.standard_error, row.median]
            numbers += [row.percentile_95, row.percentile_99, row.worst]
            mark = " *" if row.policy in about["sees_more"] else ""
            mark += " †" if any(row.policy in names for names, _ in broken) else ""
            shares = f"{row.ended_on_best:.1%}", f"{row.switches:,.1f}"
            table.add_row(row.policy + mark, *map(number_text, numbers), *shares)
        notes = (
            ["* attributed feedback: not comparable, a lower reference"]
            if about["sees_more"]
            else []
        )
        notes += [f"† {', '.join(names)}: {sentence}" for names, sentence in broken]
        if notes:
            table.caption = "\n".join(notes)
        return table

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return _render.table(self.table())

    def to_frame(
        self, backend: str = "pyarrow", *, per: Literal["checkpoint", "run"] = "checkpoint"
    ) -> Any:
        """A tidy table of what was measured, for the tools that you use.

        Args:
            backend: "pyarrow", "pandas" or "polars".
            per: "checkpoint": one row per run and checkpoint, with the policy, the number of the
                run, the rounds and the regret so far. "run": one row per run, with the regret at the
                horizon and every other measure.

        >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
        >>> made = compare(problem, {"flow": "flow"}, 1_000, replications=2, seed=1)
        >>> frame = made.to_frame("pandas")
        >>> list(frame.columns)
        ['policy', 'run', 'rounds', 'regret']
        >>> len(frame) == 2 * len(made.checkpoints)
        True
        """
        if per not in ("checkpoint", "run"):
            raise InvalidInput(f'a table is per "checkpoint" or per "run", not {per!r}.')
        pa = require("pyarrow", "parquet")
        tables = []
        for name, runs in self.runs.items():
            each = len(self.checkpoints) if per == "checkpoint" else 1
            columns: dict[str, Any] = {
                "policy": pa.array([name] * len(runs) * each, pa.string()),
                "run": np.repeat(np.arange(len(runs)), each),
            }
            if per == "checkpoint":
                columns["rounds"] = np.tile(self.checkpoints, len(runs))
                columns["regret"] = runs.regrets.ravel()
            else:
                columns |= to_columns(runs.measured) | {"regret": runs.regrets[:, -1]}
            tables.append(pa.table(columns))
        return as_frame(pa.concat_tables(tables).combine_chunks(), backend)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Mean regret over rounds with 95% bands.

        Args:
            path: Where to write the figure; the ending of the name says in which format.
        """
        return plot_comparison(self.runs, self.description, path)

    def to_parquet(self, path: str | Path) -> None:
        """Save everything in one file, written aside and renamed so that it is never half there.

        Args:
            path: The file.
        """
        pa, pq = require("pyarrow", "experiments"), require("pyarrow.parquet", "experiments")
        tables = []
        for name, runs in self.runs.items():
            columns = to_columns(runs.measured)
            first = {
                "policy": pa.array([name] * len(runs)), "replication": np.arange(len(runs)),
                "regret": runs.regrets[:, -1], "regret_at_checkpoints": columns.pop("regret"),
            }  # fmt: skip
            tables.append(pa.table({**first, **columns}))
        about = {
            "latesum_comparison": _FORMAT,
            "checkpoints": json.dumps(self.checkpoints.tolist()),
            "description": json.dumps(self.description, sort_keys=True),
        }
        table = pa.concat_tables(tables).combine_chunks().replace_schema_metadata(about)
        path = Path(path)
        try:
            with written_aside(path) as aside:
                pq.write_table(table, aside)
                aside.replace(path)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error}.") from error

    @classmethod
    def from_parquet(cls, path: str | Path) -> Comparison:
        """Read what `to_parquet` saved.

        Args:
            path: The file.
        """
        pq = require("pyarrow.parquet", "experiments")
        try:
            table = pq.read_table(path)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot read a comparison from {path}: {error}.") from error
        about = {key.decode(): value for key, value in (table.schema.metadata or {}).items()}
        if about.get("latesum_comparison") != _FORMAT.encode():
            raise InvalidInput(f"{path} was not written by this version's Comparison.to_parquet.")
        checkpoints = np.array(json.loads(about["checkpoints"]), dtype=np.int64)
        names = table["policy"].to_numpy()
        runs = {}
        for name in dict.fromkeys(names.tolist()):
            rows = table.filter(names == name).drop_columns(["policy", "replication", "regret"])
            measured = {
                measure.removesuffix("_at_checkpoints"): from_column(rows[measure])
                for measure in rows.column_names
            }
            order = ["regret", *(measure for measure in measured if measure != "regret")]
            runs[name] = Runs(checkpoints, {measure: measured[measure] for measure in order})
        return cls(runs, json.loads(about["description"]))


def simulate(
    problem: Problem,
    policy: AnyPolicy | str,
    horizon: int,
    *,
    seed: int,
    number: int = 0,
    bucket: int = 1,
    report_lag: int = 0,
    before: Reward | float | str | None = None,
    history: int = 0,
) -> Run:
    """Play a fresh copy of `policy` for `horizon` rounds.

    With `bucket` or `report_lag` the policy lives with data as they are in practice: it decides
    only at the ends of buckets, on totals that become known some time after the end of theirs.

    Args:
        problem: What is played.
        policy: What decides; the object itself is left as it is. As text, such as "flow", it is told what is
            true of the problem.
        horizon: The number of rounds.
        seed: The same seed gives the same run.
        number: Which run of that seed: number 3 is the fourth replication that `compare` makes.
        bucket: The rounds between two decisions, where they are not taken in any round.
        report_lag: The rounds after which the total of a bucket, or without buckets that of a block,
            becomes known.
        before: What was played until the start, and is still arriving: an arm, or a reward (or its
            mean) that is no arm. A policy that was built before is told by its own parameter.
        history: For how many rounds before the start the totals of the arm `before` are known; the
            policy is told them, in parts of a bucket.

    >>> from latesum import ODAAFB, Problem, simulate
    >>> policy = ODAAFB(2, 250_000, mean_delay=50, delay_bound=100)
    >>> simulate(Problem([0.5, 0.6], "uniform(0, 100)"), policy, 250_000, seed=1)
    Run(250,000 rounds, 12 blocks, regret 2,049.1)
    """
    reports = Reports(bucket, report_lag)
    setting = RunSpec(
        problem, PolicySpec.of(policy), horizon, seed=seed, reports=reports, before=before,
        history=history,
    )  # fmt: skip
    setting.check()
    built = setting.prepared[1]
    if not isinstance(built, AttributedPolicy):
        return setting.run(number)
    seen = run_attributed(
        problem, built, setting.horizon, seed_sequence=setting.seeds(number, WORLD), record=True
    )
    assert seen.starts is not None
    assert seen.arms is not None
    lengths = np.diff(np.append(seen.starts, setting.horizon)).tolist()
    plays = [Play(arm, rounds) for arm, rounds in zip(seen.arms.tolist(), lengths, strict=True)]
    return Run(problem, plays)


def compare(
    problem: Problem | Market,
    policies: Mapping[str, AnyPolicy | str],
    horizon: int,
    *,
    replications: int,
    seed: int,
    bucket: int = 1,
    report_lag: int = 0,
    before: Reward | float | str | None = None,
    history: int = 0,
    random_order: bool = False,
    measures: Sequence[str] = (),
    **how: Unpack[RunOptions],
) -> Comparison:
    """Play every policy `replications` times; the result does not depend on where that is done.

    Args:
        problem: What is played: a problem, or a law of markets, from which every run draws one. In a market
            policies are given as text, "switchback" and the analysts' tests ("half-time-test", "geo-test")
            among them; those of one stream show the same in all regions, and are told the history.
        policies: Policies by name. One may be given as text, such as "flow" or
            "package.module:Class"; it is then told what is true of the problem.
        horizon: The number of rounds; of a market, of its buckets.
        replications: How often each policy is run.
        seed: The same seed gives the same result.
        bucket: The rounds between two decisions, where they are not taken in any round.
        report_lag: The rounds after which the total of a bucket, or without buckets that of a block,
            becomes known.
        before: What was played until the start, and is still arriving, as for `simulate`.
        history: For how many rounds of it the totals are known, as for `simulate`.
        random_order: Whether the order of the arms is drawn anew in every replication, the same
            for all policies; these must be text then, since each is built for the order it meets.
        measures: What is kept of every run beside regret, `ended_on_best` and `switches`.
        how: Where and how runs are made: `workers`, a folder `store` to keep them in,
            `progress=True` for a bar, and the rest of what `latesum.experiments.engine.run` takes.

    >>> from latesum import ODAAF, Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> policy = ODAAF(2, 5_000, mean_delay=5)
    >>> result = compare(problem, {"ODAAF": policy}, 5_000, replications=4, seed=1)
    >>> result.summary()[0].ended_on_best
    1.0
    >>> from latesum.simulation.market import Market
    >>> names = {"a test": "half-time-test", "an equal split": "equal-split"}
    >>> found = compare(Market(regions=2), names, 28, replications=4, seed=1)
    >>> found.runs["a test"].regrets.shape                     # sales lost, after each of 28 buckets
    (4, 28)
    """
    if not policies:
        raise InvalidInput("give at least one policy to compare, as {name: policy}.")
    if isinstance(problem, Market):
        given = {
            "bucket": bucket != 1, "report_lag": report_lag, "before": before is not None,
            "history": history, "random_order": random_order,
        }  # fmt: skip
        if said := [name for name, value in given.items() if value]:
            raise InvalidInput(
                f"a market says this itself: leave out {', '.join(said)}, and set it in the Market."
            )
        return _compare_in_market(problem, policies, horizon, replications, seed, measures, how)
    if random_order and not all(isinstance(policy, str) for policy in policies.values()):
        raise InvalidInput(
            "in random order a policy is built for the arms as each run meets them: give policies "
            'as text, such as "flow".'
        )
    reports = Reports(bucket, report_lag)
    settings = [
        RunSpec(
            problem,
            PolicySpec.of(policy),
            horizon, seed=seed, reports=reports, checkpoints=default_checkpoints(horizon),
            measures=(*USUAL_MEASURES, *measures), order=ORDER if random_order else None,
            before=before, history=history, policy_name=name,
        )
        for name, policy in policies.items()
    ]  # fmt: skip
    results = run(settings, replications, **how)
    built = {setting.policy_name: setting.prepared[1] for setting in settings}
    description = {
        "problem": repr(problem),
        "horizon": settings[0].horizon,
        "replications": len(next(iter(results.runs.values()))),
        "seed": seed,
        "bucket": reports.bucket,
        "report_lag": reports.lag,
        "before": None if before is None else str(before),
        "history": history,
        "arm_order": "random" if random_order else "as given",
        "sees_more": [n for n, p in built.items() if isinstance(p, AttributedPolicy)],
        "broken_assumptions": [list(each) for each in broken_assumptions(problem, built)],
    }
    return Comparison({policy: runs for (_, policy), runs in results.runs.items()}, description)


def _compare_in_market(
    market: Market, policies: Mapping[str, AnyPolicy | str], horizon: int, replications: int, seed: int,
    measures: Sequence[str], how: RunOptions,
) -> Comparison:  # fmt: skip
    from latesum.experiments.markets.spec import MarketRunSpec  # it takes a while to import

    market = replace(market, buckets=horizon)
    settings = [
        MarketRunSpec.compared(
            market, policy, seed=seed, measures=measures, problem_name="market", policy_name=name
        )
        for name, policy in policies.items()
    ]
    for setting in settings:
        setting.check()
    results = run(settings, replications, **how)
    description = {
        "problem": repr(market),
        "horizon": market.buckets,
        "unit": "buckets",
        "replications": len(next(iter(results.runs.values()))),
        "seed": seed,
        "sees_more": [],
    }
    return Comparison({policy: runs for (_, policy), runs in results.runs.items()}, description)


def default_checkpoints(horizon: int, count: int = 200, early: int = 100) -> tuple[int, ...]:
    """Rounds at which regret is kept: dense at first, even later, the horizon last.

    >>> default_checkpoints(10)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    """
    if not isinstance(horizon, int) or horizon < 1:
        return ()  # the setting refuses it, in a sentence
    spread = np.concatenate([np.geomspace(1, horizon, early), np.linspace(1, horizon, count)])
    return tuple(np.unique(np.rint(spread).astype(np.int64)).tolist())
