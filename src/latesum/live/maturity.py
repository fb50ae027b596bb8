"""When a total is known: it must be old enough, and full or scaled up to full."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from latesum.live.ledger import Ledger, Value
from latesum.live.rules import RULES_VERSION
from latesum.live.settings import Curve, Settings

#: So many full buckets are needed before a curve is fitted to them.
FEWEST_FULL_BUCKETS = 3


class Known(NamedTuple):
    """What may be used of a bucket at some moment; `share` is how much of the total was in."""

    state: Literal["known", "pending", "missing"]
    total: float | None = None
    share: float = 1.0


class Maturity:
    """Reads the buckets of a ledger as they are known at one moment, by one version of the rules."""

    def __init__(
        self, settings: Settings, ledger: Ledger, now: datetime, rules: int = RULES_VERSION
    ) -> None:
        self.settings = settings
        self.ledger = ledger
        self.now = now
        self.rules = rules
        self.curve = settings.fills_up
        if settings.full_after is not None:
            self.curve = fit_curve(settings, ledger, settings.full_after)

    def end(self, bucket: int) -> datetime | None:
        """When a bucket ended; None if it has not. A numbered one ends when the next is decided."""
        if self.settings.buckets.timed:
            end = self.settings.buckets.end(bucket)
            return end if end <= self.now else None
        after = self.ledger.decisions.get(bucket + 1)
        return None if after is None else after.at

    def rounds(self, bucket: int) -> int:
        """The rounds of a bucket, as recorded or else as expected."""
        rounds = self.ledger.value(bucket).rounds
        return self.settings.expected_rounds if rounds is None else rounds

    def known(self, bucket: int) -> Known:
        """What may be used of a bucket now."""
        value = self.ledger.value(bucket)
        if value.status == "missing":
            return Known("missing")
        end = self.end(bucket)
        if value.total is None:
            return Known("missing" if self.too_late(bucket) else "pending")
        if value.status == "final":
            return Known("known", value.total)
        if self.settings.buckets.timed and end is None:
            return Known("pending")  # the bucket still runs: its total is that of a part of it
        assert value.known_at is not None
        standing_since = value.known_at
        if self.rules >= 2 and end is not None and self.settings.buckets.timed:
            standing_since = max(standing_since, end)
        if self.now - standing_since < self.settings.usable_after:
            return Known("pending")
        share = self._share(value, end)
        return Known("pending") if share is None else Known("known", value.total / share, share)

    def too_late(self, bucket: int) -> bool:
        """Whether whatever is said now about a bucket comes too late to be used."""
        end, lateness = self.end(bucket), self.settings.lateness
        return end is not None and lateness is not None and self.now - end > lateness

    def early(self, bucket: int) -> bool:
        """Whether a bucket's total was last recorded before the bucket had ended."""
        value = self.ledger.value(bucket)
        if not self.settings.buckets.timed or value.total is None or value.status == "final":
            return False
        return value.looks[-1].at < self.settings.buckets.end(bucket)

    def says_more(self, bucket: int, value: Value) -> bool:
        """Whether hearing the same total again, now, makes it more complete than it was."""
        end = self.end(bucket)
        if value.total is None or value.status == "final":
            return False
        if value.looks[-1].at >= self.now:
            return False
        if self.settings.buckets.timed and (end is None or value.looks[-1].at < end):
            return end is not None  # it is no longer the total of a part of the bucket
        if self.settings.full_after is not None:
            return end is not None and value.looks[-1].at - end < self.settings.full_after
        before = self._share(value, end)
        return before != 1 and before != self._share_at(self.now, end)

    def _share(self, value: Value, end: datetime | None) -> float | None:
        return self._share_at(value.looks[-1].at, end)

    def _share_at(self, seen: datetime, end: datetime | None) -> float | None:
        """The share of a total that is in when it is seen; None where nobody can say.

        What is seen before the end of its bucket is taken for what was in at the end.
        """
        if self.rules == 1 and self.settings.buckets.timed and (end is None or seen < end):
            return None
        age = timedelta(0) if end is None else max(seen - end, timedelta(0))
        full_after = self.settings.full_after
        if full_after is not None and (age >= full_after or self.curve is None):
            return 1.0 if age >= full_after else None
        return 1.0 if self.curve is None else share_at(self.curve, age)


def share_at(curve: Curve, age: timedelta) -> float | None:
    """The share that is in at an age, on straight lines between the points of a curve.

    >>> curve = ((timedelta(days=1), 0.6), (timedelta(days=3), 1.0))
    >>> share_at(curve, timedelta(days=2)), share_at(curve, timedelta(hours=5))
    (0.8, None)
    """
    if age < curve[0][0]:
        return None
    for (young, less), (old, more) in itertools.pairwise(curve):
        if age < old:
            return less + (more - less) * ((age - young) / (old - young))
    return curve[-1][1]


def fit_curve(settings: Settings, ledger: Ledger, full_after: timedelta) -> Curve | None:
    """The curve by which this campaign's own totals filled up; None while too few are full.

    Of the buckets whose newest total was seen at `full_after` or later, or is final, the totals seen
    at each age, in whole buckets, are divided by what they became.
    """
    length = settings.buckets.length
    if length is None:
        return None
    seen: dict[int, list[tuple[timedelta, float, float]]] = {}
    full_buckets = 0
    for bucket, value in ledger.values.items():
        if value.total is None or value.total <= 0:
            continue
        end = settings.buckets.end(bucket)
        if value.status != "final" and value.looks[-1].at - end < full_after:
            continue
        full_buckets += 1
        for look in value.looks:
            age = look.at - end
            if timedelta(0) <= age < full_after:
                seen.setdefault(age // length, []).append((age, look.total, value.total))
    if full_buckets < FEWEST_FULL_BUCKETS:
        return None
    curve: list[tuple[timedelta, float]] = []
    for step in sorted(seen):
        looks = seen[step]
        age = sum((each[0] for each in looks), timedelta(0)) / len(looks)
        share = sum(each[1] for each in looks) / sum(each[2] for each in looks)
        share = max(min(share, 1.0), curve[-1][1] if curve else 0.0)
        if share > 0:
            curve.append((age, share))
    return (*curve, (full_after, 1.0))
