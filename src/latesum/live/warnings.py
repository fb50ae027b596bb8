"""What a person should worry about: each warning says what to do."""

from __future__ import annotations

from datetime import timedelta

from latesum.live.ledger import Ledger
from latesum.live.maturity import Maturity
from latesum.live.settings import Settings

#: A total that grew by less than this share is noise, not growth.
_NOISE = 0.01
_FEWEST = 3


def find_warnings(
    settings: Settings, ledger: Ledger, maturity: Maturity, visits: list[int]
) -> list[str]:
    """All that is worrying about a campaign's data at this moment."""
    found = []
    if settings.time_basis == "decision":
        found.append(
            "The totals are dated by decision, not by arrival: a sale counts for the day of the "
            "click. The policy takes them for arrivals and may find a wrong winner. Ask your source "
            "for totals by conversion time and start a new campaign with them."
        )
    growing = growing_buckets(settings, ledger, maturity)
    if growing:
        found.append(
            f"{growing} old totals kept growing long after their {_bucket(settings)} ended. Totals "
            "by arrival do not do that; your source may date them by decision, which makes wrong "
            "winners."
        )
    found += _seen_once(settings, ledger, visits)
    if settings.align is None and settings.buckets.every in ("hour", "day") and ledger.decisions:
        found.append(
            "Options are compared on different days, so a good weekday may be taken for a good "
            "option; align='week' makes every period whole weeks."
        )
    found += _rounds_off(settings, ledger) + _no_data(settings, ledger, maturity)
    return found


def growing_buckets(settings: Settings, ledger: Ledger, maturity: Maturity) -> int:
    """How many totals grew after they should have been full; 0 while that may be chance."""
    length = settings.buckets.length
    settled = max(
        settings.usable_after, settings.full_after or timedelta(0), length or timedelta(0)
    )
    if settings.fills_up:
        settled = max(settled, settings.fills_up[-1][0])
    grown = looked_at = 0
    for bucket, value in ledger.values.items():
        end = maturity.end(bucket)
        if end is None or not value.looks:
            continue
        looked_at += 1
        late = [look.total for look in value.looks if look.at - end > settled]
        # What was seen before the end is the total of a part of the bucket, and had to grow.
        young = [look.total for look in value.looks if end <= look.at <= end + settled]
        before = young[-1:] or late[:1]
        if late and late[-1] > before[0] + _NOISE * abs(before[0]):
            grown += 1
    return grown if grown >= _FEWEST and 3 * grown >= looked_at else 0


def _seen_once(settings: Settings, ledger: Ledger, visits: list[int]) -> list[str]:
    once = [
        name
        for arm, name in enumerate(settings.options)
        if visits[arm] == 1 and arm not in ledger.dropped
    ]
    if not once or len(ledger.decisions) < 2:
        return []
    verb = "was" if len(once) == 1 else "were"
    return [
        f"{', '.join(once)} {verb} shown in one period only; what was special about that time is "
        "taken for the option."
    ]


def _rounds_off(settings: Settings, ledger: Ledger) -> list[str]:
    rounds = [value.rounds for value in ledger.values.values() if value.rounds]
    if len(rounds) < _FEWEST:
        return []
    mean = sum(rounds) / len(rounds)
    if 2 / 3 <= mean / settings.expected_rounds <= 3 / 2:
        return []
    return [
        f"A {_bucket(settings)} has {mean:,.0f} rounds on average, not {settings.expected_rounds:,} "
        "as expected. Delays given in time were turned into rounds by that; consider a new "
        "campaign with the right figure."
    ]


def _no_data(settings: Settings, ledger: Ledger, maturity: Maturity) -> list[str]:
    silent = 0
    for bucket in reversed(ledger.decisions):
        if maturity.end(bucket) is None:
            continue
        if ledger.value(bucket).recorded:
            break
        silent += 1
    if silent <= 7:
        return []
    return [f"Nothing was recorded for the last {silent} buckets; is the import still running?"]


def _bucket(settings: Settings) -> str:
    return settings.buckets.every if settings.buckets.timed else "bucket"
