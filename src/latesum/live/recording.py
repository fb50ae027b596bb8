"""Taking in what somebody says about a bucket: is it new, the same, a revision, or a conflict?"""

from __future__ import annotations

from typing import Any, NamedTuple

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.live.buckets import When
from latesum.live.ledger import STATUSES, Value, Verdict, said
from latesum.live.maturity import Maturity
from latesum.live.settings import Settings

#: Limits far above anything real, so that no sum can overflow.
MOST_ROUNDS = 10**12
MOST_TOTAL = 1e15
#: After this many bad rows the others are not looked at.
MOST_PROBLEMS = 20


class BadField(InvalidInput):
    """One field of a record cannot be used; `column` names it."""

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column


class BadRows(BadField):
    """Rows cannot be used: `problems` has the place of each, from 0, and what is wrong with it."""

    def __init__(self, problems: list[tuple[int, BadField]]) -> None:
        self.problems = problems
        first = problems[0][1]
        super().__init__(first.column, str(first))


class Conflicting(InvalidInput):
    """The bucket's value is final, and this is another one."""


class UnknownBucket(InvalidInput):
    """The campaign has no decision for that bucket, so nothing can be recorded for it."""


class Row(NamedTuple):
    """What somebody says about a bucket: only what is given is set."""

    bucket: When
    rounds: int | None = None
    total: float | None = None
    status: str | None = None
    shown: str | None = None


class Recorded(NamedTuple):
    """What became of a row. `marks` says what is unusual about it."""

    bucket: int
    label: str
    verdict: Verdict
    marks: tuple[str, ...] = ()
    note: str = ""


def check_row(row: Row, settings: Settings) -> Row:
    """The row with checked values, or a refusal that names the column."""
    if row.rounds is None and row.total is None and row.status is None and row.shown is None:
        raise BadField("total", "there is nothing to record: give rounds, a total or a status.")
    rounds, total = row.rounds, row.total
    if rounds is not None:
        rounds = _field("rounds", whole_number, rounds, "the rounds of a bucket")
        if rounds > MOST_ROUNDS:
            raise BadField("rounds", f"a bucket has at most {MOST_ROUNDS:,} rounds.")
    if total is not None:
        total = _field("total", finite_number, total, "a total")
        if abs(total) > MOST_TOTAL:
            raise BadField("total", f"a total is at most {MOST_TOTAL:g}; use another unit.")
    if row.status is not None:
        _field("status", known_name, row.status, STATUSES, "status")
    if row.shown is not None:
        _field("shown", known_name, row.shown, settings.options, "option")
    if row.status == "missing" and total is not None:
        raise BadField("total", "a missing total has no value; leave it empty, or the status out.")
    return row._replace(rounds=rounds, total=total)


def _field(column: str, check: Any, *arguments: Any) -> Any:
    try:
        return check(*arguments)
    except InvalidInput as refusal:
        raise BadField(column, str(refusal)) from None


def judge(
    row: Row,
    bucket: int,
    decided: int,
    value: Value,
    maturity: Maturity,
    *,
    even_if_final: bool = False,
    beyond_range: bool = False,
) -> tuple[Verdict, dict[str, Any] | None]:
    """The verdict on a checked row, and what the log has to keep of it (None: nothing)."""
    settings = maturity.settings
    changes: dict[str, Any] = {}
    if row.rounds is not None and row.rounds != value.rounds:
        changes["rounds"] = row.rounds
    if row.total is not None and row.total != value.total:
        changes["total"] = row.total
    shown = None if row.shown is None else settings.option(row.shown)
    if shown is not None and shown != (decided if value.shown is None else value.shown):
        changes["shown"] = shown
    status = _status(row, value)
    if status != value.status:
        changes["status"] = status
    if not changes:
        if row.total is not None and maturity.says_more(bucket, value):
            return "same", {"verdict": "same", "total": row.total}
        return "same", None
    if "total" in changes or "rounds" in changes:
        _check_range(row, value, settings, beyond_range)
    if changes == {"status": "final"} and value.total is not None and value.status != "missing":
        return "same", {"verdict": "same", "status": "final"}  # the value stands, now for good
    corrects = "status" in changes or any(
        key in changes and getattr(value, key) is not None for key in ("rounds", "total")
    )
    if value.status == "final" and corrects and not even_if_final:
        return "conflicting", None
    if row.total is not None and row.total < 0:
        changes["negative"] = True
    if maturity.too_late(bucket):
        body = {"verdict": "too late", **changes}
        return "too late", None if said(body) in value.late else body
    revises = any(
        key in changes and getattr(value, key) is not None for key in ("rounds", "total", "shown")
    ) or ("status" in changes and (value.total is not None or value.status != "provisional"))
    verdict: Verdict = "revised" if revises else "new"
    return verdict, {"verdict": verdict, **changes}


def _status(row: Row, value: Value) -> str:
    if row.status is None:
        back = value.status == "missing" and row.total is not None
        return "provisional" if back else value.status
    if row.status == "provisional" and value.status == "final":
        return "final"  # an older file says less than is known already
    return row.status


def _check_range(row: Row, value: Value, settings: Settings, beyond_range: bool) -> None:
    rounds = value.rounds if row.rounds is None else row.rounds
    total = value.total if row.total is None else row.total
    if not rounds or total is None or beyond_range:
        return  # without rounds of its own, a bucket can only have late totals of others
    most, least = rounds * settings.high, rounds * settings.low
    slack = 1e-9 * max(abs(most), abs(least))
    if total > most + slack:
        raise BadField(
            "total",
            f"a total of {total:g} is more than {rounds:,} rounds can bring "
            f"({settings.high:g} each, {most:g} in all). If it is right, because late arrivals of "
            "busier buckets came in, say so with beyond_range (--beyond-range).",
        )
    if total < least - slack and not (total < 0 <= settings.low):
        raise BadField(
            "total",
            f"a total of {total:g} is less than {rounds:,} rounds can bring "
            f"({settings.low:g} each, {least:g} in all). If it is right, say so with beyond_range (--beyond-range).",
        )
