"""Coverage of reported intervals, on a table of problems.

    python studies/interval_coverage.py --arms 2a --policy unmix --replications 150

An interval is looked at in the first decision after a 64th, a 16th, a quarter and all of the
horizon, for every arm. `Flow` with look-ahead and a known bound on the delay must miss no more
often than stated. `Flow` knows the mean delay only: its intervals rest on delays below three mean
delays, and the table shows what happens beyond. `Unmix` is looked at with the law known, with the
mean given and with an unknown delay: its intervals are approximate, and should miss about as often
as stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Unpack

import numpy as np

from latesum.delays import parse
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.run import COVERAGE_SHARES
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec
from latesum.simulation import Beta, Problem, Reward
from report import command, keep, options, running, show

LEVELS = (0.95, 0.9975)

#: Name, arms and horizon.
ARMS: dict[str, tuple[Sequence[float | Reward], int]] = {
    "2a": ([0.5, 0.6], 250_000),
    "2hard": ([0.5, 0.52], 1_000_000),
    "10one": ([0.6] + [0.5] * 9, 250_000),
    "10lin": ([0.1 + 0.8 * arm / 9 for arm in range(10)], 250_000),
    "conv5": ([0.012] + [0.01] * 4, 1_000_000),
    "near one": ([0.9, 0.97], 250_000),
    "beta": ([Beta(1, 3), Beta(2, 3), Beta(3, 3)], 250_000),
    "50 arms": ([0.5 + 0.002 * arm for arm in range(50)], 1_000_000),
}
DELAYS: dict[str, str] = {
    "uniform": "uniform(0, 100)",
    "constant": "constant(50)",
    "two points": "mixture((0.5, constant(0)), (0.5, constant(100)))",
    "late few": "mixture((0.05, constant(500)), (0.95, uniform(0, 52)))",
    "exponential": "exponential(50)",
    "pareto": "pareto(1.5, 50)",
}
BOUNDED = ("uniform", "constant", "two points", "late few")
#: Which policies are looked at, with which delays.
POLICIES: dict[str, Sequence[str]] = {
    "flow, look-ahead": BOUNDED,
    "flow": tuple(DELAYS),
    "unmix": tuple(DELAYS),
    "unmix-unknown-delay": tuple(DELAYS),
    "unmix, law known": tuple(DELAYS),
}
_MEASURE = f"missed(levels={list(LEVELS)})"


class Coverage(NamedTuple):
    """How often intervals missed, of those that were looked at."""

    policy: str
    arms: str
    delay: str
    level: float
    looked_at: int
    missed: float  # over all arms and times
    worst: float  # of any one arm at any one time

    @property
    def holds(self) -> bool:
        """Whether they miss no more often than stated, where that is proved."""
        return self.policy != "flow, look-ahead" or self.missed <= 1 - self.level


def measure_coverage(
    cases: Sequence[tuple[str, str, str]],
    *,
    replications: int = 500,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> list[Coverage]:
    """The misses of policies on problems of the table, a row for each level.

    A case is a policy (one of `POLICIES`), arms and a delay.

    >>> rows = measure_coverage([("flow, look-ahead", "2a", "uniform")], replications=3)
    >>> [row.missed for row in rows]
    [0.0, 0.0]
    """
    specs = [
        RunSpec(
            Problem(ARMS[arms][0], DELAYS[delay]),
            _spec(policy, delay),
            ARMS[arms][1],
            seed=seed,
            measures=(_MEASURE,),
            problem_name=f"{arms}, {delay}",
            policy_name=policy,
        )
        for policy, arms, delay in cases
    ]
    rows = []
    results = run(specs, replications, what="coverage", **how)
    for case, found in zip(cases, results, strict=True):
        shape = (found.replications, len(LEVELS), len(COVERAGE_SHARES), -1)
        missed = found.measured[_MEASURE].reshape(shape)
        for place, level in enumerate(LEVELS):
            seen = missed[:, place]
            mean, worst = np.nanmean(seen), np.nanmean(seen, axis=0).max()
            looked_at = int(np.isfinite(seen).sum())
            rows.append(Coverage(*case, level, looked_at, float(mean), float(worst)))
    return rows


def _spec(policy: str, delay: str) -> PolicySpec:
    if policy == "flow, look-ahead":
        return PolicySpec("flow", {"lookahead": parse(DELAYS[delay]).bound})
    if policy == "unmix, law known":
        return PolicySpec("unmix", {"delay": DELAYS[delay]})
    return PolicySpec.parse(policy)


def main() -> bool:
    """Read the options and measure; whether what is proved holds."""
    parser = options(__doc__, "coverage-results")
    parser.add_argument("--arms", action="append", choices=ARMS, help="only these arms")
    parser.add_argument("--policy", action="append", choices=POLICIES, help="only these policies")
    asked = parser.parse_args()
    cases = [
        (policy, arms, delay)
        for policy in asked.policy or POLICIES
        for delay in POLICIES[policy]
        for arms in asked.arms or ARMS
    ]
    runs = 500 if asked.replications is None else asked.replications
    with running(asked) as how:
        rows = measure_coverage(cases, replications=runs, seed=asked.seed, **how)
    cells = [
        [*row[:3], f"{row.level:.2%}", f"{row.missed:.4f}", f"{row.worst:.4f}"] for row in rows
    ]
    show("Intervals that miss", ["policy", "arms", "delay", "level", "missed", "worst"], cells)
    values = (row._asdict() | {"runs": runs, "seed": asked.seed} for row in rows)
    keep(asked.out / "coverage.csv", values, ("policy", "arms", "delay", "level"))
    return all(row.holds for row in rows)


if __name__ == "__main__":
    command(main)
