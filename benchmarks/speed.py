"""The table of speed: what whole runs cost, as times and as ratios within one process.

    python benchmarks/speed.py                               # about five minutes
    python benchmarks/speed.py --quick                       # about one
    python benchmarks/speed.py --before ../before/src        # and beside another version
    python docs/tables.py --take speed-results               # into docs/results and the pages

Times are CPU times, the best of several turns; a ratio is the median of the ratios of turns that
the two sides took one after the other, since machines are noisy. Everything is written to
`speed-results/speed.csv` with the date and the kind of machine. river and MABWiser play without
delay, in the same run.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import versions

import attributed
import delays
from latesum import Flow, Problem
from latesum._render import new_table, terminal
from latesum.attributed import QPMD
from latesum.experiments import RunSpec
from latesum.experiments.engine import Chunk, run_chunk
from latesum.experiments.store import write_summary
from latesum.policies import PolicySpec

RESULTS = Path("speed-results")
TWO_ARMS, DELAY, HORIZON, LONG = [0.5, 0.6], "uniform(0, 100)", 250_000, 10**9
#: Runs of one policy, on two arms: how often per turn.
WHOLE_RUNS = {"odaaf-b": 40, "flow": 20, "ars-ucb": 20, "unmix": 3}
#: Beside another version: the statements of `versions`.
BESIDE_BEFORE = ("ODAAF-B, two arms", "Flow, two arms", "Unmix, two arms", "QPM-D, two arms")
MANY_ARMS = 200

Row = dict[str, str]


def turns(sides: Sequence[Callable[[int], object]], count: int) -> list[list[float]]:
    """CPU seconds of each side in each turn."""
    for side in sides:
        side(0)  # compiled before it is timed
    taken = []
    for turn in range(1, count + 1):
        row = []
        for side in sides:
            start = time.process_time()
            side(turn)
            row.append(time.process_time() - start)
        taken.append(row)
    return taken


def ratio(sides: Sequence[Callable[[int], object]], count: int) -> float:
    """How many times as long the first side takes as the second."""
    return statistics.median(one / other for one, other in turns(sides, count))


def whole_run(name: str, runs: int, count: int) -> float:
    """CPU seconds of a run of a policy that is given what is true of the problem."""
    spec = RunSpec(Problem(TWO_ARMS, DELAY), PolicySpec.parse(name), HORIZON)

    def make(turn: int) -> None:
        run_chunk(Chunk(spec, turn * runs, (turn + 1) * runs))

    return min(seconds for (seconds,) in turns([make], count)) / runs


def time_text(seconds: float) -> str:
    """A short time, for the table."""
    return f"{seconds * 1e3:.2f} ms" if seconds > 1e-3 else f"{seconds * 1e6:.0f} µs"


def longer_horizon(name: str, runs: int, count: int) -> float:
    """How many times as long a run takes with a horizon of a billion rounds."""
    sides = []
    for horizon in (LONG, HORIZON):
        spec = RunSpec(Problem(TWO_ARMS, DELAY), PolicySpec.parse(name), horizon)
        sides.append(lambda turn, spec=spec: [spec.run(turn + n) for n in range(runs)])
    return ratio(sides, count)


def many_arms(count: int) -> float:
    """How many times as long a block of Flow takes with many arms as with two."""
    sides, blocks = [], []
    for arms in (MANY_ARMS, 2):
        means = [0.3 + 0.4 * arm / arms for arm in range(arms)]
        policy = Flow(arms, 400_000, mean_delay=50)
        spec = RunSpec(Problem(means, DELAY), PolicySpec.of(policy), 400_000)
        blocks.append(statistics.mean(len(spec.run(number).plays) for number in range(5)))
        sides.append(lambda turn, spec=spec: [spec.run(number) for number in range(5)])
    return ratio(sides, count) * blocks[1] / blocks[0]


def peers(quick: bool) -> list[Row]:
    """QPM-D beside the libraries that have UCB1."""
    rounds, repeats = (500_000, 3) if quick else (2_000_000, 7)
    ours = attributed.best_speed(
        attributed.ours(QPMD("ucb1", 2), "uniform(0, 100)"), rounds, repeats
    )
    beside = []
    for name, play, share in (
        ("river", attributed.river_ucb, 50),
        ("MABWiser", attributed.mabwiser_ucb1, 500),
    ):
        try:
            speed = attributed.best_speed(play, rounds // share, min(repeats, 3))
        except ImportError:
            continue
        beside.append(f"{ours / speed:,.0f} times {name}")
    figure = f"{ours / 1e6:.1f} million rounds per CPU-second"
    return [
        row("QPM-D with UCB1, which plays every round", ", ".join([figure, *beside]), "45 million")
    ]


def memory_of_a_run() -> str:
    """The largest memory that a run with long delays takes, beside what all runs share."""
    spec = delays.Side("uniform(0, 20000)", 10_000, 10**7).spec()
    spec.run(0)
    tracemalloc.start()
    spec.run(1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{most / 2**20:.1f} MiB"


def row(what: str, figure: str, at_most: str = "") -> Row:
    """One line of the table."""
    return {
        "what": what,
        "figure": figure,
        "goal": at_most,
        "command": "`python benchmarks/speed.py`",
    }


def measure(quick: bool) -> list[Row]:
    """All rows."""
    count = 5 if quick else 15
    rows = []
    for name, runs in WHOLE_RUNS.items():
        text = time_text(whole_run(name, runs, count))
        if name in ("odaaf-b", "flow"):
            longer = longer_horizon(name, runs, count)
            text += f"; with horizon {LONG:,} {longer:.2f} times as long"
        goals = {"odaaf-b": "0.5 ms", "flow": "4 ms", "unmix": "8 ms"}
        rows.append(
            row(
                f"{name}, two arms, {DELAY}, horizon {HORIZON:,}, a whole run",
                text,
                goals.get(name, ""),
            )
        )
    rows += peers(quick)
    rows.append(
        row(
            f"Flow, {MANY_ARMS} arms against two, per block",
            f"{many_arms(count):.1f} times",
            "8 times",
        )
    )
    for name, (one, other, at_most) in delays.ROWS.items():
        sides = [side.spec().run for side in (one, other)]
        rows.append(row(f"Flow, {name}", f"{ratio(sides, count):.1f} times", f"{at_most} times"))
    rows.append(row("Flow, uniform(0, 20,000), memory of a run", memory_of_a_run(), "50 MiB"))
    return rows


def beside(source: Path, quick: bool) -> list[Row]:
    """The rows that are ratios to another version of latesum."""
    rows = []
    sides = [versions.Version(source.resolve()), versions.Version(versions.HERE)]
    for name in BESIDE_BEFORE:
        runs, statement = versions.CASES[name]
        for side in sides:
            side.seconds(runs, statement)
        taken = [
            [side.seconds(runs, statement) for side in sides] for _ in range(5 if quick else 25)
        ]
        middle = statistics.median(now / before for before, now in taken)
        rows.append(row(f"{name}, beside the version before", f"{middle:.2f} times"))
    for side in sides:
        side.close()
    return rows


def machine() -> str:
    """The kind of machine, in words."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"


def today() -> str:
    """The date, as it is written."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def when_and_where() -> dict[str, str]:
    """What every row of measured figures says of how it was found."""
    return {"date": today(), "machine": machine()}


def write(rows: Sequence[dict[str, str]]) -> None:
    """Write rows with the date and the machine, in place of older ones of the same name."""
    kept = [{**each, **when_and_where()} for each in rows]
    path = write_summary(RESULTS / "speed.csv", kept, same=["what"])
    print(f"Written to {path}; `python docs/tables.py --take {RESULTS}` takes it into the pages.")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--before", type=Path, help="the folder of another version's package")
    arguments = parser.parse_args()
    if arguments.before and not (arguments.before / "latesum").is_dir():
        sys.exit("give the folder that holds the other version's latesum package.")
    rows = measure(arguments.quick)
    if arguments.before:
        rows += beside(arguments.before, arguments.quick)
    columns = ["what", "figure", "goal"]
    table = new_table(f"{today()}, {machine()}", columns, texts=columns)
    for each in rows:
        table.add_row(each["what"], each["figure"], each["goal"])
    terminal().print(table)
    write(rows)


if __name__ == "__main__":
    main()
