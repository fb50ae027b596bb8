"""A file as a table of fields: which column is what, and which lines are not rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from latesum._checks import known_name, shortened
from latesum.errors import MAX_PROBLEMS, BadFile
from latesum.files.cells import Cell, is_empty
from latesum.files.form import FileForm
from latesum.files.sources import MAX_COLUMNS, NumberedRow, open_rows

#: How lines begin that add up others: in exports of English, German, French and Spanish tools.
_TOTAL = re.compile(
    r"\s*(grand\s+total|totals?|sum|summe|gesamt|gesamtsumme|gesamtergebnis|insgesamt|somme|"
    r"suma)\b",
    re.IGNORECASE,
)
#: Lines that were left out are named one by one up to this many.
_MAX_NAMED = 5


@dataclass
class FileTable:
    """A table that is being read.

    `rows` gives each row with its number in the file; lines that add up others are left out and
    named in `left_out`, rows of another width are in `problems`.
    """

    #: The line with the names of the columns, and the names as they are written.
    line: int
    names: list[str]
    #: The place of the column of each field that there is, and of the one that a row is about.
    places: dict[str, int]
    key: int | None
    form: FileForm
    #: Between the cells of a text file.
    separator: str | None
    _cells: Iterator[NumberedRow]
    #: The first lines that were left out, and how many there were.
    left_out: list[str] = field(default_factory=list)
    left_out_count: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are no field."""
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

    def rows(self) -> Iterator[NumberedRow]:
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
    >>> list(table.rows()), table.left_out_sentence
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
