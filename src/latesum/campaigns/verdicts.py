"""The verdict on a row: is it new, the same, a revision, or a conflict?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from latesum._checks import finite_number, known_name, shortened, whole_number
from latesum._render import counted
from latesum.campaigns.before import read_shown
from latesum.campaigns.buckets import When
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.state import Shown, Value, said
from latesum.campaigns.vocabulary import STATUSES, Verdict
from latesum.errors import Conflicting, InvalidInput, UnknownBucket
from latesum.files.batches import CheckWanted, in_batches

#: Limits far above anything real, so that no sum can overflow.
MAX_ROUNDS = 10**12
MAX_TOTAL = 1e15


#: Why a row was not recorded.
Refusal = InvalidInput | OverflowError


class Allowed(NamedTuple):
    """What a record may do that is refused otherwise."""

    #: Correct a value that is final.
    overwrite_final: bool = False
    #: Set a total outside the range of its rounds.
    allow_out_of_range: bool = False
    #: Be of an unknown bucket: then it is left out, and does not stop the others.
    skip_unknown: bool = False


NO_EXCEPTIONS = Allowed()


class Row(NamedTuple):
    """What is reported about a bucket, and by whom: only what is given is set.

    Args:
        bucket: The bucket: a number, a date or a time.
        rounds: The rounds of the bucket.
        total: Its total.
        status: "provisional", "final" or "missing".
        shown: What was really shown, where that is not what was decided.
        by: Who reports it.
        allowed: What the row may do.
        region: The region, in a campaign that has some.
    """

    bucket: When
    rounds: int | None = None
    total: float | None = None
    status: str | None = None
    shown: str | None = None
    by: str | None = None
    allowed: Allowed = NO_EXCEPTIONS
    region: str | None = None


class CheckedRow(NamedTuple):
    """A row whose values were checked: the bucket is its number, what was shown an option's number.

    Whether its region is one of the campaign's, the verdict says.
    """

    bucket: int
    rounds: int | None
    total: float | None
    status: str | None
    shown: Shown | None
    by: str | None
    allowed: Allowed
    region: str = ""


class Recorded(NamedTuple):
    """What became of a row.

    Args:
        bucket: The bucket's number.
        label: The bucket as people call it.
        verdict: What became of the row, in one word.
        marks: What is unusual about it.
        note: What to know about it, in a sentence.
        region: Its region; empty in a campaign without regions.
        rounds: The rounds that were read; None if the row has none.
        total: The total that was read.
        shown: What the bucket is credited to: an option, or several with their shares.
        was_rounds: The rounds that were known before, where the row changes them.
        was_total: The total that was known before, where the row changes it.
        was_shown: What the bucket was credited to before, where the row changes it.
    """

    bucket: int
    label: str
    verdict: Verdict
    marks: tuple[str, ...] = ()
    note: str = ""
    region: str = ""
    rounds: int | None = None
    total: float | None = None
    shown: str = ""
    was_rounds: int | None = None
    was_total: float | None = None
    was_shown: str | None = None

    @property
    def was(self) -> str:
        """What the row replaces, in words; empty if it replaces nothing."""
        old = [
            None if self.was_rounds is None else f"{self.was_rounds:,} rounds",
            None if self.was_total is None else f"{self.was_total:,g}",
            self.was_shown,
        ]
        return "was " + ", ".join(filter(None, old)) if any(old) else ""

    def stops(self, allowed: Allowed) -> bool:
        """Whether nothing can be written because of this row.

        Args:
            allowed: What the row may do.
        """
        if self.verdict == "unknown bucket":
            return not allowed.skip_unknown
        return self.verdict == "conflicting"

    def accepted(self) -> Recorded:
        """The same, or `UnknownBucket` or `Conflicting` if the row was not taken in."""
        if self.verdict == "unknown bucket":
            raise UnknownBucket(self.note)
        if self.verdict == "conflicting":
            raise Conflicting(self.note)
        return self


def check_row(row: Row | CheckedRow | Mapping[str, Any], config: CampaignConfig) -> CheckedRow:
    """The row with checked values, or a refusal that names the column."""
    if isinstance(row, CheckedRow):
        return row
    if isinstance(row, Mapping):
        row = _row_of(row)
    bucket = _field("bucket", config.buckets.number, row.bucket)
    if row.rounds is None and row.total is None and row.status is None and row.shown is None:
        raise InvalidInput(
            "there is nothing to record: give rounds, a total or a status.", field="total"
        )
    rounds, total, shown = row.rounds, row.total, row.shown
    if rounds is not None:
        rounds = _field("rounds", whole_number, rounds, "the rounds of a bucket")
        if rounds > MAX_ROUNDS:
            raise InvalidInput(f"a bucket has at most {MAX_ROUNDS:,} rounds.", field="rounds")
    if total is not None:
        total = _field("total", finite_number, total, "a total")
        if abs(total) > MAX_TOTAL:
            raise InvalidInput(
                f"a total is at most {MAX_TOTAL:g}; use another unit.", field="total"
            )
    if row.status is not None:
        _field("status", known_name, row.status, STATUSES, "status")
    arm = None if shown is None else _field("shown", _shown, shown, config)
    region = ""
    if config.regions:
        region = _field("region", _region, row.region, config)
    elif row.region:
        raise InvalidInput("this campaign has no regions; leave the region out.", field="region")
    if row.status == "missing" and total is not None:
        raise InvalidInput(
            "a missing total has no value; leave it empty, or the status out.", field="total"
        )
    return CheckedRow(bucket, rounds, total, row.status, arm, row.by, row.allowed, region)


def _shown(text: object, config: CampaignConfig) -> Shown:
    shown = read_shown(text, config.options)
    if not isinstance(shown, int) and not config.is_market:
        raise InvalidInput(
            f"{shortened(str(text))!r} is several options in one bucket, and {config.policy} "
            "learns "
            "from buckets of one option only; record it with the status missing, or use the policy "
            "switchback."
        )
    return shown


def _region(name: object, config: CampaignConfig) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"say which region the row is of: {', '.join(config.regions)}.")
    return name.strip()


def _row_of(given: Mapping[str, Any]) -> Row:
    """A row from names and values."""
    for name in given:
        _field(str(name), known_name, name, Row._fields, "column of a record")
    if "bucket" not in given:
        raise InvalidInput(
            "a record has a bucket, such as {'bucket': '2026-03-01', ...}.", field="bucket"
        )
    return Row(**given)


def check_rows(
    rows: Iterable[Row | CheckedRow | Mapping[str, Any]],
    config: CampaignConfig,
    check_wanted: CheckWanted,
) -> list[CheckedRow | Refusal]:
    """The rows with checked values; a refusal is in the place of a row that has a bad one."""
    checked = list[CheckedRow | Refusal]()
    for row in in_batches(rows, check_wanted):
        try:
            checked.append(check_row(row, config))
        except (InvalidInput, OverflowError) as refusal:
            checked.append(refusal)
    return checked


def _field(column: str, check: Any, *arguments: Any) -> Any:
    try:
        return check(*arguments)
    except InvalidInput as refusal:
        raise InvalidInput(str(refusal), field=column) from None


def judge(
    row: CheckedRow, decided: int, value: Value, completeness: Completeness
) -> tuple[Verdict, dict[str, Any] | None]:
    """The verdict on a row, and what the log has to keep of it (None: nothing).

    Args:
        row: What is reported.
        decided: The number of the option that was decided for the bucket.
        value: What is recorded for the bucket so far.
        completeness: How totals are to be read at this moment.
    """
    bucket, shown = row.bucket, row.shown
    changes: dict[str, Any] = {}
    if row.rounds is not None and row.rounds != value.rounds:
        changes["rounds"] = row.rounds
    if row.total is not None and row.total != value.total:
        changes["total"] = row.total
    if shown is not None and shown != (decided if value.shown is None else value.shown):
        changes["shown"] = shown if isinstance(shown, int) else [list(pair) for pair in shown]
    status = _status(row, value)
    if status != value.status:
        changes["status"] = status
    if not changes:
        if row.total is not None and completeness.says_more(bucket, value):
            return "same", {"verdict": "same", "total": row.total}
        return "same", None
    if "total" in changes or "rounds" in changes:
        _check_range(row, value, completeness.config)
    if changes == {"status": "final"} and value.total is not None and value.status != "missing":
        return "same", {"verdict": "same", "status": "final"}  # the value stands, now and in future
    corrects = "status" in changes or any(
        key in changes and getattr(value, key) is not None for key in ("rounds", "total")
    )
    if value.status == "final" and corrects and not row.allowed.overwrite_final:
        return "conflicting", None
    if row.total is not None and row.total < 0:
        changes["negative"] = True
    if completeness.too_late(bucket):
        body = {"verdict": "too late", **changes}
        return "too late", None if said(body) in value.late else body
    revises = any(
        key in changes and getattr(value, key) is not None for key in ("rounds", "total", "shown")
    ) or ("status" in changes and (value.total is not None or value.status != "provisional"))
    verdict: Verdict = "revised" if revises else "new"
    return verdict, {"verdict": verdict, **changes}


def _status(row: CheckedRow, value: Value) -> str:
    if row.status is None:
        back = value.status == "missing" and row.total is not None
        return "provisional" if back else value.status
    if row.status == "provisional" and value.status == "final":
        return "final"  # an older file says less than is known already
    return row.status


def _check_range(row: CheckedRow, value: Value, config: CampaignConfig) -> None:
    rounds = value.rounds if row.rounds is None else row.rounds
    total = value.total if row.total is None else row.total
    if not rounds or total is None or row.allowed.allow_out_of_range:
        return  # without rounds of its own, a bucket can only have late totals of others
    low, high = config.range
    most, least = rounds * high, rounds * low
    slack = 1e-9 * max(abs(most), abs(least))
    if total > most + slack:
        raise InvalidInput(
            f"a total of {total:g} is more than {counted(rounds, 'visitor')} can bring ({high:g} "
            "each, "
            f"{most:g} in all). If it is right, because late arrivals of busier buckets came in, "
            "allow "
            "it to be beyond the range.",
            field="total",
        )
    if total < least - slack and not (total < 0 <= low):
        raise InvalidInput(
            f"a total of {total:g} is less than {counted(rounds, 'visitor')} can bring ({low:g} "
            "each, "
            f"{least:g} in all). If it is right, allow it to be beyond the range.",
            field="total",
        )
