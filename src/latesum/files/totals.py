"""Files of totals: the one reader for imports, for histories, and for plans from a history.

A line names the columns (`NAMES`), or the caller does (`FileForm.columns`). Other columns are
ignored and named. What can be read in one way is accepted, the rest is refused with a remedy.

A file may come from anyone who has a token, so the cost of reading is linear in its length: cells
of other columns are not looked at, and a table that is too wide is refused before it is split into
cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, shortened
from latesum._render import counted
from latesum.errors import MAX_PROBLEMS, BadFile
from latesum.files.cells import Cell, day_text, is_empty, number, settled, unguarded
from latesum.files.form import FileForm
from latesum.files.table import FileTable, in_row, open_table

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


@dataclass(frozen=True)
class Totals:
    """A file that was read: its rows, what is wrong with others, and how its columns are called.

    With `MAX_PROBLEMS` problems it was read up to the last of them.
    """

    rows: list[Row]
    problems: list[tuple[int, str]]
    #: The names of the fields in the file, where there are columns for them.
    columns: dict[str, str]
    #: Columns that mean nothing to us, as they are written.
    ignored: tuple[str, ...]
    #: What people should know: lines that were left out.
    notes: tuple[str, ...]
    #: How the file is written: what was given, and how its dates showed to be written.
    form: FileForm

    @property
    def regions(self) -> list[str]:
        """The regions, in the order in which they come."""
        return list(dict.fromkeys(row.region for row in self.rows if row.region))


def read_totals(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    every: str | None = None,
    most_rows: int | None = None,
    regions: bool | None = False,
) -> Totals:
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
    for line, cells in table.rows():
        if len(read) == most_rows:
            raise InvalidInput(f"the file has more than {most_rows:,} rows; send it in parts.")
        read.append((line, {name: cells[place] for name, place in table.places.items()}))
    if not read and not table.problems:
        raise InvalidInput("the file has no rows below the names of its columns.")
    try:
        table.form = settled(table.form, ((line, used["bucket"]) for line, used in read))
    except InvalidInput as refused:
        raise BadFile([f"column {table.column('bucket')}: {refused}"]) from None
    rows, problems = list[Row](), table.problems
    for line, used in read:
        if len(problems) >= MAX_PROBLEMS:
            break
        try:
            rows.append(_row(table, line, used))
        except InvalidInput as bad:
            problems.append((line, in_row(line, str(bad), bad.field)))
    columns = {field: table.column(field) for field in table.places}
    notes = () if table.left_out_sentence is None else (table.left_out_sentence,)
    return Totals(rows, sorted(problems), columns, table.unused, notes, table.form)


def read_history(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    regions: bool | None = None,
    most_rows: int | None = None,
) -> Totals:
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
        there = ", ".join(shortened(name) for name in (*found.columns.values(), *found.ignored))
        raise BadFile(
            [
                "no row has a total, and a history is there for its totals. The columns are: "
                f"{there}. Name the one of the totals 'total', or set columns to total=NAME."
            ]
        )
    return _added_up(found) if regions is False and found.regions else found


def _added_up(found: Totals) -> Totals:
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
    note = f"The history has {counted(len(found.regions), 'region')}; their rows were added up."
    return replace(found, rows=list(whole.values()), notes=(*found.notes, note))


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
    for field in table.places.keys() - given.keys():
        found = [name for name in map(str.lower, table.names) if name in NAMES[field]]
        if len(found) > 1 and not (field != "bucket" and field in found):
            raise table.refused(
                f"the columns {' and '.join(found)} can all be the {field}; name one of them "
                f"'{field}', or set columns to {field}=NAME."
            )


def _row(table: FileTable, line: int, cells: dict[str, Cell]) -> Row:
    """A row with its types; what is wrong is refused with the column."""
    found: dict[str, Any] = {}
    for field, cell in cells.items():
        try:
            found[field] = _value(table, field, cell)
        except InvalidInput as refused:
            raise InvalidInput(refused.message, field=table.column(field)) from None
    return Row(**found, line=line)


def _value(table: FileTable, field: str, cell: Cell) -> str | float | None:
    if isinstance(cell, str) and len(cell) > _MAX_CELL:
        text = f"it has {len(cell):,} characters, and at most {_MAX_CELL:,} are read."
        raise InvalidInput(text)
    if field in ("status", "shown", "region"):
        # A name that is a whole number may be a number in an Excel file.
        cell = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
        text = unguarded(str("" if cell is None else cell).strip())
        return (text.lower() if field == "status" else text) or None
    if is_empty(cell):
        if field == "bucket":
            raise InvalidInput("it is empty; say which bucket the row is for.")
        return None
    if field == "bucket":
        return day_text(cell, table.form)
    amount = number(cell, table.form, table.separator, whole=field == "rounds")
    if field == "total":
        return amount
    if amount < 0 or not amount.is_integer():
        shown = shortened(str(cell).strip())
        raise InvalidInput(f"{shown!r} must be a whole number of at least 0, such as 5000.")
    return int(amount)
