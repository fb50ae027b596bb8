"""The problems of the development suite.

In which order the arms are listed here means nothing: every run draws its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latesum.simulation import Calendar, FieldProblem, Problem
from latesum.simulation.market import Market

#: 5% of the rewards come after 500 rounds, the others within 52; the mean is 50.
RARELY_VERY_LATE = "mixture((0.05, constant(500)), (0.95, uniform(0, 52)))"
#: A heavy tail (Lomax, shape 1.5), cut at 20,000 rounds.
HEAVY_TAIL = "pareto(1.5, 50).truncated(20000)"
_DAY = 5_000


class SuiteProblem(NamedTuple):
    """A problem, how long it is played, how totals are reported, and what policies are given.

    A market says how totals are reported and its status quo itself; its horizon is in buckets.
    """

    problem: Problem | Market
    horizon: int
    bucket: int = 1
    report_lag: int = 0
    #: The mean delay that is given is this times the truth (of the latest arm's).
    given: float = 1.0
    #: The mean of what ran before the start and is no arm. Policies that take `status_quo` know
    #: that something ran ("other"), not what it was; the others know nothing of it.
    status_quo: float | None = None


def _line(n_arms: int) -> list[float]:
    return [round(float(mean), 6) for mean in np.linspace(0.1, 0.9, n_arms)]


_THREE = [0.30, 0.33, 0.36]
_TEN_ONE = [0.5] * 9 + [0.6]
_CONVERSION = [0.01] * 4 + [0.012]

PROBLEMS: dict[str, SuiteProblem] = {
    "two arms, no delay": SuiteProblem(Problem([0.5, 0.6], "constant(0)"), 250_000),
    "two arms, exponential(5)": SuiteProblem(Problem([0.5, 0.6], "exponential(5)"), 250_000),
    "two arms, exponential(50)": SuiteProblem(Problem([0.5, 0.6], "exponential(50)"), 250_000),
    "two arms, exponential(500)": SuiteProblem(Problem([0.5, 0.6], "exponential(500)"), 250_000),
    "two arms, uniform(0, 100)": SuiteProblem(Problem([0.5, 0.6], "uniform(0, 100)"), 250_000),
    "two close arms": SuiteProblem(Problem([0.50, 0.52], "exponential(50)"), 1_000_000),
    "ten arms, one better": SuiteProblem(Problem(_TEN_ONE, "exponential(50)"), 250_000),
    "ten arms in a line": SuiteProblem(Problem(_line(10), "exponential(50)"), 250_000),
    "ten arms, rarely very late": SuiteProblem(Problem(_line(10), RARELY_VERY_LATE), 250_000),
    "ten arms, heavy tail": SuiteProblem(Problem(_line(10), HEAVY_TAIL), 250_000),
    "five conversion rates": SuiteProblem(Problem(_CONVERSION, "exponential(50)"), 1_000_000),
    "Beta rewards": SuiteProblem(
        Problem(["beta(4, 6)", "beta(2, 3)", "beta(10, 10)", "beta(6, 4)"], "exponential(50)"),
        250_000,
    ),
    "delays that differ": SuiteProblem(
        Problem([0.5, 0.55, 0.6], ["poisson(20)", "uniform(0, 100)", "exponential(80)"]), 250_000
    ),
    "best arm twice as late": SuiteProblem(
        Problem([0.5, 0.6], ["exponential(50)", "exponential(100)"]), 250_000, given=0.75
    ),
    "means near 1, very late": SuiteProblem(Problem([0.95, 0.97], "exponential(5000)"), 2_000_000),
    "a constant delay, given 0.8 of it": SuiteProblem(
        Problem([0.5, 0.6], "constant(50)"), 250_000, given=0.8
    ),
    "something else before": SuiteProblem(
        Problem([0.5, 0.6], "exponential(500)"), 250_000, status_quo=0.9
    ),
    "fifty arms": SuiteProblem(Problem(_line(50), "exponential(50)"), 1_000_000),
    "daily totals, two days late": SuiteProblem(
        Problem(_THREE, "geometric(7500)"), 90 * _DAY, bucket=_DAY, report_lag=2 * _DAY
    ),
    "two buckets per delay": SuiteProblem(
        Problem(_THREE, "geometric(10000)"), 180 * _DAY, bucket=_DAY
    ),
    "a weekly pattern": SuiteProblem(
        FieldProblem(_THREE, "geometric(2500)", calendar=Calendar.weekly(_DAY)),
        90 * _DAY,
        bucket=_DAY,
    ),
    "drift, the best changes": SuiteProblem(
        FieldProblem(
            _THREE,
            "geometric(2500)",
            calendar=Calendar(_DAY, drift_to=(0.39, 0.33, 0.36), drift_over=90 * _DAY),
        ),
        90 * _DAY,
        bucket=_DAY,
    ),
    "a market, one stream": SuiteProblem(Market(), 90),
    "a market, four regions": SuiteProblem(Market(regions=4), 90),
}
