"""Reading what a fit needs from a file or from columns in memory."""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum.delays.base import Floats

#: How a cell of a CSV file says that there is no value.
_EMPTY = ("", "na", "n/a", "nan", "null", "none")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Columns = dict[str, list[Any]]
Source = str | Path | Mapping[str, Sequence[Any]] | Sequence[float]


def read_columns(source: Source) -> tuple[Columns, str]:
    """The columns of a CSV or Parquet file, of a mapping, or of a plain list, and its name.

    >>> read_columns([1, 2])
    ({'delay': [1, 2]}, 'the data')
    """
    if isinstance(source, (str, Path)):
        return _read_file(Path(source)), str(source)
    if isinstance(source, Mapping):
        columns = {str(name): list(values) for name, values in source.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise InvalidInput("the columns must all have the same length.")
        return columns, "the data"
    return {"delay": list(source)}, "the data"


def _read_file(path: Path) -> Columns:
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}.")
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path)
    return _read_csv(path)


def _read_parquet(path: Path) -> Columns:
    pa = require("pyarrow", "lab")
    pq = require("pyarrow.parquet", "lab")
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidInput(f"cannot read {path} as Parquet: {error}.") from None
    return {name.strip(): table[name].to_pylist() for name in table.column_names}


def _read_csv(path: Path) -> Columns:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True, skipinitialspace=True)
            lines = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"cannot read {path} as CSV: {error}.") from None
    if not lines:
        raise InvalidInput(f"{path} is empty.")
    names = [name.strip() for name in lines[0][1]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{path} has two columns {twice!r}; rename one of them.")
    for line, row in lines:
        if len(row) != len(names):
            raise InvalidInput(
                f"cannot read {path} as CSV: line {line} has {len(row)} values, and the first "
                f"line names {len(names)} columns."
            )
    columns = zip(*(row for _, row in lines[1:]), strict=True) if lines[1:] else [()] * len(names)
    return {name: _typed(texts) for name, texts in zip(names, columns, strict=True)}


def _typed(texts: Sequence[str]) -> list[Any]:
    """The texts of a column, None where there is none; dates if the first is one."""
    values = [None if text.strip().lower() in _EMPTY else text.strip() for text in texts]
    first = next((value for value in values if value is not None), "")
    if isinstance(_date_or_text(first), str):
        return values
    return [None if value is None else _date_or_text(value) for value in values]


def _date_or_text(text: str) -> datetime.datetime | str:
    try:
        return datetime.datetime.fromisoformat(text) if _DATE.match(text) else text
    except ValueError:
        return text


def take(columns: Columns, name: str, where: str) -> list[Any]:
    """One column, or a refusal that names those there are."""
    if name in columns:
        return columns[name]
    there = ", ".join(columns) or "none"
    raise InvalidInput(f"{where} has no column {name!r}; it has: {there}.")


def numbers(values: Sequence[Any], name: str, where: str, *, at_least: float = -np.inf) -> Floats:
    """A column as finite numbers; what is not one is named with its row."""
    result = np.empty(len(values))
    for row, value in enumerate(values, start=1):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not (np.isfinite(number) and number >= at_least):
            limit = "" if at_least == -np.inf else f" of at least {at_least:g}"
            raise InvalidInput(
                f"row {row} of {where}: {name!r} must be a number{limit}, not {value!r}."
            )
        result[row - 1] = number
    return result


def times(values: Sequence[Any], name: str, where: str) -> tuple[Floats, bool]:
    """A column of numbers or of dates; dates become days. Says whether they were dates."""
    if values and isinstance(values[0], (datetime.date, datetime.datetime)):
        return np.array([_in_days(value, name, where) for value in values]), True
    return numbers(values, name, where), False


def one_time(value: Any, name: str, *, dates: bool) -> float:
    """A single time, written like those of the column: a number, or a date such as 2025-03-01."""
    if dates:
        try:
            if isinstance(value, str):
                value = datetime.datetime.fromisoformat(value)
            return _in_days(value, name, "the call")
        except ValueError:
            raise InvalidInput(
                f"{name} must be a date such as 2025-03-01, not {value!r}."
            ) from None
    return float(numbers([value], name, "the call")[0])


def _in_days(value: Any, name: str, where: str) -> float:
    if isinstance(value, datetime.datetime):
        moment = value.replace(tzinfo=None)
        return moment.toordinal() + (
            moment - datetime.datetime.combine(moment, datetime.time())
        ) / (datetime.timedelta(days=1))
    if isinstance(value, datetime.date):
        return float(value.toordinal())
    raise InvalidInput(f"{where}: {name!r} holds dates, and {value!r} is none.")


def truths(values: Sequence[Any], name: str, where: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A column of marks: true or false, yes or no, 1 or 0."""
    known = {"true": True, "yes": True, "1": True, "1.0": True}
    known |= {"false": False, "no": False, "0": False, "0.0": False}
    marks = []
    for row, value in enumerate(values, start=1):
        text = str(int(value) if isinstance(value, (float, np.bool_)) else value).strip().lower()
        if text not in known:
            raise InvalidInput(
                f"row {row} of {where}: {name!r} must be true or false, not {value!r}."
            )
        marks.append(known[text])
    return np.array(marks, dtype=bool)
