"""Recording: what is reported about buckets is judged by the state of the log, and written down."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from latesum._checks import InvalidInput
from latesum._render import counted
from latesum.campaigns.before import PastBucket, shown_text
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import carry, fill_in
from latesum.campaigns.events import Event
from latesum.campaigns.state import CampaignState, Value
from latesum.campaigns.verdicts import CheckedRow, Recorded, Refusal, judge
from latesum.campaigns.vocabulary import Verdict
from latesum.errors import MAX_PROBLEMS, BadRows
from latesum.files.batches import CheckWanted, in_batches

#: At most this many buckets without a decision are filled in; more look like a wrong clock.
_MAX_GAP = 100_000
#: How many times more or less than usual is noted, by this many buckets around and at least
#: so many of them.
_FAR = 10
_AROUND = 28
_MIN_USUAL = 3
#: Of so many rounds, a total below 1 may be a rate.
_MANY_ROUNDS = 100

#: Makes the next event of the log: its time, kind, bucket, body and region.
Append = Callable[[datetime, str, int | None, dict[str, object], str], Event]


class Recorder:
    """Records rows one by one: each is judged by the log as it is after those before it.

    Args:
        state: What the log adds up to; every event is applied to it.
        append: Writes an event down, or of a rehearsal only makes it.
        now: The time at which everything is recorded.
    """

    def __init__(self, state: CampaignState, append: Append, now: datetime) -> None:
        self.state = state
        self.config = state.config
        self.now = now
        self._append = append
        self._completeness = {
            region: Completeness(part, now) for region, part in state.parts.items()
        }
        #: What was known before the rows that are being recorded, and what they say.
        self._before: dict[tuple[str, int], Value] = {}
        self._reported: dict[tuple[str, int], tuple[int | None, float]] = {}

    def record_all(
        self, rows: Sequence[CheckedRow | Refusal], check_wanted: CheckWanted
    ) -> list[Recorded]:
        """Record checked rows; `BadRows` if some are bad, and then nothing may be written."""
        for row in rows:
            if isinstance(row, CheckedRow) and row.total is not None:
                self._reported[row.region, row.bucket] = row.rounds, row.total
        self._before = {
            (region, bucket): replace(self.state.parts[region].value(bucket))
            for region, bucket in self._reported
            if region in self.state.parts
        }
        problems = list[tuple[int, InvalidInput]]()
        results = list[Recorded]()
        for place, row in enumerate(in_batches(rows, check_wanted)):
            try:
                if not isinstance(row, CheckedRow):
                    raise row
                results.append(self._record(row))
            except InvalidInput as bad:
                if not bad.field:  # not about a value of the row
                    raise
                problems.append((place, bad))
                if len(problems) == MAX_PROBLEMS:
                    break
        if problems:
            raise BadRows(problems)
        return results

    def _record(self, row: CheckedRow) -> Recorded:
        """Judge a row, write down what it changes, and say what became of it."""
        bucket, region, config = row.bucket, row.region, self.config
        label = config.buckets.label(bucket)
        if region not in self.state.parts:
            same = [each for each in config.regions if each.casefold() == region.casefold()]
            note = f"there is no region {region!r}; the regions are {', '.join(config.regions)}."
            if same:
                note = (
                    f"the region {region!r} is written {same[0]!r} in this campaign; write it so."
                )
            return Recorded(bucket, label, "unknown bucket", note=note, region=region)
        part, completeness = self.state.parts[region], self._completeness[region]
        if bucket not in part.decisions:
            self._carry_on(part, region, bucket)
        filled_in = bucket not in part.decisions and self._fill_in(part, row)
        if bucket not in part.decisions:
            note = why_unknown(config, bucket, self.now)
            return Recorded(bucket, label, "unknown bucket", note=note, region=region)
        decision, old = part.decisions[bucket], replace(part.value(bucket))
        verdict, body = judge(row, decision.arm, old, completeness)
        if filled_in and body is None:
            verdict = "new"  # what was shown is all that is said
        if body is not None:
            self._write(
                "record", bucket, body if row.by is None else {**body, "by": row.by}, region
            )
        note, marks = self._remarks(row, verdict, label, old, completeness)
        credited = decision.arm if old.shown is None else old.shown
        shown = credited if row.shown is None else row.shown
        options = config.options
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

    def _write(self, kind: str, bucket: int, body: dict[str, object], region: str) -> None:
        self.state.apply(self._append(self.now, kind, bucket, body, region))

    def _remarks(
        self, row: CheckedRow, verdict: Verdict, label: str, old: Value, completeness: Completeness
    ) -> tuple[str, tuple[str, ...]]:
        """What to know about a row in a sentence, and what is unusual about it."""
        note = _note(verdict, label, self.state.parts[row.region].value(row.bucket))
        marks: tuple[str, ...] = ()
        if row.total is not None and row.total < 0:
            marks += ("negative",)
        if row.total is not None and not note and completeness.early(row.bucket):
            marks += ("early",)
            note = f"{label} has not ended: this counts once it has, unless another value comes."
        elif not note and verdict != "same" and (far := self._far_from_usual(row, old)):
            marks += ("unusual",)
            note = far
        return note, marks

    def _far_from_usual(self, row: CheckedRow, old: Value) -> str:
        """What is said of rounds or a total that are a tenth of the usual ones or less, or ten
        times as many."""
        rounds = old.rounds if row.rounds is None else row.rounds
        usual = self._usual(row)
        if row.rounds:
            many = [float(each) for each, _ in usual if each]
            many = many or [float(self.config.expected_rounds)]
            if _is_far(row.rounds, many):
                return (
                    f"it has {counted(row.rounds, 'visitor')} where about "
                    f"{statistics.median(many):,.0f} are usual: is that right?"
                )
        if row.total is None or rounds == 0:
            return ""
        totals = [total / each * rounds if each and rounds else total for each, total in usual]
        if totals and _is_far(row.total, totals):
            return (
                f"the total is {row.total:,g} where about {statistics.median(totals):,.3g} is "
                "usual: is that right?"
            )
        if self.config.range == (0.0, 1.0) and 0 < row.total < 1 and (rounds or 0) >= _MANY_ROUNDS:
            return f"the total is {row.total:,g}: is it a rate, and not a count?"
        return ""

    def _usual(self, row: CheckedRow) -> list[tuple[int | None, float]]:
        """Rounds and totals of the buckets around one, in its region: known ones, or those of
        the same rows."""
        numbers = range(max(row.bucket - _AROUND, 1), row.bucket + _AROUND + 1)
        places = [(row.region, number) for number in numbers if number != row.bucket]
        part = self.state.parts[row.region]
        values: list[Value | PastBucket] = [
            self._before.get(place) or part.value(place[1]) for place in places
        ]
        history = self.config.history[-_AROUND * max(len(self.config.regions), 1) :]
        values += [past for past in history if past.region == row.region]
        found = [(each.rounds, each.total) for each in values if each.total is not None]
        if len(found) < _MIN_USUAL:
            found += [self._reported[place] for place in places if place in self._reported]
        return found if len(found) >= _MIN_USUAL else []

    def _carry_on(self, part: CampaignState, region: str, bucket: int) -> None:
        """Decide buckets that merely were not asked for: what ran before them went on."""
        buckets, last = self.config.buckets, part.last
        if last is None or part.finished is not None or not buckets.timed:
            return
        if last < bucket < buckets.number(self.now):
            check_gap(bucket - last)
            for missed in range(last + 1, bucket + 1):
                body = carry(part.decisions[missed - 1]).body(buckets.label(missed))
                self._write("decision", missed, body, region)

    def _fill_in(self, part: CampaignState, row: CheckedRow) -> bool:
        """Fill in a bucket before the first question, if it is said or known what was shown in it.

        What was shown is taken to have gone on until the first bucket that has a decision; a row of
        its own may say otherwise for each.
        """
        config, bucket = self.config, row.bucket
        buckets, arm = config.buckets, row.shown
        if arm is not None and not isinstance(arm, int):
            arm = max(arm, key=lambda pair: pair[1])[0]
        if arm is None and config.status_quo in config.options:
            arm = config.option(config.status_quo)
        if arm is None or not buckets.timed or not 1 <= bucket < buckets.number(self.now):
            return False
        until = bucket + 1 if part.first is None else part.first
        if bucket >= until:
            return False
        check_gap(until - bucket)
        for missed in range(bucket, until):
            body = fill_in(config, arm, missed).body(buckets.label(missed))
            self._write("decision", missed, body, row.region)
        return True


def _is_far(value: float, usual: list[float]) -> bool:
    """Whether a value is a tenth of the usual ones or less, or ten times as much, and beyond all
    of them."""
    middle = statistics.median(usual)
    if middle <= 0:
        return False
    low = value <= middle / _FAR and value < min(usual) / 2
    return low or (value >= _FAR * middle and value > 2 * max(usual))


def check_gap(missed: int) -> None:
    """Refuse to fill in more buckets than a campaign can have missed."""
    if missed > _MAX_GAP:
        raise InvalidInput(
            f"{missed:,} buckets have passed since the last decision; is the clock right?"
        )


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


def _note(verdict: Verdict, label: str, value: Value) -> str:
    if verdict == "conflicting":
        return (
            f"the value of {label} is final: {value.rounds} rounds, total {value.total}. To "
            "correct it "
            "all the same, allow changes of final values (overwrite-final)."
        )
    if verdict == "too late":
        return f"it is kept, but {label} ended too long ago for it to be used."
    return ""
