"""Reading a file of totals: what is unambiguous is accepted, the rest is refused with a remedy.

A line names the columns: `bucket` (or `date`, `day`, `hour`, `week`, `time`), and any of
`rounds` (or `visitors`), `total` (or `sales`), `status` and `shown`, or others that `FileForm.columns` or a preset names. Other
columns are ignored. `latesum.files` knows how files are written.

A file may come from anyone who has a token, so the cost of reading is linear in its length: rows are
read one by one, cells of other columns are not looked at, and a table that is too wide is refused
before it is split into cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, shortened
from latesum._sentences import sentence
from latesum.campaigns.batches import CheckWanted, always_wanted, in_batches
from latesum.campaigns.buckets import Every
from latesum.campaigns.verdicts import Row
from latesum.errors import MOST_PROBLEMS, BadCell, BadField, BadFile
from latesum.files import PRESETS, FileForm
from latesum.files.cells import Cell, is_empty, moment
from latesum.files.presets import Dated
from latesum.files.table import FileTable, Layout, in_row, open_table, preset_hint, shown_names

#: In characters, of a cell that is used.
LONGEST_CELL = 1_000

_BUCKET_NAMES = ("bucket", "date", "day", "hour", "week", "time")
_FIELDS = ("rounds", "total", "status", "shown")
#: The words of the page, taken where the usual name is not among the columns.
_OTHER_NAMES = {"rounds": ("visitors",), "total": ("sales",)}
_DAYS = {"day": 1, "week": 7}
LAYOUT = Layout(
    fields={
        "bucket": _BUCKET_NAMES,
        **{name: (name, *_OTHER_NAMES.get(name, ())) for name in _FIELDS},
    },
    keys=("bucket",),
    enough=tuple(frozenset({"bucket", name}) for name in _FIELDS),
)
#: In a campaign with regions; otherwise such a column is ignored.
LAYOUT_OF_REGIONS = LAYOUT._replace(fields={**LAYOUT.fields, "region": ("region",)})


class FileRow(NamedTuple):
    """A row and the number of its line in the file."""

    line: int
    row: Row


@dataclass(frozen=True)
class Totals:
    """A file that was read: its rows, what is wrong with others, and how its columns are called.

    With `MOST_PROBLEMS` problems it was read up to the last of them.
    """

    rows: list[FileRow]
    problems: list[tuple[int, str]]
    #: The names of the fields in the file, where there are columns for them.
    columns: dict[str, str]
    #: Columns that mean nothing to us, as they are written.
    ignored: tuple[str, ...]
    #: What people should know: lines that were left out, a column that is dated otherwise.
    notes: tuple[str, ...] = ()


def read_totals(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    time_basis: Dated | None = None,
    every: Every | None = None,
    most_rows: int | None = None,
    check_wanted: CheckWanted = always_wanted,
    regions: bool | None = False,
) -> Totals:
    """The rows of a file of totals.

    Args:
        source: The file, or its content.
        form: How the file is written, where that cannot be seen.
        time_basis: By what the totals should be dated; presets know by what theirs are.
        every: What a bucket is: a row that is for more than one is refused.
        most_rows: A file of more rows is refused; without it there is no limit.
        check_wanted: Called before every batch of rows; what it raises ends the reading.
        regions: Whether a column says which region a row is of; None where one may.

    >>> read_totals(b"date;rounds;total\\n1.3.2026;5000;1512,5\\n").rows[0].row[:3]
    ('2026-03-01', 5000, 1512.5)
    """
    form = form or FileForm()
    table = open_table(source, LAYOUT if regions is False else LAYOUT_OF_REGIONS, form, time_basis)
    _check_columns(table)
    if regions and "region" not in table.places:
        raise _refused(
            table,
            "no column says which region a row is of, and this campaign has regions; name one 'region', or say "
            "which it is with {columns:setting}. The columns are: {there}.",
            columns="region=NAME",
        )
    _check_weeks(table, every)
    if most_rows is not None and (table.source.count or 0) > most_rows:
        raise _too_long(most_rows)
    rows, problems = list[FileRow](), table.problems
    for line, cells in in_batches(table.rows(), check_wanted):
        if len(rows) == most_rows:
            raise _too_long(most_rows)
        try:
            rows.append(FileRow(line, _row(table, cells)))
            _check_span(table, cells, every)
        except BadField as bad:
            problems.append((line, in_row(line, bad.sentence, bad.column)))
        if len(problems) >= MOST_PROBLEMS:
            break
    if not rows and not problems:
        raise InvalidInput("the file has no rows below the names of its columns.")
    columns = {field: table.column(field) for field in table.places}
    return Totals(rows, problems, columns, table.unused, _notes(table, time_basis))


def _too_long(most_rows: int) -> InvalidInput:
    return InvalidInput(f"the file has more than {most_rows:,} rows; send it in parts.")


def _notes(table: FileTable, time_basis: Dated | None) -> tuple[str, ...]:
    notes = [] if table.left_out_sentence is None else [table.left_out_sentence]
    if time_basis == "arrival" and table.dated == "decision":
        notes.append(
            sentence(
                "{column} is dated by the click, and this campaign's totals should be dated by arrival: young "
                "days look worse than they are. Export a column by conversion time, or use a campaign with "
                "{time_basis:setting}.",
                column=table.column("total"),
                time_basis="decision",
            )
        )
    return tuple(notes)


def _refused(table: FileTable, template: str, **fields: Any) -> BadFile:
    """The columns cannot be used; the sentence names them as `there`."""
    what = sentence(template, there=shown_names(table.names), **fields)
    return BadFile([in_row(table.line, what)])


def _check_columns(table: FileTable) -> None:
    lowered = [name.strip().lower() for name in table.names]
    looks = "" if table.form.preset else preset_hint(lowered)
    given, preset = table.form.columns, table.form.preset
    buckets = [name for name in lowered if name in _BUCKET_NAMES]
    if "bucket" not in table.places:
        raise _refused(
            table,
            "no column says which bucket a row is for; name one of them 'bucket' or 'date', or say which it is "
            "with {columns:setting}. The columns are: {there}.{looks}",
            columns="bucket=NAME", looks=looks,
        )  # fmt: skip
    if len(buckets) > 1 and "bucket" not in given and preset is None:
        raise _refused(
            table,
            "the columns {both} both say which bucket a row is for; say which it is with {columns:setting}. "
            "The columns are: {there}.",
            columns="bucket=NAME", both=" and ".join(buckets),
        )  # fmt: skip
    if not any(name in table.places for name in _FIELDS):
        remedy = "rename yours, or say which they are with {columns:setting}"
        if preset is not None:
            remedy = "nor one that a report of {tool} has; say which it is with {columns:setting}"
        raise _refused(
            table,
            "there is neither a column 'rounds' nor a column 'total'; " + remedy
            + ". The columns are: {there}.{looks}",
            columns="rounds=NAME,total=NAME", looks=looks,
            tool="" if preset is None else PRESETS[preset].title,
        )  # fmt: skip


def _check_weeks(table: FileTable, every: Every | None) -> None:
    """A column of weeks in a campaign of days would set the total of a week for its first day."""
    name = table.column("bucket")
    if name.lower() == "week" and every in ("hour", "day") and "bucket" not in table.form.columns:
        raise _refused(
            table,
            "the rows are for weeks, and this campaign's buckets are {every}s; export them by {every}, or say "
            "{columns:setting} if the rows are for {every}s.",
            columns=f"bucket={name}", every=every,
        )  # fmt: skip


def _check_span(table: FileTable, cells: list[Cell], every: Every | None) -> None:
    """Refuse a row that a report made of more than a bucket."""
    if table.until is None or every not in _DAYS or is_empty(cells[table.until]):
        return
    try:
        first, last = (
            moment(cells[place], table.form) for place in (table.places["bucket"], table.until)
        )
    except BadCell:
        return
    if first is None or last is None or (last - first).days + 1 == _DAYS[every]:
        return
    raise BadField(
        table.names[table.until].strip(),
        f"the row is for {(last - first).days + 1:,} days, and this campaign's buckets are {every}s; "
        f"export the report by {every}.",
    )


def _row(table: FileTable, cells: list[Cell]) -> Row:
    def cell(field: str) -> Cell:
        if field not in table.places:
            return None
        found = cells[table.places[field]]
        if isinstance(found, str) and len(found) > LONGEST_CELL:
            raise BadField(
                table.column(field),
                f"it has {len(found):,} characters, and at most {LONGEST_CELL:,} are read.",
            )
        return found

    def number(field: str) -> float | None:
        try:
            return table.number(cell(field))
        except BadCell as refused:
            raise BadField(table.column(field), refused.sentence) from None

    bucket = cell("bucket")
    if is_empty(bucket):
        raise BadField(table.column("bucket"), "it is empty; say which bucket the row is for.")
    try:
        day = table.day(bucket)
    except BadCell as refused:
        raise BadField(table.column("bucket"), refused.sentence) from None
    rounds = number("rounds")
    if rounds is not None and (rounds < 0 or not rounds.is_integer()):
        raise BadField(
            table.column("rounds"),
            f"{shortened(str(cell('rounds')).strip())!r} must be a whole number of at least 0, such as 5000.",
        )
    return Row(
        day,
        None if rounds is None else int(rounds),
        number("total"),
        table.text(cell("status")).lower() or None,
        table.text(cell("shown")) or None,
        region=table.text(cell("region")) or None,
    )
