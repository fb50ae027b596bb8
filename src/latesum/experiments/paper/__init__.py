"""The experiments of the paper, whole, beside its published curves.

Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed, Aggregated Anonymous
Feedback, ICML. Each experiment is a file in `data/`, written like any sweep file.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from latesum._checks import known_name
from latesum._progress import chosen_progress
from latesum.experiments.engine import RunOptions, todo
from latesum.experiments.runners import OnDask
from latesum.experiments.store import RunStore
from latesum.experiments.sweeps import Grid, SweepResults, run_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The figures, by the paper's numbers, in its order.
FIGURES = ("3a", "3b", "5", "6a", "6b")
#: Enough for a look at the shape of a curve.
_QUICK_REPLICATIONS = 20


def experiment_text(figure: str) -> str:
    """The file that describes a figure's experiment, to copy and change."""
    known_name(figure, FIGURES, "figure of the paper")
    return files(__package__).joinpath(f"data/figure-{figure}.toml").read_text("utf-8")


@functools.cache
def experiment(figure: str) -> Grid:
    """The experiment behind a figure, as published.

    >>> experiment("3a").experiment.replications
    200
    """
    from latesum.experiments.sweeps.file import parse

    return parse(experiment_text(figure), f"figure-{figure}.toml")


def published_replications(figure: str) -> dict[str, int]:
    """How many runs each policy's published curve is the mean of."""
    grid = experiment(figure)
    return {
        setting.policy_name: count
        for setting, count in zip(grid.settings, grid.replications, strict=True)
    }


@dataclass(frozen=True)
class PaperRun:
    """The results of some of the figures, and what making them took."""

    results: dict[str, SweepResults]
    folder: Path  # for the report: one for each number of runs and each seed
    seconds: float
    runs_made: int
    runs_kept: int
    workers: str
    quick: bool


def run_paper(
    figures: Sequence[str],
    folder: str | Path,
    *,
    quick: bool = False,
    replications: int | None = None,
    seed: int | None = None,
    **how: Unpack[RunOptions],
) -> PaperRun:
    """Run the experiments of some figures; what is in the folder already is not run again.

    Figures share the runs that they have in common. What is not as published, a quick look or
    another seed, has tables and a report in a folder of its own within `folder`. Where and how runs
    are made is said as in `latesum.experiments.engine.run`.
    """
    started = time.perf_counter()
    asked: dict[str, Grid] = {}
    for figure in figures:
        grid = experiment(figure)
        if seed is not None:
            grid = grid.with_seed(seed)
        if replications is not None:
            grid = grid.with_replications(replications)
        elif quick:
            grid = grid.with_replications(min(grid.experiment.replications, _QUICK_REPLICATIONS))
        asked[figure] = grid
    named = [] if replications is None else [f"{replications}-runs"]
    named += ["quick"] if quick and replications is None else []
    named += [] if seed is None else [f"seed-{seed}"]
    within = "-".join(named)
    again, announce = how.pop("again", False), how.pop("announce", None)
    settings = [setting for grid in asked.values() for setting in grid.settings]
    counts = [count for grid in asked.values() for count in grid.replications]
    progress = chosen_progress(how.get("progress"))
    left = todo(settings, counts, RunStore(folder), again=again, progress=progress)
    if announce:
        announce(left)
    results = {
        figure: run_sweep(grid, folder, tables=str(Path(within, figure)), **how)
        for figure, grid in asked.items()
    }
    workers, runner = how.get("workers", 1), how.get("runner")
    where = (
        "a Dask cluster"
        if isinstance(runner, OnDask)
        else (f"{workers} process{'es' if workers > 1 else ''}")
    )
    return PaperRun(
        results,
        Path(folder, within),
        time.perf_counter() - started,
        left.runs_left,
        left.all_runs - left.runs_left,
        where,
        quick,
    )


def draw(
    results: SweepResults, folder: str | Path, kinds: Sequence[str] | None = None
) -> dict[str, Path]:
    """Draw the figures of one experiment, as PDF and PNG; returns the PNGs by kind.

    Kinds are "figure", "by-delay" and "regret"; all that there are without.
    """
    from latesum.experiments.paper import drawing

    target = Path(folder) / results.experiment.name
    target.mkdir(parents=True, exist_ok=True)
    ratio = results.experiment.ratio
    if ratio is not None and ratio.problem is not None:
        makers: dict[str, Callable[[SweepResults], Figure]] = {
            "figure": drawing.over_problems_figure,
            "regret": drawing.regret_at_horizon_figure,
        }
    else:
        makers = {
            "figure": drawing.ratio_figure,
            "by-delay": drawing.ratio_by_problem,
            "regret": lambda made: made.plot(),
        }
    return {
        kind: drawing.write(make(results), target, kind)[-1]
        for kind, make in makers.items()
        if kinds is None or kind in kinds
    }


def quick_figure(figure: str, folder: str | Path, *, workers: int = 2) -> Path:
    """A quick version of one figure, ours over the published; returns the PNG."""
    run = run_paper([figure], folder, quick=True, workers=workers)
    return draw(run.results[figure], run.folder, ["figure"])["figure"]
