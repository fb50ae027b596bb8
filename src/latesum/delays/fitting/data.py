"""Data of a fit: columns by their names, from a file, a mapping, or a plain list."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from latesum._checks import InvalidInput, shortened
from latesum.delays.curves import Floats
from latesum.errors import BadFile
from latesum.files import FileForm
from latesum.files.cells import is_empty, moment, number, settled
from latesum.files.totals import NAMES, open_table

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
        remedy = "" if self.lines is None else f" If one of them is it, say --columns {name}=NAME."
        raise InvalidInput(f"{self.where} has no column {name!r}; it has: {there}.{remedy}")

    def numbers(self, name: str, *, at_least: float = -np.inf, rows: slice = slice(None)) -> Floats:
        """A column as finite numbers; what is not one is named with its row."""
        values = self.take(name)[rows]
        result = np.array([self._number(value, name, row) for row, value in enumerate(values)])
        wrong = ~(np.isfinite(result) & (result >= at_least))
        if wrong.any():
            row = int(np.argmax(wrong))
            limit = "" if at_least == -np.inf else f" of at least {at_least:g}"
            self._refuse(row, name, f"must be a number{limit}, not {_shown(values[row])}.")
        return result

    def times(self, name: str) -> tuple[Floats, bool]:
        """A column of numbers or of dates; dates become days. Says whether they were dates."""
        days = []
        for row, value in enumerate(self.take(name)):
            try:
                found = moment(value, self.form)
            except InvalidInput as refused:
                self._refuse(row, name, str(refused), ":")
            if found is None and row == 0:
                return self.numbers(name), False
            if found is None:
                self._refuse(row, name, f"holds dates, and {_shown(value)} is none.")
            local = found.replace(tzinfo=None)
            midnight = datetime.datetime.combine(local, datetime.time())
            days.append(local.toordinal() + (local - midnight) / datetime.timedelta(days=1))
        return np.array(days), True

    def truths(self, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """A column of marks: true or false, yes or no, 1 or 0."""
        known = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
        marks = []
        for row, value in enumerate(self.take(name)):
            whole = isinstance(value, float | np.bool_) and np.isfinite(value)
            text = str(int(value) if whole else value).strip().lower()
            if text not in known:
                self._refuse(row, name, f"must be true or false, not {_shown(value)}.")
            marks.append(known[text])
        return np.array(marks, dtype=bool)

    def _number(self, value: Any, name: str, row: int) -> float:
        if isinstance(value, str) and self.lines is not None and not is_empty(value):
            try:
                return number(value, self.form, self.separator)
            except InvalidInput as refused:
                if "two ways" in str(refused):
                    self._refuse(row, name, str(refused), ":")
                return np.nan
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return np.nan

    def _refuse(self, row: int, name: str, what: str, mark: str = "") -> NoReturn:
        where = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        raise InvalidInput(f"{where} of {self.where}: {name!r}{mark} {what}") from None


def _shown(value: Any) -> str:
    return shortened(repr(value))


def read_columns(source: Source, form: FileForm | None = None) -> Columns:
    """The columns of a CSV, Excel or Parquet file, of a mapping, or of a plain list.

    >>> read_columns([1, 2]).values
    {'delay': [1, 2]}
    """
    if form is not None and form.add_up:
        raise InvalidInput("rows of delays are not added up; leave add_up out.")
    if isinstance(source, str | Path):
        return _read_file(Path(source), form or FileForm())
    if form is not None:
        raise InvalidInput("the form is that of a file, and there is no file; leave the form out.")
    if isinstance(source, Mapping):
        values = {str(name).lower(): list(each) for name, each in source.items()}
        if len({len(each) for each in values.values()}) > 1:
            raise InvalidInput("the columns must all have the same length.")
        return Columns(values)
    return Columns({"delay": list(source)})


def _read_file(path: Path, form: FileForm) -> Columns:
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}.")
    own = ("delay", "censored", "from", "to", "count", "as_of")
    fields = {name: NAMES.get(name, (name,)) for name in (*own, "bucket", "total", "rounds")}
    enough = [("delay",), ("bucket", "total"), ("from", "to", "count")]
    try:
        table = open_table(path, fields, enough, form)
        rows = [
            (line, [None if is_empty(cell) else cell for cell in row])
            for line, row in table.cells()
        ]
        if table.problems:
            raise BadFile([sentence for _, sentence in table.problems])
        form = settled(table.form, ((line, cell) for line, row in rows for cell in row))
    except BadFile as bad:
        raise InvalidInput(f"{path} cannot be read: {bad.problems[0]}") from None
    except InvalidInput as refused:
        raise InvalidInput(f"{path}: {refused}") from None
    columns = [[row[index] for _, row in rows] for index in range(len(table.names))]
    values = dict(zip((name.lower() for name in table.names), columns, strict=True))
    for name, index in table.places.items():
        values.setdefault(name, columns[index])
    lines, separator = [line for line, _ in rows], table.separator
    return Columns(values, str(path), form, separator, lines, table.left_out_sentence)
