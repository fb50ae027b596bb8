"""Sweeps: anybody's grid of problems and policies, from a file into a folder of results.

What is in the folder already is not run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from latesum.lab.engine import Progress, Todo, run
from latesum.lab.results import Results
from latesum.lab.runners import Runner, chosen_runner
from latesum.lab.stats import RatioOfMeans, ratio_of_means
from latesum.lab.store import RunStore
from latesum.lab.sweeps.experiment import Experiment
from latesum.lab.sweeps.file import load
from latesum.lab.sweeps.grid import Grid

__all__ = ["Experiment", "Grid", "SweepResults", "load", "run_sweep", "sweep_results"]


@dataclass(frozen=True)
class SweepResults(Results):
    """An experiment and all its runs, with the ratios that it asks for."""

    grid: Grid

    @property
    def experiment(self) -> Experiment:
        """What was asked."""
        return self.grid.experiment

    def ratio(self, problem: str, policy: str) -> RatioOfMeans:
        """The ratio that the experiment asks for."""
        asked = self.experiment.ratio
        assert asked is not None, "the experiment asks for no ratio"
        below = self.regrets(asked.problem or problem, asked.policy or policy)
        return ratio_of_means(self.regrets(problem, policy), below)

    def ratios(self) -> list[tuple[str, str, RatioOfMeans]]:
        """All ratios (problem, policy, ratio), without those that are 1 by definition."""
        asked = self.experiment.ratio
        if asked is None:
            return []
        return [
            (problem, policy, self.ratio(problem, policy))
            for problem, policy in self.runs
            if policy != asked.policy
        ]


def sweep_results(grid: Grid, results: Results) -> SweepResults:
    """The part of some results that belongs to a grid."""
    runs = {
        (each.problem_name, each.policy_name): results.runs[each.problem_name, each.policy_name]
        for each in grid.settings
    }
    return SweepResults(grid.settings, runs, grid)


def run_sweep(
    experiment: Experiment | Grid,
    folder: str | Path,
    *,
    workers: int = 1,
    runner: Runner | None = None,
    again: bool = False,
    source: str | Path | None = None,
    tables: str | None = None,
    announce: Callable[[Todo], None] | None = None,
    progress: Progress | None = None,
) -> SweepResults:
    """Run what is missing of an experiment, merge its tables, and return all of it.

    The results do not depend on `workers` or `runner`, nor on how often the work was interrupted.

    Args:
        experiment: What to run, such as `load` gives.
        folder: Where results are kept.
        workers: The number of processes.
        runner: Where runs are made, in place of `workers`.
        again: Run again what is there already.
        source: The file that the experiment comes from. Two files of one name do not share tables.
        tables: The folder for the tables, within `folder`; that of the experiment's name without.
        announce: Called with what there is to do before anything long starts.
        progress: Called as `progress(done, all, what)` now and then.

    >>> import tempfile
    >>> experiment = Experiment(
    ...     name="small", horizon=1000, replications=3,
    ...     problems=[{"arms": [0.2, 0.8], "delay": "uniform(0, 10)"}],
    ...     policies=[{"policy": "odaaf"}, {"policy": "oracle"}],
    ... )
    >>> results = run_sweep(experiment, tempfile.mkdtemp())
    >>> [summary.mean for summary in results.summary() if summary.policy == "oracle"]
    [0.0]
    """
    grid = experiment if isinstance(experiment, Grid) else Grid.of(experiment)
    store = RunStore(folder)
    asked = grid.experiment
    tables = tables or asked.name
    about = {"digest": asked.digest, "experiment": asked.described()}
    place = {} if source is None else {"source": str(Path(source).resolve())}
    store.claim(tables, grid.settings, {**about, **place})
    with chosen_runner(workers) as local:
        results = run(
            grid.settings, grid.replications, runner=runner or local, store=store, again=again,
            announce=announce, progress=progress, what=asked.name,
        )  # fmt: skip
    store.merge(tables, results, asked.described())
    return sweep_results(grid, results)
