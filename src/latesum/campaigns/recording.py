"""Recording: what is reported about buckets is checked, judged by the log, and written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum._render import counted
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import carry, check_gap, fill_in
from latesum.campaigns.rows import Shown, largest_share, read_shown, shown_text
from latesum.campaigns.state import Append, CampaignState, Value, said
from latesum.campaigns.vocabulary import STATUSES, Verdict
from latesum.errors import MAX_PROBLEMS, BadRows, Conflicting, UnknownBucket
from latesum.files.totals import Row

#: Limits far above anything real, so that no sum can overflow.
MAX_ROUNDS = 10**12
MAX_TOTAL = 1e15
#: Of so many rounds, a total below 1 may be a rate.
_MANY_ROUNDS = 100


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

    def stops(self, skip_unknown: bool) -> bool:
        """Whether this row stops all others, if unknown buckets may be left out."""
        return self.verdict == "conflicting" or (
            self.verdict == "unknown bucket" and not skip_unknown
        )

    def accepted(self) -> Recorded:
        """The same, or `UnknownBucket` or `Conflicting` if the row was not taken in."""
        if self.verdict == "unknown bucket":
            raise UnknownBucket(self.note)
        if self.verdict == "conflicting":
            raise Conflicting(self.note)
        return self


def check_row(row: Row, config: CampaignConfig) -> Row:
    """The row with checked values, its bucket as a number, or a refusal that names the column.

    Whether its region is one of the campaign's, the verdict says.
    """
    if row.rounds is None and row.total is None and row.status is None and row.shown is None:
        raise InvalidInput(
            "there is nothing to record: give rounds, a total or a status.", field="total"
        )
    bucket = _field("bucket", config.buckets.number, row.bucket)
    rounds, total = row.rounds, row.total
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
    if row.shown is not None:
        _field("shown", _read_shown, row.shown, config)
    region = None
    if config.regions:
        region = row.region.strip() if isinstance(row.region, str) else ""
        if not region:
            named = ", ".join(config.regions)
            raise InvalidInput(f"say which region the row is of: {named}.", field="region")
    elif row.region:
        raise InvalidInput("this campaign has no regions; leave the region out.", field="region")
    if row.status == "missing" and total is not None:
        raise InvalidInput(
            "a missing total has no value; leave it empty, or the status out.", field="total"
        )
    return row._replace(bucket=bucket, rounds=rounds, total=total, region=region)


def check_rows(
    rows: Iterable[Row | Mapping[str, Any]], config: CampaignConfig
) -> list[Row | InvalidInput]:
    """The rows with checked values; a refusal is in the place of a row that has a bad one."""
    checked = list[Row | InvalidInput]()
    for row in rows:
        try:
            checked.append(check_row(_row_of(row) if isinstance(row, Mapping) else row, config))
        except InvalidInput as refusal:
            checked.append(refusal)
    return checked


def _row_of(given: Mapping[str, Any]) -> Row:
    for name in given:
        _field(str(name), known_name, name, Row._fields, "column of a record")
    if "bucket" not in given:
        raise InvalidInput(
            "a record has a bucket, such as {'bucket': '2026-03-01', ...}.", field="bucket"
        )
    return Row(**given)


def _read_shown(text: str, config: CampaignConfig) -> Shown:
    shown = read_shown(text, config.options)
    if not isinstance(shown, int) and not config.is_market:
        raise InvalidInput(
            f"{shortened(text)!r} is several options in one bucket, and {config.policy} learns "
            "from buckets of one option only; record it with the status missing, or use the policy "
            "switchback."
        )
    return shown


def _field(column: str, check: Any, *arguments: Any) -> Any:
    try:
        return check(*arguments)
    except InvalidInput as refusal:
        raise InvalidInput(refusal.message, field=column, remedy=refusal.remedy) from None


class Recorder:
    """Records rows one by one: each is judged by the log as it is after those before it.

    `append` writes an event down, or of a rehearsal only makes it.
    """

    def __init__(
        self,
        state: CampaignState,
        append: Append,
        now: datetime,
        *,
        by: str | None = None,
        overwrite_final: bool = False,
        allow_out_of_range: bool = False,
    ) -> None:
        self.state = state
        self.config = state.config
        self.now = now
        self._append = append
        self._by = by
        self._overwrite_final = overwrite_final
        self._allow_out_of_range = allow_out_of_range
        self._completeness = {
            region: Completeness(part, now) for region, part in state.parts.items()
        }

    def record_all(self, rows: Sequence[Row | InvalidInput]) -> list[Recorded]:
        """Record checked rows; `BadRows` if some are bad, and then nothing may be written."""
        problems = list[tuple[int, InvalidInput]]()
        results = list[Recorded]()
        for index, row in enumerate(rows):
            try:
                if isinstance(row, InvalidInput):
                    raise row
                results.append(self._record(row))
            except InvalidInput as bad:
                if not bad.field:  # the clock or the log, and not the row
                    raise
                problems.append((index, bad))
                if len(problems) == MAX_PROBLEMS:
                    break
        if problems:
            raise BadRows(problems)
        return results

    def _record(self, row: Row) -> Recorded:
        """Judge a row, write down what it changes, and say what became of it."""
        bucket, region = self.config.buckets.number(row.bucket), row.region or ""
        options, label = self.config.options, self.config.buckets.label(bucket)
        if region not in self.state.parts:
            note = _unknown_region(region, self.config.regions)
            return Recorded(bucket, label, "unknown bucket", note=note, region=region)
        part, completeness = self.state.parts[region], self._completeness[region]
        given = None if row.shown is None else _field("shown", read_shown, row.shown, options)
        if bucket not in part.decisions:
            self._carry_on(part, bucket)
        filled_in = bucket not in part.decisions and self._fill_in(part, bucket, given)
        if bucket not in part.decisions:
            note = why_unknown(self.config, bucket, self.now)
            return Recorded(bucket, label, "unknown bucket", note=note, region=region)
        old = replace(part.value(bucket))
        credited = part.shares(bucket)
        verdict, body = self._judge(row, bucket, given, credited, old, completeness)
        if filled_in and body is None:
            verdict = "new"  # what was shown is all that is said
        if body is not None:
            by = {} if self._by is None else {"by": self._by}
            self.state.apply(self._append(self.now, "record", bucket, {**body, **by}, region))
        note, marks = self._remarks(row, bucket, verdict, label, old, completeness)
        shown = credited if given is None else given
        return Recorded(
            bucket,
            label,
            verdict,
            marks,
            note,
            region,
            row.rounds,
            row.total,
            shown_text(shown, options),
            old.rounds if row.rounds not in (None, old.rounds) else None,
            old.total if row.total not in (None, old.total) else None,
            shown_text(credited, options) if shown != credited and old.recorded else None,
        )

    def _judge(
        self,
        row: Row,
        bucket: int,
        given: Shown | None,
        credited: Shown,
        value: Value,
        completeness: Completeness,
    ) -> tuple[Verdict, dict[str, Any] | None]:
        """The verdict on a row, and what the log has to keep of it (None: nothing)."""
        changes: dict[str, Any] = {}
        if row.rounds is not None and row.rounds != value.rounds:
            changes["rounds"] = row.rounds
        if row.total is not None and row.total != value.total:
            changes["total"] = row.total
        if given is not None and given != credited:
            changes["shown"] = given if isinstance(given, int) else [list(pair) for pair in given]
        status = _status(row, value)
        if status != value.status:
            changes["status"] = status
        if not changes:
            if row.total is not None and completeness.says_more(bucket, value):
                return "same", {"verdict": "same", "total": row.total}
            return "same", None
        if ("total" in changes or "rounds" in changes) and not self._allow_out_of_range:
            _check_range(row, value, self.config)
        if changes == {"status": "final"} and value.total is not None and value.status != "missing":
            # The value stands, now and in future.
            return "same", {"verdict": "same", "status": "final"}
        corrects = [key for key in changes if key != "status" and getattr(value, key) is not None]
        contradicts = "status" in changes or set(corrects) - {"shown"}
        if value.status == "final" and contradicts and not self._overwrite_final:
            return "conflicting", None
        if row.total is not None and row.total < 0:
            changes["negative"] = True
        if completeness.too_late(bucket):
            body = {"verdict": "too late", **changes}
            return "too late", None if said(body) in value.late else body
        known = value.total is not None or value.status != "provisional"
        revises = corrects or ("status" in changes and known)
        verdict: Verdict = "revised" if revises else "new"
        return verdict, {"verdict": verdict, **changes}

    def _remarks(
        self,
        row: Row,
        bucket: int,
        verdict: Verdict,
        label: str,
        old: Value,
        completeness: Completeness,
    ) -> tuple[str, tuple[str, ...]]:
        """What to know about a row in a sentence, and what is unusual about it."""
        marks = ("negative",) if row.total is not None and row.total < 0 else ()
        if verdict == "conflicting":
            return (
                f"the value of {label} is final: {old.rounds} rounds, total {old.total}. To "
                "correct it all the same, allow changes of final values (overwrite-final)."
            ), marks
        if verdict == "too late":
            return f"it is kept, but {label} ended too long ago for it to be used.", marks
        if row.total is not None and completeness.early(bucket):
            note = f"{label} has not ended: this counts once it has, unless another value comes."
            return note, (*marks, "early")
        rounds, total = old.rounds if row.rounds is None else row.rounds, row.total or 0
        of_many = self.config.range == (0.0, 1.0) and (rounds or 0) >= _MANY_ROUNDS
        if verdict != "same" and of_many and 0 < total < 1:
            return f"the total is {total:,g}: is it a rate, and not a count?", marks
        return "", marks

    def _carry_on(self, part: CampaignState, bucket: int) -> None:
        """Decide buckets that merely were not asked for: what ran before them went on."""
        buckets, last = self.config.buckets, part.last
        if last is None or part.finished is not None or not buckets.timed:
            return
        if last < bucket < buckets.number(self.now):
            check_gap(bucket - last)
            for missed in range(last + 1, bucket + 1):
                self.state.write(self._append, carry(part, missed, self.now))

    def _fill_in(self, part: CampaignState, bucket: int, shown: Shown | None) -> bool:
        """Fill in a bucket before the first question, if it is said or known what was shown in it.

        What was shown is taken to have gone on until the first bucket that has a decision; a row of
        its own may say otherwise for each.
        """
        config, buckets = self.config, self.config.buckets
        if shown is None and config.status_quo in config.options:
            shown = config.option(config.status_quo)
        if shown is None or not buckets.timed or not 1 <= bucket < buckets.number(self.now):
            return False
        until = bucket + 1 if part.first is None else part.first
        if bucket >= until:
            return False
        check_gap(until - bucket)
        for missed in range(bucket, until):
            decision = fill_in(part, missed, largest_share(shown), self.now)
            self.state.write(self._append, decision)
        return True


def _status(row: Row, value: Value) -> str:
    if row.status is None:
        back = value.status == "missing" and row.total is not None
        return "provisional" if back else value.status
    if row.status == "provisional" and value.status == "final":
        return "final"  # an older file says less than is known already
    return row.status


def _check_range(row: Row, value: Value, config: CampaignConfig) -> None:
    rounds = value.rounds if row.rounds is None else row.rounds
    total = value.total if row.total is None else row.total
    if not rounds or total is None:
        return  # without rounds of its own, a bucket can only have late totals of others
    low, high = config.range
    most, least = rounds * high, rounds * low
    slack = 1e-9 * max(abs(most), abs(least))
    visitors = counted(rounds, "visitor")
    if total > most + slack:
        raise InvalidInput(
            f"a total of {total:g} is more than {visitors} can bring ({high:g} each, {most:g} in "
            "all). If it is right, because late arrivals of busier buckets came in, allow it to be "
            "beyond the range.",
            field="total",
        )
    if total < least - slack and not (total < 0 <= low):
        raise InvalidInput(
            f"a total of {total:g} is less than {visitors} can bring ({low:g} each, {least:g} in "
            "all). If it is right, allow it to be beyond the range.",
            field="total",
        )


def _unknown_region(region: str, regions: tuple[str, ...]) -> str:
    for each in regions:
        if each.casefold() == region.casefold():
            return f"the region {region!r} is written {each!r} in this campaign; write it so."
    return f"there is no region {region!r}; the regions are {', '.join(regions)}."


def why_unknown(config: CampaignConfig, bucket: int, now: datetime) -> str:
    """Why nothing can be recorded for a bucket."""
    label = config.buckets.label(bucket)
    if bucket < 1:
        return f"{label} is before the campaign's beginning."
    if config.buckets.timed and bucket > config.buckets.number(now):
        return f"{label} is in the future."
    return (
        f"no decision was taken for {label}, so it is not known what was shown; if it was before "
        "the first question, record what was shown too."
    )
