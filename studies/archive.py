"""The archive of the benchmark: latesum's own policies on all suites.

    python studies/archive.py                                           # all entries
    python studies/archive.py --only unmix --track mean --runs 12       # one entry, more runs

It writes `src/latesum/benchmark/archive.parquet`, where entries that were not run stay as they are.
Runs are kept in the folder `--out`: work that was stopped goes on where it was, and a larger number
of runs makes only those that are missing. All policies have one seed, and so the same draws.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from latesum._checks import InvalidInput
from latesum.benchmark import Entry, archive, card, run_entry
from latesum.benchmark.entries import TRACKS
from latesum.benchmark.running import microseconds_per_decision
from latesum.cli.bench import WRONG_FACTORS
from latesum.experiments.store import atomic_write
from latesum.policies import PolicySpec
from report import command, options, running

#: Without CLW, which is for adversarial rewards: its blocks are short, and its runs take long.
ENTRIES = {
    # The last two have attributed feedback: not comparable, shown as references. QPM-D with
    # KL-UCB++ is the one that all are divided by.
    "nothing": ["unmix", "ars-ucb", "qpm-d", "delayed-ucb1"],
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
#: Taken from a digest of the source when the suites were frozen: nothing was tuned on it.
SEED = 163573489195935
#: Runs per cell of core-1. Entries of others have all 200; the intervals here are wider.
RUNS = 20
TARGET = Path(__file__).parents[1] / "src/latesum/benchmark/archive.parquet"


def main() -> bool:
    """Read the options, run what is missing, and write the archive."""
    parser = options(__doc__, "archive-results", seed=SEED)
    parser.add_argument("--only", action="append", help="only this entry, such as unmix")
    parser.add_argument("--track", action="append", choices=TRACKS, help="only this track")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"per cell of core-1 ({RUNS})")
    asked = parser.parse_args()
    every = [(text, track) for track, texts in ENTRIES.items() for text in texts]
    chosen = [
        (text, track)
        for text, track in every
        if (not asked.only or text in asked.only) and (not asked.track or track in asked.track)
    ]
    if not chosen:
        raise InvalidInput(f"no entry is so; they are {', '.join(map(' in '.join, every))}.")
    cards = {}
    with running(asked) as how:
        for text, track in chosen:
            entry, seed = Entry.read(text, track), asked.seed
            outcomes = [
                run_entry(entry, "core-1", seed=seed, runs=asked.runs, **how),
                run_entry(entry, "random-1", seed=seed, **how),
            ]
            wrong = {
                factor: run_entry(entry, "random-1", seed=seed, factor=factor, **how)
                for factor in (WRONG_FACTORS if track == "mean" else ())
            }
            speed = microseconds_per_decision(entry)
            made = card(entry, outcomes, robustness=wrong, microseconds=speed)
            cards[made["entry"], made["track"]] = made
    kept = {(each["entry"], each["track"]): each for each in archive()}
    order = {(str(PolicySpec.parse(text)), track): None for text, track in every}
    cards = {key: (kept | cards)[key] for key in order if key in kept or key in cards}
    # A row per entry, with its cells as a nested column.
    rows = [
        {
            "entry": entry,
            "track": track,
            "card": json.dumps({key: each[key] for key in each if key != "cells"}),
            "cells": each["cells"],
        }
        for (entry, track), each in cards.items()
    ]
    with atomic_write(TARGET) as unfinished:
        pq.write_table(pa.Table.from_pylist(rows), unfinished, compression="zstd")
    return True


if __name__ == "__main__":
    command(main)
