"""Rows: what was shown in a bucket of a region, and what is known of its total.

They are all that a method learns from. Those from before the start are a campaign's history: a shop
was open yesterday, and late rewards of what it showed then arrive in the campaign's first days.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum.campaigns.buckets import Buckets

#: Words for a status quo that is none of the options: nothing ran; something else did; not known.
NO_OPTION = ("none", "other", "unknown")
#: A history is stored with the configuration, so there is a limit.
MAX_ROWS = 10_000
#: By how much the shares of a bucket may miss 1.
_ROUNDING = 0.01
_PAIR = re.compile(r"\s*([^:;,]+?)\s*:\s*([0-9]*\.?[0-9]+)(?=[\s,;]|$)[,;]?")
_FIELDS = ("bucket", "rounds", "total", "shown", "region")

#: What was shown in a bucket: an option's number, or the share of each of several.
Shown = int | tuple[tuple[int, float], ...]


class Observation(NamedTuple):
    """A bucket of a region as it is known at a time; buckets before the start are 0 and less."""

    region: str
    bucket: int
    rounds: int | None
    shown: Shown
    total: float | None = None
    #: Whether the total is known, may still come, or will never be known.
    state: Literal["known", "pending", "missing"] = "known"
    #: How much of the total was in when it was reported; the total is scaled up by it.
    share: float = 1.0


def shown_of(written: Any) -> Shown:
    """What was shown, as the log has it: a number, or pairs of a number and a share."""
    if isinstance(written, int):
        return written
    return tuple((int(arm), float(share)) for arm, share in written)


def read_shown(text: object, options: tuple[str, ...]) -> Shown:
    """What was shown in a bucket: an option's number, or the shares of several, which add up to 1.

    >>> read_shown("a gift", ("a gift", "free shipping"))
    0
    >>> read_shown("a gift:0.7 free shipping:0.3", ("a gift", "free shipping"))
    ((0, 0.7), (1, 0.3))
    """
    pairs = _PAIR.findall(text) if isinstance(text, str) and text not in options else []
    in_pairs = "".join(name + share for name, share in pairs).replace(" ", "")
    if not pairs or in_pairs != re.sub(r"[:,;\s]", "", str(text)):
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


def shown_text(shown: Shown, options: tuple[str, ...]) -> str:
    """What was shown, as files have it: the opposite of `read_shown`.

    >>> shown_text(0, ("a gift", "free shipping")), shown_text(((0, 0.7), (1, 0.3)), ("a", "b"))
    ('a gift', 'a:0.7 b:0.3')
    """
    if isinstance(shown, int):
        return options[shown]
    return " ".join(f"{options[arm]}:{share:g}" for arm, share in shown)


def largest_share(shown: Shown) -> int:
    """The option that was shown, or that had the largest share."""
    return shown if isinstance(shown, int) else max(shown, key=lambda pair: pair[1])[0]


def read_history(
    value: Any,
    options: tuple[str, ...],
    status_quo: str,
    buckets: Buckets,
    regions: tuple[str, ...] = (),
    *,
    expected_rounds: int | None = None,
) -> tuple[Observation, ...]:
    """The buckets before the start, oldest first.

    A row without `shown` showed the status quo.
    Policies need every bucket, and have `expected_rounds`: those of a row without `rounds`. Then
    buckets without a row are taken to have shown what was shown last, with a total that is not
    known.
    """
    if not isinstance(value, list | tuple):
        raise InvalidInput("the history is a list of rows, such as {'bucket': '2026-02-28', ...}.")
    if len(value) > MAX_ROWS:
        raise InvalidInput(f"a history has at most {MAX_ROWS:,} rows, not {len(value):,}.")
    found: dict[tuple[int, str], Observation] = {}
    for given in value:
        row = _past_row(given, options, status_quo, buckets, regions)
        if row.rounds is None:
            row = row._replace(rounds=expected_rounds)
        if expected_rounds is not None and not isinstance(row.shown, int):
            known_name(given["shown"], options, "option")  # refused: it is several
        if (row.bucket, row.region) in found:
            where = f" of {row.region}" if row.region else ""
            raise InvalidInput(f"{buckets.label(row.bucket)}{where} is twice in the history.")
        found[row.bucket, row.region] = row
    rows = [found[place] for place in sorted(found)]
    if not rows or expected_rounds is None:
        return tuple(rows)
    last, whole = rows[0], list[Observation]()
    if -last.bucket > MAX_ROWS:
        raise InvalidInput(f"a history begins at most {MAX_ROWS:,} buckets before the start.")
    for bucket in range(last.bucket, 1):
        unknown = Observation("", bucket, expected_rounds, last.shown, None, "pending")
        last = found.get((bucket, ""), unknown)
        whole.append(last)
    return tuple(whole)


def _past_row(
    row: Any,
    options: tuple[str, ...],
    status_quo: str,
    buckets: Buckets,
    regions: tuple[str, ...],
) -> Observation:
    if not isinstance(row, Mapping) or "bucket" not in row:
        raise InvalidInput(
            "a row of the history has a 'bucket', and 'rounds', 'total' and 'shown'."
        )
    for key in row:
        known_name(key, _FIELDS, "column of a history")
    number = buckets.number(row["bucket"])
    label = buckets.label(number)
    if number >= 1:
        raise InvalidInput(
            f"{label} is not before the start, {buckets.label(1)}: leave it out of the history and "
            "record it once it is decided."
        )
    shown, rounds, total, region = (row.get(key) for key in ("shown", "rounds", "total", "region"))
    if shown is None and status_quo not in options:
        raise InvalidInput(
            f"say which option was shown in {label}, or which one is the status quo; a history "
            "has options only."
        )
    if region and not regions:
        raise InvalidInput("the history has regions, and the campaign has none; name its regions.")
    if region is None and regions:
        raise InvalidInput(f"say of which region {label} in the history is; {', '.join(regions)}.")
    where = f"of {shortened(label)} in the history"
    if rounds is not None:
        rounds = whole_number(rounds, f"the rounds {where}", at_least=1)
    if total is not None:
        total = finite_number(total, f"the total {where}", at_least=-1e15, at_most=1e15)
    return Observation(
        known_name(region, regions, "region") if regions else "",
        number,
        rounds,
        read_shown(status_quo if shown is None else shown, options),
        total,
        "pending" if total is None else "known",
    )
