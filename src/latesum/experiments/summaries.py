"""Files of results that are never half-written, and tables as CSV."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

#: How names of unfinished files begin.
ASIDE = ".aside-"


def write_summary(
    path: str | Path, rows: Iterable[Mapping[str, object]], *, same: Sequence[str] = ()
) -> Path:
    """Write rows as CSV; the file is replaced as a whole, so it is never half-written.

    Args:
        path: The file; its folder is made where there is none.
        rows: The rows, all with the same columns. None is an empty cell.
        same: Columns that say what a row is about. Rows of the file that are about something else
            stay;
            without it none stays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "safety.csv"
    >>> for told, stuck in ((1, 0), (0.5, 3), (0.5, 2)):
    ...     _ = write_summary(path, [{"told": told, "stuck": stuck}], same=["told"])
    >>> print(path.read_text())
    told,stuck
    1,0
    0.5,2
    <BLANKLINE>
    """
    path = Path(path)
    new = [{name: _text(value) for name, value in row.items()} for row in rows]
    about = {tuple(row[name] for name in same) for row in new}
    old = read_summary(path) if same and path.exists() else []
    kept = [row for row in old if tuple(row.get(name, "") for name in same) not in about]
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as aside:
        with aside.open("w", encoding="utf-8", newline="") as file:
            columns = list(dict.fromkeys(name for row in [*kept, *new] for name in row))
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows([*kept, *new])
        aside.replace(path)
    return path


def read_summary(path: str | Path) -> list[dict[str, str]]:
    """The rows of such a file, as text.

    Args:
        path: The file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "one.csv"
    >>> read_summary(write_summary(path, [{"mean": 1.25, "goal": None}]))
    [{'mean': '1.25', 'goal': ''}]
    """
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@contextlib.contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A name of its own, beside `path`; nothing is left of it if writing fails.

    Args:
        path: The file that it will replace.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kept.txt"
    >>> with written_aside(path) as aside:
    ...     _ = aside.write_text("whole")
    ...     _ = aside.replace(path)
    >>> [each.name for each in path.parent.iterdir()]
    ['kept.txt']
    """
    aside = path.with_name(f"{ASIDE}{os.getpid()}-{os.urandom(6).hex()}")
    try:
        yield aside
    finally:
        aside.unlink(missing_ok=True)
