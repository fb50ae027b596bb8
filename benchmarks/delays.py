"""What long delays and late reports cost, as ratios within one process.

    python benchmarks/delays.py

Each row is a run of Flow on two arms beside a run that differs in one thing. The two take turns,
and the ratio is the median of the ratios of the turns, in CPU time, since machines are noisy.
"""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

from latesum import Flow, Problem
from latesum._render import new_table, terminal
from latesum.experiments import RunSpec
from latesum.experiments.loop import Reports
from latesum.policies import PolicySpec

TURNS = 11


class Side(NamedTuple):
    """A specification in short."""

    delay: str
    mean_delay: float
    horizon: int
    lag: int = 0

    def spec(self) -> RunSpec:
        policy = PolicySpec.of(Flow(2, self.horizon, mean_delay=self.mean_delay))
        problem = Problem([0.5, 0.6], self.delay)
        return RunSpec(problem, policy, self.horizon, reports=Reports(1, self.lag))


#: What is measured, beside what, and the ratio that it should have at most.
ROWS = {
    "uniform(0, 20,000) against uniform(0, 2,000), T = 1e7": (
        Side("uniform(0, 20000)", 10_000, 10**7),
        Side("uniform(0, 2000)", 1_000, 10**7),
        3,
    ),
    "exponential(100,000) against exponential(100), T = 1e8": (
        Side("exponential(100000)", 100_000, 10**8),
        Side("exponential(100)", 100, 10**8),
        5,
    ),
    "pareto(1.5, 20,000) against exponential(100), T = 1e8": (
        Side("pareto(1.5, 20000)", 20_000, 10**8),
        Side("exponential(100)", 100, 10**8),
        5,
    ),
    "a report lag of 100 against none, T = 20,000": (
        Side("uniform(0, 100)", 50, 20_000, 100),
        Side("uniform(0, 100)", 50, 20_000),
        5,
    ),
}


def seconds(spec: RunSpec, number: int) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    spec.run(number)
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    columns = ["Flow, two arms", "ms per run", "beside", "ratio", "at most"]
    table = new_table(None, columns)
    for name, (one, other, at_most) in ROWS.items():
        pair = one.spec(), other.spec()
        for spec in pair:
            spec.run(0)  # compiled before it is timed
        times = [[seconds(spec, turn) for spec in pair] for turn in range(1, TURNS + 1)]
        ratio = statistics.median(long / short for long, short in times)
        best = [min(column) * 1e3 for column in zip(*times, strict=True)]
        table.add_row(name, *(f"{each:.1f}" for each in best), f"{ratio:.1f}", str(at_most))
    terminal().print(table)


if __name__ == "__main__":
    main()
