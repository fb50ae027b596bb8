"""When a total is known: it must be old enough, and full or scaled up to full."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from latesum._durations import duration_text
from latesum.campaigns.config import CampaignConfig, Curve
from latesum.campaigns.rows import Observation
from latesum.campaigns.state import CampaignState, Value

#: Full buckets that are needed before a curve is fitted to them.
FEWEST_FULL_BUCKETS = 3


class Completeness:
    """Reads the buckets of a state as they are known at one moment."""

    def __init__(
        self,
        state: CampaignState,
        now: datetime,
        config: CampaignConfig | None = None,
    ) -> None:
        self.config = config = state.config if config is None else config
        self.state = state
        self.now = now
        self.curve = config.curve
        #: The age at which a total is full; None if it is full from the end of its bucket on.
        self.full_age = config.full_after
        if config.full_after is not None:
            self.curve = fit_curve(config, state, config.full_after, now)
        elif config.curve is not None:
            self.full_age = config.curve[-1][0]

    def end(self, bucket: int) -> datetime | None:
        """When a bucket ended; None if it has not. A numbered one ends when the next is decided."""
        if self.config.buckets.timed:
            end = self.config.buckets.end(bucket)
            return end if end <= self.now else None
        after = self.state.decisions.get(bucket + 1)
        return None if after is None else after.at

    def rounds(self, bucket: int) -> int:
        """The rounds of a bucket, as recorded or else as expected."""
        rounds = self.state.value(bucket).rounds
        return self.config.expected_rounds if rounds is None else rounds

    def observation(self, bucket: int) -> Observation:
        """What may be used of a bucket now."""
        state, value = self.state, self.state.value(bucket)
        row = Observation(state.region, bucket, value.rounds, state.shares(bucket))
        if value.status == "missing" or (value.total is None and self.too_late(bucket)):
            return row._replace(state="missing")
        if value.status == "final":
            return row._replace(total=value.total)
        usable_at = self.usable_at(bucket)
        late_enough = usable_at is not None and usable_at <= self.now
        share = self._share(value, self.end(bucket)) if late_enough else None
        if value.total is None or share is None:
            return row._replace(state="pending")
        return row._replace(total=value.total / share, share=share)

    def too_late(self, bucket: int) -> bool:
        """Whether whatever is said now about a bucket comes too late to be used."""
        end, lateness = self.end(bucket), self.config.max_lateness
        return end is not None and lateness is not None and self.now - end > lateness

    def early(self, bucket: int) -> bool:
        """Whether a bucket's total was last recorded before the bucket had ended."""
        value = self.state.value(bucket)
        if not self.config.buckets.timed or value.total is None or value.status == "final":
            return False
        return value.reports[-1][0] < self.config.buckets.end(bucket)

    def says_more(self, bucket: int, value: Value) -> bool:
        """Whether hearing the same total again, now, makes it more complete than it was."""
        end = self.end(bucket)
        if value.total is None or value.status == "final":
            return False
        if value.reports[-1][0] >= self.now:
            return False
        if self.config.buckets.timed and (end is None or value.reports[-1][0] < end):
            return end is not None  # it is no longer the total of a part of the bucket
        if self.config.full_after is not None:
            return end is not None and value.reports[-1][0] - end < self.config.full_after
        before = self._share_at(value.reports[-1][0], end)
        return before != 1 and before != self._share_at(self.now, end)

    def usable_at(self, bucket: int) -> datetime | None:
        """Since when, or from when on, a bucket's total may be used.

        None where no total is recorded, or where it is not known when a numbered bucket ends.
        """
        value = self.state.value(bucket)
        if value.total is None or value.known_at is None:
            return None
        if value.final_at is not None:
            return max(value.known_at, value.final_at)
        timed = self.config.buckets.timed
        end = self.config.buckets.end(bucket) if timed else self.end(bucket)
        # The total of a part of its bucket cannot settle: that begins at the end.
        since = max(value.known_at, end) if timed and end is not None else value.known_at
        settled = since + self.config.settling_time
        for at, _ in value.reports:
            if at >= value.known_at and self._share_at(at, end) is not None:
                return max(settled, at)
        # No share is known for the ages at which it was seen: it is full at the end of the curve.
        if end is None or self.full_age is None:
            return None
        return max(settled, end + self.full_age)

    def _share(self, value: Value, end: datetime | None) -> float | None:
        """The share of a usable total that is in."""
        share = self._share_at(value.reports[-1][0], end)
        if self.full_age is None or end is None or self.now - end < self.full_age:
            return share
        followed = was_followed(value, end, self.full_age, self.config)
        return 1.0 if share is None or followed else share

    def _share_at(self, seen: datetime, end: datetime | None) -> float | None:
        """The share of a total that is in when it is seen; None where the curve does not say.

        What is seen before the end of its bucket is taken for what was in at the end.
        """
        age = timedelta(0) if end is None else max(seen - end, timedelta(0))
        full_after = self.config.full_after
        # While no curve can be fitted, totals count as they are.
        if self.curve is None or (full_after is not None and age >= full_after):
            return 1.0
        return share_at(self.curve, age)


