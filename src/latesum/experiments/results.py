"""The results of runs: a table in print, tidy frames, a summary, a figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from latesum import _render
from latesum._checks import InvalidInput, known_name
from latesum._extras import as_frame, require
from latesum._render import TextTable, finite, new_table
from latesum.experiments import stats
from latesum.experiments.figures import Curves, plot_regret
from latesum.experiments.stats import number_text
from latesum.experiments.summaries import written_aside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: What was measured in the runs of a specification: by measure, one row per run.
Rows = Mapping[str, NDArray[Any]]
Per = Literal["checkpoint", "run", "summary"]


class Described(Protocol):
    """What results say about the specification of their runs."""

    @property
    def problem_name(self) -> str:
        """What the problem is called in tables."""

    @property
    def policy_name(self) -> str:
        """What the policy is called in tables."""

    @property
    def horizon(self) -> int:
        """How long a run is."""

    @property
    def checkpoint_rounds(self) -> Integers:
        """When regret is kept."""

    @property
    def attributed(self) -> bool:
        """Whether the policy has attributed feedback."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """What all runs of a grid may differ in, by the name of its column."""

    @property
    def policy_fields(self) -> tuple[str, Mapping[str, Any]]:
        """The kind of the policy, and its own parameters by the names of their columns."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What is the same for all policies of a comparison, as JSON values."""

    @property
    def broken_assumptions(self) -> Sequence[str]:
        """What the policy assumes and does not hold, in sentences."""


class Summary(NamedTuple):
    """How one policy ended on one problem: its regret over all runs, and what else matters.

    Args:
        problem: The name of the problem.
        policy: The name of the policy.
        replications: The number of runs.
        mean: The mean regret.
        standard_error: That of the mean; NaN for a single run.
        median: The median regret.
        percentile_95: What 95% of the runs stay below.
        percentile_99: What 99% of the runs stay below.
        worst: The largest regret.
        ended_on_best: The share of runs that ended on the best arm; NaN where it was not measured.
        switches: How often the arm changed, on average; NaN where it was not measured.
    """

    problem: str
    policy: str
    replications: int
    mean: float
    standard_error: float
    median: float
    percentile_95: float
    percentile_99: float
    worst: float
    ended_on_best: float
    switches: float

    def to_json(self) -> dict[str, Any]:
        """As JSON values; a standard error that there is not is null."""
        found: dict[str, Any] = finite(self._asdict())
        return found


