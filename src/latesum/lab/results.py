"""The results of an experiment: regrets by problem and policy, and ratios with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.lab.cells import Cell
from latesum.lab.experiment import Experiment
from latesum.lab.store import RunRows, Store

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class CellSummary(NamedTuple):
    """How one policy ended on one problem."""

    problem: str
    policy: str
    replications: int
    mean: float
    standard_error: float
    median: float
    percentile_95: float
    ended_on_best: float


class RatioOfMeans(NamedTuple):
    """A ratio of two mean regrets at every checkpoint.

    `error` is its standard error (delta method). Runs of one number draw from the same seed in
    every cell, so numerator and denominator may be correlated, and `error` allows for that.
    `error_if_independent(n)` is what somebody has whose numerator and denominator are independent
    and have n runs each.
    """

    value: Floats
    error: Floats
    relative_variance_per_run: Floats

    def error_if_independent(self, replications: int) -> Floats:
        """The standard error with so many runs of each that have nothing to do with each other."""
        error: Floats = np.abs(self.value) * np.sqrt(self.relative_variance_per_run / replications)
        return error


def ratio_of_means(above: Floats, below: Floats) -> RatioOfMeans:
    """The ratio of the means of two samples; rows are runs, columns checkpoints.

    >>> ratio = ratio_of_means(np.array([[2.0], [4.0]]), np.array([[1.0], [2.0]]))
    >>> ratio.value.tolist(), ratio.error.tolist()              # in step: no error at all
    ([2.0], [0.0])
    """
    mean_above, mean_below = above.mean(axis=0), below.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = mean_above / mean_below
        relative_above, relative_below = above / mean_above - 1, below / mean_below - 1
        variance_above, variance_below = _variance(relative_above), _variance(relative_below)
        squared = variance_above / len(above) + variance_below / len(below)
        if len(above) == len(below) > 1:
            squared = _variance(relative_above - relative_below) / len(above)
        error = np.abs(value) * np.sqrt(squared)
    return RatioOfMeans(value, error, variance_above + variance_below)


@dataclass(frozen=True)
class Results:
    """An experiment and all its runs."""

    experiment: Experiment
    cells: list[Cell]
    rows: dict[tuple[str, str], RunRows]

    @classmethod
    def read(cls, store: Store, experiment: Experiment, cells: Sequence[Cell]) -> Results:
        """The results in a store; all runs must be there."""
        rows = {(cell.problem, cell.policy): store.read(cell) for cell in cells}
        return cls(experiment, list(cells), rows)

    @property
    def problems(self) -> list[str]:
        """The names of the problems."""
        return list(dict.fromkeys(cell.problem for cell in self.cells))

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return list(dict.fromkeys(cell.policy for cell in self.cells))

    @property
    def checkpoints(self) -> Integers:
        """The rounds at which regret was kept."""
        return np.array(self.cells[0].checkpoints, dtype=np.int64)

    def cell(self, problem: str, policy: str) -> Cell:
        """One policy on one problem."""
        return next(c for c in self.cells if (c.problem, c.policy) == (problem, policy))

    def regrets(self, problem: str, policy: str) -> Floats:
        """One row a run, one column a checkpoint."""
        return self.rows[problem, policy].regrets

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
            (cell.problem, cell.policy, self.ratio(cell.problem, cell.policy))
            for cell in self.cells
            if cell.policy != asked.policy
        ]

    def summary(self) -> list[CellSummary]:
        """One row a policy and problem, at the horizon."""
        rows = []
        for cell in self.cells:
            final = self.regrets(cell.problem, cell.policy)[:, -1]
            error = float(np.sqrt(_variance(final) / len(final)))
            median, high = np.quantile(final, [0.5, 0.95]).tolist()
            ended = float(self.rows[cell.problem, cell.policy].ended_on_best.mean())
            rows.append(
                CellSummary(
                    cell.problem,
                    cell.policy,
                    len(final),
                    float(final.mean()),
                    error,
                    median,
                    high,
                    ended,
                )
            )
        return rows


def _variance(values: Floats) -> Floats:
    """Along the first axis; 0 for a single run."""
    if len(values) < 2:
        return np.zeros(values.shape[1:])
    variance: Floats = values.var(axis=0, ddof=1)
    return variance
