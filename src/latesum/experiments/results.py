"""The results of runs: a table in print, tidy frames, a summary, a figure."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum import _render
from latesum._checks import InvalidInput, known_name
from latesum._extras import as_frame, figure_class, require, save
from latesum._render import TextTable, new_table, plain
from latesum.experiments.spec import Spec
from latesum.experiments.stats import Z, number_text, ratio_of_means, standard_error
from latesum.experiments.store import Rows, atomic_write, to_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Per = Literal["checkpoint", "run", "summary"]

#: Okabe and Ito's colors, which color-blind readers can tell apart; yellow is left out.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")
#: More panels than this cannot be read; the figure says which problems it leaves out.
MAX_PANELS = 24
#: The axes begin where the regret is this share of the largest one.
_SMALLEST_SHARE = 1e-3


class Summary(NamedTuple):
    """How one policy ended on one problem: its regret over all runs, and what else matters."""

    problem: str
    policy: str
    replications: int
    mean: float
    standard_error: float  # of the mean; NaN for a single run
    median: float
    percentile_95: float
    percentile_99: float
    worst: float
    ended_on_best: float  # the share of runs; NaN where it was not measured
    switches: float  # on average; NaN where it was not measured


@dataclass(frozen=True)
class Results:
    """Run specifications and what was measured in their runs.

    `results["flow"]`, or `results["problem", "flow"]` where there are several problems, are the
    results of one specification; iterating gives those of each. They have `regrets`, one row per
    run and one column per checkpoint, and all that was `measured`.

    `base` is a policy whose regret the others are divided by, or a problem by whose regret that of
    the same policy is; see `ratio`.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> results = compare(problem, ["flow", "oracle"], 1_000, replications=3, seed=1)
    >>> results.policies, results["flow"].regrets[:, -1].shape
    (['flow', 'oracle'], (3,))
    """

    specs: Sequence[Spec]
    rows: Sequence[Rows] = field(repr=False)
    base: str | None = None

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
        return np.array(self.specs[0].checkpoints)

    def __iter__(self) -> Iterator[Results]:
        for spec, rows in zip(self.specs, self.rows, strict=True):
            yield Results([spec], [rows])

    def __getitem__(self, names: str | tuple[str, str]) -> Results:
        if isinstance(names, str):
            if len(self.problems) > 1:
                raise InvalidInput(f"name a problem as well: results[problem, {names!r}].")
            names = self.problems[0], names
        known_name(names[0], self.problems, "problem here")
        here = {each.policies[0]: each for each in self if each.problems[0] == names[0]}
        return here[known_name(names[1], here, "policy on this problem")]

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
    def replications(self) -> int:
        """The number of runs, of the first specification."""
        return len(next(iter(self.rows[0].values())))

    # Tables.

    def summary(self) -> list[Summary]:
        """One row per specification, at the horizon."""
        rows = []
        for each in self:
            final, found = each.regrets[:, -1], each.measured
            kept = [found.get(name, np.array([math.nan])) for name in ("ended_on_best", "switches")]
            means = [float(values.mean()) for values in (final, *kept)]
            quantiles = np.quantile(final, [0.5, 0.95, 0.99, 1.0]).tolist()
            spec, error = each.specs[0], float(standard_error(final))
            about = spec.problem_name, spec.policy_name, len(final)
            rows.append(Summary(*about, means[0], error, *quantiles, *means[1:]))
        return rows

    def ratio(self, problem: str, policy: str) -> tuple[Floats, Floats]:
        """Mean regret over that of the base, and its standard error, at every checkpoint."""
        return ratio_of_means(self[problem, policy].regrets, self.divisor(problem, policy).regrets)

    def divisor(self, problem: str, policy: str) -> Results:
        """The results by whose mean regret that of a policy on a problem is divided."""
        if self.base is None:
            raise InvalidInput("say what regrets are divided by: a policy or a problem, `base`.")
        return self[(problem, self.base) if self.base in self.policies else (self.base, policy)]

    def table(self) -> TextTable:
        """One row per specification: the regret at the horizon and what else matters."""
        several, about = len(self.problems) > 1, self.specs[0].about
        horizons = {spec.about["horizon"] for spec in self.specs}
        unit = about.get("unit", "rounds")
        when = f"after {horizons.pop():,} {unit}" if len(horizons) == 1 else "at the horizon"
        counts = sorted({each.replications for each in self})
        runs = " to ".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
        title = f"Regret {when}, {runs} replications"
        if all(spec.about.get("order") == "drawn" for spec in self.specs):
            title += ", arms in random order"
        title += "" if several else f"\n{about['problem']}"
        columns = ["problem"] if several else []
        columns += ["policy", "mean", "± s.e.", "median", "95%", "99%", "worst"]
        columns += ["ends on best", "switches"]
        columns += [] if self.base is None else [f"over {self.base}"]
        table = new_table(title, columns)
        broken = self._broken_assumptions()
        for spec, row in zip(self.specs, self.summary(), strict=True):
            mark = " *" if spec.attributed else ""
            mark += " †" if any(row.policy in names for names in broken.values()) else ""
            cells = [row.problem] if several else []
            cells += [row.policy + mark, *map(number_text, row[3:9])]
            cells += [f"{row.ended_on_best:.1%}", f"{row.switches:,.1f}"]
            if self.base is not None:
                value, error = (float(each[-1]) for each in self.ratio(row.problem, row.policy))
                cells.append(f"{value:.4g} ± " + ("–" if math.isnan(error) else f"{error:.2g}"))
            table.add_row(*cells)
        notes = [f"† {', '.join(names)}: {sentence}" for sentence, names in broken.items()]
        if any(spec.attributed for spec in self.specs):
            notes.insert(0, "* attributed feedback: not comparable, a lower reference")
        if notes:
            table.caption = "\n".join(notes)
        return table

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
            "policies": [plain(row) for row in self.summary()],
        }

    def to_frame(self, backend: str = "pyarrow", *, per: Per = "checkpoint") -> Any:
        """A tidy table, with one column for each parameter that is varied.

        Args:
            backend: "pyarrow", "pandas" or "polars".
            per: "checkpoint": one row per run and checkpoint, with the rounds and the regret.
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

    def to_parquet(self, path: str | Path) -> None:
        """Write one row per run, as `to_frame(per="run")` has it, with the regret at checkpoints.

        The file is there as a whole or not at all, and the same results give the same bytes.
        """
        pq = require("pyarrow.parquet", "experiments")
        try:
            with atomic_write(Path(path)) as unfinished:
                pq.write_table(self._arrow("run", curves=True), unfinished, compression="zstd")
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error}.") from error

    def _arrow(self, per: Per, *, curves: bool = False) -> Any:
        pa = require("pyarrow", "parquet")
        tables = []
        varied = varied_columns(self.specs)
        for place, one in enumerate(self):
            columns = one._columns(per, curves)
            labels = {"problem": one.problems[0], "policy": one.policies[0]}
            labels |= {name: values[place] for name, values in varied.items()}
            size = len(next(iter(columns.values())))
            same = {name: pa.array([value] * size) for name, value in labels.items()}
            tables.append(pa.table({**same, **columns}))
        about = {"about": json.dumps(dict(self.specs[0].about), sort_keys=True)}
        table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
        return table.replace_schema_metadata(about)

    def _columns(self, per: Per, curves: bool) -> dict[str, Any]:
        """The columns of one specification, beside its labels."""
        if per == "summary":
            (row,) = self.summary()
            return {name: [getattr(row, name)] for name in Summary._fields[2:]}
        runs = np.arange(self.replications)
        if per == "checkpoint":
            points = self.checkpoints
            return {
                "run": np.repeat(runs, len(points)),
                "rounds": np.tile(points, len(runs)),
                "regret": self.regrets.ravel(),
            }
        columns: dict[str, Any] = {"run": runs, **to_columns(self.measured)}
        if "regret" in columns:
            if curves:
                columns["regret_at_checkpoints"] = columns["regret"]
            columns["regret"] = self.regrets[:, -1]
        return columns

    def joined(self, other: Results) -> Results:
        """These and the results of further policies, which have other names."""
        specs, rows = [*self.specs, *other.specs], [*self.rows, *other.rows]
        check_names(specs)
        return replace(self, specs=specs, rows=rows)

    # Figure.

    def plot(self, path: str | Path | None = None) -> Figure:
        """Mean regret over rounds with 95% bands, on logarithmic axes, one panel per problem.

        Every policy has one style in all panels. Where there are more problems than panels, the
        figure says which it leaves out. The ending of `path` says in which format it is written.
        """
        shown, left_out = self.problems[:MAX_PANELS], self.problems[MAX_PANELS:]
        columns = min(len(shown), 3 if len(shown) > 4 else 2)
        rows = math.ceil(len(shown) / columns)
        width, height = (7.2, 4.2) if len(shown) == 1 else (3.6 * columns, 2.7 * rows)
        figure: Figure = figure_class()(layout="constrained")
        frames = figure.subplots(rows, columns, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axes, problem in zip(frames, shown, strict=False):
            self._draw(axes, [each for each in self if each.problems[0] == problem], handles)
            text = self.specs[0].about["problem"] if len(shown) == 1 else problem
            axes.set_title(textwrap.fill(text, int(width / columns * 13)), fontsize=8)
            axes.grid(True, which="major", alpha=0.3)
            axes.tick_params(labelsize=8)
        for axes in frames[len(shown) :]:
            axes.set_visible(False)
        figure.supylabel("mean regret, 95% band", fontsize=9)
        below = self.specs[0].about.get("unit", "rounds")
        if left_out:
            text = f"{len(left_out)} more problems are not shown: {'; '.join(left_out)}"
            below += "\n" + textwrap.fill(textwrap.shorten(text, 600), int(width * 16))
        figure.supxlabel(below, fontsize=7 if left_out else 9)
        across = max(1, int(width * 17 // (max(map(len, handles)) + 8)))
        lines = math.ceil(len(handles) / across)
        figure.set_size_inches(width, height + 0.2 * lines + 0.12 * below.count("\n") + 0.3)
        style = {"ncols": across, "fontsize": 8, "frameon": False}
        figure.legend(handles.values(), handles, loc="outside upper center", **style)
        return save(figure, path)

    def _draw(self, axes: Any, here: Sequence[Results], handles: dict[str, Any]) -> None:
        """Curves with their bands, on axes from where regret is worth showing to the horizon."""
        bands = []
        for each in here:
            spec, rounds, mean = each.specs[0], each.checkpoints, each.regrets.mean(axis=0)
            half = np.nan_to_num(Z * standard_error(each.regrets))  # 0 for a single run
            bands.append((rounds, mean, mean + half))
            place = self.policies.index(spec.policy_name)
            color, line = COLORS[place % len(COLORS)], LINES[place // len(COLORS) % len(LINES)]
            label = spec.policy_name + (" (attributed feedback)" if spec.attributed else "")
            if mean[-1] <= 0:  # a logarithmic axis has no place for it
                label += " (regret 0, below the axis)"
            line, marker = (":" if spec.attributed else line), ("o" if len(rounds) == 1 else "")
            style = {"color": color, "linestyle": line, "marker": marker, "linewidth": 1.4}
            (handles[label],) = axes.plot(rounds, mean, **style)
            axes.fill_between(rounds, mean - half, mean + half, color=color, alpha=0.2, linewidth=0)
        largest = max(float(top.max()) for *_, top in bands)
        end = max(int(rounds[-1]) for rounds, *_ in bands)
        axes.set_xscale("log")
        if largest <= 0:
            axes.set_xlim(1, max(2, end))
            return
        rising = [(rounds, mean) for rounds, mean, _ in bands if mean[-1] > 0]
        least = min(_SMALLEST_SHARE * largest, *(0.5 * float(mean[-1]) for _, mean in rising))
        start = min(int(rounds[np.argmax(mean >= least)]) for rounds, mean in rising)
        axes.set_yscale("log")
        axes.set_ylim(least, 1.3 * largest)
        axes.set_xlim(0.8 * start, max(1.02 * end, 1.6 * start))


def check_names(specs: Sequence[Spec]) -> None:
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


def varied_columns(specs: Sequence[Spec]) -> dict[str, list[Any]]:
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
    if any(all(type(value) is kind for value in known) for kind in (bool, int, float)):
        return list(values)
    numbers = all(isinstance(value, int | float) and value is not True for value in known)
    return [None if value is None else float(value) if numbers else str(value) for value in values]
