"""Whether a campaign learns, and whether its totals are what they are taken for."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from latesum._durations import duration_text
from latesum._render import counted
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.state import CampaignState

#: A total that grew by less than this share is noise, not growth.
_NOISE = 0.01
_FEWEST = 3
#: Restatements within this time are usual, and need nothing.
_LONG_AFTER = timedelta(days=7)
#: When this many buckets have ended and no total has become usable since, something is wrong.
MOST_WITHOUT_TOTALS = 3


def learning_stopped(state: CampaignState, completeness: Completeness) -> str | None:
    """The alarm of a campaign that learns nothing, with what to do; None while totals come in.

    It is raised when `MOST_WITHOUT_TOTALS` buckets have ended since a total last became usable.
    Where totals come in batches, such as a file every Monday, the usual time between two of them
    must have passed twice as well.
    """
    config = state.config
    if state.finished is not None:
        return None
    known = [
        bucket for bucket in state.decisions if completeness.observation(bucket).state == "known"
    ]
    batches = sorted({at for bucket in known if (at := completeness.usable_at(bucket)) is not None})
    ended = [bucket for bucket in state.decisions if completeness.end(bucket) is not None]
    since = [
        bucket
        for bucket in ended
        if not batches or (end := completeness.end(bucket)) is None or end > batches[-1]
    ]
    if len(since) < MOST_WITHOUT_TOTALS:
        return None
    if batches and completeness.now - batches[-1] < 2 * usual_interval(batches):
        return None
    what = counted(_passed(state, completeness, batches, len(since)), config.buckets.word)
    if batches:
        said = f"no total has become usable for {what}, since {_moment(batches[-1])}"
    else:
        said = f"no total has become usable yet, after {what}"
    unused = [bucket for bucket in ended if bucket not in known]
    remedies = _waiting(config, state, completeness, unused) + _unrecorded(config, state, since)
    return " ".join([f"Nothing is being learned: {said}.", *remedies])


def _passed(
    state: CampaignState, completeness: Completeness, batches: list[datetime], without_total: int
) -> int:
    """The buckets since the last total became usable, those that were not asked for included."""
    buckets = state.config.buckets
    if not buckets.timed:
        return without_total
    begun = buckets.number(batches[-1]) if batches else state.first or 1
    return max(buckets.number(completeness.now) - begun, without_total)


def _waiting(
    config: CampaignConfig, state: CampaignState, completeness: Completeness, unused: list[int]
) -> list[str]:
    """Totals that are recorded and not usable yet: what for, and until when."""
    waiting = [bucket for bucket in unused if state.value(bucket).total is not None]
    if not waiting:
        return []
    moments = [at for bucket in waiting if (at := completeness.usable_at(bucket)) is not None]
    first = f"; the first will from {_moment(min(moments))} on" if moments else ""
    demands = []
    if config.settling_time:
        demands.append(f"it has stood for {duration_text(config.settling_time)}")
    if completeness.full_age is not None:
        demands.append(
            f"it is full, {duration_text(completeness.full_age)} after the end of its "
            f"{config.buckets.word}"
        )
    return [
        f"{_count(len(waiting), 'total')} recorded, but one counts only when "
        f"{' and '.join(demands)}{first}. What is recorded as final counts at once."
    ]


def _unrecorded(config: CampaignConfig, state: CampaignState, buckets: list[int]) -> list[str]:
    """Buckets of which no total can be used, however long one waits: why, and what to do."""
    found = list[str]()
    values = {bucket: state.value(bucket) for bucket in buckets}
    none = {bucket: value for bucket, value in values.items() if value.total is None}
    too_late = [bucket for bucket, value in none.items() if value.late]
    if too_late and config.max_lateness is not None:
        found.append(
            f"{_count(len(too_late), 'total')} not used because of coming more than "
            f"{duration_text(config.max_lateness)} after the end of the {config.buckets.word}: "
            "record totals sooner, or allow a larger max_lateness."
        )
    missing = [bucket for bucket, value in none.items() if value.status == "missing"]
    if missing:
        found.append(
            f"{_count(len(missing), config.buckets.word)} marked as missing: if a total turns up, "
            "record it."
        )
    silent = [bucket for bucket in none if bucket not in too_late and bucket not in missing]
    if silent and (len(silent) >= MOST_WITHOUT_TOTALS or len(silent) == len(buckets)):
        which = "them" if len(silent) == len(buckets) else f"{len(silent)} of them"
        found.append(
            f"No total was recorded for {which}: is the import still running? Bring in totals, or "
            "send them to the service."
        )
    return found


class LateGrowth(NamedTuple):
    """Totals that grew after they should have been full.

    Args:
        totals: How many they are.
        settled: The age at which a total should be full.
        age: The oldest age at which one grew.
    """

    totals: int
    settled: timedelta
    age: timedelta


def growing_totals(state: CampaignState, completeness: Completeness) -> LateGrowth | None:
    """The totals that grew long after their buckets; None while that may be chance."""
    config = state.config
    none = timedelta(0)
    full = config.curve[-1][0] if config.curve else config.full_after
    settled = max(_LONG_AFTER, config.settling_time, full or none, config.buckets.length or none)
    grown = looked_at = 0
    age = timedelta(0)
    for bucket, value in state.values.items():
        end = completeness.end(bucket)
        if end is None or not value.reports:
            continue
        looked_at += 1
        late = [total for at, total in value.reports if at - end > settled]
        # What was seen before the end is the total of a part of the bucket, and had to grow.
        young = [total for at, total in value.reports if end <= at <= end + settled]
        before = young[-1:] or late[:1]
        if late and late[-1] > before[0] + _NOISE * abs(before[0]):
            grown += 1
            age = max(age, value.reports[-1][0] - end)
    return LateGrowth(grown, settled, age) if grown >= _FEWEST and 3 * grown >= looked_at else None


def usual_interval(moments: list[datetime]) -> timedelta:
    """The usual time between moments that follow each other: the median, 0 if there are too few."""
    between = sorted(later - earlier for earlier, later in itertools.pairwise(moments))
    return between[len(between) // 2] if between else timedelta(0)


def span_since(then: datetime, now: datetime) -> str:
    """How long ago something was, in days or hours."""
    hours = (now - then).total_seconds() / 3600
    return counted(round(hours / 24), "day") if hours >= 48 else counted(round(hours), "hour")


def date_of(moment: datetime, config: CampaignConfig) -> str:
    """The day of a moment, in the campaign's time zone."""
    return f"{moment.astimezone(ZoneInfo(config.zone)):%Y-%m-%d}"


def _count(number: int, noun: str) -> str:
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
