"""How a file is written: its columns, its decimal mark, its dates. Campaigns remember it."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from latesum._checks import InvalidInput, shortened

#: In place of a pattern: only which of the two numbers is the day.
DAY_FIRST = "day-first"
MONTH_FIRST = "month-first"
_MAX_NAME, _MAX_PATTERN = 200, 50

#: What can be said of how a file is written, as texts and numbers: by options and over HTTP.
SAID: Mapping[str, tuple[type, str]] = {
    "columns": (str, "Names of columns: rounds=Clicks,total=Conversions; '' if they are usual."),
    "date_format": (str, "day-first, month-first, or a pattern such as %d.%m.%y."),
    "decimal": (str, "The decimal mark: . or ,"),
    "sheet": (str, "The sheet of an Excel file."),
    "add_up": (bool, "Rows of one bucket are parts of it."),
}


@dataclass(frozen=True)
class FileForm:
    """How a file is written, where that cannot be seen or can be seen in two ways.

    Args:
        columns: The name in the file of each column that is used, such as {"rounds": "Clicks"}.
        date_format: "day-first", "month-first", or a pattern of `strptime` such as "%d.%m.%y".
        decimal: The decimal mark, "." or ",".
        sheet: The sheet of an Excel file.
        add_up: Whether several rows of one bucket are parts of it, to be added up.

    >>> str(FileForm({"rounds": "Clicks"}, decimal=","))
    'columns rounds=Clicks; decimal ,'
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    date_format: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    add_up: bool = False

    @classmethod
    def read(cls, columns: str | None = None, **said: Any) -> FileForm | None:
        """What was said of a file (`SAID`), with its columns as a text; None if nothing was."""
        if columns is None and all(value is None for value in said.values()):
            return None
        return cls(read_columns(columns), **{name: value for name, value in said.items() if value})

    def __post_init__(self) -> None:
        given = self.columns.items() if isinstance(self.columns, Mapping) else [(None, None)]
        if not all(isinstance(each, str) for pair in given for each in pair):
            raise InvalidInput('columns are fields with names in the file: {"rounds": "Clicks"}.')
        names = {field.strip().lower(): name.strip() for field, name in self.columns.items()}
        object.__setattr__(self, "columns", names)
        if self.decimal not in (None, ".", ","):
            raise InvalidInput(f"the decimal mark is '.' or ',', not {shortened(self.decimal)!r}.")
        if self.sheet is not None and not 0 < len(self.sheet) <= _MAX_NAME:
            raise InvalidInput(f"the name of a sheet has 1 to {_MAX_NAME} characters.")
        if self.date_format not in (None, DAY_FIRST, MONTH_FIRST):
            _check_pattern(str(self.date_format))

    def to_json(self) -> dict[str, Any]:
        """What is given, as plain values: the arguments of an equal one."""
        whole = {**vars(self), "columns": dict(self.columns)}
        return {key: value for key, value in whole.items() if value}

    @property
    def columns_text(self) -> str:
        """The columns as text, as `read_columns` reads it; a pair with a comma in it is in quotes.

        >>> FileForm({"rounds": "Clicks", "total": "Sales, all"}).columns_text
        'rounds=Clicks,"total=Sales, all"'
        """
        text = io.StringIO()
        pairs = [f"{field}={name}" for field, name in self.columns.items()]
        csv.writer(text, lineterminator="").writerow(pairs)
        return text.getvalue()

    def __str__(self) -> str:
        said = self.to_json()
        if self.columns:
            said["columns"] = self.columns_text
        parts = [
            f"{key.replace('_', ' ')} {'' if value is True else value}".strip()
            for key, value in said.items()
        ]
        return "; ".join(parts) or "as they are"


def read_columns(text: str | None) -> dict[str, str]:
    """The names of columns from a text: the opposite of `FileForm.columns_text`.

    >>> read_columns("rounds=Clicks, total=Conversions")
    {'rounds': 'Clicks', 'total': 'Conversions'}
    """
    if not text:
        return {}
    try:
        parts = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        parts = [""]
    pairs = [part.partition("=") for part in parts]
    if not all(equals and field.strip() and name.strip() for field, equals, name in pairs):
        raise InvalidInput(
            "columns are given as field=name, such as rounds=Clicks,total=Conversions, not "
            f"{shortened(text)!r}."
        )
    found = {field.strip().lower(): name.strip() for field, _, name in pairs}
    if len(found) < len(pairs):
        raise InvalidInput(f"columns name a field twice: {shortened(text)!r}.")
    return found


def _check_pattern(pattern: str) -> None:
    sample, right = datetime.datetime(2027, 10, 31), False
    with contextlib.suppress(ValueError, TypeError):
        if len(pattern) <= _MAX_PATTERN:
            read = datetime.datetime.strptime(sample.strftime(pattern), pattern)
            right = read.date() == sample.date()
    if not right:
        raise InvalidInput(
            f"the date format is {DAY_FIRST}, {MONTH_FIRST}, or a pattern with year, month and "
            f"day, such as '%d.%m.%Y', not {shortened(pattern)!r}."
        )
