"""The suites: frozen lists of problems that policies are compared on.

A suite is never edited. `Suite.digest` is part of every result, and a test holds it: a better
list of problems is another suite, such as `core-2`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from latesum._checks import known_name
from latesum.experiments.loop import Reports
from latesum.simulation import Calendar, CompositeProblem, FieldProblem, Problem

#: Every problem of `core-1` is run at three horizons.
HORIZONS = (10_000, 100_000, 1_000_000)
#: Runs of a cell of `core-1`: the standard error of a mean regret is then about 5% of it.
CORE_RUNS = 200
#: Problems of `random-1`, each run once: no stuck run in 1,000 bounds their rate by 1 in 300.
RANDOM_PROBLEMS = 1_000

#: 5% of the rewards come after 500 rounds, the others within 52; the mean is 50.
_RARELY_VERY_LATE = "mixture((0.05, constant(500)), (0.95, uniform(0, 52)))"
#: Most rewards at once, the others late and spread.
_MOST_AT_ONCE = "mixture((0.7, constant(0)), (0.3, uniform(0, 333)))"
_TWO_POINTS = "mixture((0.5, constant(0)), (0.5, constant(100)))"
#: Kinds of delay in `random-1`, by their mean m.
_RANDOM_DELAYS = (
    "constant({m})",
    "uniform(0, {m2})",
    "exponential({m})",
    "poisson({m})",
    "negative_binomial({m}, {m10})",
    "mixture((0.5, constant(0)), (0.5, constant({m2})))",
    "mixture((0.05, constant({m10})), (0.95, uniform(0, {m})))",
    "mixture((0.7, constant(0)), (0.3, uniform(0, {m7})))",
    "pareto(2.5, {m})",
    "pareto(1.5, {m})",
)


#: How totals are reported, where that is not of blocks and at once.
_REPORTS = {
    "buckets": Reports(100),
    "report lag": Reports(100, lag=200),
    "missing totals": Reports(100, missing=0.1),
    "weekly pattern": Reports(100),
}


@dataclass(frozen=True)
class Cell:
    """A problem at one horizon, and how its totals are reported."""

    name: str
    problem: Problem
    horizon: int
    reports: Reports = field(default_factory=Reports)

    def to_json(self) -> list[Any]:
        """All that its runs depend on."""
        bucket, lag, missing = self.reports.bucket, self.reports.lag, self.reports.missing
        poor = {"missing": missing} if missing else None
        return [self.name, self.problem.plain(), self.horizon, bucket, lag, poor]


@dataclass(frozen=True)
class Suite:
    """A name, its cells, and how often each is run."""

    name: str
    cells: tuple[Cell, ...]
    runs: int

    @functools.cached_property
    def digest(self) -> str:
        """The same for the same problems, whatever version of latesum lists them."""
        content = [self.name, self.runs, [cell.to_json() for cell in self.cells]]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@functools.cache
def suite(name: str) -> Suite:
    """The suite of this name: `core-1` or `random-1`.

    >>> core = suite("core-1")
    >>> len({cell.name for cell in core.cells}), len(core.cells), core.runs
    (32, 96, 200)
    >>> random_problems = suite("random-1")
    >>> len(random_problems.cells), random_problems.runs
    (1000, 1)
    """
    if known_name(name, ("core-1", "random-1"), "suite") == "core-1":
        return _core_1()
    return Suite(name, tuple(map(_random_cell, range(RANDOM_PROBLEMS))), 1)


def _core_1() -> Suite:
    cells = [
        Cell(name, problem, horizon, _REPORTS.get(name, Reports()))
        if name != "long buckets"
        else Cell(name, problem, horizon, Reports(horizon // 100))
        for name, problem in _core_problems().items()
        for horizon in HORIZONS
    ]
    for name, to in (("slow", (0.39, 0.33, 0.36)), ("best falls", (0.30, 0.33, 0.24))):
        for horizon in HORIZONS:
            drift = Calendar(horizon // 100, drift_to=to, drift_over=horizon)
            problem = FieldProblem([0.30, 0.33, 0.36], "geometric(50)", calendar=drift)
            cells.append(Cell(f"{name}, drift", problem, horizon, Reports(horizon // 100)))
    return Suite("core-1", tuple(cells), CORE_RUNS)


def _core_problems() -> dict[str, Problem]:
    two, line = [0.5, 0.6], _line(10)
    three = [0.30, 0.33, 0.36]
    return {
        # Of the paper: two arms, a mean delay of 50.
        "two arms, uniform(0, 100)": Problem(two, "uniform(0, 100)"),
        "two arms, exponential(50)": Problem(two, "exponential(50)"),
        "two arms, poisson(50)": Problem(two, "poisson(50)"),
        "two arms, rarely very late": Problem(two, _RARELY_VERY_LATE),
        # Gaps and numbers of arms.
        "two arms far apart": Problem([0.2, 0.8], "exponential(50)"),
        "two close arms": Problem([0.50, 0.53], "exponential(50)"),
        "five arms": Problem([0.3, 0.4, 0.5, 0.55, 0.6], "exponential(50)"),
        "ten arms, one better": Problem([0.5] * 9 + [0.6], "exponential(50)"),
        "ten arms in a line": Problem(line, "exponential(50)"),
        "thirty arms": Problem(_line(30), "exponential(50)"),
        # Shapes and lengths of delays.
        "no delay": Problem(two, "constant(0)"),
        "constant delay": Problem(two, "constant(50)"),
        "long delay": Problem(two, "exponential(500)"),
        "two points": Problem(two, _TWO_POINTS),
        "most at once": Problem([0.4, 0.5, 0.6], _MOST_AT_ONCE),
        "heavy tail": Problem(line, "pareto(1.5, 50).truncated(20000)"),
        # Means near 0 and 1.
        "conversion rates": Problem([0.01] * 4 + [0.02], "exponential(50)"),
        "means near 1": Problem([0.95, 0.98], "exponential(100)"),
        "near 0 and late": Problem([0.02, 0.04], "exponential(500)"),
        # Rewards that are not 0 or 1.
        "Beta rewards": Problem(["beta(4, 6)", "beta(10, 10)", "beta(6, 4)"], "exponential(50)"),
        # How totals are reported.
        "buckets": Problem(three, "geometric(100)"),
        "long buckets": Problem(three, "geometric(50)"),
        "report lag": Problem(three, "geometric(100)"),
        "missing totals": Problem(three, "geometric(100)"),
        # Delays that differ between arms.
        "best arm later": Problem(two, ["exponential(50)", "exponential(100)"]),
        "best arm earlier": Problem(two, ["exponential(100)", "exponential(50)"]),
        "delays that differ": Problem(
            [0.5, 0.55, 0.6], ["poisson(20)", "uniform(0, 100)", "exponential(80)"]
        ),
        # Rewards that arrive in several parts, or spread over rounds.
        "spread rewards": CompositeProblem(two, "uniform(0, 100)"),
        "rewards in parts": CompositeProblem([0.4, 0.5, 0.6], "uniform(0, 100)", parts=3),
        # Rounds that differ in their rate.
        "weekly pattern": FieldProblem(three, "geometric(50)", calendar=Calendar.weekly(100)),
    }


def _line(n_arms: int) -> list[float]:
    return [round(float(mean), 6) for mean in np.linspace(0.1, 0.9, n_arms)]


def _random_cell(index: int) -> Cell:
    """A problem drawn with `random.Random.random`, whose sequence Python promises to keep.

    2 to 12 arms, one of them worse by a gap that matters; means uniform, small, rates of 0.002 to
    0.1, near 1, or close together; ten kinds of delay with means of 1 to 5,000 rounds; a horizon
    of 200 to 100,000 mean delays; a fifth of the problems with buckets.
    """
    rng = random.Random(index)
    n_arms, law = 2 + int(11 * rng.random()), int(5 * rng.random())
    means = _means(law, n_arms, rng)
    while max(means) - min(means) < min(0.02, 0.2 * max(means)):
        means = _means(law, n_arms, rng)
    kind = _RANDOM_DELAYS[int(len(_RANDOM_DELAYS) * rng.random())]
    mean = round(_log_uniform(1, 5_000, rng))
    horizon = round(min(max(mean * _log_uniform(200, 100_000, rng), 2_000), 1_000_000))
    bucket = 1
    if rng.random() < 0.2:
        bucket = round(_log_uniform(2, max(2, min(3 * mean, horizon // 40)), rng))
        horizon = horizon // bucket * bucket
    delay = kind.format(m=mean, m2=2 * mean, m7=round(20 * mean / 3), m10=10 * mean)
    return Cell(f"random {index}", Problem(means, delay), horizon, Reports(bucket))


def _means(law: int, n_arms: int, rng: random.Random) -> list[float]:
    base = 0.05 + 0.85 * rng.random()
    drawn = [rng.random() for _ in range(n_arms)]
    means = (
        drawn,
        [1 - (1 - each) ** (1 / 3) for each in drawn],  # Beta(1, 3)
        [0.002 * 50**each for each in drawn],
        [1 - 0.1 * each for each in drawn],
        [base + 0.05 * each for each in drawn],
    )[law]
    return [round(mean, 6) for mean in means]


def _log_uniform(low: float, high: float, rng: random.Random) -> float:
    return math.exp(math.log(low) + math.log(high / low) * rng.random())
