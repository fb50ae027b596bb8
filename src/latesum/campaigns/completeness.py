"""When a total is known: it must be old enough, and full or scaled up to full."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from latesum._durations import duration_text
from latesum.campaigns.config import CampaignConfig, Curve
from latesum.campaigns.rows import Observation
from latesum.campaigns.state import CampaignState, Value

#: Full buckets that are needed before a curve is fitted to them.
_MIN_FULL = 3
_ZERO = timedelta(0)


class Completeness:
    """Reads the buckets of a state as they are known at one time."""

    def __init__(
        self, state: CampaignState, now: datetime, config: CampaignConfig | None = None
    ) -> None:
        self.config = config = config or state.config
        self.state, self.now = state, now
        self.curve = config.curve
        #: The age at which a total is full; None if it is full from the end of its bucket on.
        self.full_age = config.curve[-1][0] if config.curve else config.full_after
        if config.full_after is not None:
            self.curve = self._fit_curve(config.full_after)

    def end(self, bucket: int) -> datetime | None:
        """When a bucket ended; None if it has not."""
        end = self.config.buckets.end(bucket)
        return end if end <= self.now else None

    def rounds(self, bucket: int) -> int:
        """The rounds of a bucket, as recorded or else as expected."""
        rounds = self.state.value(bucket).rounds
        return self.config.expected_rounds if rounds is None else rounds

    def observation(self, bucket: int) -> Observation:
        """What may be used of a bucket now."""
        state, value = self.state, self.state.value(bucket)
        row = Observation(state.region, bucket, value.rounds, state.shares(bucket))
        if value.status == "missing":
            return row._replace(state="missing")
        if value.status == "final":
            return row._replace(total=value.total)
        usable_at, share = self.usable_at(bucket), None
        if usable_at is not None and usable_at <= self.now:
            end = self.end(bucket)
            share = self._share_at(value.reports[-1][0], end)
            if end is not None and self.full_age is not None and self.now - end >= self.full_age:
                share = 1.0 if share is None or self._followed(value, end) else share
        if value.total is None or share is None:
            return row._replace(state="pending")
        return row._replace(total=value.total / share, share=share)

    def early(self, bucket: int) -> bool:
        """Whether a bucket's total was last recorded before the bucket had ended."""
        value = self.state.value(bucket)
        if value.total is None or value.status == "final":
            return False
        return value.reports[-1][0] < self.config.buckets.end(bucket)

    def says_more(self, bucket: int, value: Value) -> bool:
        """Whether hearing the same total again, now, makes it more complete than it was."""
        end = self.end(bucket)
        if value.total is None or value.status == "final" or value.reports[-1][0] >= self.now:
            return False
        seen = value.reports[-1][0]
        if end is None or seen < end:
            return end is not None  # it is no longer the total of a part of the bucket
        if self.config.full_after is not None:
            return end is not None and seen - end < self.config.full_after
        before = self._share_at(seen, end)
        return before != 1 and before != self._share_at(self.now, end)

    def usable_at(self, bucket: int) -> datetime | None:
        """Since when, or from when on, a bucket's total may be used.

        None where no total is recorded.
        """
        value = self.state.value(bucket)
        if value.total is None or value.known_at is None:
            return None
        if value.final_at is not None:
            return max(value.known_at, value.final_at)
        end = self.config.buckets.end(bucket)
        # The total of a part of its bucket counts from the end on.
        since = max(value.known_at, end)
        for at, _ in value.reports:
            if at >= value.known_at and self._share_at(at, end) is not None:
                return max(since, at)
        # No share is known for the ages at which it was seen: it is full at the end of the curve.
        return None if not self.full_age else max(since, end + self.full_age)

    def _share_at(self, seen: datetime, end: datetime | None) -> float | None:
        """The share of a total that is in when it is seen; None where the curve does not say.

        What is seen before the end of its bucket is taken for what was in at the end.
        """
        age = _ZERO if end is None else max(seen - end, _ZERO)
        full_after = self.config.full_after
        # While no curve can be fitted, totals count as they are.
        if self.curve is None or (full_after is not None and age >= full_after):
            return 1.0
        return share_at(self.curve, age)

    def _followed(self, value: Value, end: datetime) -> bool:
        """Whether a total was recorded again and again, until within a bucket of being full.

        A file of the last seven days that is read every morning has each day for the last time some
        hours before it is seven days old; that is as near to the end as such a file comes.
        """
        ages = [at - end for at, _ in value.reports if at >= end]
        assert self.full_age is not None
        return len(ages) > 1 and ages[-1] >= self.full_age - self.config.buckets.length

    def _fit_curve(self, full_after: timedelta) -> Curve | None:
        """The curve by which this campaign's own totals filled up; None while too few are full.

        Of the buckets whose total is final or full, the totals seen at each age, in whole buckets,
        are divided by what they became. A total is full if it was seen at `full_after` or later, or
        is that old and was followed until nearly then.
        """
        buckets = self.config.buckets
        seen: dict[int, list[tuple[timedelta, float, float]]] = {}
        n_full = 0
        for bucket, value in self.state.values.items():
            if value.total is None or value.total <= 0:
                continue
            end = buckets.end(bucket)
            if not (
                value.status == "final"
                or value.reports[-1][0] - end >= full_after
                or (self.now - end >= full_after and self._followed(value, end))
            ):
                continue
            n_full += 1
            for at, total in value.reports:
                if _ZERO <= at - end < full_after:
                    look = (at - end, total, value.total)
                    seen.setdefault((at - end) // buckets.length, []).append(look)
        if n_full < _MIN_FULL:
            return None
        curve: list[tuple[timedelta, float]] = []
        for _, looks in sorted(seen.items()):
            ages, totals, finals = zip(*looks, strict=True)
            share = max(min(sum(totals) / sum(finals), 1.0), curve[-1][1] if curve else 0.0)
            if share > 0:
                curve.append((sum(ages, _ZERO) / len(ages), share))
        return (*curve, (full_after, 1.0))


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


def effect_on_totals(state: CampaignState, after: CampaignConfig, now: datetime) -> list[str]:
    """What another configuration does to the totals of a region, in sentences."""
    one, other = Completeness(state, now), Completeness(state, now, after)
    pairs = [(one.observation(bucket), other.observation(bucket)) for bucket in state.decisions]
    counting = [pair for pair in pairs if pair[0].state == "known"]
    stopped = [was.bucket for was, then in counting if then.state != "known"]
    scaled = sum(then.state == "known" and then.total != was.total for was, then in counting)
    said = []
    if stopped:
        times = [at for bucket in stopped if (at := other.usable_at(bucket)) is not None]
        until = ""
        if times:
            at = after.buckets.local(min(times))
            until = f" until {at:%Y-%m-%d %H:%M} ({after.zone}), when the first counts again"
        stop = "total stops" if len(stopped) == 1 else "totals stop"
        said.append(f"{len(stopped)} {stop} counting{until}.")
    if scaled:
        count = "total counts" if scaled == 1 else "totals count"
        said.append(f"{scaled} {count} by another share than before.")
    if after.full_after is not None and other.curve is None:
        said.append(
            f"Totals count as they are until {_MIN_FULL} are full, "
            f"{duration_text(after.full_after)} after their bucket; from then on younger ones are "
            "scaled up."
        )
    return said
