"""Files of totals: the one reader for imports, for histories, and for plans that are made from a history.

A line names the columns (`NAMES`), or the caller does (`FileForm.columns`, a preset). Other columns are ignored
and named. What can be read in one way is accepted, the rest is refused with a remedy.

A file may come from anyone who has a token, so the cost of reading is linear in its length: rows are
read one by one, cells of other columns are not looked at, and a table that is too wide is refused
before it is split into cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, shortened
from latesum._render import counted
from latesum.errors import MAX_PROBLEMS, BadFile
from latesum.files.cells import EITHER_FIRST, Cell, day_order, is_empty, moment
from latesum.files.form import DAY_FIRST, MONTH_FIRST, FileForm
from latesum.files.presets import PRESETS, Dated
from latesum.files.table import FileTable, Layout, in_row, open_table, preset_hint, shown_names

#: In characters, of a cell that is used.
LONGEST_CELL = 1_000
#: What the column of each field may be called, without capitals. The first name of rounds
#: and totals is taken
#: whatever else is there; of the others there may be one.
NAMES = {
    "bucket": ("bucket", "date", "day", "hour", "week", "time"),
    "rounds": ("rounds", "visitors", "visits", "sessions", "users", "clicks"),
    "total": (
        "total",
        "sales",
        "orders",
        "conversions",
        "purchases",
        "transactions",
        "revenue",
    ),
    "status": ("status",),
    "shown": ("shown",),
    "region": ("region", "market", "store", "country"),
}
_FIELDS = ("rounds", "total", "status", "shown")
_ENOUGH = tuple(frozenset({"bucket", name}) for name in _FIELDS)
_WITH_REGIONS = Layout(NAMES, ("bucket",), _ENOUGH)
_WITHOUT_REGIONS = Layout(
    {field: names for field, names in NAMES.items() if field != "region"}, ("bucket",), _ENOUGH
)
_DAYS = {"day": 1, "week": 7}


class Row(NamedTuple):
    """What is reported about a bucket; what is not said is None.

    Args:
        bucket: The bucket: a number, a date or a time.
        rounds: The rounds of the bucket.
        total: Its total.
        status: "provisional", "final" or "missing".
        shown: What was really shown, where that is not what was decided.
        region: The region, in a campaign that has some.
        line: The line of the file that it is from; 0 if it is from none.
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
    #: What people should know: lines that were left out, a column that is dated otherwise.
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
    time_basis: Dated | None = None,
    every: str | None = None,
    most_rows: int | None = None,
    regions: bool | None = False,
) -> Totals:
    """The rows of a file of totals.

    Args:
        source: The file, or its content.
        form: How the file is written, where that cannot be seen.
        time_basis: By what the totals should be dated; presets know by what theirs are.
        every: What a bucket is: a row that is for more than one is refused.
        most_rows: A file of more rows is refused; without it there is no limit.
        regions: Whether a column says which region a row is of; None where one may.

    >>> read_totals(b"date;visitors;orders\\n1.3.2026;5000;1512,5\\n").rows[0][:3]
    ('2026-03-01', 5000, 1512.5)
    """
    form = form or FileForm()
    layout = _WITHOUT_REGIONS if regions is False else _WITH_REGIONS
    table = open_table(source, layout, form, time_basis)
    _check_columns(table, time_basis)
    if regions and "region" not in table.places:
        raise _refused(
            table,
            "no column says which region a row is of, and this campaign has regions; name one "
            "'region', or set columns to region=NAME.",
        )
    _check_weeks(table, every)
    if most_rows is not None and (table.source.count or 0) > most_rows:
        raise _too_long(most_rows)
    rows, problems = list[Row](), table.problems

    def take(place: int, line: int, cells: list[Cell]) -> None:
        try:
            rows[place] = _row(table, line, cells)
            _check_span(table, cells, every)
        except InvalidInput as bad:
            problems.append((line, in_row(line, str(bad), bad.field)))

    #: The first row that shows each order of day and month; rows that wait for one.
    orders: dict[str, int] = {}
    waiting: list[tuple[int, int, list[Cell]]] = []
    for line, cells in table.rows():
        if len(rows) == most_rows:
            raise _too_long(most_rows)
        rows.append(Row(""))
        order = None if form.date_format else day_order(cells[table.places["bucket"]])
        if order == EITHER_FIRST:
            waiting.append((len(rows) - 1, line, cells))
            continue
        if order is not None:
            orders.setdefault(order, line)
        take(len(rows) - 1, line, cells)
        if len(problems) >= MAX_PROBLEMS:
            break
    form = _settled(table, form, orders)
    for place, line, cells in waiting:
        if len(problems) >= MAX_PROBLEMS:
            break
        take(place, line, cells)
    if not rows and not problems:
        raise InvalidInput("the file has no rows below the names of its columns.")
    columns = {field: table.column(field) for field in table.places}
    notes = _notes(table, time_basis)
    read = [row for row in rows if row.bucket]
    return Totals(read, sorted(problems), columns, table.unused, notes, form)


