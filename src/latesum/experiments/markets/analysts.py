"""The analysts' tests: a fixed schedule, a regression, then the best for the rest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from latesum.simulation.market import MarketWorld

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The options rotate once a week.
WEEK = 7


def regression(outcome: Floats, design: Floats, clusters: Integers) -> tuple[Floats, Floats]:
    """Ordinary least squares: estimates, and standard errors clustered as statsmodels does.

    >>> design = np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]])
    >>> estimates, _ = regression(np.array([1.0, 2, 3, 5]), design, np.array([0, 0, 1, 1]))
    >>> estimates.round(3)
    array([0.8, 1.3])
    """
    bread = np.linalg.pinv(design.T @ design)
    estimates = bread @ (design.T @ outcome)
    residual = outcome - design @ estimates
    names, positions = np.unique(clusters, return_inverse=True)
    scores = np.zeros((len(names), design.shape[1]))
    np.add.at(scores, positions, design * residual[:, None])
    rows, rank, groups = len(outcome), int(np.linalg.matrix_rank(design)), len(names)
    factor = groups / max(groups - 1, 1) * (rows - 1) / max(rows - rank, 1)
    covariance = factor * bread @ (scores.T @ scores) @ bread
    return estimates, np.sqrt(np.maximum(np.diag(covariance), 0.0))


class SwitchbackTest:
    """Options rotate weekly in a Latin square over the regions; then a regression names the best.

    log(total / rounds) on options, regions and days (one stream: weekdays, and a quadratic trend
    if every option has two weeks), without the
    first days after each switch, errors clustered by region and week.
    """

    def __init__(self, world: MarketWorld, share: float = 0.5) -> None:
        law = world.law
        self._world = world
        self._tested = max(WEEK * 2, round(share * law.buckets))
        self._burn = math.ceil(law.delay)
        self._answer: int | None = None

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        law = self._world.law
        if bucket < self._tested:
            return [(region + bucket // WEEK) % law.options for region in range(law.regions)]
        return [self.answer()] * law.regions

    def answer(self) -> int:
        """The option that it ends on."""
        if self._answer is None:
            self._answer = int(np.argmax(self.effects()[0]))
        return self._answer

    def effects(self) -> tuple[Floats, Floats]:
        """The options against the first (log), and their standard errors."""
        world, options = self._world, self._world.law.options
        end = self._tested
        totals = world.totals(end)[-end:]
        rounds, shown = world.rounds(end)[-end:], world.shown(end)[-end:]
        grid = np.indices(totals.shape)
        switched = np.zeros(totals.shape, dtype=bool)
        for place in range(0, end, WEEK):
            switched[place : place + self._burn] = True
        usable = np.isfinite(totals) & ~switched
        at, where = grid[0][usable], grid[1][usable]
        outcome = np.log((totals[usable] + 0.5) / rounds[usable])
        columns = [shown[usable] == option for option in range(1, options)]
        if world.law.regions > 1:
            columns += [where == region for region in range(world.law.regions)]
            columns += [at == bucket for bucket in np.unique(at)[1:]]
        else:
            columns += [(at + world.phase) % world.law.week == day for day in range(world.law.week)]
            if end >= 2 * WEEK * options:  # otherwise a trend cannot be told from the options
                columns += [at / end, (at / end) ** 2]
        design = np.column_stack(columns).astype(float)
        found = regression(outcome, design, where * 1000 + at // WEEK)
        return np.append(0.0, found[0][: options - 1]), np.append(0.0, found[1][: options - 1])


class GeoTest(SwitchbackTest):
    """Difference in differences: each region keeps one option for half the time.

    With fewer regions than options, each option has one block, against the weekdays of the history.
    """

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        law = self._world.law
        if bucket >= self._tested:
            return [self.answer()] * law.regions
        if law.regions >= law.options:
            return [region % law.options for region in range(law.regions)]
        block = -(-self._tested // law.options)
        return [(region + bucket // block) % law.options for region in range(law.regions)]

    def effects(self) -> tuple[Floats, Floats]:
        """The options against the first (log), and their standard errors."""
        world, law = self._world, self._world.law
        end = self._tested
        totals, rounds, shown = world.totals(end), world.rounds(end), world.shown(end)
        first = -world.first
        grid = np.indices(totals.shape)
        switched = np.zeros(totals.shape, dtype=bool)
        changes = np.any(np.diff(shown, axis=0) != 0, axis=1)
        for place in [first, *(np.flatnonzero(changes) + 1).tolist()]:
            switched[place : place + self._burn] = True
        usable = np.isfinite(totals) & ~switched
        at, where, what = grid[0][usable], grid[1][usable], shown[usable]
        outcome = np.log((totals[usable] + 0.5) / rounds[usable])
        columns = [(what == option) & (at >= first) for option in range(1, law.options)]
        columns += [where == region for region in range(law.regions)]
        if law.regions >= law.options:
            columns += [at == bucket for bucket in np.unique(at)[1:]]
        else:
            week = world.law.week
            columns += [(at + world.phase - first) % week == day for day in range(1, week)]
        design = np.column_stack(columns).astype(float)
        found = regression(outcome, design, where * 1000 + at // WEEK)
        count = law.options - 1
        return np.append(0.0, found[0][:count]), np.append(0.0, found[1][:count])
