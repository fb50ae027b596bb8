"""How a file is written: which column is what, its decimal mark, its dates. Campaigns remember it.

Presets know the columns of reports that advertising platforms export. Their names are those that
public programs look for which read such exports; no real export was available. That Google's
`Conversions` is dated by the click and `Conversions (by conv. time)` by the conversion is how they
quote "Understand your conversion tracking data" (Google Ads Help). That Meta's totals are dated by
the click or impression, and that a sum has no day, is assumed.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from latesum._checks import InvalidInput, known_name, shortened

Dated = Literal["arrival", "decision"]
#: In place of a pattern: only which of the two numbers is the day.
DAY_FIRST = "day-first"
MONTH_FIRST = "month-first"
#: A preset's name that stands for none.
NO_PRESET = "none"
_MAX_NAME, _MAX_PATTERN = 200, 50


class Preset(NamedTuple):
    """How the reports of a platform are written: for each field the names that are looked for, the
    best first, and the columns of totals that are dated by arrival; the others are by decision.
    """

    title: str
    columns: Mapping[str, tuple[str, ...]]
    by_arrival: tuple[str, ...] = ()

    def dated(self, column: str) -> Dated:
        """By what the totals of a column are dated."""
        return "arrival" if column in self.by_arrival else "decision"


#: All of them write 1,234.5.
PRESETS = {
    "google-ads": Preset(
        "Google Ads",
        {
            "bucket": ("Day", "Date", "Week"),
            "rounds": ("Clicks", "Interactions"),
            "total": ("Conversions (by conv. time)", "Conversions"),
        },
        by_arrival=("Conversions (by conv. time)",),
    ),
    "meta-ads": Preset(
        "Meta Ads",
        {
            "bucket": ("Day",),
            "rounds": ("Link clicks", "Clicks (all)"),
            "total": ("Purchases", "Website purchases", "Results"),
        },
    ),
}


#: What can be said of how a file is written, as texts and numbers: by options and over HTTP.
SAID: Mapping[str, tuple[type, str]] = {
    "preset": (str, "google-ads or meta-ads; none ends one."),
    "columns": (str, "Names of columns: rounds=Clicks,total=Conversions."),
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
        preset: The name of a preset (`latesum.files.PRESETS`), or "none".
        add_up: Whether several rows of one bucket are parts of it, to be added up.

    >>> str(FileForm({"rounds": "Clicks"}, decimal=","))
    'columns rounds=Clicks; decimal ,'
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    date_format: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    preset: str | None = None
    add_up: bool | None = None

    @classmethod
    def read(cls, columns: str | None = None, **said: Any) -> FileForm:
        """What was said of a file (`SAID`), with its columns as a text."""
        return cls(read_columns(columns), **said)

    def __post_init__(self) -> None:
        given = self.columns.items() if isinstance(self.columns, Mapping) else [(None, None)]
        if not all(isinstance(each, str) for pair in given for each in pair):
            raise InvalidInput('columns are fields with names in the file: {"rounds": "Clicks"}.')
        names = {field.strip().lower(): name.strip() for field, name in self.columns.items()}
        object.__setattr__(self, "columns", names)
        if self.decimal not in (None, ".", ","):
            raise InvalidInput(f"the decimal mark is '.' or ',', not {shortened(self.decimal)!r}.")
        if self.preset is not None:
            known_name(self.preset, (*PRESETS, NO_PRESET), "preset")
        if self.sheet is not None and not 0 < len(self.sheet) <= _MAX_NAME:
            raise InvalidInput(f"the name of a sheet has 1 to {_MAX_NAME} characters.")
        if self.date_format not in (None, DAY_FIRST, MONTH_FIRST):
            _check_pattern(str(self.date_format))

    @property
    def says_nothing(self) -> bool:
        """Whether nothing is given."""
        return self == FileForm()

    def after(self, remembered: FileForm) -> FileForm:
        """What holds if this is given and the other was remembered. A preset starts from nothing.

        >>> str(FileForm(decimal=",").after(FileForm(preset="google-ads")))
        'decimal ,; preset google-ads'
        """
        if self.preset == NO_PRESET:
            return replace(self, preset=None, add_up=self.add_up or None)
        if self.preset is not None:
            return replace(self, add_up=self.add_up or None)
        return FileForm(
            {**remembered.columns, **self.columns},
            self.date_format or remembered.date_format,
            self.decimal or remembered.decimal,
            self.sheet or remembered.sheet,
            remembered.preset,
            (remembered.add_up if self.add_up is None else self.add_up) or None,
        )

    def to_json(self) -> dict[str, Any]:
        """What is given, as plain values: the arguments of an equal one."""
        whole = {**vars(self), "columns": dict(self.columns)}
        return {key: value for key, value in whole.items() if value is not None and value != {}}

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
        said = {**self.to_json(), "columns": self.columns_text}
        parts = [
            f"{key.replace('_', ' ')} {'' if value is True else value}".strip()
            for key, value in said.items()
            if value != ""
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