@dataclass(frozen=True)
class Results:
    """Run specifications and what was measured in their runs.

    `results["flow"]`, or `results["problem", "flow"]` where there are several problems, are the
    results of one specification; iterating gives those of each. They have `regrets`, one row per
    run
    and one column per checkpoint, and all that was `measured`.

    Args:
        specs: What was run.
        rows: What was measured in the runs of each, one row per run.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> results = compare(problem, ["flow", "oracle"], 1_000, replications=3, seed=1)
    >>> results.policies, results["flow"].regrets[:, -1].shape
    (['flow', 'oracle'], (3,))
    """

    specs: Sequence[Described]
    rows: Sequence[Rows] = field(repr=False)

    def __post_init__(self) -> None:
        check_names(self.specs)

    @property
    def problems(self) -> list[str]:
        """The names of the problems."""
        return list(dict.fromkeys(spec.problem_name for spec in self.specs))

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return list(dict.fromkeys(spec.policy_name for spec in self.specs))

    @property
    def checkpoints(self) -> Integers:
        """The rounds at which regret was kept, those of the first specification."""
        return self.specs[0].checkpoint_rounds

    def __iter__(self) -> Iterator[Results]:
        for spec, rows in zip(self.specs, self.rows, strict=True):
            yield Results([spec], [rows])

    def __contains__(self, names: tuple[str, str]) -> bool:
        return any((spec.problem_name, spec.policy_name) == names for spec in self.specs)

    def __getitem__(self, names: str | tuple[str, str]) -> Results:
        if isinstance(names, str):
            if len(self.problems) > 1:
                raise InvalidInput(f"name a problem as well: results[problem, {names!r}].")
            names = self.problems[0], names
        problem, policy = names
        known_name(problem, self.problems, "problem here")
        here = [spec.policy_name for spec in self.specs if spec.problem_name == problem]
        known_name(policy, here, "policy on this problem")
        return next(each for each in self if names in each)

    # Of the runs of one specification.

    @property
    def measured(self) -> Rows:
        """By measure, one row per run."""
        if len(self.specs) != 1:
            raise InvalidInput('these are the results of several: take one, as results["flow"].')
        return self.rows[0]

    @property
    def regrets(self) -> Floats:
        """One row per run, one column per checkpoint."""
        if "regret" not in self.measured:
            raise InvalidInput(
                f"the runs of {self.specs[0].policy_name!r} on {self.specs[0].problem_name!r} have "
                'no regret to sum up; add "regret" to their measures.'
            )
        return self.measured["regret"]

    @property
    def ended_on_best(self) -> NDArray[np.bool_]:
        """Whether each run ended on the best arm."""
        return self.measured["ended_on_best"]

    @property
    def switches(self) -> Integers:
        """How often the arm changed in each run."""
        return self.measured["switches"]

    @property
    def replications(self) -> int:
        """The number of runs, of the first specification."""
        return len(next(iter(self.rows[0].values())))

    # Tables.

    def summary(self) -> list[Summary]:
        """One row per specification, at the horizon."""
        return [_summary(each) for each in self]

    def table(self) -> TextTable:
        """One row per specification: the regret at the horizon and what else matters."""
        several = len(self.problems) > 1
        columns = ["problem"] if several else []
        columns += ["policy", "mean", "± s.e.", "median", "95%", "99%", "worst"]
        table = new_table(self._title(), [*columns, "ends on best", "switches"])
        broken = self._broken_assumptions()
        for spec, row in zip(self.specs, self.summary(), strict=True):
            numbers = [row.mean, row.standard_error, row.median]
            numbers += [row.percentile_95, row.percentile_99, row.worst]
            mark = " *" if spec.attributed else ""
            mark += " †" if any(row.policy in names for names in broken.values()) else ""
            cells = [row.problem] if several else []
            cells += [row.policy + mark, *map(number_text, numbers)]
            table.add_row(*cells, f"{row.ended_on_best:.1%}", f"{row.switches:,.1f}")
        notes = [f"† {', '.join(names)}: {sentence}" for sentence, names in broken.items()]
        if any(spec.attributed for spec in self.specs):
            notes.insert(0, "* attributed feedback: not comparable, a lower reference")
        if notes:
            table.caption = "\n".join(notes)
        return table

    def _title(self) -> str:
        horizons = {spec.horizon for spec in self.specs}
        unit = self.specs[0].about.get("unit", "rounds")
        when = f"after {horizons.pop():,} {unit}" if len(horizons) == 1 else "at the horizon"
        counts = {len(next(iter(rows.values()))) for rows in self.rows}
        title = f"Regret {when}, {min(counts)} replications"
        if all(spec.about.get("order") == "drawn" for spec in self.specs):
            title += ", arms in random order"
        return title if len(self.problems) > 1 else f"{title}\n{self.specs[0].about['problem']}"

    def _broken_assumptions(self) -> dict[str, list[str]]:
        """The policies that break each assumption, by its sentence."""
        broken: dict[str, list[str]] = {}
        for spec in self.specs:
            for sentence in spec.broken_assumptions:
                names = broken.setdefault(sentence, [])
                if spec.policy_name not in names:
                    names.append(spec.policy_name)
        return broken

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return _render.table(self.table())

    def to_json(self) -> dict[str, Any]:
        """What the first specification says of the comparison, and the summary, as JSON values."""
        return {
            **self.specs[0].about,
            "replications": self.replications,
            "attributed": [spec.policy_name for spec in self.specs if spec.attributed],
            "broken_assumptions": [
                [names, sentence] for sentence, names in self._broken_assumptions().items()
            ],
            "policies": [row.to_json() for row in self.summary()],
        }

    def to_frame(self, backend: str = "pyarrow", *, per: Per = "checkpoint") -> Any:
        """A tidy table, with one column for each parameter that is varied.

        Args:
            backend: "pyarrow", "pandas" or "polars".
            per: "checkpoint": one row per run and checkpoint, with the rounds and the regret so
                far.
                "run": one row per run, with the regret at the horizon and every other measure.
                "summary": one row per specification.

        >>> from latesum import Problem, compare
        >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
        >>> texts = ["flow(mean_delay=5)", "flow(mean_delay=10)"]
        >>> made = compare(problem, texts, 1_000, replications=2, seed=1)
        >>> made.to_frame(per="run").column_names
        ['problem', 'policy', 'mean_delay', 'run', 'regret', 'ended_on_best', 'switches']
        """
        known_name(per, ("checkpoint", "run", "summary"), "kind of table, per")
        return as_frame(self._arrow(per), backend)

    def to_parquet(self, path: str | Path, *, per: Per = "run") -> None:
        """Write the table that `to_frame` makes; with `per="run"` also the regret at checkpoints.

        The file is written aside and renamed, so that it is never half there. The same results give
        the same bytes.

        Args:
            path: The file.
            per: What a row is, as for `to_frame`.
        """
        pq = require("pyarrow.parquet", "experiments")
        path = Path(path)
        try:
            with written_aside(path) as aside:
                pq.write_table(self._arrow(per, curves=True), aside, compression="zstd")
                aside.replace(path)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error}.") from error

    def _arrow(self, per: Per, *, curves: bool = False) -> Any:
        pa = require("pyarrow", "parquet")
        tables = []
        varied = varied_columns(self.specs)
        for place, (spec, rows) in enumerate(zip(self.specs, self.rows, strict=True)):
            columns = _rows_of(per, spec, rows, curves)
            size = len(next(iter(columns.values())))
            labels = {"problem": spec.problem_name, "policy": spec.policy_name}
            labels |= {name: values[place] for name, values in varied.items()}
            same = {name: pa.array([value] * size) for name, value in labels.items()}
            tables.append(pa.table({**same, **columns}))
        about = {"about": json.dumps(dict(self.specs[0].about), sort_keys=True)}
        table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
        return table.replace_schema_metadata(about)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Mean regret over rounds with 95% bands, one panel per problem.

        Args:
            path: Where to write the figure; the ending of the name says in which format.
        """
        about = self.specs[0].about
        return plot_regret(self.curves, about["problem"], about.get("unit", "rounds"), path)

    @property
    def curves(self) -> list[Curves]:
        """The regret of each specification, as a figure takes it."""
        return [
            Curves(
                each.specs[0].problem_name,
                each.specs[0].policy_name,
                each.checkpoints,
                each.regrets,
                each.specs[0].attributed,
            )
            for each in self
        ]

    def joined(self, other: Results) -> Results:
        """These and the results of further policies.

        Args:
            other: The others; no policy may have the name of one that is here on the same problem.
        """
        specs, rows = [*self.specs, *other.specs], [*self.rows, *other.rows]
        return replace(self, specs=specs, rows=rows)


def check_names(specs: Sequence[Described]) -> None:
    """Refuse two specifications that would have one name in a table."""
    seen = set()
    for spec in specs:
        names = (spec.problem_name, spec.policy_name)
        if names in seen:
            raise InvalidInput(
                f"two specifications are {names[1]!r} on {names[0]!r}; give each a name of its own "
                "by problem_name= or policy_name=."
            )
        seen.add(names)


def varied_columns(specs: Sequence[Described]) -> dict[str, list[Any]]:
    """The columns of what differs between specifications, each with one value for each of them.

    A parameter of a policy counts if it differs between specifications of one kind of policy.
    """
    found: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for spec in specs for name in spec.fields):
        values = [spec.fields.get(name) for spec in specs]
        if len(set(map(repr, values))) > 1:
            found[name] = _alike(values)
    kinds = [spec.policy_fields for spec in specs]
    for name in dict.fromkeys(name for _, given in kinds for name in given):
        values = [given.get(name) for _, given in kinds]
        pairs = {(kind, repr(value)) for (kind, _), value in zip(kinds, values, strict=True)}
        if len(pairs) > len({kind for kind, _ in pairs}):
            column = f"policy_{name}" if name in specs[0].fields else name
            found[column] = _alike(values)
    return found


def _alike(values: Sequence[Any]) -> list[Any]:
    """Values of one column: numbers where all are, or else texts."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return list(values)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in known):
        return list(values)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]


