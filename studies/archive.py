"""The archive of the benchmark: latesum's own policies on all suites.

    python studies/archive.py --out archive-results

It writes `src/latesum/benchmark/archive.parquet`. Runs are kept in the folder, so that work that
was stopped goes on where it was. All policies have one seed, and so the same draws.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from latesum.benchmark import Entry, card, run_entry
from latesum.benchmark.running import microseconds_per_decision
from latesum.cli.bench import WRONG_FACTORS
from latesum.experiments.store import atomic_write
from report import command, options, running

#: Without CLW, which is for adversarial rewards: its blocks are short, and its runs take long.
ENTRIES = {
    "nothing": ["unmix", "ars-ucb"],
    "mean": [
        "unmix",
        "flow",
        "flow(index='ucb1')",
        "flow(lookahead=True)",
        "odaaf",
    ],
    "bound": ["odaaf-b", "naive"],
    "variance": ["odaaf-v"],
    "distribution": ["unmix"],
}
#: With attributed feedback: not comparable, shown as references. QPM-D with KL-UCB++ is the one
#: that all are divided by.
REFERENCES = ["qpm-d", "delayed-ucb1"]
#: Taken from a digest of the source when the suites were frozen: nothing was tuned on it.
SEED = 163573489195935
#: Runs per cell of core-1. Entries of others have all 200; the intervals here are wider.
RUNS = 20
#: Of Unmix, whose runs take longer, by track: per cell of core-1; of random-1 the first problems;
#: and of these where the mean that is given is wrong.
UNMIX_RUNS = {"nothing": 8, "mean": 8, "distribution": 4}
UNMIX_PROBLEMS = {"nothing": 750, "mean": 1_000, "distribution": 840}
UNMIX_WRONG = 100
TARGET = Path(__file__).parents[1] / "src/latesum/benchmark/archive.parquet"


def main() -> bool:
    """Read the options, run what is missing, and write the archive."""
    parser = options(__doc__, "archive-results", seed=SEED)
    parser.add_argument("--only", default="", help="entries by commas, for a part of the work")
    asked = parser.parse_args()
    entries = [
        Entry.read(text, track)
        for track, texts in {**ENTRIES, "nothing": [*ENTRIES["nothing"], *REFERENCES]}.items()
        for text in texts
        if not asked.only or text in asked.only.split(";")
    ]
    cards = []
    with running(asked) as how:
        how["store"] = asked.out
        for entry in entries:
            runs, problems, wrong_means = RUNS, None, None
            if entry.policy.name == "unmix":
                runs, problems = UNMIX_RUNS[entry.track], UNMIX_PROBLEMS[entry.track]
                wrong_means = UNMIX_WRONG
            outcomes = [
                run_entry(entry, "core-1", seed=asked.seed, runs=runs, **how),
                run_entry(entry, "random-1", seed=asked.seed, runs=problems, **how),
            ]
            factors = WRONG_FACTORS if entry.track == "mean" else ()
            wrong = {
                factor: run_entry(
                    entry, "random-1", seed=asked.seed, factor=factor, runs=wrong_means, **how
                )
                for factor in factors
            }
            speed = microseconds_per_decision(entry)
            cards.append(card(entry, outcomes, robustness=wrong, microseconds=speed))
    if not asked.only:
        # A row per entry, with its cells as a nested column.
        rows = [
            {
                "entry": each["entry"],
                "track": each["track"],
                "card": json.dumps({key: each[key] for key in each if key != "cells"}),
                "cells": each["cells"],
            }
            for each in cards
        ]
        with atomic_write(TARGET) as unfinished:
            pq.write_table(pa.Table.from_pylist(rows), unfinished, compression="zstd")
    return True


if __name__ == "__main__":
    command(main)
