"""Reading a file of totals: what is unambiguous is accepted, the rest is refused with a remedy.

The first line names the columns: `bucket` (or `date`, `day`, `hour`, `week`, `time`), and any of
`rounds`, `total`, `status` and `shown`. Other columns are ignored.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from latesum._checks import InvalidInput
from latesum.errors import BadField, BadFile
from latesum.live.recording import Row

_BUCKET_NAMES = ("bucket", "date", "day", "hour", "week", "time")
_FIELDS = ("rounds", "total", "status", "shown")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_GROUPED = re.compile(r"[+-]?\d{1,3}([,. '\u00a0\u202f]\d{3})+([.,]\d+)?")


class FileRow(NamedTuple):
    """A row and the number of its line in the file."""

    line: int
    row: Row


@dataclass(frozen=True)
class Totals:
    """A file that was read: its rows, what is wrong with others, and which column is the bucket."""

    rows: list[FileRow]
    problems: list[tuple[int, str]]
    bucket_column: str
    #: Columns that mean nothing to us, as they are written.
    ignored: tuple[str, ...]


def read_totals(source: Path | bytes) -> Totals:
    """The rows of a file of totals.

    >>> read_totals(b"date;rounds;total\\n2026-03-01;5000;1512,5\\n").rows[0].row
    Row(bucket='2026-03-01', rounds=5000, total=1512.5, status=None, shown=None)
    """
    text = _decode(_read(source) if isinstance(source, Path) else source)
    lines = text.splitlines()
    if not lines or not lines[0].strip():
        raise InvalidInput("the file is empty; its first line must name the columns.")
    separator = _separator(lines[0])
    table = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    columns = [name.strip().lower() for name in table[0]]
    bucket_column = _check_columns(columns, table[0])
    rows, problems = [], list[tuple[int, str]]()
    for line, cells in enumerate(table[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            sentence = (
                f"row {line}: it has {len(cells)} columns, and the first line names {len(columns)}; "
                'put a value that contains the separator into quotes "...".'
            )
            problems.append((line, sentence))
            continue
        row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
        try:
            rows.append(FileRow(line, _row(row, bucket_column, separator)))
        except BadField as bad:
            problems.append((line, f"row {line}, column {bad.column}: {bad}"))
    if not rows and not problems:
        raise InvalidInput("the file has no rows below its first line.")
    known = {*_FIELDS, *_BUCKET_NAMES}
    ignored = tuple(name.strip() for name in table[0] if name.strip().lower() not in known)
    return Totals(rows, problems, bucket_column, ignored)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None


def _decode(data: bytes) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding)
    if b"\x00" in data:
        raise InvalidInput(
            "this is not a text file (or UTF-16 without its mark); save it as CSV in UTF-8."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Only names of options can hold other letters, and a name read wrongly matches no option.
        return data.decode("cp1252", errors="replace")


def _separator(header: str) -> str:
    known = {*_BUCKET_NAMES, *_FIELDS}

    def hits(separator: str) -> int:
        names = (name.strip().strip('"').lower() for name in header.split(separator))
        return sum(name in known for name in names)

    return max(_SEPARATORS, key=hits)


def _check_columns(columns: list[str], as_written: list[str]) -> str:
    there = ", ".join(name.strip() or "(no name)" for name in as_written)
    for name in {name for name in columns if columns.count(name) > 1}:
        if name in _FIELDS or name in _BUCKET_NAMES:
            raise BadFile([f"row 1: the column {name} is there twice; remove one."])
    buckets = [name for name in columns if name in _BUCKET_NAMES]
    if len(buckets) != 1:
        problem = "no column says which bucket a row is for" if not buckets else (
            f"the columns {' and '.join(buckets)} both say which bucket a row is for"
        )  # fmt: skip
        raise BadFile(
            [f"row 1: {problem}; name one of them 'bucket' or 'date'. The columns are: {there}."]
        )
    if not any(name in _FIELDS for name in columns):
        raise BadFile(
            [
                "row 1: there is neither a column 'rounds' nor a column 'total'; rename yours. "
                f"The columns are: {there}."
            ]
        )
    return buckets[0]


def _row(cells: dict[str, str], bucket_column: str, separator: str) -> Row:
    bucket = cells[bucket_column]
    if not bucket:
        raise BadField(bucket_column, "it is empty; say which bucket the row is for.")
    rounds = _number(cells.get("rounds", ""), "rounds", separator)
    if rounds is not None and (rounds < 0 or not rounds.is_integer()):
        raise BadField(
            "rounds", f"{cells['rounds']!r} must be a whole number of at least 0, such as 5000."
        )
    total = _number(cells.get("total", ""), "total", separator)
    status = cells.get("status", "").lower() or None
    return Row(
        bucket, None if rounds is None else int(rounds), total, status, cells.get("shown") or None
    )


def _number(text: str, column: str, separator: str) -> float | None:
    """A number as the file means it, where there is only one way to read it."""
    if not text:
        return None
    european = separator != ","
    if _PLAIN.fullmatch(text):
        if not (european and re.fullmatch(r"[+-]?\d{1,3}\.\d{3}", text)):
            return float(text)
    elif european and _DECIMAL_COMMA.fullmatch(text) and not _GROUPED.fullmatch(text):
        return float(text.replace(",", "."))
    if _GROUPED.fullmatch(text):
        digits = re.sub(r"\D", "", text)
        raise BadField(
            column,
            f"{text!r} can be read in two ways; write it without separators between thousands, "
            f"such as {digits}, and with a decimal point.",
        )
    raise BadField(
        column,
        f"{text!r} is not a number; write digits only, or leave it empty if it is not known.",
    )
