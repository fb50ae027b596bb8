"""Sweeps: a grid of problems and policies, from a file into a folder of results.

What is in the folder already is not run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from latesum.experiments.engine import RunOptions, run
from latesum.experiments.results import Results
from latesum.experiments.stats import RatioOfMeans, ratio_of_means
from latesum.experiments.store import RunStore
from latesum.experiments.sweeps.experiment import Experiment
from latesum.experiments.sweeps.file import load
from latesum.experiments.sweeps.grid import Grid

__all__ = ["Experiment", "Grid", "SweepResults", "load", "run_sweep"]


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
        below = self[asked.problem or problem, asked.policy or policy].regrets
        return ratio_of_means(self[problem, policy].regrets, below)

    def ratios(self) -> list[tuple[str, str, RatioOfMeans]]:
        """All ratios (problem, policy, ratio), without those that are 1 by definition."""
        asked = self.experiment.ratio
        if asked is None:
            return []
        return [
            (problem, policy, self.ratio(problem, policy))
            for problem, policy in ((each.problem_name, each.policy_name) for each in self.specs)
            if policy != asked.policy
        ]


def run_sweep(
    experiment: Experiment | Grid,
    folder: str | Path,
    *,
    source: str | Path | None = None,
    tables: str | None = None,
    **how: Unpack[RunOptions],
) -> SweepResults:
    """Run what is missing of an experiment, merge its tables, and return all of it.

    Args:
        experiment: What to run, such as `load` gives.
        folder: Where results are kept.
        source: The file that the experiment comes from. Two files of one name do not share tables.
        tables: The folder for the tables, within `folder`; that of the experiment's name without.
        how: Where and how runs are made, as `latesum.experiments.engine.run` takes it.

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
    described = asked.model_dump(exclude_defaults=True)
    about = {"digest": asked.digest, "experiment": described}
    place = {} if source is None else {"source": str(Path(source).resolve())}
    store.claim(tables, grid.settings, {**about, **place})
    how["store"] = store
    results = run(grid.settings, grid.replications, what=asked.name, **how)
    store.merge(tables, results, described)
    return SweepResults(results.specs, results.rows, grid)
