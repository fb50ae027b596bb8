"""Several policies on one problem, many times over, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, whole_number
from latesum.attributed import AttributedPolicy
from latesum.lab.assumptions import broken_assumptions
from latesum.lab.parallel import in_chunks
from latesum.lab.replication import Replication, replicate
from latesum.lab.simulation import AnyPolicy
from latesum.world import Problem, Reward

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FORMAT = "1"


class Summary(NamedTuple):
    """How one policy ended: its regret over all replications, and what else matters."""

    policy: str
    mean: float
    standard_error: float
    median: float
    percentile_95: float
    percentile_99: float
    worst: float
    ended_on_best: float
    switches: float


class Runs(NamedTuple):
    """All replications of one policy."""

    regrets: Floats  # one row a replication, one column a checkpoint
    ended_on_best: NDArray[np.bool_]
    switches: Integers


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`: it prints as a table, plots, and is saved as Parquet."""

    checkpoints: Integers
    runs: dict[str, Runs]
    description: dict[str, Any]

    @property
    def policies(self) -> list[str]:
        """The names of the policies compared."""
        return list(self.runs)

    def mean_regret(self, policy: str) -> Floats:
        """The mean regret at every checkpoint."""
        mean: Floats = self.runs[policy].regrets.mean(axis=0)
        return mean

    def standard_error(self, policy: str) -> Floats:
        """The standard error of the mean regret at every checkpoint."""
        error: Floats = _standard_error(self.runs[policy].regrets)
        return error

    def quantile(self, policy: str, share: float) -> Floats:
        """A quantile of the regret at every checkpoint."""
        quantile: Floats = np.quantile(self.runs[policy].regrets, share, axis=0)
        return quantile

    def summary(self) -> list[Summary]:
        """One row a policy, at the horizon."""
        rows = []
        for name, (regrets, ended_on_best, switches) in self.runs.items():
            final = regrets[:, -1]
            median, percentile_95, percentile_99 = np.quantile(final, [0.5, 0.95, 0.99]).tolist()
            rows.append(
                Summary(
                    name,
                    float(final.mean()),
                    float(_standard_error(final)),
                    median,
                    percentile_95,
                    percentile_99,
                    float(final.max()),
                    float(ended_on_best.mean()),
                    float(switches.mean()),
                )
            )
        return rows

    def __str__(self) -> str:
        from latesum.lab.tables import comparison_table, plain_text

        return plain_text(comparison_table(self))

    def plot(self, path: str | Path | None = None) -> Figure:
        """Mean regret over rounds with 95% bands; written to `path` where one is given."""
        from latesum.lab.figures import plot_comparison

        return plot_comparison(self, path)

    def to_parquet(self, path: str | Path) -> None:
        """Save everything in one file, written aside and renamed so that it is never half there."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, list[Any]] = {
            "policy": [], "replication": [], "regret": [],
            "ended_on_best": [], "switches": [], "regret_at_checkpoints": [],
        }  # fmt: skip
        for name, (regrets, ended_on_best, switches) in self.runs.items():
            columns["policy"] += [name] * len(regrets)
            columns["replication"] += range(len(regrets))
            columns["regret"] += regrets[:, -1].tolist()
            columns["ended_on_best"] += ended_on_best.tolist()
            columns["switches"] += switches.tolist()
            columns["regret_at_checkpoints"] += regrets.tolist()
        about = {
            "latesum_comparison": _FORMAT,
            "checkpoints": json.dumps(self.checkpoints.tolist()),
            "description": json.dumps(self.description, sort_keys=True),
        }
        table = pa.table(columns).replace_schema_metadata(about)
        path = Path(path)
        aside = path.with_name(path.name + ".part")
        try:
            pq.write_table(table, aside)
            aside.replace(path)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error}.") from error

    @classmethod
    def from_parquet(cls, path: str | Path) -> Comparison:
        """Read what `to_parquet` saved."""
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot read a comparison from {path}: {error}.") from error
        about = {key.decode(): value for key, value in (table.schema.metadata or {}).items()}
        if about.get("latesum_comparison") != _FORMAT.encode():
            raise InvalidInput(f"{path} was not written by this version's Comparison.to_parquet.")
        names = table["policy"].to_numpy()
        runs = {}
        for name in dict.fromkeys(names.tolist()):
            rows = table.filter(names == name)
            runs[name] = Runs(
                np.array(rows["regret_at_checkpoints"].to_pylist()),
                rows["ended_on_best"].to_numpy(),
                rows["switches"].to_numpy(),
            )
        checkpoints = np.array(json.loads(about["checkpoints"]), dtype=np.int64)
        return cls(checkpoints, runs, json.loads(about["description"]))


def compare(
    problem: Problem,
    policies: Mapping[str, AnyPolicy],
    horizon: int,
    *,
    replications: int,
    seed: int,
    workers: int = 1,
    bucket: int = 1,
    report_lag: int = 0,
    before: Reward | float | str | None = None,
    history: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Play every policy `replications` times; the result does not depend on `workers`.

    `progress(done, all)` is called now and then with the number of runs; `bucket`, `report_lag`,
    `before` and `history` are as in `simulate`.

    >>> from latesum import ODAAF, Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> policy = ODAAF(2, 5_000, mean_delay=5)
    >>> result = compare(problem, {"ODAAF": policy}, 5_000, replications=4, seed=1)
    >>> result.summary()[0].ended_on_best
    1.0
    """
    horizon = whole_number(horizon, "the horizon", at_least=1)
    replications = whole_number(replications, "the number of replications", at_least=1)
    workers = whole_number(workers, "the number of workers", at_least=1)
    bucket = whole_number(bucket, "the bucket", at_least=1)
    report_lag = whole_number(report_lag, "the report lag")
    history = whole_number(history, "the rounds of the history")
    if not policies:
        raise InvalidInput("give at least one policy to compare, as {name: policy}.")
    for name, policy in policies.items():
        if policy.n_arms != problem.n_arms:
            raise InvalidInput(
                f"{name} chooses among {policy.n_arms} arms and the problem has {problem.n_arms}."
            )
    checkpoints = default_checkpoints(horizon)
    job = _Job(
        problem, dict(policies), horizon, seed, bucket, report_lag, checkpoints, before, history
    )
    tasks = [(name, number) for name in policies for number in range(replications)]
    rows = in_chunks(job, tasks, workers=workers, progress=progress)
    runs = {}
    for index, name in enumerate(policies):
        regrets, ended_on_best, switches = zip(
            *rows[index * replications : (index + 1) * replications], strict=True
        )
        runs[name] = Runs(np.array(regrets), np.array(ended_on_best), np.array(switches))
    description = {
        "problem": repr(problem),
        "horizon": horizon,
        "replications": replications,
        "seed": seed,
        "bucket": bucket,
        "report_lag": report_lag,
        "before": None if before is None else str(before),
        "history": history,
        "sees_more": [n for n, p in policies.items() if isinstance(p, AttributedPolicy)],
        "broken_assumptions": [list(each) for each in broken_assumptions(problem, policies)],
    }
    return Comparison(checkpoints, runs, description)


def default_checkpoints(horizon: int) -> Integers:
    """Rounds at which regret is kept: dense at first, even later, the horizon last.

    >>> default_checkpoints(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
    early = np.geomspace(1, horizon, 100)
    even = np.linspace(1, horizon, 200)
    return np.unique(np.rint(np.concatenate([early, even])).astype(np.int64))


@dataclass(frozen=True)
class _Job:
    """One replication of one policy, wherever it is run."""

    problem: Problem
    policies: dict[str, AnyPolicy]
    horizon: int
    seed: int
    bucket: int
    report_lag: int
    checkpoints: Integers
    before: Reward | float | str | None
    history: int

    def __call__(self, task: tuple[str, int]) -> Replication:
        name, number = task
        return replicate(
            self.problem,
            self.policies[name],
            self.horizon,
            seed=(self.seed, number),
            checkpoints=self.checkpoints,
            bucket=self.bucket,
            report_lag=self.report_lag,
            before=self.before,
            history=self.history,
        )


def _standard_error(values: Floats) -> Any:
    """The standard error of the mean along the first axis; 0 for a single replication."""
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))
