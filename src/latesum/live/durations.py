"""Spans of time as people write them: "2 days", "36 hours", "1.5 weeks"."""

from __future__ import annotations

import re
from datetime import timedelta

from latesum._checks import InvalidInput

_UNITS = {
    "s": 1, "sec": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86_400, "day": 86_400, "days": 86_400,
    "w": 604_800, "week": 604_800, "weeks": 604_800,
}  # fmt: skip
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def parse_duration(value: str | timedelta, name: str) -> timedelta:
    """The span of time that a text says.

    >>> parse_duration("36 hours", "the delay")
    datetime.timedelta(days=1, seconds=43200)
    >>> parse_duration("soon", "the delay")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: the delay must be a span of time such as '2 days' or '36 hours', not 'soon'.
    """
    if isinstance(value, timedelta) and value >= timedelta(0):
        return value
    found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2].lower() not in _UNITS:
        raise InvalidInput(
            f"{name} must be a span of time such as '2 days' or '36 hours', not {value!r}."
        )
    return timedelta(seconds=float(found[1]) * _UNITS[found[2].lower()])


def duration_text(span: timedelta) -> str:
    """The shortest way to write a span of time exactly.

    >>> duration_text(timedelta(days=2)), duration_text(timedelta(hours=36))
    ('2 days', '36 hours')
    """
    seconds = span.total_seconds()
    for unit in ("week", "day", "hour", "minute"):
        count, rest = divmod(seconds, _UNITS[unit])
        if rest == 0 and count:
            return f"{count:.0f} {unit}" + ("" if count == 1 else "s")
    return f"{seconds:g} seconds"
