"""Files of results that are never half-written, and tables as CSV."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

#: How names of unfinished files begin.
UNFINISHED = ".unfinished-"


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; the file replaces `path` at the end, and only then.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kept.txt"
    >>> with atomic_write(path) as unfinished:
    ...     _ = unfinished.write_text("whole")
    >>> [each.name for each in path.parent.iterdir()]
    ['kept.txt']
    """
    unfinished = path.with_name(f"{UNFINISHED}{os.getpid()}-{os.urandom(6).hex()}")
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())  # what is renamed is on the disk, not only on its way there
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_summary(
    path: str | Path, rows: Iterable[Mapping[str, object]], *, same: Sequence[str] = ()
) -> Path:
    """Write rows as CSV; None is an empty cell, and the folder is made where there is none.

    Rows of the file that are about something else, by the columns `same`, stay; without any of
    these none stays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "safety.csv"
    >>> for given, stuck in ((1, 0), (0.5, 3), (0.5, 2)):
    ...     _ = write_summary(path, [{"given": given, "stuck": stuck}], same=["given"])
    >>> read_summary(path)
    [{'given': '1', 'stuck': '0'}, {'given': '0.5', 'stuck': '2'}]
    """
    path = Path(path)
    new: list[dict[str, object]] = [
        {name: f"{each:.6g}" if isinstance(each, float) else each for name, each in row.items()}
        for row in rows
    ]
    about = {tuple("" if row[name] is None else str(row[name]) for name in same) for row in new}
    old = read_summary(path) if same and path.exists() else []
    kept = [row for row in old if tuple(row.get(name, "") for name in same) not in about]
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        atomic_write(path) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as file,
    ):
        everything: list[Any] = [*kept, *new]
        columns = list(dict.fromkeys(name for row in everything for name in row))
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(everything)
    return path


def read_summary(path: str | Path) -> list[dict[str, str]]:
    """The rows of such a file, as text."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
