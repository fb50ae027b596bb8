"""Reading a file of totals: what is unambiguous is accepted, the rest is refused with a remedy.

The first line names the columns: `bucket` (or `date`, `day`, `hour`, `week`, `time`), and any of
`rounds`, `total`, `status` and `shown`. Other columns are ignored.

A file may come from anyone who has a token, so the cost of reading is linear in its length: rows are
read one by one, cells of other columns are not looked at, and a table that is too wide is refused
before it is split into cells.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from latesum._checks import InvalidInput, shortened
from latesum.errors import MOST_PROBLEMS, BadField, BadFile
from latesum.live.batches import CheckWanted, always_wanted, in_batches
from latesum.live.verdicts import Row

#: Five columns are used; a report has some more.
MOST_COLUMNS = 100
#: In characters: room for as many long names.
LONGEST_FIRST_LINE = 10_000
#: In characters, of a cell that is used.
LONGEST_CELL = 1_000

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
    """A file that was read: its rows, what is wrong with others, and which column is the bucket.

    With `MOST_PROBLEMS` problems it was read up to the last of them.
    """

    rows: list[FileRow]
    problems: list[tuple[int, str]]
    bucket_column: str
    #: Columns that mean nothing to us, as they are written.
    ignored: tuple[str, ...]


def read_totals(
    source: Path | bytes,
    *,
    most_rows: int | None = None,
    check_wanted: CheckWanted = always_wanted,
) -> Totals:
    """The rows of a file of totals.

    Args:
        source: The file, or its content.
        most_rows: A file of more rows is refused; without it there is no limit.
        check_wanted: Called before every batch of rows; what it raises ends the reading.

    >>> read_totals(b"date;rounds;total\\n2026-03-01;5000;1512,5\\n").rows[0].row[:3]
    ('2026-03-01', 5000, 1512.5)
    """
    text = _decode(_read(source) if isinstance(source, Path) else source)
    separator = _separator(_first_line(text))
    table = _cells(text, separator)
    as_written = next(table)[1]
    if len(as_written) > MOST_COLUMNS:
        raise _too_wide(f"it names {len(as_written):,} columns")
    columns = [name.strip().lower() for name in as_written]
    bucket_column = _check_columns(columns, as_written)
    known = {*_FIELDS, *_BUCKET_NAMES}
    used = [(place, name) for place, name in enumerate(columns) if name in known]
    rows, problems = list[FileRow](), list[tuple[int, str]]()
    for line, cells in in_batches(table, check_wanted):
        if _is_blank(cells):
            continue
        if len(rows) == most_rows:
            raise InvalidInput(f"the file has more than {most_rows:,} rows; send it in parts.")
        if len(cells) != len(columns):
            problems.append((line, f"row {line}: {_wrong_width(len(cells), len(columns))}"))
        else:
            row = {name: cells[place].strip() for place, name in used}
            try:
                rows.append(FileRow(line, _row(row, bucket_column, separator)))
            except BadField as bad:
                problems.append((line, f"row {line}, column {bad.column}: {bad}"))
        if len(problems) == MOST_PROBLEMS:
            break
    if not rows and not problems:
        raise InvalidInput("the file has no rows below its first line.")
    ignored = tuple(name.strip() for name in as_written if name.strip().lower() not in known)
    return Totals(rows, problems, bucket_column, ignored)


def _first_line(text: str) -> str:
    # No more than a part of the text is looked at: a line without an end may be all of it.
    lines = text[: LONGEST_FIRST_LINE + 1].splitlines()
    if not lines or not lines[0].strip():
        raise InvalidInput("the file is empty; its first line must name the columns.")
    if len(lines[0]) > LONGEST_FIRST_LINE:
        raise _too_wide(f"it has more than {LONGEST_FIRST_LINE:,} characters")
    return lines[0]


def _too_wide(why: str) -> BadFile:
    return BadFile(
        [
            f"row 1: {why}, and a file of totals has at most {MOST_COLUMNS} columns; keep "
            f"those of the bucket, {', '.join(_FIELDS[:-1])} and {_FIELDS[-1]}."
        ]
    )


def _cells(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, with its number; the names of the columns are row 1."""
    line = 0
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            line += 1
            yield line, cells
    except csv.Error:
        raise BadFile(
            [
                f"row {line + 1}: it has a cell of more than {csv.field_size_limit():,} "
                'characters; is there a quotation mark " without its second one?'
            ]
        ) from None


def _is_blank(cells: list[str]) -> bool:
    if not any(cells):
        return True
    return len(cells) <= MOST_COLUMNS and not any(cell.strip() for cell in cells)


def _wrong_width(cells: int, columns: int) -> str:
    return (
        f"it has {cells:,} columns, and the first line names {columns}; "
        'put a value that contains the separator into quotes "...".'
    )


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
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                raise InvalidInput(
                    f"the file begins as {encoding.removesuffix('-sig').upper()} and does not go on "
                    "so; save it as CSV in UTF-8."
                ) from None
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
        parts = header.split(separator, MOST_COLUMNS)
        names = (name.strip().strip('"').lower() for name in parts)
        return sum(name in known for name in names)

    return max(_SEPARATORS, key=hits)


def _check_columns(columns: list[str], as_written: list[str]) -> str:
    there = ", ".join(shortened(name.strip()) or "(no name)" for name in as_written)
    for name in (*_BUCKET_NAMES, *_FIELDS):
        if columns.count(name) > 1:
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
    for column, cell in cells.items():
        if len(cell) > LONGEST_CELL:
            raise BadField(
                column, f"it has {len(cell):,} characters, and at most {LONGEST_CELL:,} are read."
            )
    bucket = cells[bucket_column]
    if not bucket:
        raise BadField(bucket_column, "it is empty; say which bucket the row is for.")
    rounds = _number(cells.get("rounds", ""), "rounds", separator)
    if rounds is not None and (rounds < 0 or not rounds.is_integer()):
        raise BadField(
            "rounds",
            f"{shortened(cells['rounds'])!r} must be a whole number of at least 0, such as 5000.",
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
        digits = shortened(re.sub(r"\D", "", text))
        raise BadField(
            column,
            f"{shortened(text)!r} can be read in two ways; write it without separators between thousands, "
            f"such as {digits}, and with a decimal point.",
        )
    raise BadField(
        column,
        f"{shortened(text)!r} is not a number; write digits only, or leave it empty if it is not known.",
    )
