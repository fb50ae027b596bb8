"""What ran before a campaign: its status quo, and its history, in rows before the start.

A shop was open yesterday, and late rewards of what it showed then arrive in the campaign's first
days. Policies that understand it are told by `before` and `history`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum.campaigns.buckets import Buckets

#: Words for a status quo that is none of the options: nothing ran; something else did; not known.
NO_OPTION = ("none", "other", "unknown")
#: A history is stored with the config, so there is a limit.
MAX_ROWS = 10_000
#: By how much the shares of a bucket may miss 1.
_ROUNDING = 0.01
_PAIR = re.compile(r"\s*([^:;,]+?)\s*:\s*([0-9]*\.?[0-9]+)(?=[\s,;]|$)[,;]?")
_FIELDS = ("bucket", "rounds", "total", "shown", "region")


class PastBucket(NamedTuple):
    """A bucket before the start: which option was shown, its rounds, and its total if it is known.

    For `switchback` it is that of a region, several options may have been shown, and `rounds` is 0
    where they are not known.
    """

    label: str
    arm: int
    rounds: int
    total: float | None
    region: str = ""
    shares: tuple[tuple[int, float], ...] | None = None

    def to_json(self) -> list[Any]:
        """As plain values."""
        shares = None if self.shares is None else [list(pair) for pair in self.shares]
        return [*self[:5], shares]

    @classmethod
    def from_json(cls, saved: Sequence[Any]) -> PastBucket:
        """The opposite of `to_json`."""
        label, arm, rounds, total, region, shares = saved
        pairs = None if shares is None else tuple((int(arm), float(share)) for arm, share in shares)
        return cls(label, arm, rounds, total, region, pairs)


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
    regions: tuple[str, ...] = (),
    *,
    as_rows: bool = False,
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
        regions: The campaign's regions.
        as_rows: Only what is there, for a policy that knows each bucket by itself.
    """
    if not isinstance(value, list | tuple):
        raise InvalidInput("the history is a list of rows, such as {'bucket': '2026-02-28', ...}.")
    if len(value) > MAX_ROWS:
        raise InvalidInput(f"a history has at most {MAX_ROWS:,} rows, not {len(value):,}.")
    found: dict[int, PastBucket] = {}
    by_region: dict[tuple[int, str], PastBucket] = {}
    for row in value:
        number, past = _past_bucket(
            row, options, status_quo, buckets, 0 if as_rows else expected_rounds, mixed=as_rows
        )
        past = past._replace(region=_region_of(row, regions, past.label))
        if (number, past.region) in by_region:
            where = f" of {past.region}" if past.region else ""
            raise InvalidInput(f"{past.label}{where} is twice in the history.")
        by_region[number, past.region] = found[number] = past
    if as_rows:
        return tuple(by_region[place] for place in sorted(by_region))
    if not found or not buckets.timed:
        return tuple(found[number] for number in sorted(found))
    whole, last = list[PastBucket](), None
    if -min(found) > MAX_ROWS:
        raise InvalidInput(f"a history begins at most {MAX_ROWS:,} buckets before the start.")
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
    *,
    mixed: bool,
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
            f"{buckets.label(number)} is not before the start, {buckets.label(1)}: leave it out "
            "of the "
            "history and record it once it is decided."
        )
    label = buckets.label(number) if buckets.timed else str(number)
    shown = row.get("shown")
    if shown is None and status_quo not in options:
        raise InvalidInput(
            f"say which option was shown in {label}, or which one is the status quo; a history "
            "has options only."
        )
    name = status_quo if shown is None else shown
    shares = (
        read_shown(name, options) if mixed else options.index(known_name(name, options, "option"))
    )
    rounds, total = row.get("rounds"), row.get("total")
    where = f"of {shortened(label)} in the history"
    if rounds is not None:
        rounds = whole_number(rounds, f"the rounds {where}", at_least=1)
    if total is not None:
        total = finite_number(total, f"the total {where}", at_least=-1e15, at_most=1e15)
    arm, pairs = (shares, None) if isinstance(shares, int) else (shares[0][0], shares)
    return number, PastBucket(label, arm, rounds or expected_rounds, total, "", pairs)


def _region_of(row: Mapping[str, Any], regions: tuple[str, ...], label: str) -> str:
    region = row.get("region")
    if not regions:
        if region:
            raise InvalidInput(
                "the history has regions, and the campaign has none; name its regions."
            )
        return ""
    if region is None:
        raise InvalidInput(f"say of which region {label} in the history is; {', '.join(regions)}.")
    return known_name(region, regions, "region")


def read_shown(text: object, options: tuple[str, ...]) -> int | tuple[tuple[int, float], ...]:
    """What was shown in a bucket: an option's number, or the shares of several, which add up to 1.

    >>> read_shown("a gift", ("a gift", "free shipping"))
    0
    >>> read_shown("a gift:0.7 free shipping:0.3", ("a gift", "free shipping"))
    ((0, 0.7), (1, 0.3))
    """
    pairs = _PAIR.findall(text) if isinstance(text, str) and text not in options else []
    if not pairs or "".join(name + share for name, share in pairs).replace(" ", "") != re.sub(
        r"[:,;\s]", "", str(text)
    ):
        return options.index(known_name(text, options, "option"))
    shares: dict[int, float] = {}
    for name, share in pairs:
        arm = options.index(known_name(name.strip(), options, "option"))
        if arm in shares:
            raise InvalidInput(f"{name.strip()} is twice in {shortened(str(text))!r}.")
        shares[arm] = finite_number(float(share), "a share", at_least=0, at_most=1)
    whole = sum(shares.values())
    if abs(whole - 1) > _ROUNDING:
        raise InvalidInput(
            f"the shares in {shortened(str(text))!r} add up to {whole:g}; they must add up to 1."
        )
    shown = tuple((arm, share) for arm, share in sorted(shares.items()) if share)
    return shown[0][0] if len(shown) == 1 else shown


def shown_text(shown: int | tuple[tuple[int, float], ...], options: tuple[str, ...]) -> str:
    """What was shown, as files have it: the opposite of `read_shown`.

    >>> shown_text(0, ("a gift", "free shipping")), shown_text(((0, 0.7), (1, 0.3)), ("a", "b"))
    ('a gift', 'a:0.7 b:0.3')
    """
    if isinstance(shown, int):
        return options[shown]
    return " ".join(f"{options[arm]}:{share:g}" for arm, share in shown)