def _settled(table: FileTable, form: FileForm, orders: dict[str, int]) -> FileForm:
    """How dates are written, by those that can be read in one way; those of the table are read so from now on."""
    if len(orders) > 1:
        raise BadFile(
            [
                f"column {table.column('bucket')}: row {orders[DAY_FIRST]} has the day first "
                "and row "
                f"{orders[MONTH_FIRST]} the month; write all dates in the same way."
            ]
        )
    for order in orders:
        form = replace(form, date_format=order)
        table.form = replace(table.form, date_format=order)
    return form


def read_history(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    time_basis: Dated | None = None,
    regions: bool | None = None,
    most_rows: int | None = None,
) -> Totals:
    """The rows of a file of totals before the start; refused if none of them has a total.

    Args:
        source: The file, or its content.
        form: How the file is written, where that cannot be seen.
        time_basis: By what the totals should be dated; presets know by what theirs are.
        regions: Whether a column says which region a row is of; None where one may. Where there are to be none
            and the file has some, the rows of each bucket are added up.
        most_rows: A file of more rows is refused; without it there is no limit.

    >>> found = read_history(b"date,store,orders\\n2026-03-01,north,31\\n2026-03-01,south,12\\n")
    >>> found.regions, found.rows[0].total
    (['north', 'south'], 31.0)
    """
    found = read_totals(
        source,
        form,
        time_basis=time_basis,
        regions=regions or None,
        most_rows=most_rows,
    )
    if found.problems:
        raise BadFile([sentence for _, sentence in found.problems])
    if all(row.total is None for row in found.rows):
        there = ", ".join(shortened(name) for name in (*found.columns.values(), *found.ignored))
        raise BadFile(
            [
                f"no row has a total, and a history is there for its totals. The columns are: {there}. "
                "Name the one of the totals 'total', or set columns to total=NAME."
            ]
        )
    return _added_up(found) if regions is False and found.regions else found


def _added_up(found: Totals) -> Totals:
    """One row per bucket in place of one per region."""
    whole: dict[int | str | date, Row] = {}
    for row in found.rows:
        row = row._replace(region=None)
        earlier = whole.setdefault(row.bucket, row)
        if earlier is row:
            continue
        if (added := added_rows(earlier, row)) is None:
            raise BadFile([in_row(row.line, cannot_be_added(str(row.bucket), earlier.line))])
        whole[row.bucket] = added
    note = f"The history has {counted(len(found.regions), 'region')}; their rows were added up."
    return replace(found, rows=list(whole.values()), notes=(*found.notes, note))


def added_rows(one: Row, other: Row) -> Row | None:
    """Two parts of a bucket as one row; None where what is known of one is not known of the other."""
    if (one.rounds is None, one.total is None) != (other.rounds is None, other.total is None):
        return None
    if (one.status, one.shown) != (other.status, other.shown):
        return None
    return one._replace(
        rounds=None if one.rounds is None else one.rounds + (other.rounds or 0),
        total=None if one.total is None else one.total + (other.total or 0.0),
    )


def cannot_be_added(label: str, line: int) -> str:
    """Why two rows of a bucket are not two parts of it."""
    return (
        f"{label} is in row {line} already, and the two cannot be added up: rounds, total, status "
        "and shown must be there in both or in none, and the last two be the same."
    )


def _too_long(most_rows: int) -> InvalidInput:
    return InvalidInput(f"the file has more than {most_rows:,} rows; send it in parts.")


def _notes(table: FileTable, time_basis: Dated | None) -> tuple[str, ...]:
    notes = [] if table.left_out_sentence is None else [table.left_out_sentence]
    if time_basis == "arrival" and table.dated == "decision":
        notes.append(
            f"{table.column('total')} is dated by the click, and this campaign's totals should be dated "
            "by arrival: young days look worse than they are. Export a column by conversion time, or "
            "use a campaign whose time basis is decision."
        )
    return tuple(notes)


