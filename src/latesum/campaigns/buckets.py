"""The buckets of a campaign: consecutive hours, days or weeks in a time zone.

Buckets are counted from 1. Days and weeks follow the calendar of the time zone, so a day may have
23 or 25 hours; hours follow each other in real time, so an hour that the clock skips does not exist
and one that it repeats exists twice and must be written with its offset.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._render import counted

Every = Literal["hour", "day", "week"]
KINDS: tuple[Every, ...] = get_args(Every)
#: How long a bucket is, apart from changes of the clock.
LENGTHS: dict[str, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_EXAMPLES = {"hour": "2026-03-01 14:00", "day": "2026-03-01", "week": "2026-03-02 or 2026-W10"}
_ISO_WEEK = re.compile(r"(\d{4})-?W(\d{2})", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{1,2}.*)?")
_WHOLE = re.compile(r"[0-9]{1,12}")
_LARGEST = 10_000_000

#: What names a bucket: its number, a time in it, or the text of either.
When = int | str | date | datetime


@dataclass(frozen=True)
class Buckets:
    """Which bucket a time falls in, and when a bucket begins and ends.

    >>> days = Buckets.create("day", "Europe/Berlin", "2026-03-28")
    >>> days.number("2026-03-29"), days.label(2)
    (2, '2026-03-29')
    >>> days.end(2) - days.begin(2)              # the clocks go forward
    datetime.timedelta(seconds=82800)
    """

    every: Every
    zone_name: str
    #: The beginning of bucket 1.
    first: datetime

    @classmethod
    def create(cls, every: str, zone: str = "UTC", start: str | date | None = None) -> Buckets:
        """Buckets of one kind whose first one begins at `start`, a local date or time."""
        kind: Any = known_name(every, KINDS, "kind of bucket")
        if start is None:
            raise InvalidInput(f"say when the first {kind} begins, such as start='2026-03-01'.")
        found = read_zone(zone)
        begin = _read_time(start, kind, found).astimezone(found)
        if kind == "hour":
            first = begin.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
        else:
            first = _midnight(begin.date(), found)
        return cls(kind, found.key, first)

    @property
    def length(self) -> timedelta:
        """How long a bucket is, apart from changes of the clock."""
        return LENGTHS[self.every]

    def number(self, when: When) -> int:
        """The number of the bucket that `when` names or falls in; it may be below 1."""
        if isinstance(when, bool):
            raise InvalidInput(f"a bucket is named by its number or a time in it, not {when!r}.")
        if isinstance(when, str) and _WHOLE.fullmatch(when.strip()):
            when = int(when)
        if isinstance(when, int):
            if abs(when) > _LARGEST:
                raise InvalidInput(f"bucket numbers go up to {_LARGEST:,}.")
            return when
        try:
            at = _read_time(when, self.every, read_zone(self.zone_name))
            if self.every == "hour":
                return (at - self.first) // timedelta(hours=1) + 1
            days = (self.local(at).date() - self.local(self.first).date()).days
            return days // (7 if self.every == "week" else 1) + 1
        except OverflowError:
            raise InvalidInput(f"{when} is beyond the calendar.") from None

    def begin(self, number: int) -> datetime:
        """When a bucket begins, in UTC."""
        try:
            return _begin(self, whole_number(number, "a bucket", at_least=-_LARGEST))
        except OverflowError:
            raise InvalidInput(f"bucket {number:,} is beyond the calendar.") from None

    def end(self, number: int) -> datetime:
        """When a bucket ends, in UTC."""
        return self.begin(number + 1)

    def label(self, number: int) -> str:
        """How a bucket is called: its date, or its hour with the offset."""
        local = self.local(self.begin(number))
        if self.every == "hour":
            return local.isoformat(sep=" ", timespec="minutes")
        return local.date().isoformat()

    def week(self, number: int) -> int:
        """Which week since the start a bucket belongs to."""
        begun, first = (self.local(self.begin(each)).replace(tzinfo=None) for each in (number, 1))
        return (begun - first).days // 7

    def local(self, at: datetime) -> datetime:
        """A time, in the zone of the campaign."""
        return at.astimezone(read_zone(self.zone_name))


@functools.lru_cache(maxsize=10_000)  # a whole campaign is gone through at every decision
def _begin(buckets: Buckets, number: int) -> datetime:
    steps = number - 1
    if buckets.every == "hour":
        return buckets.first + timedelta(hours=steps)
    days = steps * (7 if buckets.every == "week" else 1)
    day = buckets.local(buckets.first).date() + timedelta(days=days)
    return _midnight(day, read_zone(buckets.zone_name))


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    # Where the clocks jump at midnight, the day begins at the jump: fold=0 gives just that.
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _read_time(when: str | date | datetime, every: Every, zone: ZoneInfo) -> datetime:
    """The time in UTC; one without an offset is local, and must exist exactly once."""
    if isinstance(when, str):
        when = _parse_time(when, every)
    if not isinstance(when, datetime):
        if not isinstance(when, date):
            raise InvalidInput(f"a time is a date or a datetime, not {when!r}.")
        if every == "hour":
            raise InvalidInput(
                f"{when} is a whole day, and this campaign's buckets are hours; "
                f"write an hour, such as '{when} 14:00'."
            )
        return _midnight(when, zone)
    if when.tzinfo is not None:
        return when.astimezone(UTC)
    earlier, later = (when.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if earlier.utcoffset() == later.utcoffset():
        return earlier.astimezone(UTC)
    if every != "hour":  # whatever the hour, the day is the same
        return _midnight(when.date(), zone)
    if earlier.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != when:
        raise InvalidInput(
            f"{when:%Y-%m-%d %H:%M} does not exist in {zone.key}: the clocks skip it. "
            "That hour has no bucket; leave its row out."
        )
    raise InvalidInput(
        f"{when:%Y-%m-%d %H:%M} happens twice in {zone.key}, when the clocks go back; "
        f"write it with its offset: {earlier.isoformat(sep=' ', timespec='minutes')} or "
        f"{later.isoformat(sep=' ', timespec='minutes')}."
    )


def _parse_time(text: str, every: Every) -> date | datetime:
    cleaned = text.strip().replace("Z", "+00:00")
    week = _ISO_WEEK.fullmatch(cleaned)
    if week is not None and every == "week":
        try:
            return date.fromisocalendar(int(week[1]), int(week[2]), 1)
        except ValueError:
            raise InvalidInput(f"{text!r} is no week of that year.") from None
    found = _DAY.fullmatch(cleaned)
    try:
        if found is not None and found[1] is None:
            return date.fromisoformat(cleaned)
        if found is not None:
            return datetime.fromisoformat(re.sub(r"[ T](\d)(?=:|$)", r" 0\1", cleaned))
    except ValueError:
        pass
    raise InvalidInput(
        f"{text!r} is not a date that can be read without guessing; write year-month-day, "
        f"such as {_EXAMPLES[every]}."
    )


def read_zone(name: str) -> ZoneInfo:
    """The time zone of this name, or a refusal."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"there is no time zone {name!r}; use a name such as 'Europe/Berlin' or 'UTC'."
        ) from None


def span_text(buckets: float, every: str) -> str:
    """A number of buckets as a time: short ones in hours.

    >>> span_text(1.5, "day"), span_text(0.5, "week")
    ('36 hours', '3.5 days')
    """
    hours = buckets * (LENGTHS[every] / LENGTHS["hour"])
    if hours < 48 and hours != 24:
        return counted(f"{hours:.0f}" if hours >= 10 else f"{hours:.2g}", "hour")
    return counted(f"{hours / 24:.0f}" if hours >= 240 else f"{hours / 24:.2g}", "day")
