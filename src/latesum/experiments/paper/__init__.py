"""The experiments of the paper, whole, beside its published curves.

Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed, Aggregated Anonymous
Feedback, ICML. Each experiment is a file in `data/`, written like any sweep file.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Unpack

from latesum._checks import known_name
from latesum.experiments.engine import RunOptions
from latesum.experiments.results import Results
from latesum.experiments.runners import OnDask
from latesum.experiments.sweep import Experiment, parse, run_sweep

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
    started, announce, runner = time.perf_counter(), how.get("announce"), how.get("runner")
    named = [f"{replications}-runs"] if replications is not None else ["quick"] if quick else []
    within = "-".join(named if seed is None else [*named, f"seed-{seed}"])
    counts: list[tuple[int, int]] = []

    def counted(missing: int, runs: int) -> None:
        counts.append((missing, runs))
        if announce is not None:
            announce(missing, runs)

    how["announce"] = counted
    results = {}
    for figure in figures:
        asked = experiment(figure)
        if replications or quick:
            quickly = min(asked.replications, _QUICK_REPLICATIONS)
            asked = asked.with_replications(replications or quickly)
        if seed is not None:
            asked = asked.model_copy(update={"seed": seed})
        results[figure] = run_sweep(asked, folder, tables=str(Path(within, figure)), **how)
    made = sum(missing for missing, _ in counts)
    return PaperRun(
        results,
        Path(folder, within),
        time.perf_counter() - started,
        made,
        sum(runs for _, runs in counts) - made,
        "a Dask cluster" if isinstance(runner, OnDask) else f"{how.get('workers', 1)} process(es)",
        quick,
    )
