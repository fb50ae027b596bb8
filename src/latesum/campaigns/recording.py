"""Recording: what is reported about buckets is checked, judged by the log, and written down."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from latesum._checks import InvalidInput
from latesum._render import counted
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig, check_row
from latesum.campaigns.deciding import carry, check_gap, shown_so
from latesum.campaigns.rows import Shown, in_field, largest_share, read_shown, shown_text
from latesum.campaigns.state import Append, CampaignState, Value
from latesum.errors import MAX_PROBLEMS, BadRows, Conflicting, UnknownBucket
from latesum.files.totals import Row

#: What became of a record.
Verdict = Literal["new", "same", "revised", "conflicting", "unknown bucket"]
#: From this number of rounds on, a total below 1 may be a rate.
_MANY_ROUNDS = 100
#: Outliers: the fewest buckets for a median, the ratio to it from which a total is questioned, and
#: the sales below which chance alone explains it.
_MIN_USUAL, _MAX_RATIO, _MANY_SALES = 5, 10, 20


class Recorded(NamedTuple):
    """What became of a row.

    `marks` is what is unusual about it, `note` what to know about it. `rounds` and `total` are
    those that were read, `shown` is what the bucket is credited to, and the fields `was_...` are
    what was known before, where the row changes it.
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
        unknown = self.verdict == "unknown bucket" and not skip_unknown
        return unknown or self.verdict == "conflicting"

    def accepted(self) -> Recorded:
        """The same, or `UnknownBucket` or `Conflicting` if the row was not taken in."""
        if self.verdict == "unknown bucket":
            raise UnknownBucket(self.note)
        if self.verdict == "conflicting":
            raise Conflicting(self.note)
        return self


