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

    log(total / rounds) on options, regions and days (one stream: weekdays, and a quadratic trend if
    every option has two weeks), without the first days after each switch, errors clustered by
    region and week.
    """

    def __init__(self, world: MarketWorld, share: float = 0.5) -> None:
        law = world.law
        self._world = world
        self._tested = max(WEEK * 2, round(share * law.buckets))
        self._answer: int | None = None
        self._first = 0  # the history is left out
        self._by_day = law.regions > 1
        # Otherwise a trend cannot be told from the options.
        self._trend = law.regions == 1 and self._tested >= 2 * WEEK * law.options

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        law = self._world.law
        if bucket < self._tested:
            return [self._tried(region, bucket) % law.options for region in range(law.regions)]
        return [self.answer()] * law.regions

    def _tried(self, region: int, bucket: int) -> int:
        return region + bucket // WEEK

    def answer(self) -> int:
        """The option that it ends on."""
        if self._answer is None:
            self._answer = int(np.argmax(self.effects()[0]))
        return self._answer

    def effects(self) -> tuple[Floats, Floats]:
        """The options against the first (log), and their standard errors."""
        world, law, end = self._world, self._world.law, self._tested
        kept = end - self._first
        totals, rounds = world.totals(end)[-kept:], world.rounds(end)[-kept:]
        shown, start = world.shown(end)[-kept:], -self._first
        changes = np.flatnonzero(np.any(np.diff(shown, axis=0) != 0, axis=1)) + 1
        usable = np.isfinite(totals)
        for place in [start, *changes.tolist()]:
            usable[place : place + math.ceil(law.delay)] = False
        at, where = np.nonzero(usable)
        outcome = np.log((totals[usable] + 0.5) / rounds[usable])
        columns = [shown[usable] == option for option in range(1, law.options)]
        columns += [where == region for region in range(law.regions)]
        if self._by_day:
            columns += [at == bucket for bucket in np.unique(at)[1:]]
        else:
            weekday = (at - start + world.phase) % law.week
            columns += [weekday == day for day in range(1, law.week)]
        if self._trend:
            columns += [at / end, (at / end) ** 2]
        design = np.column_stack(columns).astype(float)
        found = regression(outcome, design, where * 1000 + at // WEEK)
        estimates, errors = (np.append(0.0, each[: law.options - 1]) for each in found)
        return estimates, errors


class GeoTest(SwitchbackTest):
    """Difference in differences: each region keeps one option for half the time.

    With fewer regions than options, each option has one block, against the weekdays of the history.
    """

    def __init__(self, world: MarketWorld, share: float = 0.5) -> None:
        super().__init__(world, share)
        self._first, self._trend = world.first, False
        self._by_day = world.law.regions >= world.law.options

    def _tried(self, region: int, bucket: int) -> int:
        block = -(-self._tested // self._world.law.options)
        return region if self._by_day else region + bucket // block
