"""Files of totals: the one reader for imports, for histories, and for plans from a history.

A line names the columns (`NAMES`), or the caller does (`FileForm.columns`). Other columns are
ignored and named. What can be read in one way is accepted, the rest is refused with a remedy.

A file may come from anyone who has a token, so the cost of reading is linear in its length: cells
of other columns are not looked at, and a table that is too wide is refused before it is split into
cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, known_name, shortened
from latesum._render import counted
from latesum.errors import MAX_PROBLEMS, BadFile
from latesum.files.cells import Cell, day_text, is_empty, number, settled, unguarded
from latesum.files.form import FileForm
from latesum.files.sources import MAX_COLUMNS, NumberedRow, open_rows

#: In characters, of a cell that is used.
_MAX_CELL = 1_000
#: What the column of each field may be called, without capitals. The first name of rounds and
#: totals is taken whatever else is there; of the others there may be one.
NAMES = {
    "bucket": ("bucket", "date", "day", "hour", "week", "time"),
    "rounds": ("rounds", "visitors", "visits", "sessions", "users", "clicks", "link clicks"),
    "total": (
        *("total", "sales", "orders", "conversions", "purchases", "transactions", "revenue"),
        "conversions (by conv. time)",  # of Google Ads, beside those by the time of the click
    ),
    "status": ("status",),
    "shown": ("shown",),
    "region": ("region", "market", "store", "country"),
}
_FIELDS = ("rounds", "total", "status", "shown")
_ENOUGH = [("bucket", name) for name in _FIELDS]
#: How lines begin that add up others: in exports of English, German, French and Spanish tools.
_TOTAL = re.compile(
    r"\s*(grand\s+total|totals?|sum|summe|gesamt|gesamtsumme|gesamtergebnis|insgesamt|somme|"
    r"suma)\b",
    re.IGNORECASE,
)
#: Lines that were left out are named one by one up to this many.
_MAX_NAMED = 5


class Row(NamedTuple):
    """What is reported about a bucket; what is not said is None.

    The status is "provisional", "final" or "missing"; `shown` is what was really shown, where that
    is not what was decided; `line` is the line of the file that it is from, or 0.
    """

    bucket: int | str | date
    rounds: int | None = None
    total: float | None = None
    status: str | None = None
    shown: str | None = None
    region: str | None = None
    line: int = 0

    def as_history(self) -> dict[str, Any]:
        """What a campaign's history keeps of it."""
        region = {} if self.region is None else {"region": self.region}
        values = {"rounds": self.rounds, "total": self.total, "shown": self.shown}
        return {"bucket": self.bucket, **values, **region}


