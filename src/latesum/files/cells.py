"""A cell as a number or as a day: read where there is one way, refused where there are two.

A refusal is an `InvalidInput`, without its place, which is added where the rows are gone through.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from latesum._checks import shortened
from latesum.errors import InvalidInput
from latesum.files.form import DAY_FIRST, MONTH_FIRST, FileForm

#: What a file may hold in a cell: text in CSV, values in Excel and Parquet files.
Cell = Any
#: How programs write that there is no value. Google Ads writes " --".
_EMPTY = frozenset(("", "-", "--", "—", "–", "na", "n/a", "nan", "null", "none"))
#: Separators between thousands that never separate decimals.
_SPACES = " '\u00a0\u2009\u202f\u2019"
#: A number by its decimal mark: plain, or with thousands that are separated alike.
_NUMBERS = {
    mark: re.compile(
        rf"[+-]?(?:(?:[0-9]+(?:[{mark}][0-9]*)?|[{mark}][0-9]+)(?:[eE][+-]?[0-9]{{1,4}})?"
        rf"|[1-9][0-9]{{0,2}}([{other}{_SPACES}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:[{mark}][0-9]*)?)"
    )
    for mark, other in ((".", ","), (",", "."))
}
#: What makes Python's number of one with this decimal mark.
_PLAIN = {
    ".": str.maketrans("", "", f",{_SPACES}"),
    ",": str.maketrans(",", ".", f".{_SPACES}"),
}
_ISO_LIKE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
#: A day, and a time of day behind it.
_WITH_TIME = re.compile(r"(.*?)(?:[ ,T\t]+([0-9]{1,2}(?::.*)?))?", re.DOTALL)
_WITHOUT_MARKS = re.compile(r"((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})")
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}(?![0-9])")
#: Days that can be read in one way; months in words have no marks any more.
_NUMBERED = ("%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d")
_NAMED = ("%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y")
#: Days in which either number may be the month.
_IN_ORDER = {DAY_FIRST: ("%d/%m/%Y", "%d-%m-%Y"), MONTH_FIRST: ("%m/%d/%Y", "%m-%d-%Y")}
#: A text that a spreadsheet would take for a formula, with any apostrophes in front of it.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def is_empty(cell: Cell) -> bool:
    """Whether a cell holds no value.

    >>> [is_empty(cell) for cell in (None, "  ", "--", float("nan"), "0", 0)]
    [True, True, True, True, False, False]
    """
    if cell is None:
        return True
    if isinstance(cell, str):
        return not cell or cell.strip().lower() in _EMPTY
    return isinstance(cell, float) and math.isnan(cell)


def number(
    cell: Cell, form: FileForm, separator: str | None = None, *, whole: bool = False
) -> float:
    """A cell that is not empty, as a number.

    Where the cells of a text file are separated by commas, a point is decimal; where only a `whole`
    number can be right, "1.234" is 1234.

    >>> number("1.234,50 €", FileForm()), number("1 234", FileForm()), number("12,5", FileForm())
    (1234.5, 1234.0, 12.5)
    >>> number("1.234", FileForm(decimal=",")), number("1.234", FileForm(), ",")
    (1234.0, 1.234)
    >>> number("1.234", FileForm(), whole=True)
    1234.0
    """
    if not isinstance(cell, str):
        return _plain_number(cell)
    text = _bare(cell.strip())
    readings = _readings(text)
    if form.decimal is not None:
        found = readings.get(form.decimal)
    elif whole and readings:
        found = max(readings.values(), key=abs)
    elif separator == "," and "," not in text:
        found = readings.get(".")
    elif len(set(readings.values())) > 1:
        mark = "." if "." in text else ","
        as_whole, share = text.replace(mark, ""), text.replace(mark, ".")
        raise InvalidInput(
            f"{shortened(cell.strip())!r} can be read in two ways, as {as_whole} and as {share}; "
            f"set the decimal mark to '{'.' if mark == ',' else ','}' or '{mark}'."
        )
    else:
        found = next(iter(readings.values()), None)
    if found is None:
        raise InvalidInput(_no_number(cell.strip(), text, form.decimal))
    return found


def _readings(text: str) -> dict[str, float]:
    """The finite numbers that a text can be, by the decimal mark."""
    marks = [mark for mark, pattern in _NUMBERS.items() if pattern.fullmatch(text)]
    found = {mark: float(text.translate(_PLAIN[mark])) for mark in marks}
    return {mark: value for mark, value in found.items() if math.isfinite(value)}


def _plain_number(cell: Cell) -> float:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        raise InvalidInput(f"{shortened(str(cell))!r} is not a number.")
    try:
        found = float(cell)
    except (OverflowError, ValueError):
        found = math.inf
    if not math.isfinite(found):
        raise InvalidInput(f"{shortened(str(cell))!r} is not a finite number.")
    return found


def _bare(text: str) -> str:
    """The text without the sign of a currency, and with the usual minus."""
    text = text.replace("\u2212", "-")
    sign = text[0] if text[:1] in ("+", "-") else ""
    kept = text[len(sign) :]
    if kept and unicodedata.category(kept[0]) == "Sc":
        kept = kept[1:]
    elif kept and unicodedata.category(kept[-1]) == "Sc":
        kept = kept[:-1]
    return sign + kept.strip()


def _no_number(shown: str, text: str, decimal: str | None) -> str:
    why = "is not a number; write digits only, or leave it empty if it is not known."
    if text.endswith("%"):
        why = "is a share, and a count or an amount is wanted."
    elif decimal is not None and re.search(r"[.,]", text):
        why = (
            f"is not a number; the decimal mark of this file is {decimal!r}; set another one if it "
            "is wrong."
        )
    elif text.startswith("="):
        why = (
            "is a formula that was never calculated; open the file in a spreadsheet program and "
            "save it again."
        )
    return f"{shortened(shown)!r} {why}"


def day_text(cell: Cell, form: FileForm) -> str:
    """A cell that names a bucket, with a day written as year-month-day; other texts as they are.

    >>> day_text("31.10.2026", FileForm()), day_text("Oct 31, 2026", FileForm())
    ('2026-10-31', '2026-10-31')
    >>> day_text("10/31/2026 14:00", FileForm()), day_text("7", FileForm())
    ('2026-10-31 14:00', '7')
    """
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if not isinstance(cell, str):
        if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
            raise InvalidInput(f"{shortened(str(cell))!r} is neither a date nor a number.")
        plain = _plain_number(cell)
        return f"{plain:.0f}" if plain.is_integer() else str(plain)
    return _day_text(cell.strip(), form.date_format)


def _day_text(text: str, date_format: str | None) -> str:
    if date_format not in (None, DAY_FIRST, MONTH_FIRST):
        return _by_pattern(text, str(date_format))
    if _ISO_LIKE.match(text):
        return text
    day, time = _day_and_time(text)
    readings = _in_either_order(day)
    if date_format is None and len(set(readings.values())) > 1:
        raise InvalidInput(
            f"{shortened(text)!r} can be read in two ways; set the date format to {DAY_FIRST} or "
            f"{MONTH_FIRST}."
        )
    if readings and date_format not in (None, *readings):
        raise InvalidInput(
            f"{shortened(text)!r} is no day of the calendar if it is read as {date_format}; set "
            f"the date format to {next(iter(readings))} if it is that."
        )
    found = readings.get(str(date_format)) or next(iter(readings.values()), None) or _one_day(day)
    if found is not None:
        return f"{found} {time}".rstrip()
    if _SHORT_YEAR.match(text):
        raise InvalidInput(
            f"{shortened(text)!r} has a year of two digits; set the date format, such as "
            "'%d.%m.%y'."
        )
    return text


def _day_and_time(text: str) -> tuple[str, str]:
    parts = _WITH_TIME.fullmatch(text)
    return (text, "") if parts is None else (parts[1], parts[2] or "")


@functools.lru_cache(maxsize=10_000)  # a file has the same days often
def _in_either_order(day: str) -> dict[str, str]:
    """A day of three numbers with slashes or dashes, by the order in which it can be read."""
    found = {order: _first_day(day, patterns) for order, patterns in _IN_ORDER.items()}
    return {order: each for order, each in found.items() if each is not None}


@functools.lru_cache(maxsize=10_000)
def _one_day(text: str) -> str | None:
    """A day that can be read in one way."""
    plain = _WITHOUT_MARKS.sub(r"\1/\2/\3", text) if _WITHOUT_MARKS.fullmatch(text) else text
    words = re.sub(r"(?i)\bsept\b", "Sep", re.sub(r"[.,\s-]+", " ", text))
    return _first_day(plain, _NUMBERED) or _first_day(words, _NAMED)


def _first_day(text: str, patterns: Iterable[str]) -> str | None:
    for pattern in patterns:
        with contextlib.suppress(ValueError):
            return datetime.datetime.strptime(text, pattern).date().isoformat()
    return None


def settled(form: FileForm, cells: Iterable[tuple[int, Cell]]) -> FileForm:
    """The form with the order of day and month that numbered dates show, where one shows it."""
    if form.date_format is not None:
        return form
    shown: dict[str, int] = {}  # the first row that shows each order
    for line, cell in cells:
        orders = _in_either_order(_day_and_time(cell.strip())[0]) if isinstance(cell, str) else {}
        if len(orders) == 1:
            shown.setdefault(next(iter(orders)), line)
    if len(shown) > 1:
        raise InvalidInput(
            f"row {shown[DAY_FIRST]} has the day first and row {shown[MONTH_FIRST]} the month; "
            "write all dates in the same way."
        )
    return replace(form, date_format=next(iter(shown), None))


def _by_pattern(text: str, pattern: str) -> str:
    try:
        found = datetime.datetime.strptime(text, pattern)
    except ValueError:
        raise InvalidInput(
            f"{shortened(text)!r} is not written as the date format {pattern!r} says."
        ) from None
    if any(part in pattern for part in ("%H", "%I", "%X", "%c")):
        return found.isoformat(sep=" ")
    return found.date().isoformat()


def moment(cell: Cell, form: FileForm) -> datetime.datetime | None:
    """A cell as a day or a time of day, where it is one; None otherwise.

    >>> moment("31.10.2026", FileForm())
    datetime.datetime(2026, 10, 31, 0, 0)
    >>> moment("31", FileForm()) is None
    True
    """
    if isinstance(cell, datetime.datetime):
        return cell
    if isinstance(cell, datetime.date):
        return datetime.datetime.combine(cell, datetime.time())
    if not isinstance(cell, str):
        return None
    text = day_text(cell, form)
    if not _ISO_LIKE.match(text):
        return None
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def guarded(text: str) -> str:
    """A text for a cell of a CSV file, so that no spreadsheet takes it for a formula.

    >>> guarded("=1+1"), guarded("plain"), unguarded(guarded("'=x"))
    ("'=1+1", 'plain', "'=x")
    """
    return "'" + text if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The opposite of `guarded`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