def effect_on_totals(state: CampaignState, after: CampaignConfig, now: datetime) -> list[str]:
    """What another configuration does to the totals of a region, in sentences."""
    one, other = Completeness(state, now), Completeness(state, now, config=after)
    pairs = [(one.observation(bucket), other.observation(bucket)) for bucket in state.decisions]
    counting = [pair for pair in pairs if pair[0].state == "known"]
    stopped = [now.bucket for now, then in counting if then.state != "known"]
    scaled = [then for now, then in counting if then.state == "known" and then.total != now.total]
    said = []
    if stopped:
        moments = [at for bucket in stopped if (at := other.usable_at(bucket)) is not None]
        until = (
            f" until {min(moments):%Y-%m-%d %H:%M} UTC, when the first counts again"
            if moments
            else ""
        )
        said.append(f"{_totals(len(stopped), 'stop')} counting{until}.")
    if scaled:
        said.append(f"{_totals(len(scaled), 'count')} by another share than before.")
    if after.full_after is not None and other.curve is None:
        said.append(
            f"Totals count as they are until {FEWEST_FULL_BUCKETS} are full, "
            f"{duration_text(after.full_after)} after their bucket; from then on younger ones are "
            "scaled up."
        )
    return said


def _totals(number: int, verb: str) -> str:
    return f"1 total {verb}s" if number == 1 else f"{number} totals {verb}"


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


def was_followed(value: Value, end: datetime, full_age: timedelta, config: CampaignConfig) -> bool:
    """Whether a total was recorded again and again, until less than a bucket before it was full.

    A file of the last seven days that is read every morning has each day for the last time some
    hours before it is seven days old; that is as near to the end as such a file comes.
    """
    ages = [at - end for at, _ in value.reports if at >= end]
    length = config.buckets.length or timedelta(0)
    return len(ages) > 1 and ages[-1] >= full_age - length


def fit_curve(
    config: CampaignConfig, state: CampaignState, full_after: timedelta, now: datetime
) -> Curve | None:
    """The curve by which this campaign's own totals filled up; None while too few are full.

    Of the buckets whose total is final or full, the totals seen at each age, in whole buckets, are
    divided by what they became. A total is full if it was seen at `full_after` or later, or is that
    old and was followed until nearly then.
    """
    length = config.buckets.length
    if length is None:
        return None
    seen: dict[int, list[tuple[timedelta, float, float]]] = {}
    full_buckets = 0
    for bucket, value in state.values.items():
        if value.total is None or value.total <= 0:
            continue
        end = config.buckets.end(bucket)
        full = value.status == "final" or value.reports[-1][0] - end >= full_after
        if not full and now - end >= full_after:
            full = was_followed(value, end, full_after, config)
        if not full:
            continue
        full_buckets += 1
        for at, total in value.reports:
            age = at - end
            if timedelta(0) <= age < full_after:
                seen.setdefault(age // length, []).append((age, total, value.total))
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
