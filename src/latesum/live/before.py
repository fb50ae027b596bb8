"""What ran before a campaign: its status quo, and its history, in rows before the start.

A shop was open yesterday, and late rewards of what it showed then arrive in the campaign's first
days. Policies that understand it are told by `before` and `history`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum.live.buckets import Buckets

#: Words for a status quo that is none of the options: nothing ran; something else did; not known.
NO_OPTION = ("none", "other", "unknown")
#: A history is stored with the settings, so there is a limit.
MOST_ROWS = 10_000
_FIELDS = ("bucket", "rounds", "total", "shown")


class PastBucket(NamedTuple):
    """A bucket before the start: which option was shown, its rounds, and its total if it is known."""

    label: str
    arm: int
    rounds: int
    total: float | None


def check_status_quo(value: object, options: tuple[str, ...]) -> str:
    """The status quo if it is an option or one of `NO_OPTION`; an option of that name comes first.

    >>> check_status_quo("red", ("red", "blue")), check_status_quo("other", ("red", "blue"))
    ('red', 'other')
    """
    if isinstance(value, str) and value in NO_OPTION:
        return value
    return known_name(value, (*options, *NO_OPTION), "status quo")


def check_history(
    value: Any,
    options: tuple[str, ...],
    status_quo: str,
    buckets: Buckets,
    expected_rounds: int,
) -> tuple[PastBucket, ...]:
    """The buckets before the start, oldest first.

    Buckets without a row, between the first one and the start, are taken to have shown what the
    bucket before them did, with the expected rounds and a total that is not known.

    Args:
        value: Rows with `bucket`, and `rounds`, `total` and `shown` where they are known.
        options: The campaign's options.
        status_quo: What a row without `shown` was shown.
        buckets: The campaign's buckets; numbered ones are only put in order.
        expected_rounds: Of a row without `rounds`.
    """
    if not isinstance(value, list | tuple):
        raise InvalidInput("the history is a list of rows, such as {'bucket': '2026-02-28', ...}.")
    if len(value) > MOST_ROWS:
        raise InvalidInput(f"a history has at most {MOST_ROWS:,} rows, not {len(value):,}.")
    found: dict[int, PastBucket] = {}
    for row in value:
        number, past = _past_bucket(row, options, status_quo, buckets, expected_rounds)
        if number in found:
            raise InvalidInput(f"{past.label} is twice in the history.")
        found[number] = past
    if not found or not buckets.timed:
        return tuple(found[number] for number in sorted(found))
    whole, last = list[PastBucket](), None
    if -min(found) > MOST_ROWS:
        raise InvalidInput(f"a history begins at most {MOST_ROWS:,} buckets before the start.")
    for number in range(min(found), 1):
        last = found.get(number) or PastBucket(
            buckets.label(number), 0 if last is None else last.arm, expected_rounds, None
        )
        whole.append(last)
    return tuple(whole)


def _past_bucket(
    row: Any,
    options: tuple[str, ...],
    status_quo: str,
    buckets: Buckets,
    expected_rounds: int,
) -> tuple[int, PastBucket]:
    if not isinstance(row, Mapping) or "bucket" not in row:
        raise InvalidInput(
            "a row of the history has a 'bucket', and 'rounds', 'total' and 'shown'."
        )
    for key in row:
        known_name(key, _FIELDS, "column of a history")
    number = buckets.number(row["bucket"])
    if buckets.timed and number >= 1:
        raise InvalidInput(
            f"{buckets.label(number)} is not before the start, {buckets.label(1)}: leave it out of the "
            "history and record it once it is decided."
        )
    label = buckets.label(number) if buckets.timed else str(number)
    shown = row.get("shown")
    if shown is None and status_quo not in options:
        raise InvalidInput(
            f"say which option was shown in {label}, or which one is the status quo; a history "
            "has options only."
        )
    name = known_name(status_quo if shown is None else shown, options, "option")
    rounds, total = row.get("rounds"), row.get("total")
    where = f"of {shortened(label)} in the history"
    if rounds is not None:
        rounds = whole_number(rounds, f"the rounds {where}", at_least=1)
    if total is not None:
        total = finite_number(total, f"the total {where}", at_least=-1e15, at_most=1e15)
    return number, PastBucket(label, options.index(name), rounds or expected_rounds, total)
