"""A file as a table of fields: which column is what, and which lines are not rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from latesum._checks import known_name, shortened
from latesum.errors import MAX_PROBLEMS, BadFile
from latesum.files.cells import Cell, day_text, is_empty, number, unguarded
from latesum.files.form import FileForm
from latesum.files.presets import PRESETS, Dated, Preset, PresetColumn
from latesum.files.sources import MOST_COLUMNS, NumberedRow, Rows, open_rows, too_wide

#: How the lines begin that add up others: in exports of English, German, French and Spanish tools.
_TOTAL = re.compile(
    r"\s*(grand\s+total|totals?|sum|summe|gesamt|gesamtsumme|gesamtergebnis|insgesamt|somme|suma)\b",
    re.IGNORECASE,
)
#: Lines that were left out are named one by one up to this many.
_MOST_NAMED = 5


class Layout(NamedTuple):
    """What a kind of file may hold.

    Args:
        fields: Each field with the names that its column may have, without capitals.
        keys: The fields that say what a row is about, the first that is there; without one of them
            a row is no row.
        enough: Sets of fields; the line that has all of one of them names the columns.
    """

    fields: Mapping[str, tuple[str, ...]]
    keys: tuple[str, ...]
    enough: tuple[frozenset[str], ...]


@dataclass
class FileTable:
    """A table that is being read.

    `rows` gives each row with its number in the file; lines that add up others are left out and
    named in `left_out`, rows of another width are in `problems`.
    """

    #: The names of the columns as they are written, and the line that they are in.
    names: list[str]
    line: int
    #: The place of the column of each field that there is.
    places: dict[str, int]
    form: FileForm
    source: Rows
    #: By what the totals are dated, where a preset says so.
    dated: Dated | None
    key: int | None
    preset: Preset | None
    #: The place of the column with the last day of a row, where a preset knows one.
    until: int | None = None
    #: The first lines that were left out, and how many there were.
    left_out: list[tuple[int, str]] = field(default_factory=list)
    left_out_count: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that are no field."""
        used = set(self.places.values())
        return tuple(
            name.strip()
            for place, name in enumerate(self.names)
            if place not in used and name.strip()
        )

    @property
    def left_out_sentence(self) -> str | None:
        """Which lines were left out, for people."""
        if not self.left_out:
            return None
        named = ", ".join(f"{line} ({what})" for line, what in self.left_out)
        more = self.left_out_count - len(self.left_out)
        return f"Left out as totals of other rows: {named}" + (
            f", and {more:,} more." if more > 0 else "."
        )

    def column(self, field: str) -> str:
        """How the column of a field is called in the file."""
        return self.names[self.places[field]].strip() if field in self.places else field

    def number(self, cell: Cell, *, whole: bool = False) -> float | None:
        """A cell as a number, None if it is empty."""
        if is_empty(cell):
            return None
        return number(cell, self.form, self.source.separator, whole=whole)

    def day(self, cell: Cell) -> str:
        """A cell that says which bucket a row is for."""
        return day_text(cell, self.form)

    def text(self, cell: Cell) -> str:
        """A cell as a text; a name that is a whole number may be one in an Excel file."""
        if cell is None:
            return ""
        if isinstance(cell, float) and cell.is_integer():
            cell = int(cell)
        return unguarded(cell.strip()) if isinstance(cell, str) else str(cell)

    def rows(self) -> Iterator[NumberedRow]:
        """The rows with as many cells as there are columns."""
        width = len(self.names)
        for line, cells in self.source.rows:
            if self._is_blank(cells) or self._is_total(line, cells):
                continue
            if len(cells) != width:
                if self.source.separator is None:
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
            return self.source.separator is not None or all(cell in (None, "") for cell in cells)
        if len(cells) > MOST_COLUMNS + 1:
            return False
        return all(cell is None or (isinstance(cell, str) and not cell.strip()) for cell in cells)

    def _is_total(self, line: int, cells: list[Cell]) -> bool:
        place = self.key
        if place is None:
            return False
        key = cells[place] if place < len(cells) else None
        if key is not None and not isinstance(key, str):
            return False
        if not is_empty(key):
            what = key if key and _TOTAL.match(key) else None
        else:
            first = next((cell for cell in cells[: MOST_COLUMNS + 1] if not is_empty(cell)), None)
            what = first if isinstance(first, str) and _TOTAL.match(first) else None
            if what is None and self.preset is not None and self.preset.total_without_day:
                what = "without a day"
        if what is None:
            return False
        self.left_out_count += 1
        if len(self.left_out) < _MOST_NAMED:
            self.left_out.append((line, shortened(what.strip(), 30)))
        return True


