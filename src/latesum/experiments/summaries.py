"""Files of results that are never half-written, and tables as CSV."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

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
    """Write rows as CSV.

    Args:
        path: The file; its folder is made where there is none.
        rows: The rows, all with the same columns. None is an empty cell.
        same: Columns that say what a row is about. Rows of the file that are about something else
            stay; without it none stays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "safety.csv"
    >>> for given, stuck in ((1, 0), (0.5, 3), (0.5, 2)):
    ...     _ = write_summary(path, [{"given": given, "stuck": stuck}], same=["given"])
    >>> read_summary(path)
    [{'given': '1', 'stuck': '0'}, {'given': '0.5', 'stuck': '2'}]
    """
    path = Path(path)
    new = [{name: _text(value) for name, value in row.items()} for row in rows]
    about = {tuple(row[name] for name in same) for row in new}
    old = read_summary(path) if same and path.exists() else []
    rows = [row for row in old if tuple(row.get(name, "") for name in same) not in about] + new
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        atomic_write(path) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as file,
    ):
        columns = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_summary(path: str | Path) -> list[dict[str, str]]:
    """The rows of such a file, as text."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
