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
from itertools import groupby
from typing import NamedTuple, Unpack

import numpy as np

from latesum._checks import known_name
from latesum.delays import parse
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.measures import COVERAGE_SHARES
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
POLICIES: dict[str, tuple[str, ...]] = {
    "flow, look-ahead": BOUNDED,
    "flow": tuple(DELAYS),
    "unmix": tuple(DELAYS),
    "unmix-untold": tuple(DELAYS),
    "unmix, law known": tuple(DELAYS),
}
#: All that the study looks at: policy, arms and delay.
CASES = [
    (policy, arms, delay)
    for policy, delays in POLICIES.items()
    for delay in delays
    for arms in ARMS
]
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
    def stated(self) -> float:
        """How often they may miss."""
        return 1 - self.level

    @property
    def holds(self) -> bool:
        """Whether they miss no more often than stated, where that is proved."""
        return self.policy != "flow, look-ahead" or self.missed <= self.stated


def measure_coverage(
    cases: Sequence[tuple[str, str, str]] = CASES,
    *,
    replications: int = 500,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> list[Coverage]:
    """The misses of policies on problems of the table, a row for each level.

    Args:
        cases: The policy (one of `POLICIES`), arms and delay of each.
        replications: The runs of each.
        seed: The same seed gives the same runs.
        how: Where and how runs are made, as `latesum.experiments.engine.run` takes it.

    >>> rows = measure_coverage([("flow, look-ahead", "2a", "uniform")], replications=3)
    >>> [row.missed for row in rows]
    [0.0, 0.0]
    """
    specs = []
    for policy, arms, delay in cases:
        known_name(policy, POLICIES, "policy here")
        means, horizon = ARMS[known_name(arms, ARMS, "set of arms")]
        problem = Problem(means, DELAYS[known_name(delay, DELAYS, "delay here")])
        specs.append(
            RunSpec(
                problem,
                _spec(policy, delay),
                horizon,
                seed=seed,
                measures=(_MEASURE,),
                problem_name=f"{arms}, {delay}",
                policy_name=policy,
            )
        )
    results = run(specs, replications, what="coverage", **how)
    rows = []
    for (policy, arms, delay), found in zip(cases, results, strict=True):
        shape = (found.replications, len(LEVELS), len(COVERAGE_SHARES), -1)
        missed = found.measured[_MEASURE].reshape(shape)
        for place, level in enumerate(LEVELS):
            seen = missed[:, place]
            rows.append(
                Coverage(
                    policy,
                    arms,
                    delay,
                    level,
                    int(np.isfinite(seen).sum()),
                    float(np.nanmean(seen)),
                    float(np.nanmean(seen, axis=0).max()),
                )
            )
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
    parser.add_argument("--arms", action="append", help="only these arms, such as 2a")
    parser.add_argument("--policy", action="append", help="only these policies, such as unmix")
    asked = parser.parse_args()
    for name in asked.arms or []:
        known_name(name, ARMS, "set of arms")
    for name in asked.policy or []:
        known_name(name, POLICIES, "policy here")
    cases = [
        case
        for case in CASES
        if (not asked.arms or case[1] in asked.arms)
        and (not asked.policy or case[0] in asked.policy)
    ]
    runs = 500 if asked.replications is None else asked.replications
    with running(asked) as how:
        rows = measure_coverage(cases, replications=runs, seed=asked.seed, **how)
    columns = ["policy", "delay", "arms"]
    for level in LEVELS:
        columns += [f"missed at {100 * level:g}%", "worst"]
    cells = []
    for (named, each, delay), group in groupby(rows, key=lambda row: row[:3]):
        numbers = [f"{number:.4f}" for row in group for number in (row.missed, row.worst)]
        cells.append([named, delay, each, *numbers])
    show("Intervals that miss", columns, cells)
    keep(
        asked.out / "coverage.csv",
        (row._asdict() | {"runs": runs, "seed": asked.seed} for row in rows),
        ("policy", "arms", "delay", "level"),
    )
    return all(row.holds for row in rows)


if __name__ == "__main__":
    command(main)
