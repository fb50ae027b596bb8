"""The experiments of the paper, whole, beside its published curves.

Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed, Aggregated Anonymous
Feedback, ICML. Each experiment is a file in `data/`, written like any sweep file.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Unpack

from latesum._checks import known_name
from latesum.experiments.engine import RunOptions, missing_chunks, run
from latesum.experiments.results import Results
from latesum.experiments.runners import OnDask
from latesum.experiments.store import RunStore
from latesum.experiments.sweep import Experiment, expand, parse, run_sweep

#: The figures, by the paper's numbers, in its order.
FIGURES = ("3a", "3b", "5", "6a", "6b")
#: Enough for a look at the shape of a curve.
_QUICK_REPLICATIONS = 20


def experiment_text(figure: str) -> str:
    """The file that describes a figure's experiment, to copy and change."""
    known_name(figure, FIGURES, "figure of the paper")
    return files(__package__).joinpath(f"data/figure-{figure}.toml").read_text("utf-8")


@functools.cache
def experiment(figure: str) -> Experiment:
    """The experiment behind a figure, as published.

    >>> experiment("3a").replications
    200
    """
    return parse(experiment_text(figure), f"figure-{figure}.toml")


def published_replications(figure: str) -> dict[str, int]:
    """How many runs each policy's published curve is the mean of."""
    asked = experiment(figure)
    runs = [(entry.name or entry.policy, entry.replications) for entry in asked.policies]
    return {name: count or asked.replications for name, count in runs}


@dataclass(frozen=True)
class PaperRun:
    """The results of some of the figures, and what making them took."""

    results: dict[str, Results]
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
    asked = {figure: experiment(figure) for figure in figures}
    for figure, each in asked.items():
        runs = replications or (min(each.replications, _QUICK_REPLICATIONS) if quick else None)
        each = each if runs is None else each.with_replications(runs)
        asked[figure] = each if seed is None else each.model_copy(update={"seed": seed})
    named = [f"{replications}-runs"] if replications is not None else ["quick"] if quick else []
    within = "-".join(named if seed is None else [*named, f"seed-{seed}"])
    specs, counts, store = [], [], RunStore(folder)
    for figure, each in asked.items():
        for spec, count in zip(*expand(each), strict=True):
            specs.append(replace(spec, problem_name=f"{figure}: {spec.problem_name}"))
            counts.append(count)
    chunks = missing_chunks(specs, counts, store, again=how.pop("again", False))
    made = sum(end - first for _, first, end in chunks)
    how["store"] = store
    run(specs, counts, what="the paper", **how)
    workers, runner = how.get("workers", 1), how.get("runner")
    return PaperRun(
        {
            figure: run_sweep(each, folder, tables=str(Path(within, figure)))
            for figure, each in asked.items()
        },
        Path(folder, within),
        time.perf_counter() - started,
        made,
        sum(counts) - made,
        "a Dask cluster" if isinstance(runner, OnDask) else f"{workers} process(es)",
        quick,
    )