def open_table(
    source: Path | bytes, layout: Layout, form: FileForm, prefer: Dated | None = None
) -> FileTable:
    """Open a file and find out which of its columns is what.

    Args:
        source: The file, or its content.
        layout: What it may hold.
        form: How it is written.
        prefer: By what totals should be dated, where a preset has columns of both kinds.

    >>> layout = Layout({"day": ("day",), "sales": ("sales",)}, ("day",), (frozenset({"day", "sales"}),))
    >>> table = open_table(b"A report\\nDay;Sales\\n1.2.2026;7\\nTotal;7\\n", layout, FileForm())
    >>> list(table.rows()), table.left_out_sentence
    ([(3, ['1.2.2026', '7'])], 'Left out as totals of other rows: 4 (Total).')
    """
    for name in form.columns:
        known_name(name, layout.fields, "field of such a file")
    preset = None if form.preset is None else PRESETS[known_name(form.preset, PRESETS, "preset")]
    if preset is not None and form.decimal is None and form.thousands is None:
        form = replace(form, decimal=preset.decimal, thousands=preset.thousands)
    finder = _Finder(layout, form, preset, prefer)
    rows = open_rows(
        source, finder.is_names, form.skip_lines, form.sheet, decimal_commas=form.decimal == ","
    )
    if len(rows.names) > MOST_COLUMNS:
        raise too_wide(f"it names {len(rows.names):,} columns", rows.line)
    lowered = [name.strip().lower() for name in rows.names]
    finder.check_given(lowered, rows)
    places = finder.places(lowered)
    for place in places.values():
        if lowered.count(lowered[place]) > 1:
            raise BadFile(
                [f"row {rows.line}: the column {lowered[place]} is there twice; remove one."]
            )
    key = next((places[name] for name in layout.keys if name in places), None)
    dated = finder.chosen(lowered, places, "total")
    bucket = finder.chosen(lowered, places, "bucket")
    until = "" if bucket is None or bucket.until is None else bucket.until.lower()
    return FileTable(
        rows.names,
        rows.line,
        places,
        form,
        rows,
        None if dated is None else dated.dated,
        key,
        preset,
        lowered.index(until) if until in lowered and until else None,
    )


class _Finder:
    """Finds the columns of the fields by what was given, a preset, and their usual names."""

    def __init__(
        self, layout: Layout, form: FileForm, preset: Preset | None, prefer: Dated | None
    ) -> None:
        self.layout = layout
        self.given = {field: name.strip().lower() for field, name in form.columns.items()}
        self.candidates: dict[str, list[PresetColumn]] = {}
        for field_name, columns in ({} if preset is None else preset.columns).items():
            # Stable: among equals the preset's own order holds.
            ordered = sorted(columns, key=lambda each: each.dated not in (None, prefer))
            if prefer is None:
                ordered = list(columns)
            self.candidates[field_name] = ordered

    def is_names(self, cells: list[str]) -> bool:
        found = self.places(cells)
        return any(wanted <= found.keys() for wanted in self.layout.enough)

    def places(self, cells: list[str]) -> dict[str, int]:
        """The place of each field among names without capitals; a column has one field at most."""
        at: dict[str, int] = {}
        for place, name in enumerate(cells):
            at.setdefault(name, place)
        found: dict[str, int] = {}
        taken = {at[name] for name in self.given.values() if name in at}
        for field_name, usual in self.layout.fields.items():
            if field_name in self.given:
                if self.given[field_name] in at:
                    found[field_name] = at[self.given[field_name]]
                continue
            names = [each.name.lower() for each in self.candidates.get(field_name, ())]
            free = (at[name] for name in (*names, *usual) if name in at and at[name] not in taken)
            for place in itertools.islice(free, 1):
                found[field_name] = place
                taken.add(place)
        return found

    def chosen(self, cells: list[str], places: dict[str, int], field: str) -> PresetColumn | None:
        """The column of a preset that was chosen for a field."""
        if field not in places or field in self.given:
            return None
        name = cells[places[field]]
        columns = self.candidates.get(field, ())
        return next((each for each in columns if each.name.lower() == name), None)

    def check_given(self, cells: list[str], rows: Rows) -> None:
        for field_name, name in self.given.items():
            if name not in cells:
                raise BadFile(
                    [
                        f"row {rows.line}: there is no column {shortened(name)!r} for "
                        f"{field_name}. "
                        f"The columns are: {shown_names(rows.names)}."
                    ]
                )


def preset_hint(names: list[str]) -> str:
    """A sentence that names the preset which knows these columns; names are without capitals.

    >>> preset_hint(["day", "clicks", "conversions"])
    ' It looks like a report of Google Ads: the preset google-ads reads it.'
    """
    for name, preset in PRESETS.items():
        if all(
            any(c.name.lower() in names for c in columns) for columns in preset.columns.values()
        ):
            return f" It looks like a report of {preset.title}: the preset {name} reads it."
    return ""


def in_row(line: int, what: str, column: str | None = None) -> str:
    """What is wrong in a row of a file.

    >>> in_row(3, "it is empty.", "total")
    'row 3, column total: it is empty.'
    """
    where = f"row {line}" + ("" if column is None else f", column {column}")
    return f"{where}: {what}"


def shown_names(names: list[str]) -> str:
    """The names of columns for a message."""
    return ", ".join(shortened(name.strip()) or "(no name)" for name in names)


def _wrong_width(cells: int, columns: int) -> str:
    return (
        f"it has {cells:,} columns, and the first line names {columns}; put a value that "
        'contains the separator into quotes "..."'
        + (", or set the decimal mark to ',' if the comma is decimal." if columns == 1 else ".")
    )
