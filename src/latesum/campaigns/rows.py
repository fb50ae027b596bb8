"""Rows: what was shown in a bucket of a region, and what is known of its total.

`check_row` checks what is reported; an `Observation` is what a method learns from. Those from
before the start are a campaign's history: a shop was open yesterday, and late rewards of what it
showed then arrive in the campaign's first days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum.campaigns.buckets import Buckets
from latesum.files.totals import Row

T = TypeVar("T")
#: What a record says about a total; one that is missing will never be known, which is not zero.
RecordStatus = Literal["provisional", "final", "missing"]

#: Words for a status quo that is none of the options: nothing ran; something else did; not known.
NO_OPTION = ("none", "other", "unknown")
#: A history is stored with the configuration, so there is a limit.
MAX_ROWS = 10_000
#: By how much the shares of a bucket may miss 1.
_ROUNDING = 0.01
_PAIR = re.compile(r"\s*([^:;,]+?)\s*:\s*([0-9]*\.?[0-9]+)(?=[\s,;]|$)[,;]?")
_PAST_FIELDS = ("bucket", "rounds", "total", "shown", "region")
#: Limits far above anything real, so that no sum can overflow.
MAX_ROUNDS, MAX_TOTAL = 10**12, 1e15

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


class RowRules(Protocol):
    """What of a campaign's configuration says which rows can be right."""

    options: tuple[str, ...]
    regions: tuple[str, ...]
    policy: str
    status_quo: str
    expected_rounds: int

    @property
    def buckets(self) -> Buckets: ...

    @property
    def is_market(self) -> bool: ...


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


def check_row(row: Row | Mapping[str, Any], config: RowRules) -> Row:
    """The row with checked values, its bucket as a number, or a refusal that names the column.

    Whether its region is one of the campaign's, the verdict says.
    """
    if isinstance(row, Mapping):
        for name in row:
            in_field(str(name), known_name, name, Row._fields, "column of a record")
        if "bucket" not in row:
            text = "a record has a bucket, such as {'bucket': '2026-03-01', ...}."
            raise InvalidInput(text, field="bucket")
        row = Row(**row)
    bucket, rounds, total, status, shown, region, _ = row
    for name, given in (("status", status), ("shown", shown), ("region", region)):
        if given is not None and not isinstance(given, str):
            raise InvalidInput(f"{name} is a text, not {shortened(repr(given))}.", field=name)
    if rounds is None and total is None and status is None and shown is None:
        raise InvalidInput(
            "there is nothing to record: give rounds, a total or a status.", field="total"
        )
    bucket = in_field("bucket", config.buckets.number, bucket)
    if rounds is not None:
        rounds = in_field("rounds", whole_number, rounds, "the rounds of a bucket")
        if rounds > MAX_ROUNDS:
            raise InvalidInput(f"a bucket has at most {MAX_ROUNDS:,} rounds.", field="rounds")
    if total is not None:
        total = in_field("total", finite_number, total, "a total")
        if abs(total) > MAX_TOTAL:
            text = f"a total is at most {MAX_TOTAL:g}; use another unit."
            raise InvalidInput(text, field="total")
    if status is not None:
        in_field("status", known_name, status, get_args(RecordStatus), "status")
    if shown is not None:
        in_field("shown", _check_shown, shown, config)
    region = (region or "").strip()
    if config.regions and not region:
        named = ", ".join(config.regions)
        raise InvalidInput(f"say which region the row is of: {named}.", field="region")
    if region and not config.regions:
        raise InvalidInput("this campaign has no regions; leave the region out.", field="region")
    if status == "missing" and total is not None:
        text = "a missing total has no value; leave it empty, or the status out."
        raise InvalidInput(text, field="total")
    return row._replace(bucket=bucket, rounds=rounds, total=total, region=region)


def _check_shown(text: str, config: RowRules) -> None:
    if not isinstance(read_shown(text, config.options), int) and not config.is_market:
        raise InvalidInput(
            f"{shortened(text)!r} is several options in one bucket, and {config.policy} learns "
            "from buckets of one option only; record it with the status missing, or use the policy "
            "switchback."
        )


def in_field(field: str, check: Callable[..., T], *arguments: Any) -> T:
    """What a check returns; its refusal names the field."""
    try:
        return check(*arguments)
    except InvalidInput as refusal:
        raise InvalidInput(refusal.message, field=field, remedy=refusal.remedy) from None


def read_history(value: Any, config: RowRules) -> tuple[Observation, ...]:
    """The buckets before the start, oldest first.

    A row without `shown` showed the status quo.
    Policies need every bucket: a row without `rounds` has the expected ones, and buckets without a
    row are taken to have shown what was shown last, with a total that is not known.
    """
    if not isinstance(value, list | tuple):
        raise InvalidInput("the history is a list of rows, such as {'bucket': '2026-02-28', ...}.")
    if len(value) > MAX_ROWS:
        raise InvalidInput(f"a history has at most {MAX_ROWS:,} rows, not {len(value):,}.")
    found: dict[tuple[int, str], Observation] = {}
    for given in value:
        if not isinstance(given, Mapping) or "bucket" not in given:
            raise InvalidInput(
                "a row of the history has a 'bucket', and 'rounds', 'total' and 'shown'."
            )
        try:
            row = _past_row(given, config)
        except InvalidInput as bad:
            where = f"{shortened(str(given['bucket']))} in the history"
            raise InvalidInput(f"{where}: {bad.message}", remedy=bad.remedy) from None
        if (row.bucket, row.region) in found:
            label = f"{config.buckets.label(row.bucket)} {row.region}".rstrip()
            raise InvalidInput(f"{label} is twice in the history.")
        found[row.bucket, row.region] = row
    rows = [found[place] for place in sorted(found)]
    if not rows or config.is_market:
        return tuple(rows)
    last, whole = rows[0], list[Observation]()
    if -last.bucket > MAX_ROWS:
        raise InvalidInput(f"a history begins at most {MAX_ROWS:,} buckets before the start.")
    for bucket in range(last.bucket, 1):
        unknown = Observation("", bucket, config.expected_rounds, last.shown, None, "pending")
        last = found.get((bucket, ""), unknown)
        whole.append(last)
    return tuple(whole)


def _past_row(given: Mapping[str, Any], config: RowRules) -> Observation:
    for name in given:
        known_name(name, _PAST_FIELDS, "column of a history")
    number = config.buckets.number(given["bucket"])
    if number >= 1:
        raise InvalidInput(
            f"it is not before the start, {config.buckets.label(1)}: leave it out of the history "
            "and record it once it is decided."
        )
    if given.get("shown") is None:
        if config.status_quo not in config.options:
            raise InvalidInput(
                "say which option was shown, or which one is the status quo; a history has options "
                "only."
            )
        given = {**given, "shown": config.status_quo}
    if given.get("region") and not config.regions:
        raise InvalidInput("it has a region, and the campaign has none; name its regions.")
    row = check_row(given, config)
    rounds = row.rounds
    if rounds is None and not config.is_market:
        rounds = config.expected_rounds
    if rounds is not None:
        whole_number(rounds, "the rounds", at_least=1)
    return Observation(
        known_name(row.region, config.regions, "region") if config.regions else "",
        number,
        rounds,
        read_shown(row.shown, config.options),
        row.total,
        "pending" if row.total is None else "known",
    )