class Recorder:
    """Records rows one by one: each is judged by the log as it is after those before it.

    `append` writes an event down.
    """

    def __init__(
        self,
        state: CampaignState,
        append: Append,
        now: datetime,
        *,
        by: str | None = None,
        reason: str | None = None,
        overwrite_final: bool = False,
        allow_out_of_range: bool = False,
    ) -> None:
        self.state, self.config, self.now, self._append = state, state.config, now, append
        signed = {"by": by, "reason": reason}
        self._signed = {key: text for key, text in signed.items() if text is not None}
        self._overwrite_final = overwrite_final
        self._allow_out_of_range = allow_out_of_range
        self._known = {region: Completeness(part, now) for region, part in state.parts.items()}
        self._usual = {region: _usual(part) for region, part in state.parts.items()}

    def record_all(self, rows: Iterable[Row | Mapping[str, Any]]) -> list[Recorded]:
        """Record all; `BadRows` if some are bad, and then nothing may be written."""
        problems = list[tuple[int, InvalidInput]]()
        results = list[Recorded]()
        for index, row in enumerate(rows):
            try:
                results.append(self._record(check_row(row, self.config)))
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
        unknown = Recorded(bucket, label, "unknown bucket", region=region)
        if region not in self.state.parts:
            return unknown._replace(note=_unknown_region(region, self.config.regions))
        part = self.state.parts[region]
        given = None if row.shown is None else in_field("shown", read_shown, row.shown, options)
        filled_in = bucket not in part.decisions and self._fill_in(part, bucket, given)
        if bucket not in part.decisions:
            return unknown._replace(note=why_unknown(self.config, bucket, self.now))
        old, credited = replace(part.value(bucket)), part.shares(bucket)
        shown = credited if given is None else given
        verdict, changes = self._judge(row, bucket, old, shown, credited)
        if changes is not None:
            body = {"verdict": verdict, **changes, **self._signed}
            self.state.apply(self._append(self.now, "record", bucket, body, region))
        elif filled_in:
            verdict = "new"  # what was shown is all that is said
        marks, note = self._remarks(row, bucket, verdict, label, old)
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
        self, row: Row, bucket: int, value: Value, shown: Shown, credited: Shown
    ) -> tuple[Verdict, dict[str, Any] | None]:
        """The verdict on a row, and what the log has to keep of it (None: nothing)."""
        known = self._known[row.region or ""]
        changes: dict[str, Any] = {}
        if row.rounds not in (None, value.rounds):
            changes["rounds"] = row.rounds
        if row.total not in (None, value.total):
            changes["total"] = row.total
        if shown != credited:
            changes["shown"] = shown if isinstance(shown, int) else [list(pair) for pair in shown]
        status = _status(row, value)
        if status != value.status:
            changes["status"] = status
        if not changes:
            repeated = row.total is not None and known.says_more(bucket, value)
            return "same", {"total": row.total} if repeated else None
        if ("total" in changes or "rounds" in changes) and not self._allow_out_of_range:
            _check_range(row, value, self.config)
        if changes == {"status": "final"} and value.total is not None and value.status != "missing":
            return "same", changes  # the value stands, now and in future
        corrects = [key for key in changes if key != "status" and getattr(value, key) is not None]
        contradicts = "status" in changes or set(corrects) - {"shown"}
        if value.status == "final" and contradicts and not self._overwrite_final:
            return "conflicting", None
        if row.total is not None and row.total < 0:
            changes["negative"] = True
        stood = value.total is not None or value.status != "provisional"
        return "revised" if corrects or ("status" in changes and stood) else "new", changes

    def _remarks(
        self, row: Row, bucket: int, verdict: Verdict, label: str, old: Value
    ) -> tuple[tuple[str, ...], str]:
        """What is unusual about a row, and what to know about it in a sentence."""
        total = 0.0 if row.total is None else row.total
        rounds = old.rounds if row.rounds is None else row.rounds
        marks = ("negative",) if total < 0 else ()
        if verdict == "conflicting":
            return marks, (
                f"the value of {label} is final: {old.rounds} rounds, total {old.total}. To "
                "correct it all the same, allow changes of final values (overwrite-final)."
            )
        if row.total is not None and self._known[row.region or ""].early(bucket):
            note = f"{label} has not ended: this counts once it has, unless another value comes."
            return (*marks, "early"), note
        counts = self.config.range == (0.0, 1.0) and (rounds or 0) >= _MANY_ROUNDS
        if counts and 0 < total < 1 and verdict != "same":
            return marks, f"the total is {total:,g}: is it a rate, and not a count?"
        usual_rounds, rate = self._usual[row.region or ""]
        if verdict in ("same", "unknown bucket"):
            return marks, ""
        if row.rounds is not None and usual_rounds and _far_from(row.rounds, usual_rounds):
            visitors = counted(row.rounds, "visitor")
            return marks, f"{visitors}, where {usual_rounds:,.0f} are usual: is that right?"
        usual = 0.0 if rate is None else rate * (rounds or self.config.expected_rounds)
        if row.total is not None and usual >= _MANY_SALES and _far_from(total, usual):
            return marks, f"a total of {total:,g}, where {usual:,.0f} is usual: is that right?"
        return marks, ""

    def _fill_in(self, part: CampaignState, bucket: int, shown: Shown | None) -> bool:
        """Decide buckets that merely were not asked for.

        After the last question, what ran went on. Before the first one, where it is said or known
        what was shown, that is taken to have gone on until the first bucket that has a decision; a
        row of its own may say otherwise for each. Whether it was before.
        """
        config, buckets, now = self.config, self.config.buckets, self.now
        if not 1 <= bucket < buckets.number(now):
            return False
        if part.last is not None and bucket > part.last:
            if part.finished is None:
                check_gap(bucket - part.last)
                for missed in range(part.last + 1, bucket + 1):
                    self.state.write(self._append, carry(part, missed, now))
            return False
        if shown is None and config.status_quo in config.options:
            shown = config.option(config.status_quo)
        if shown is None:
            return False
        until = bucket + 1 if part.first is None else part.first
        check_gap(until - bucket)
        arm = largest_share(shown)
        option = config.options[arm]
        reason = f"Reported afterwards: {option} was shown before the first question."
        for missed in range(bucket, until):
            filled = shown_so(part, missed, arm, "reported", reason, now)
            self.state.write(self._append, filled)
        return True


def _usual(part: CampaignState) -> tuple[float | None, float | None]:
    """The rounds of a bucket and what a round brings, by the median; None where little is known.

    What was expected is of one stream: regions differ in size.
    """
    known = [value for value in part.values.values() if value.rounds and value.total is not None]
    if len(known) < _MIN_USUAL:
        return None if part.config.regions else part.config.expected_rounds, None
    rates = [(value.total or 0.0) / (value.rounds or 1) for value in known]
    return statistics.median(value.rounds or 0 for value in known), statistics.median(rates)


def _far_from(value: float, usual: float) -> bool:
    return not usual / _MAX_RATIO <= value <= usual * _MAX_RATIO


def _status(row: Row, value: Value) -> str:
    if row.status is None:
        back = value.status == "missing" and row.total is not None
        return "provisional" if back else value.status
    # An older file says less than is known already.
    older = row.status == "provisional" and value.status == "final"
    return "final" if older else row.status


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
            "all): are rounds and total swapped? If it is right, because late arrivals of busier "
            "buckets came in, allow it to be beyond the range.",
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
    if bucket > config.buckets.number(now):
        return f"{label} is in the future."
    return (
        f"no decision was taken for {label}, so it is not known what was shown; if it was before "
        "the first question, record what was shown too."
    )