def _rows_of(per: Per, spec: Described, rows: Rows, curves: bool) -> dict[str, Any]:
    """The columns of one specification, beside its labels."""
    if per == "summary":
        row = _summary(Results([spec], [rows]))._asdict()
        return {name: [row[name]] for name in Summary._fields[2:]}
    runs = len(next(iter(rows.values())))
    if per == "run":
        columns: dict[str, Any] = {"run": np.arange(runs)}
        for name, values in to_columns(rows).items():
            columns[name] = rows["regret"][:, -1] if name == "regret" else values
        if curves and "regret" in rows:
            columns["regret_at_checkpoints"] = to_columns(rows)["regret"]
        return columns
    regrets = Results([spec], [rows]).regrets
    points = spec.checkpoint_rounds
    return {
        "run": np.repeat(np.arange(runs), len(points)),
        "rounds": np.tile(points, runs),
        "regret": regrets.ravel(),
    }


def _summary(one: Results) -> Summary:
    """The results of one specification in one row."""
    final = one.regrets[:, -1]
    median, percentile_95, percentile_99 = np.quantile(final, [0.5, 0.95, 0.99]).tolist()
    shares = [
        float(one.measured[name].mean()) if name in one.measured else float("nan")
        for name in ("ended_on_best", "switches")
    ]
    return Summary(
        one.specs[0].problem_name,
        one.specs[0].policy_name,
        len(final),
        float(final.mean()),
        float(stats.standard_error(final)),
        median,
        percentile_95,
        percentile_99,
        float(final.max()),
        *shares,
    )


def to_columns(measured: Rows) -> dict[str, Any]:
    """What was measured as columns of an Arrow table; an array per run is a list there."""
    import pyarrow as pa

    return {
        name: pa.array(values if values.ndim == 1 else list(values))
        for name, values in measured.items()
    }


def from_column(column: Any) -> NDArray[Any]:
    """The opposite of `to_columns`, of one column."""
    import pyarrow as pa

    column = column.combine_chunks()
    if pa.types.is_list(column.type):
        flat: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(column), -1)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
