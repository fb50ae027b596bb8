"""The experiments of the paper, whole, beside its published curves.

Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed, Aggregated Anonymous
Feedback, ICML. Each experiment is a file in `data/`, written like anybody's sweep file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from latesum._checks import known_name
from latesum.lab.experiment import Experiment
from latesum.lab.results import Results
from latesum.lab.runners import Runner
from latesum.lab.store import Store
from latesum.lab.sweep import Plan, Progress, make_runs, plan

#: The figures, by the paper's numbers, in its order.
FIGURES = ("3a", "3b", "5", "6a", "6b")


def experiment_text(figure: str) -> str:
    """The file that describes a figure's experiment, to copy and change."""
    known_name(figure, FIGURES, "figure of the paper")
    return files("latesum.lab.paper").joinpath(f"data/figure-{figure}.toml").read_text("utf-8")


def experiment(figure: str) -> Experiment:
    """The experiment behind a figure, as published.

    >>> experiment("3a").replications
    200
    """
    from latesum.lab.experiment_file import parse

    return parse(experiment_text(figure), ".toml", f"figure-{figure}.toml")[0]


def published_replications(figure: str) -> dict[str, int]:
    """How many runs each policy's published curve is the mean of."""
    asked = experiment(figure)
    return {
        entry.name or entry.policy: entry.replications or asked.replications
        for entry in asked.policies
    }


@dataclass(frozen=True)
class PaperRun:
    """The results of some of the figures, and what making them took."""

    results: dict[str, Results]
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
    workers: int = 1,
    runner: Runner | None = None,
    again: bool = False,
    announce: Callable[[list[Plan]], None] | None = None,
    progress: Callable[[str], AbstractContextManager[Progress]] | None = None,
) -> PaperRun:
    """Run the experiments of some figures; what is in the folder already is not run again.

    Figures share the runs that they have in common. `announce` is called with all plans before
    the first run, `progress(figure)` gives what shows the progress of one.
    """
    started = time.perf_counter()
    store = Store(folder)
    asked = {}
    for figure in figures:
        chosen = experiment(figure)
        if seed is not None:
            chosen = chosen.model_copy(update={"seed": seed})
        if replications is not None:
            chosen = chosen.with_replications(replications)
        elif quick:
            chosen = chosen.quicker()
        asked[figure] = chosen
    plans = [plan(chosen, store, again=again) for chosen in asked.values()]
    if announce:
        announce(plans)
    results = {}
    made = kept = 0
    for figure, chosen in asked.items():
        planned = plan(chosen, store)  # anew: the figures before may have made some of its runs
        store.write_manifest(chosen, planned.cells)
        made += planned.runs_left
        kept += planned.all_runs - planned.runs_left
        if planned.work and progress:
            with progress(figure) as show:
                make_runs(planned, store, workers=workers, runner=runner, progress=show)
        elif planned.work:
            make_runs(planned, store, workers=workers, runner=runner)
        store.merge(chosen, planned.cells)
        results[figure] = Results.read(store, chosen, planned.cells)
    where = (
        f"{workers} process{'es' if workers > 1 else ''}" if runner is None else "a Dask cluster"
    )
    seconds = time.perf_counter() - started
    return PaperRun(results, seconds, made, kept, where, quick)


def draw(
    results: Results, folder: str | Path, kinds: Sequence[str] | None = None
) -> dict[str, Path]:
    """Draw the figures of one experiment, as PDF and PNG; returns the PNGs by kind.

    Kinds are "figure", "by-delay" and "regret"; all that there are without.
    """
    from latesum.lab.paper import drawing

    target = Path(folder) / results.experiment.name
    target.mkdir(parents=True, exist_ok=True)
    ratio = results.experiment.ratio
    if ratio is not None and ratio.problem is not None:
        makers = {
            "figure": drawing.over_problems_figure,
            "regret": drawing.regret_at_horizon_figure,
        }
    else:
        makers = {
            "figure": drawing.ratio_figure,
            "by-delay": drawing.ratio_by_problem,
            "regret": drawing.regret_figure,
        }
    return {
        kind: drawing.write(make(results), target, kind)[-1]
        for kind, make in makers.items()
        if kinds is None or kind in kinds
    }


def quick_figure(figure: str, folder: str | Path, *, workers: int = 2) -> Path:
    """A quick version of one figure, ours over the published; returns the PNG."""
    run = run_paper([figure], folder, quick=True, workers=workers)
    return draw(run.results[figure], folder, ["figure"])["figure"]