@dataclass
class FileTable:
    """A file that is read as a table.

    `cells` gives each row with its number in the file; lines that add up others are left out and
    named in `left_out`, rows of another width are in `problems`. Of a file of totals `rows` are
    those that could be read; with `MAX_PROBLEMS` problems it was read up to the last of them.
    """

    #: The line with the names of the columns, and the names as they are written.
    line: int
    names: list[str]
    #: The place of the column of each field that there is, and of the one that a row is about.
    places: dict[str, int]
    key: int | None
    #: How the file is written: what was given, and how its dates showed to be written.
    form: FileForm
    #: Between the cells of a text file.
    separator: str | None
    _cells: Iterator[NumberedRow]
    #: The first lines that were left out, and how many there were.
    left_out: list[str] = field(default_factory=list)
    left_out_count: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    #: What people should know: lines that were left out, regions that were added up.
    notes: list[str] = field(default_factory=list)

    @property
    def regions(self) -> list[str]:
        """The regions, in the order in which they come."""
        return list(dict.fromkeys(row.region for row in self.rows if row.region))

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that mean nothing to us, as they are written."""
        used = set(self.places.values())
        return tuple(n for place, n in enumerate(self.names) if place not in used and n)

    @property
    def left_out_sentence(self) -> str | None:
        """Which lines were left out, for people."""
        if not self.left_out:
            return None
        more = self.left_out_count - len(self.left_out)
        return f"Left out as totals of other rows: {', '.join(self.left_out)}" + (
            f", and {more:,} more." if more > 0 else "."
        )

    def column(self, name: str) -> str:
        """How the column of a field is called in the file."""
        return self.names[self.places[name]] if name in self.places else name

    def refused(self, what: str) -> BadFile:
        """The columns cannot be used; the message names those that are there."""
        there = ", ".join(shortened(name) or "(no name)" for name in self.names)
        return BadFile([in_row(self.line, f"{what} The columns are: {there}.")])

    def cells(self) -> Iterator[NumberedRow]:
        """The rows with as many cells as there are columns."""
        width = len(self.names)
        for line, cells in self._cells:
            if self._is_blank(cells) or self._is_total(line, cells):
                continue
            if len(cells) != width:
                if self.separator is None:
                    cells = (cells + [None] * width)[:width]
                elif len(cells) > width and not any(cells[width:]):
                    cells = cells[:width]
                else:
                    self.problems.append((line, in_row(line, _wrong_width(len(cells), width))))
                    if len(self.problems) >= MAX_PROBLEMS:
                        return
                    continue
            yield line, cells

    def _is_blank(self, cells: list[Cell]) -> bool:
        if not any(cells):
            # In other files than text a zero is something.
            return self.separator is not None or all(cell in (None, "") for cell in cells)
        if len(cells) > MAX_COLUMNS + 1:
            return False
        return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells)

    def _is_total(self, line: int, cells: list[Cell]) -> bool:
        if self.key is None:
            return False
        what = cells[self.key] if self.key < len(cells) else None
        if is_empty(what):
            what = next((cell for cell in cells[: MAX_COLUMNS + 1] if not is_empty(cell)), None)
        if not isinstance(what, str) or not _TOTAL.match(what):
            return False
        self.left_out_count += 1
        if len(self.left_out) < _MAX_NAMED:
            self.left_out.append(f"{line} ({shortened(what.strip(), 30)})")
        return True


def read_totals(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    every: str | None = None,
    most_rows: int | None = None,
    regions: bool | None = False,
) -> FileTable:
    """The rows of a file of totals.

    Args:
        source: The file, or its content.
        form: How the file is written, where that cannot be seen.
        every: What a bucket is: a row that is for more than one is refused.
        most_rows: A file of more rows is refused; without it there is no limit.
        regions: Whether a column says which region a row is of; None where one may.

    >>> read_totals(b"date;visitors;orders\\n1.3.2026;5000;1512,5\\n").rows[0][:3]
    ('2026-03-01', 5000, 1512.5)
    """
    fields = NAMES
    if regions is False:
        fields = {name: names for name, names in NAMES.items() if name != "region"}
    table = open_table(source, fields, _ENOUGH, form or FileForm())
    _check_columns(table, every)
    if regions and "region" not in table.places:
        raise table.refused(
            "no column says which region a row is of, and this campaign has regions; name one "
            "'region', or set columns to region=NAME."
        )
    read = list[tuple[int, dict[str, Cell]]]()
    for line, cells in table.cells():
        if len(read) == most_rows:
            raise InvalidInput(f"the file has more than {most_rows:,} rows; send it in parts.")
        read.append((line, {name: cells[place] for name, place in table.places.items()}))
    if not read and not table.problems:
        raise InvalidInput("the file has no rows below the names of its columns.")
    try:
        table.form = settled(table.form, ((line, used["bucket"]) for line, used in read))
    except InvalidInput as refused:
        raise BadFile([f"column {table.column('bucket')}: {refused}"]) from None
    for line, used in read:
        if len(table.problems) >= MAX_PROBLEMS:
            break
        try:
            table.rows.append(_row(table, line, used))
        except InvalidInput as bad:
            table.problems.append((line, in_row(line, str(bad), bad.field)))
    table.problems.sort()
    if table.left_out_sentence is not None:
        table.notes.append(table.left_out_sentence)
    return table


def read_history(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    regions: bool | None = None,
    most_rows: int | None = None,
) -> FileTable:
    """The rows of a file of totals before the start; refused if none of them has a total.

    The arguments are those of `read_totals`. Where there are to be no regions and the file has
    some, the rows of each bucket are added up.

    >>> found = read_history(b"date,store,orders\\n2026-03-01,north,31\\n2026-03-01,south,12\\n")
    >>> found.regions, found.rows[0].total
    (['north', 'south'], 31.0)
    """
    found = read_totals(source, form, regions=regions or None, most_rows=most_rows)
    if found.problems:
        raise BadFile([sentence for _, sentence in found.problems])
    if all(row.total is None for row in found.rows):
        there = ", ".join(map(shortened, found.names))
        raise BadFile(
            [
                "no row has a total, and a history is there for its totals. The columns are: "
                f"{there}. Name the one of the totals 'total', or set columns to total=NAME."
            ]
        )
    return _added_up(found) if regions is False and found.regions else found


def _added_up(found: FileTable) -> FileTable:
    """One row per bucket in place of one per region."""
    whole: dict[int | str | date, Row] = {}
    for row in found.rows:
        row = row._replace(region=None)
        earlier = whole.setdefault(row.bucket, row)
        if earlier is not row:
            try:
                whole[row.bucket] = added_rows(earlier, row, str(row.bucket))
            except InvalidInput as refused:
                raise BadFile([in_row(row.line, str(refused))]) from None
    regions = counted(len(found.regions), "region")
    found.notes.append(f"The history has {regions}; their rows were added up.")
    found.rows = list(whole.values())
    return found


def added_rows(one: Row, other: Row, label: str) -> Row:
    """Two parts of a bucket as one row; refused where they cannot be added."""
    given = (one.rounds is None, one.total is None, one.status, one.shown)
    if given != (other.rounds is None, other.total is None, other.status, other.shown):
        raise InvalidInput(
            f"{label} is in row {one.line} already, and the two cannot be added up: rounds, total, "
            "status and shown must be there in both or in none, and the last two be the same."
        )
    return one._replace(
        rounds=None if one.rounds is None else one.rounds + (other.rounds or 0),
        total=None if one.total is None else one.total + (other.total or 0.0),
    )


def _check_columns(table: FileTable, every: str | None) -> None:
    if "bucket" not in table.places:
        raise table.refused(
            "no column says which bucket a row is for; name one of them 'bucket' or 'date', or "
            "set columns to bucket=NAME."
        )
    if not any(name in table.places for name in _FIELDS):
        raise table.refused(
            "there is neither a column 'rounds' nor a column 'total'; rename yours, or set columns "
            "to rounds=NAME,total=NAME."
        )
    given, name = table.form.columns, table.column("bucket")
    if name.lower() == "week" and every in ("hour", "day") and "bucket" not in given:
        # It would set the total of a week for its first day.
        what = (
            f"the rows are for weeks, and this campaign's buckets are {every}s; export them by "
            f"{every}, or set columns to bucket={name} if the rows are for {every}s."
        )
        raise BadFile([in_row(table.line, what)])
    for name in table.places.keys() - given.keys():
        found = [each for each in map(str.lower, table.names) if each in NAMES[name]]
        if len(found) > 1 and not (name != "bucket" and name in found):
            raise table.refused(
                f"the columns {' and '.join(found)} can all be the {name}; name one of them "
                f"'{name}', or set columns to {name}=NAME."
            )


def _row(table: FileTable, line: int, cells: dict[str, Cell]) -> Row:
    """A row with its types; what is wrong is refused with the column."""
    found: dict[str, Any] = {}
    for name, cell in cells.items():
        try:
            found[name] = _value(table, name, cell)
        except InvalidInput as refused:
            raise InvalidInput(refused.message, field=table.column(name)) from None
    return Row(**found, line=line)


def _value(table: FileTable, name: str, cell: Cell) -> str | float | None:
    if isinstance(cell, str) and len(cell) > _MAX_CELL:
        text = f"it has {len(cell):,} characters, and at most {_MAX_CELL:,} are read."
        raise InvalidInput(text)
    if name in ("status", "shown", "region"):
        # A name that is a whole number may be a number in an Excel file.
        cell = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
        text = unguarded(str("" if cell is None else cell).strip())
        return (text.lower() if name == "status" else text) or None
    if is_empty(cell):
        if name == "bucket":
            raise InvalidInput("it is empty; say which bucket the row is for.")
        return None
    if name == "bucket":
        return day_text(cell, table.form)
    amount = number(cell, table.form, table.separator, whole=name == "rounds")
    if name == "total":
        return amount
    if amount < 0 or not amount.is_integer():
        shown = shortened(str(cell).strip())
        raise InvalidInput(f"{shown!r} must be a whole number of at least 0, such as 5000.")
    return int(amount)


def open_table(
    source: Path | bytes,
    fields: Mapping[str, tuple[str, ...]],
    enough: Sequence[tuple[str, ...]],
    form: FileForm,
) -> FileTable:
    """Open a file and find out which of its columns is what.

    Args:
        source: The file, or its content.
        fields: Each field with the names that its column may have, without capitals.
        enough: Fields of which a line that names the columns has all of one tuple. The first of
            the tuple says what a row is about: without it a row is no row.
        form: How the file is written.

    >>> table = open_table(
    ...     b"A report\\nDay;Sales\\n1.2.2026;7\\nTotal;7\\n",
    ...     {"day": ("day",), "sales": ("sales",)}, [("day", "sales")], FileForm())
    >>> list(table.cells()), table.left_out_sentence
    ([(3, ['1.2.2026', '7'])], 'Left out as totals of other rows: 4 (Total).')
    """
    for name in form.columns:
        known_name(name, fields, "field of such a file")
    given = {name: column.lower() for name, column in form.columns.items()}
    wanted = {**fields, **{name: (column,) for name, column in given.items()}}

    def is_names(cells: list[str]) -> bool:
        found = _places(wanted, given, cells)
        return any(found.keys() >= set(needed) for needed in enough)

    commas = form.decimal == ","
    separator, rows = open_rows(source, is_names, form.sheet, decimal_commas=commas)
    line, cells = next(rows)
    while cells and cells[-1] is None:  # to the right of an Excel table
        cells.pop()
    if len(cells) > MAX_COLUMNS:
        what = (
            f"it names {len(cells):,} columns, and a file of totals has at most {MAX_COLUMNS} "
            "columns; keep those of the bucket, rounds, total, status and shown."
        )
        raise BadFile([in_row(line, what)])
    names = ["" if cell is None else str(cell).strip() for cell in cells]
    lowered = [name.lower() for name in names]
    places = _places(wanted, given, lowered)
    key = next((places[needed[0]] for needed in enough if needed[0] in places), None)
    table = FileTable(line, names, places, key, form, separator, rows)
    for name, column in given.items():
        if column not in lowered:
            raise table.refused(f"there is no column {shortened(column)!r} for {name}.")
    for place in places.values():
        if lowered.count(lowered[place]) > 1:
            what = f"the column {lowered[place]} is there twice; remove one."
            raise BadFile([in_row(line, what)])
    return table


def _places(
    wanted: Mapping[str, Sequence[str]], given: Mapping[str, str], cells: list[str]
) -> dict[str, int]:
    """The place of each field among names without capitals; a column has one field at most."""
    at = {name: place for place, name in reversed(list(enumerate(cells)))}
    taken = {at[name] for name in given.values() if name in at}
    found: dict[str, int] = {}
    for field_name, names in wanted.items():
        free = [at[n] for n in names if n in at and (field_name in given or at[n] not in taken)]
        if free:
            found[field_name] = free[0]
            taken.add(free[0])
    return found


def in_row(line: int, what: str, column: str | None = None) -> str:
    """What is wrong in a row of a file.

    >>> in_row(3, "it is empty.", "total")
    'row 3, column total: it is empty.'
    """
    where = f"row {line}" + ("" if column is None else f", column {column}")
    return f"{where}: {what}"


def _wrong_width(cells: int, columns: int) -> str:
    return (
        f"it has {cells:,} columns, and the first line names {columns}; put a value that "
        'contains the separator into quotes "..."'
        + (", or set the decimal mark to ',' if the comma is decimal." if columns == 1 else ".")
    )
