"""Speed of the attributed baselines, side by side with other libraries, in one run.

    python benchmarks/attributed.py            # about two minutes
    python benchmarks/attributed.py --quick    # about half a minute

Two Bernoulli arms, 0.5 and 0.6. Speeds are rounds per second of processor time, the best of a few
repeats, since a shared machine slows single ones. river and MABWiser play without delay, which is
less work than QPM-D does here; they come with `pip install latesum[benchmarks]`.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from latesum.attributed import DUCB, KLDUCB, QPMD, SDB, AttributedPolicy, DelayedUCB1, run
from latesum.simulation import Problem

MEANS = (0.5, 0.6)


def best_speed(play: Callable[[int], object], rounds: int, repeats: int) -> float:
    """Rounds per second of processor time, in the best of `repeats`."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        play(rounds)
        spent.append(time.process_time() - start)
    return rounds / min(spent)


def ours(
    policy: AttributedPolicy, delay: str, means: tuple[float, ...] = MEANS
) -> Callable[[int], object]:
    problem = Problem(list(means), delay)

    def play(rounds: int) -> object:
        return run(problem, policy, rounds, seed_sequence=np.random.SeedSequence(1))

    play(1_000)  # compiled, or loaded from the cache
    return play


def plain_python(rounds: int) -> None:
    """UCB1 without delay, as one would write it."""
    draw = random.Random(1).random
    counts, totals = [0, 0], [0.0, 0.0]
    for now in range(rounds):
        if now < 2:
            arm = now
        else:
            level = 2 * math.log(now)
            first = totals[0] / counts[0] + math.sqrt(level / counts[0])
            second = totals[1] / counts[1] + math.sqrt(level / counts[1])
            arm = 0 if first >= second else 1
        counts[arm] += 1
        totals[arm] += draw() < MEANS[arm]


def river_ucb(rounds: int) -> None:
    from river import bandit

    draw = random.Random(1).random
    policy = bandit.UCB(delta=1, seed=1)
    for _ in range(rounds):
        arm = int(policy.pull([0, 1]))
        policy.update(arm, float(draw() < MEANS[arm]))  # type: ignore[no-untyped-call]


def mabwiser_ucb1(rounds: int) -> None:
    from mabwiser.mab import MAB, LearningPolicy

    draw = random.Random(1).random
    mab = MAB([0, 1], LearningPolicy.UCB1(alpha=1.0), seed=1)
    mab.fit([0, 1], [0, 1])
    for _ in range(rounds):
        arm = mab.predict()
        mab.partial_fit([arm], [int(draw() < MEANS[arm])])


def speeds(rounds: int, repeats: int) -> None:
    """The table of speeds and ratios."""
    rows: list[tuple[str, float | None]] = [
        (name, best_speed(ours(policy, delay, means), rounds, repeats))
        for name, policy, delay, means in [
            ("QPM-D (UCB1), uniform(0, 100)", QPMD("ucb1", 2), "uniform(0, 100)", MEANS),
            ("QPM-D (KL-UCB), uniform(0, 100)", QPMD("kl-ucb", 2), "uniform(0, 100)", MEANS),
            ("QPM-D (Thompson), uniform(0, 100)", QPMD("thompson", 2), "uniform(0, 100)", MEANS),
            ("Delayed-UCB1, uniform(0, 100)", DelayedUCB1(2), "uniform(0, 100)", MEANS),
            (
                "SDB (UCB1, Thompson), uniform(0, 100)",
                SDB("ucb1", 2, max_delay=100),
                "uniform(0, 100)",
                MEANS,
            ),
            ("DUCB, uniform(0, 200)", DUCB("uniform(0, 200)", 2), "uniform(0, 200)", MEANS),
            (
                "DUCB, uniform(0, 200), ten arms",
                DUCB("uniform(0, 200)", 10),
                "uniform(0, 200)",
                (0.5,) * 9 + (0.6,),
            ),
            ("KL-DUCB, uniform(0, 200)", KLDUCB("uniform(0, 200)", 2), "uniform(0, 200)", MEANS),
            ("UCB1 without delay", QPMD("ucb1", 2), "constant(0)", MEANS),
        ]
    ]
    rows.append(("plain Python UCB1, no delay", best_speed(plain_python, rounds // 10, repeats)))
    others = [
        ("river UCB, no delay", river_ucb, 50),
        ("MABWiser UCB1, no delay", mabwiser_ucb1, 500),
    ]
    for name, play, share in others:
        try:
            rows.append((name, best_speed(play, rounds // share, min(repeats, 3))))
        except ImportError:
            rows.append((name, None))
    libraries = [speed for name, speed in rows if speed and name.startswith(("river", "MABWiser"))]
    plain = next(speed for name, speed in rows if speed and name.startswith("plain"))
    print(
        "| what | million rounds per CPU-second | times plain Python | times the faster library |"
    )
    print("|---|---|---|---|")
    for name, speed in rows:
        if speed is None:
            print(f"| {name} | not installed: pip install latesum[benchmarks] | | |")
            continue
        against = f"{speed / max(libraries):.1f}" if libraries else ""
        print(f"| {name} | {speed / 1e6:.3g} | {speed / plain:.2g} | {against} |")


def _replication(number: int) -> int:
    problem = Problem(list(MEANS), "uniform(0, 100)")
    seed = np.random.SeedSequence(1, spawn_key=(number,))
    arms, rounds = run(problem, QPMD("ucb1", 2), 250_000, seed_sequence=seed)
    return int(rounds[arms == 0].sum())


def scaling(rounds: int, repeats: int) -> None:
    """Twice the horizon, and two workers."""
    play = ours(QPMD("ucb1", 2), "uniform(0, 100)")
    once = rounds / best_speed(play, rounds, repeats)
    twice = 2 * rounds / best_speed(play, 2 * rounds, repeats)
    print(f"\nTwice the horizon: {twice / once:.2f} times the processor time.")
    replications = max(40, rounds * repeats // 250_000)
    wall = {}
    for workers in (1, 2):
        with ProcessPoolExecutor(workers) as pool:
            list(pool.map(_replication, range(workers)))  # started, kernels loaded
            start = time.perf_counter()
            list(pool.map(_replication, range(replications), chunksize=5))
            wall[workers] = time.perf_counter() - start
    print(
        f"Two workers: {wall[2] / wall[1]:.2f} times the wall time of one, "
        f"for {replications} replications of 250,000 rounds."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and repeats")
    quick = parser.parse_args().quick
    rounds, repeats = (500_000, 3) if quick else (2_000_000, 7)
    speeds(rounds, repeats)
    scaling(rounds, repeats)


if __name__ == "__main__":
    main()
