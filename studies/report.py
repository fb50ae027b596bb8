"""What all studies share: options, a table in print, and the same rows as a CSV file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from latesum._checks import InvalidInput
from latesum._render import new_table, terminal
from latesum.cli.options import worker_count, working
from latesum.experiments.engine import RunOptions
from latesum.experiments.store import write_summary


def options(text: str | None, out: str, *, seed: int = 0) -> argparse.ArgumentParser:
    """The options that every study takes; `out` is the folder where its runs are kept."""
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    parser.add_argument("--replications", type=int, help="the number of runs, or at most so many")
    parser.add_argument("--seed", type=int, default=seed, help=f"the seed ({seed})")
    parser.add_argument("--workers", type=int, help="the number of processes; one per core without")
    parser.add_argument("--dask", help="the address of a Dask scheduler, or 'local'")
    parser.add_argument("--out", type=Path, default=Path(out), help="a study resumes there")
    parser.add_argument("--again", action="store_true", help="run again what is there already")
    return parser


def running(asked: argparse.Namespace) -> AbstractContextManager[RunOptions]:
    """Where and how the runs of a study are made, by its options."""
    return working(worker_count(asked.workers), asked.dask, asked.out, asked.again)


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table without the columns that are empty in every row."""
    texts = list(rows)
    filled = [place for place in range(len(columns)) if any(text[place] for text in texts)]
    table = new_table(title, [columns[place] for place in filled])
    for text in texts:
        table.add_row(*(text[place] for place in filled))
    terminal().print(table)


def keep(path: Path, rows: Iterable[Mapping[str, object]], same: Sequence[str]) -> None:
    """Add rows to a CSV file; those about the same (`same` are columns) are replaced."""
    print(f"The same as CSV: {write_summary(path, rows, same=same)}")


def command(main: Callable[[], bool]) -> None:
    """Run a study: exit code 1 if it does not hold, 2 with a sentence for bad input."""
    try:
        sys.exit(0 if main() else 1)
    except InvalidInput as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(2)