def _refused(table: FileTable, what: str, looks: str = "") -> BadFile:
    """The columns cannot be used; the message names those that are there."""
    there = shown_names(table.names)
    return BadFile([in_row(table.line, f"{what} The columns are: {there}.{looks}")])


def _check_columns(table: FileTable, time_basis: Dated | None) -> None:
    lowered = [name.strip().lower() for name in table.names]
    looks = "" if table.form.preset else preset_hint(lowered)
    given, preset = table.form.columns, table.form.preset
    if "bucket" not in table.places:
        raise _refused(
            table,
            "no column says which bucket a row is for; name one of them 'bucket' or 'date', or "
            "set columns to bucket=NAME.",
            looks,
        )
    if not any(name in table.places for name in _FIELDS):
        remedy = "; rename yours, or"
        if preset is not None:
            remedy = f", nor one that a report of {PRESETS[preset].title} has;"
        raise _refused(
            table,
            f"there is neither a column 'rounds' nor a column 'total'{remedy} set columns to "
            "rounds=NAME,total=NAME.",
            looks,
        )
    if preset is not None:
        return
    for field in table.places.keys() - given.keys():
        found = [name for name in lowered if name in NAMES[field]]
        if len(found) > 1 and not (field != "bucket" and field in found):
            raise _refused(
                table,
                f"the columns {' and '.join(found)} can all be the {field}; name one of them "
                f"'{field}', or set columns to {field}=NAME.",
                looks,
            )
    if looks and time_basis is not None and "total" not in given:
        # Its totals may be dated by the click, and only the preset knows.
        raise BadFile(
            [
                in_row(
                    table.line,
                    "by its columns this may be the report of an advertising tool, which dates "
                    f"totals in its own way.{looks} If it is none, set columns to "
                    f"total={table.column('total')}.",
                )
            ]
        )


def _check_weeks(table: FileTable, every: str | None) -> None:
    """A column of weeks in a campaign of days would set the total of a week for its first day."""
    name = table.column("bucket")
    if name.lower() == "week" and every in ("hour", "day") and "bucket" not in table.form.columns:
        raise BadFile(
            [
                in_row(
                    table.line,
                    f"the rows are for weeks, and this campaign's buckets are {every}s; export "
                    f"them by {every}, or set columns to bucket={name} if the rows are for "
                    f"{every}s.",
                )
            ]
        )


def _check_span(table: FileTable, cells: list[Cell], every: str | None) -> None:
    """Refuse a row that a report made of more than a bucket."""
    if table.until is None or every not in _DAYS or is_empty(cells[table.until]):
        return
    try:
        first, last = (
            moment(cells[place], table.form) for place in (table.places["bucket"], table.until)
        )
    except InvalidInput:
        return
    if first is None or last is None or (last - first).days + 1 == _DAYS[every]:
        return
    raise InvalidInput(
        f"the row is for {(last - first).days + 1:,} days, and this campaign's buckets are "
        f"{every}s; "
        f"export the report by {every}.",
        field=table.names[table.until].strip(),
    )


def _row(table: FileTable, line: int, cells: list[Cell]) -> Row:
    def cell(field: str) -> Cell:
        if field not in table.places:
            return None
        found = cells[table.places[field]]
        if isinstance(found, str) and len(found) > LONGEST_CELL:
            raise InvalidInput(
                f"it has {len(found):,} characters, and at most {LONGEST_CELL:,} are read.",
                field=table.column(field),
            )
        return found

    def number(field: str) -> float | None:
        try:
            return table.number(cell(field), whole=field == "rounds")
        except InvalidInput as refused:
            raise InvalidInput(str(refused), field=table.column(field)) from None

    def text(field: str) -> str | None:
        return table.text(cell(field)) or None if field in table.places else None

    status = text("status")
    bucket = cell("bucket")
    if is_empty(bucket):
        raise InvalidInput(
            "it is empty; say which bucket the row is for.", field=table.column("bucket")
        )
    try:
        day = table.day(bucket)
    except InvalidInput as refused:
        raise InvalidInput(str(refused), field=table.column("bucket")) from None
    rounds = number("rounds")
    if rounds is not None and (rounds < 0 or not rounds.is_integer()):
        raise InvalidInput(
            f"{shortened(str(cell('rounds')).strip())!r} must be a whole number of at least 0, "
            "such as 5000.",
            field=table.column("rounds"),
        )
    return Row(
        day,
        None if rounds is None else int(rounds),
        number("total"),
        status if status is None else status.lower(),
        text("shown"),
        text("region"),
        line,
    )
