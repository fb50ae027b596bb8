"""Unmix: how often the true explanation leaves the region of those that are not refuted.

    python studies/unmix_region.py --replications 20000

In each run the arms are played in random visits, whatever is seen, and the delay is one of the
explanations: exponential with half, once, twice or four times the given mean. At every doubling of
the rounds the cost of the explanation of the true scale is compared with the least one: it is
outside for a budget of 2 log(1/δ) if it costs more. Ville's inequality bounds the share of runs in
which that ever happens by δ times the number of explanations, if the likelihood is exact.
"""

from __future__ import annotations

import math

import numpy as np

from latesum.experiments.stats import rate_upper_limit
from latesum.policies.unmix.explanations import FACTORS, Explanations
from latesum.policies.unmix.segments import Segments
from latesum.simulation import Problem
from report import command, keep, options, show

MEAN = 40.0
UNTIL = 40 * 128
LEVELS = (0.1, 0.01, 0.001)


def largest_cost(seed: int, number: int) -> float:
    """By how much the truth costs more than the least explanation, at most, in one run.

    >>> 0 <= largest_cost(1, 1) < 60
    True
    """
    rng = np.random.default_rng([seed, number])
    factor = FACTORS[int(rng.integers(len(FACTORS)))]
    means = rng.uniform(0.05, 0.95, 2)
    world = Problem([float(mean) for mean in means], f"exponential({factor * MEAN:g})").start(
        rng=rng
    )
    segments, found = Segments(2), Explanations(2, MEAN, 0.1, None)
    place = 1 + FACTORS.index(factor)
    look_at, worst = 8 * MEAN, 0.0
    while segments.clock < UNTIL:
        arm, visit = int(rng.integers(2)), round(MEAN * float(rng.uniform(1, 4)))
        for _ in range(4):
            rounds = max(1, visit // 4)
            segments.add(arm, rounds, world.play(arm, rounds))
        if segments.clock >= look_at:
            look_at = 2 * segments.clock
            for each in found.all:
                each.refit_at = 0.0
            found.look(segments)
            costs = [each.objective for each in found.all]
            true = min(costs[place], costs[0]) if factor == 1.0 else costs[place]
            worst = max(worst, (true - min(costs)) / found.believed.misfit)
    return worst


def main() -> bool:
    """Read the options, count and print."""
    asked = options(__doc__, "region-results", seed=1).parse_args()
    runs = asked.replications or 20_000
    worst = np.array([largest_cost(asked.seed, number) for number in range(runs)])
    rows = []
    for level in LEVELS:
        outside = int(np.sum(worst > 2 * math.log(1 / level)))
        rows.append(
            {
                "level": level,
                "runs": runs,
                "outside": outside,
                "rate": outside / runs,
                "upper_limit": rate_upper_limit(outside, runs),
                "bound": level * (len(FACTORS) + 1),
            }
        )
    columns = ["δ", "runs", "outside", "rate", "95% limit", "bound"]
    cells = [
        [
            f"{row['level']:g}",
            f"{runs:,}",
            f"{row['outside']:,}",
            f"{row['rate']:.2e}",
            f"{row['upper_limit']:.2e}",
            f"{row['bound']:g}",
        ]
        for row in rows
    ]
    show("Runs in which the true explanation was ever outside the region", columns, cells)
    keep(asked.out / "region.csv", rows, ("level",))
    return all(row["rate"] <= row["bound"] for row in rows)


if __name__ == "__main__":
    command(main)
