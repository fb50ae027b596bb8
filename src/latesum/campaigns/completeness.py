"""When a total is known: it must be old enough, and full or scaled up to full."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.fields import Curve
from latesum.campaigns.rows import Observation
from latesum.campaigns.state import CampaignState, Value


class Completeness:
    """Reads the buckets of a state as they are known at one time."""

    def __init__(
        self, state: CampaignState, now: datetime, config: CampaignConfig | None = None
    ) -> None:
        self.config = config = config or state.config
        self.state, self.now = state, now
        #: The age at which a total is full; None if it is full from the end of its bucket on.
        self.full_age = config.completeness[-1][0] if config.completeness else None

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
        usable_at = self.usable_at(bucket)
        if value.total is None or usable_at is None or usable_at > self.now:
            return row._replace(state="pending")
        # One that was never seen at an age on the curve waited until it was full.
        share = self._share_at(value.reports[-1][0], self.config.buckets.end(bucket)) or 1.0
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

    def _share_at(self, seen: datetime, end: datetime) -> float | None:
        """The share of a total that is in when it is seen; None where the curve does not say.

        What is seen before the end of its bucket is taken for what was in at the end.
        """
        curve = self.config.completeness
        return 1.0 if curve is None else share_at(curve, max(seen - end, timedelta(0)))


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


def stops_counting(state: CampaignState, after: CampaignConfig, now: datetime) -> int:
    """How many totals of a region that count now would not with another configuration."""
    one, other = Completeness(state, now), Completeness(state, now, after)
    known = [bucket for bucket in state.decisions if one.observation(bucket).state == "known"]
    return sum(other.observation(bucket).state != "known" for bucket in known)
