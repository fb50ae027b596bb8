"""How fast the block simulator is, beside a compiled loop over rounds, in one process.

    python benchmarks/blocks.py

Both sides run the same ODAAF-B policy; they differ in how a block is played. Times are CPU
times, the best of several repetitions taken in turn, since machines are noisy.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numba
import numpy as np

from latesum import ODAAFB, Problem
from latesum._render import new_table, terminal
from latesum.experiments import RunSpec
from latesum.experiments.engine import Chunk, default_checkpoints, run_chunk
from latesum.policies import PolicySpec

ARMS, DELAY, MEAN_DELAY, BOUND = (0.5, 0.6), "uniform(0, 100)", 50, 100
REPETITIONS = 7


@numba.njit
def play_round_by_round(  # type: ignore[no-untyped-def]
    rng, mean, rounds, bound, ring, now
):
    """The plain loop: every round draws a reward and a delay, and takes what is due."""
    total = 0.0
    size = len(ring)
    for _ in range(rounds):
        if rng.random() < mean:
            ring[(now + int(rng.random() * (bound + 1))) % size] += 1.0
        place = now % size
        total += ring[place]
        ring[place] = 0.0
        now += 1
    return total, now


def run_loop(policy: ODAAFB, horizon: int, seed: int) -> None:
    """One run of the plain loop."""
    rng = np.random.default_rng(seed)
    policy = policy.fresh()
    ring, now = np.zeros(BOUND + 1), 0
    while now < horizon:
        arm, rounds, purpose, number, _ = policy.ask()
        rounds = min(rounds, horizon - now)
        total, now = play_round_by_round(rng, ARMS[arm], rounds, BOUND, ring, now)
        policy.tell(arm, rounds, total, purpose, number)


def seconds_per_run(run: Callable[[int], object], runs: int) -> float:
    """CPU seconds per run."""
    start = time.process_time()
    for number in range(runs):
        run(number)
    return (time.process_time() - start) / runs


def main() -> None:
    """Print the table."""
    problem = Problem(ARMS, DELAY)
    short, long = 250_000, 10**9
    policies = {
        horizon: ODAAFB(2, horizon, mean_delay=MEAN_DELAY, delay_bound=BOUND)
        for horizon in (short, long)
    }
    specs = {
        horizon: RunSpec(
            problem, PolicySpec.of(policy), horizon, checkpoints=default_checkpoints(horizon)
        )
        for horizon, policy in policies.items()
    }

    def blocks(horizon: int) -> Callable[[int], object]:
        return lambda number: run_chunk(Chunk(specs[horizon], number, number + 1))

    contestants = {
        f"blocks, horizon {short:,}": (blocks(short), 500, short),
        f"blocks, horizon {long:,}": (blocks(long), 500, long),
        f"compiled loop over rounds, horizon {short:,}": (
            lambda number: run_loop(policies[short], short, number),
            20,
            short,
        ),
    }
    for run, _, _ in contestants.values():
        run(0)  # compiled before anything is timed
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(REPETITIONS):
        for name, (run, runs, _) in contestants.items():
            best[name] = min(best[name], seconds_per_run(run, runs))
    loop = list(best.values())[-1] / short
    columns = [
        "ODAAF-B, two arms, uniform(0, 100)",
        "µs per run",
        "effective rounds/CPU-s",
        "× loop",
    ]
    table = new_table(None, columns)
    for name, (_, _, horizon) in contestants.items():
        per_round = best[name] / horizon
        table.add_row(
            name, f"{best[name] * 1e6:,.0f}", f"{1 / per_round:.2e}", f"{loop / per_round:,.0f}"
        )
    terminal().print(table)
    first, second, _ = best.values()
    print(f"Horizon {long:,} against {short:,}: {second / first:.2f} times as long per run.")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Largest memory of this process: {memory:.0f} MiB.")
    code = "import time; t = time.perf_counter(); import latesum; print(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    print(f"import latesum: {min(times):.2f} s (best of 5).")


if __name__ == "__main__":
    main()
