"""Spans of time as people write them: "2 days", "36 hours", "1,000 hours", "1.5 weeks", "month"."""

from __future__ import annotations

import re
from datetime import timedelta

from latesum._checks import InvalidInput
from latesum._render import counted

#: Seconds in each unit of time; a month is a twelfth of a year of 365.25 days.
SECONDS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3_600.0,
    "day": 86_400.0,
    "week": 604_800.0,
    "month": 2_629_800.0,
}
_SHORT = {"s": "second", "sec": "second", "m": "minute", "min": "minute"}
_SHORT |= {"h": "hour", "d": "day", "w": "week"}
#: Patterns for texts in which a span of time is a part: a number, a unit, and the two together.
NUMBER = r"(?:\d[\d,_]*(?:\.\d+)?|\.\d+)"
UNIT = r"(?:seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d|weeks?|w|months?)"
DURATION = re.compile(rf"\s*({NUMBER})?\s*({UNIT})\s*", re.IGNORECASE)
#: A longer span is a mistake, and beyond what a date can be moved by.
_MAX_SPAN = timedelta(days=365_250)


def number_of(text: str) -> float:
    """The number that a text says, with or without commas between thousands.

    >>> number_of("1,000")
    1000.0
    """
    return float(text.replace(",", "").replace("_", ""))


def unit_of(text: str) -> str:
    """The unit of time that a text names, however it is written.

    >>> unit_of("Days"), unit_of("h")
    ('day', 'hour')
    """
    name = text.strip().lower()
    name = name[:-1] if name.endswith("s") and len(name) > 1 else name
    name = _SHORT.get(name, name)
    if name not in SECONDS:
        raise InvalidInput(f"there is no unit of time {text!r}; use {', '.join(SECONDS)}.")
    return name


def parse_duration(value: object, name: str) -> timedelta:
    """The span of time that a text says, or a `timedelta` as it is.

    >>> parse_duration("36 hours", "the delay") == parse_duration("1.5 days", "the delay")
    True
    >>> parse_duration("soon", "the delay")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: the delay must be a span of time such as '2 days' or '36 hours',
    not 'soon'.
    """
    span = value if isinstance(value, timedelta) else None
    found = DURATION.fullmatch(value) if isinstance(value, str) and len(value) <= 100 else None
    if found is not None:
        seconds = number_of(found[1] or "1") * SECONDS[unit_of(found[2])]
        span = timedelta(seconds=min(seconds, 2 * _MAX_SPAN.total_seconds()))
    if span is None or span < timedelta(0):
        raise InvalidInput(
            f"{name} must be a span of time such as '2 days' or '36 hours', not {value!r}."
        )
    if span > _MAX_SPAN:
        raise InvalidInput(f"{name} must be shorter than 1,000 years, not {value!r}.")
    return span


def duration_text(span: timedelta) -> str:
    """The shortest way to write a span of time exactly.

    >>> duration_text(timedelta(days=2)), duration_text(timedelta(hours=36))
    ('2 days', '36 hours')
    """
    seconds = span.total_seconds()
    for unit in ("week", "day", "hour", "minute"):
        count, rest = divmod(seconds, SECONDS[unit])
        if rest == 0 and count:
            return counted(f"{count:.0f}", unit)
    return f"{seconds:g} seconds"


def rough_text(seconds: float) -> str:
    """A span of time to three digits at most, for people.

    >>> rough_text(80), rough_text(4_000), rough_text(30 * 3_600), rough_text(12 * 604_800)
    ('80 s', '67 minutes', '30 hours', '12 weeks')
    """
    if seconds < 120:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} minutes"
    unit = "hour" if seconds < 48 * 3_600 else "day" if seconds < 21 * 86_400 else "week"
    return f"{seconds / SECONDS[unit]:.3g} {unit}s"
