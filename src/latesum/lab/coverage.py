"""How often reported intervals miss the truth, on a table of problems.

An interval is looked at in the first decision after a 64th, a 16th, a quarter and all of the
horizon, for every arm. `FlowLookahead` with a known bound on the delay must miss no more often
than stated. `Flow` knows the mean delay only: its intervals rest on delays below three mean
delays, and the table shows what happens beyond.

    python -m latesum.lab.coverage --runs 500 --workers 2
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import known_name, whole_number
from latesum.lab.parallel import in_chunks
from latesum.lab.safety import show_progress
from latesum.policies import Policy
from latesum.policies.flow import Flow
from latesum.policies.flow_lookahead import FlowLookahead
from latesum.world import Beta, Problem, Reward

LEVELS = (0.95, 0.9975)
SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)

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


def measure_coverage(
    policy: str,
    arms: str,
    delay: str,
    *,
    runs: int = 500,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Coverage]:
    """The misses of "flow" or "flow-lookahead" on one problem of the table, for each level.

    >>> rows = measure_coverage("flow-lookahead", "2a", "uniform", runs=3)
    >>> [row.missed for row in rows]
    [0.0, 0.0]
    """
    runs = whole_number(runs, "the number of runs", at_least=1)
    known_name(policy, ("flow", "flow-lookahead"), "policy here")
    means, horizon = ARMS[known_name(arms, ARMS, "set of arms")]
    problem = Problem(means, DELAYS[known_name(delay, DELAYS, "delay here")])
    job = functools.partial(_one_run, problem=problem, policy=policy, horizon=horizon, seed=seed)
    missed = np.array(in_chunks(job, range(runs), workers=workers, progress=progress))
    return [
        Coverage(
            policy,
            arms,
            delay,
            level,
            int(np.isfinite(missed[:, place]).sum()),
            float(np.nanmean(missed[:, place])),
            float(np.nanmean(missed[:, place], axis=0).max()),
        )
        for place, level in enumerate(LEVELS)
    ]


def _build(policy: str, problem: Problem, horizon: int, rng: np.random.Generator) -> Policy:
    told = problem.delay.mean
    if policy == "flow":
        return Flow(problem.n_arms, horizon, mean_delay=told, rng=rng)
    bound = problem.delay.bound
    return FlowLookahead(problem.n_arms, horizon, mean_delay=told, delay_bound=bound, rng=rng)


def _one_run(
    index: int, *, problem: Problem, policy: str, horizon: int, seed: int
) -> NDArray[np.float64]:
    """1 where an interval missed and 0 where it did not, by level, time and arm."""
    nature, coins = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, part)))
        for part in range(2)
    )
    player, world = _build(policy, problem, horizon, coins), problem.start(rng=nature)
    missed = np.full((len(LEVELS), len(SHARES), problem.n_arms), np.nan)
    for time, share in enumerate(SHARES):
        while world.rounds_played < share * horizon:
            arm, rounds, purpose, number, part = player.ask()
            rounds = min(rounds, part or rounds)
            player.tell(arm, rounds, world.play(arm, rounds), purpose, number)
        for place, level in enumerate(LEVELS):
            for row in player.estimates(level):
                if row.plays:
                    truth = problem.means[row.arm]
                    missed[place, time, row.arm] = not row.low <= truth <= row.high
    return missed


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: the whole table; 1 if an interval that is proved misses too often."""
    parser = argparse.ArgumentParser(prog="python -m latesum.lab.coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args(arguments)
    cases = [("flow-lookahead", delay) for delay in BOUNDED] + [("flow", delay) for delay in DELAYS]
    print(f"{'policy':14}  {'delay':11}  {'arms':8}" + "".join(
        f"  missed at {100 * level:g}%  worst" for level in LEVELS
    ))  # fmt: skip
    failed = False
    for policy, delay in cases:
        for arms in ARMS:
            rows = measure_coverage(
                policy,
                arms,
                delay,
                runs=given.runs,
                seed=given.seed,
                workers=given.workers,
                progress=show_progress if sys.stderr.isatty() else None,
            )
            cells = "".join(
                f"  {row.missed:{len(f'missed at {100 * row.level:g}%')}.4f}  {row.worst:.4f}"
                for row in rows
            )
            print(f"{policy:14}  {delay:11}  {arms:8}{cells}", flush=True)
            failed |= policy == "flow-lookahead" and any(row.missed > row.stated for row in rows)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
