"""Data of a fit: columns by their names, from a file, a mapping, or a plain list."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, shortened
from latesum.delays.curves import Floats
from latesum.errors import BadFile
from latesum.files import FileForm
from latesum.files.cells import is_empty, moment, number, settled
from latesum.files.table import open_table
from latesum.files.totals import NAMES

Source = str | Path | Mapping[str, Sequence[Any]] | Sequence[float]
#: Marks as programs write them, and as spreadsheets do in German, French and Spanish.
_TRUE = ("true", "yes", "1", "1.0", "wahr", "ja", "vrai", "oui", "verdadero", "sí", "si")
_FALSE = ("false", "no", "0", "0.0", "falsch", "nein", "faux", "non", "falso")


@dataclass(frozen=True)
class Columns:
    """Columns by their names, without capitals, and how their cells are to be read."""

    values: dict[str, list[Any]]
    where: str = "the data"
    form: FileForm = field(default_factory=FileForm)
    separator: str | None = None
    #: The number of each row in its file; None if there is no file.
    lines: Sequence[int] | None = None
    #: Which lines of the file were left out.
    note: str | None = None

    def __contains__(self, name: str) -> bool:
        return name.lower() in self.values

    @property
    def is_empty(self) -> bool:
        """Whether there are columns without rows."""
        return bool(self.values) and not next(iter(self.values.values()))

    def take(self, name: str) -> list[Any]:
        """One column, or a refusal that names those there are."""
        if name in self:
            return self.values[name.lower()]
        there = ", ".join(map(shortened, self.values)) or "none"
        raise InvalidInput(
            f"{self.where} has no column {name!r}; it has: {there}."
            + (
                f" If one of them is it, say --columns {name}=NAME."
                if self.lines is not None
                else ""
            )
        )

    def numbers(self, name: str, *, at_least: float = -np.inf, rows: slice = slice(None)) -> Floats:
        """A column as finite numbers; what is not one is named with its row."""
        values = self.take(name)[rows]
        result = np.empty(len(values))
        for row, value in enumerate(values):
            found = self._number(value, name, row)
            if not (np.isfinite(found) and found >= at_least):
                limit = "" if at_least == -np.inf else f" of at least {at_least:g}"
                raise InvalidInput(
                    f"{self._place(row)}: {name!r} must be a number{limit}, not {_shown(value)}."
                )
            result[row] = found
        return result

    def times(self, name: str) -> tuple[Floats, bool]:
        """A column of numbers or of dates; dates become days. Says whether they were dates."""
        values = self.take(name)
        if values and self._moment(values[0], name, 0) is not None:
            return np.array(
                [self._in_days(value, name, row) for row, value in enumerate(values)]
            ), True
        return self.numbers(name), False

    def one_time(self, value: Any, name: str, *, dates: bool) -> float:
        """A single time, written like those of a column: a number, or a date such as 2025-03-01."""
        if dates:
            found = self._moment(value, name, None)
            if found is None:
                raise InvalidInput(f"{name} must be a date such as 2025-03-01, not {value!r}.")
            return _days(found)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{name} must be a number, as the buckets are, not {value!r}."
            ) from None

    def truths(self, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """A column of marks: true or false, yes or no, 1 or 0."""
        known = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
        marks = []
        for row, value in enumerate(self.take(name)):
            whole = isinstance(value, float | np.bool_) and np.isfinite(value)
            text = str(int(value) if whole else value).strip().lower()
            if text not in known:
                raise InvalidInput(
                    f"{self._place(row)}: {name!r} must be true or false, not {_shown(value)}."
                )
            marks.append(known[text])
        return np.array(marks, dtype=bool)

    def _number(self, value: Any, name: str, row: int) -> float:
        if isinstance(value, str) and self.lines is not None and not is_empty(value):
            try:
                return number(value, self.form, self.separator)
            except InvalidInput as refused:
                if "two ways" in str(refused):
                    raise InvalidInput(f"{self._place(row)}: {name!r}: {refused}") from None
                return np.nan
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return np.nan

    def _moment(self, value: Any, name: str, row: int | None) -> datetime.datetime | None:
        try:
            return moment(value, self.form)
        except InvalidInput as refused:
            where = "" if row is None else f"{self._place(row)}: "
            raise InvalidInput(f"{where}{name!r}: {refused}") from None

    def _in_days(self, value: Any, name: str, row: int) -> float:
        found = self._moment(value, name, row)
        if found is None:
            raise InvalidInput(
                f"{self._place(row)}: {name!r} holds dates, and {_shown(value)} is none."
            )
        return _days(found)

    def _place(self, row: int) -> str:
        if self.lines is not None:
            return f"line {self.lines[row]} of {self.where}"
        return f"row {row + 1} of {self.where}"


def _shown(value: Any) -> str:
    return shortened(repr(value))


def _days(found: datetime.datetime) -> float:
    local = found.replace(tzinfo=None)
    midnight = datetime.datetime.combine(local, datetime.time())
    return local.toordinal() + (local - midnight) / datetime.timedelta(days=1)


def read_columns(source: Source, form: FileForm | None = None) -> Columns:
    """The columns of a CSV, Excel or Parquet file, of a mapping, or of a plain list.

    >>> read_columns([1, 2]).values
    {'delay': [1, 2]}
    """
    if form is not None and form.add_up:
        raise InvalidInput("rows of delays are not added up; leave add_up out.")
    if isinstance(source, str | Path):
        said = FileForm() if form is None else form.after(FileForm())
        return _read_file(Path(source), said)
    if form is not None and not form.says_nothing:
        raise InvalidInput(
            "how a file is written is said, and there is no file; leave the form out."
        )
    if isinstance(source, Mapping):
        values = {str(name).lower(): list(each) for name, each in source.items()}
        if len({len(each) for each in values.values()}) > 1:
            raise InvalidInput("the columns must all have the same length.")
        return Columns(values)
    return Columns({"delay": list(source)})


def _read_file(path: Path, form: FileForm) -> Columns:
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}.")
    names = ("delay", "censored", "from", "to", "count", "as_of")
    fields = {
        **{name: (name,) for name in names},
        **{name: NAMES[name] for name in ("bucket", "total", "rounds")},
    }
    enough = [("delay",), ("bucket", "total"), ("from", "to", "count")]
    try:
        table = open_table(path, fields, enough, form)
        lowered = [name.strip().lower() for name in table.names]
        lines = list[int]()
        cells = list[list[Any]]()
        for line, row in table.rows():
            lines.append(line)
            cells.append([None if is_empty(cell) else cell for cell in row])
        if table.problems:
            raise BadFile([sentence for _, sentence in table.problems])
        dates = ((line, cell) for line, row in zip(lines, cells, strict=True) for cell in row)
        form = settled(table.form, dates)
    except BadFile as bad:
        raise InvalidInput(f"{path} cannot be read: {bad.problems[0]}") from None
    except InvalidInput as refused:
        raise InvalidInput(f"{path}: {refused}") from None
    columns = list(zip(*cells, strict=True)) if cells else [()] * len(lowered)
    values = {name: list(each) for name, each in zip(lowered, columns, strict=True)}
    for field_name, index in table.places.items():
        values.setdefault(field_name, list(columns[index]))
    return Columns(values, str(path), form, table.source.separator, lines, table.left_out_sentence)
