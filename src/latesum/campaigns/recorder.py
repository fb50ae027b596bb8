"""Writing down what is reported about buckets, in one transaction."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from latesum._checks import InvalidInput
from latesum._sentences import sentence
from latesum.campaigns.before import PastBucket, shown_text
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import carry, fill_in
from latesum.campaigns.events import Event
from latesum.campaigns.state import CampaignState, Decision, Value, decision_of
from latesum.campaigns.store import Draft, Writer
from latesum.campaigns.verdicts import CheckedRow, Recorded, Refusal, judge
from latesum.campaigns.vocabulary import Verdict
from latesum.errors import MAX_PROBLEMS, BadField, BadRows
from latesum.files.batches import CheckWanted, always_wanted, in_batches

#: What fits the stores' column; there is no later bucket anyway.
_LARGEST_BUCKET = 2**31 - 1
#: At most this many buckets without a decision are filled in; more look like a wrong clock.
_LONGEST_GAP = 100_000
#: How many times more or less than usual is noted, by this many buckets around and at least
#: so many of them.
_FAR = 10
_AROUND = 28
_FEWEST_USUAL = 3
#: Of so many rounds, a total below 1 may be a rate.
_MANY_ROUNDS = 100
#: Buckets asked for in one statement; databases have a limit.
_MOST_AT_ONCE = 500


#: A region and the number of a bucket.
RegionBucket = tuple[str, int]


class BucketState(NamedTuple):
    """What the log says about one bucket of one region."""

    decision: Decision | None
    value: Value


class Recorder:
    """Records rows one by one. It looks at the rows' buckets alone: a long log costs no time.

    On a draft nothing is written: the verdicts say what would be.

    Args:
        settings: Of the campaign.
        writer: The transaction, or a draft.
        now: The time at which everything is recorded.
        states: What is known of some buckets already. To keep it for the next transaction, one must
            know that nothing else was written meanwhile, and drop it if this one fails.
    """

    def __init__(
        self,
        settings: CampaignConfig,
        writer: Draft,
        now: datetime,
        states: dict[RegionBucket, BucketState],
    ) -> None:
        self.settings = settings
        self.writer = writer
        self.now = now
        self.states = states
        #: The last decision of each region that was asked for.
        self._last: dict[str, Event | None] = {}
        #: What was known before the rows that are being recorded, and what they say.
        self._before: dict[RegionBucket, Value] = {}
        self._reported: dict[RegionBucket, tuple[int | None, float]] = {}

    def record_all(
        self, rows: Sequence[CheckedRow | Refusal], check_wanted: CheckWanted = always_wanted
    ) -> list[Recorded]:
        """Record checked rows; `BadRows` if some are bad, and then the transaction must be left by it."""
        problems = list[tuple[int, BadField]]()
        results = list[Recorded]()
        for place, result in enumerate(self.record_each(rows, check_wanted)):
            if isinstance(result, Recorded):
                results.append(result)
            elif isinstance(result, BadField):
                problems.append((place, result))
                if len(problems) == MAX_PROBLEMS:
                    break
            else:
                raise result
        if problems:
            raise BadRows(problems)
        return results

    def record_each(
        self, rows: Sequence[CheckedRow | Refusal], check_wanted: CheckWanted = always_wanted
    ) -> Iterator[Recorded | Refusal]:
        """Record rows, each for itself: a refusal is in the place of the verdict.

        A row that was refused by `check_rows` is handed on.
        """
        checked = [row for row in rows if isinstance(row, CheckedRow)]
        self._read_ahead(checked, check_wanted)
        self._reported = {
            (row.region, row.bucket): (row.rounds, row.total)
            for row in checked
            if row.total is not None
        }
        self._before = {
            place: replace(self.states[place].value)
            for place in self._reported
            if place in self.states
        }
        for each in in_batches(rows, check_wanted):
            if not isinstance(each, CheckedRow):
                yield each
                continue
            try:
                yield self._record(each)
            except (InvalidInput, OverflowError) as refusal:
                yield refusal

    def _read_ahead(self, rows: Iterable[CheckedRow], check_wanted: CheckWanted) -> None:
        """Read at once what will be needed: the rows' buckets, and after numbered ones the next."""
        places = {
            (row.region, number)
            for row in rows
            if 1 <= row.bucket < _LARGEST_BUCKET
            for number in range(max(row.bucket - _AROUND, 1), row.bucket + 1)
        }
        if not self.settings.buckets.timed:
            places |= {(region, number + 1) for region, number in places}
        unread = sorted({number for _, number in places - self.states.keys()})
        for start in range(0, len(unread), _MOST_AT_ONCE):
            check_wanted()
            self._read(unread[start : start + _MOST_AT_ONCE])

    def _record(self, row: CheckedRow) -> Recorded:
        """Judge a row, write down what it changes, and say what became of it."""
        buckets, bucket, region = self.settings.buckets, row.bucket, row.region
        label = buckets.label(bucket)
        if region and region not in self.settings.regions:
            note = f"there is no region {region!r}; the regions are {', '.join(self.settings.regions)}."
            return Recorded(bucket, label, "unknown bucket", note=note, region=region)
        decision, value = self._decided_state(region, bucket)
        filled_in = decision is None and self._fill_in(row)
        if filled_in:
            decision, value = self._state(region, bucket)
        if decision is None:
            note = why_unknown(self.settings, bucket, self.now)
            return Recorded(bucket, label, "unknown bucket", note=note, region=region)
        old = replace(value)
        state = CampaignState(self.settings)
        state.decisions[bucket] = decision
        state.values[bucket] = value
        following = None if buckets.timed else self._state(region, bucket + 1).decision
        if following is not None:
            state.decisions[bucket + 1] = following
        completeness = Completeness(state, self.now)
        verdict, body = judge(row, decision.arm, value, completeness)
        if filled_in and body is None:
            verdict = "new"  # what was shown is all that is said
        note, marks = _note(verdict, label, value), tuple[str, ...]()
        if body is not None:
            body = body if row.by is None else {**body, "by": row.by}
            self._take(self.writer.append(self.now, "record", bucket, body, region))
        if row.total is not None and row.total < 0:
            marks += ("negative",)
        if row.total is not None and not note and completeness.early(bucket):
            marks += ("early",)
            note = f"{label} has not ended: this counts once it has, unless another value comes."
        elif not note and verdict != "same" and (far := self._far_from_usual(row, old)):
            marks += ("unusual",)
            note = far
        credited = decision.arm if old.shown is None else old.shown
        shown = credited if row.shown is None else row.shown
        options = self.settings.options
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

    def _far_from_usual(self, row: CheckedRow, old: Value) -> str:
        """What is said of rounds or a total that are a tenth of the usual ones or less, or ten times as many."""
        rounds = old.rounds if row.rounds is None else row.rounds
        usual = self._usual(row)
        if row.rounds:
            many = [float(each) for each, _ in usual if each]
            many = many or [float(self.settings.expected_rounds)]
            if _is_far(row.rounds, many):
                return sentence(
                    "it has {rounds:visitors} where about {usual:,.0f} are usual: is that right?",
                    rounds=row.rounds,
                    usual=statistics.median(many),
                )
        if row.total is None or rounds == 0:
            return ""
        totals = [total / each * rounds if each and rounds else total for each, total in usual]
        if totals and _is_far(row.total, totals):
            return (
                f"the total is {row.total:,g} where about {statistics.median(totals):,.3g} is "
                "usual: "
                "is that right?"
            )
        if (
            self.settings.range == (0.0, 1.0)
            and 0 < row.total < 1
            and (rounds or 0) >= _MANY_ROUNDS
        ):
            return f"the total is {row.total:,g}: is it a rate, and not a count?"
        return ""

    def _usual(self, row: CheckedRow) -> list[tuple[int | None, float]]:
        """Rounds and totals of the buckets around one, in its region: known ones, or those of the same rows."""
        numbers = range(max(row.bucket - _AROUND, 1), row.bucket + _AROUND + 1)
        places = [(row.region, number) for number in numbers if number != row.bucket]
        values: list[Value | PastBucket] = [
            self._before.get(place) or self.states[place].value
            for place in places
            if place in self.states
        ]
        history = self.settings.history[-_AROUND * max(len(self.settings.regions), 1) :]
        values += [past for past in history if past.region == row.region]
        found = [(each.rounds, each.total) for each in values if each.total is not None]
        if len(found) < _FEWEST_USUAL:
            found += [self._reported[place] for place in places if place in self._reported]
        return found if len(found) >= _FEWEST_USUAL else []

    def move_to(self, writer: Writer) -> bool:
        """Write what was drafted; False, and nothing, if it might come out otherwise by now.

        It comes out the same if nothing was added since but records of other buckets.
        """
        known = self.writer.began_after
        since = writer.log(0 if known is None else known.sequence - 1)
        if known is not None and since[:1] != [known]:
            return False  # the database was put back to an earlier state
        others = since if known is None else since[1:]
        if any(
            event.kind != "record" or (event.region, event.bucket) in self.states
            for event in others
        ):
            return False
        for event in self.writer.appended:
            writer.append(event.at, event.kind, event.bucket, event.body, event.region)
        return True

    def _decided_state(self, region: str, bucket: int) -> BucketState:
        """The state of a bucket; buckets that merely were not asked for are decided now."""
        state = self._state(region, bucket)
        if state.decision is not None:
            return state
        buckets = self.settings.buckets
        last = self._running_on(region) if buckets.timed else None
        if (
            last is None
            or last.bucket is None
            or not last.bucket < bucket < buckets.number(self.now)
        ):
            return state
        check_gap(bucket - last.bucket)
        before = decision_of(last, self.settings.options)
        for missed in range(last.bucket + 1, bucket + 1):
            body = carry(before).body(buckets.label(missed))
            last = self.writer.append(self.now, "decision", missed, body, region)
            self._last[region] = last
            self._take(last)
            before = decision_of(last, self.settings.options)
        return self._state(region, bucket)

    def _fill_in(self, row: CheckedRow) -> bool:
        """Fill in a bucket before the first question, if it is said or known what was shown in it.

        What was shown is taken to have gone on until the first bucket that has a decision; a row of
        its own may say otherwise for each.
        """
        settings, bucket = self.settings, row.bucket
        buckets, arm = settings.buckets, row.shown
        if arm is not None and not isinstance(arm, int):
            arm = max(arm, key=lambda pair: pair[1])[0]
        if arm is None and settings.status_quo in settings.options:
            arm = settings.option(settings.status_quo)
        if arm is None or not buckets.timed or not 1 <= bucket < buckets.number(self.now):
            return False
        first = self.writer.first_decided(row.region)
        if first is None:
            until = bucket + 1
        elif first.bucket is not None and bucket < first.bucket:
            until = first.bucket
        else:
            return False
        check_gap(until - bucket)
        for missed in range(bucket, until):
            body = fill_in(settings, arm, missed).body(buckets.label(missed))
            event = self.writer.append(self.now, "decision", missed, body, row.region)
            self._take(event)
        if first is None:
            self._last.pop(row.region, None)  # it is the last decision too
        return True

    def _running_on(self, region: str) -> Event | None:
        """The last decision, which holds for the buckets after it; None if the campaign is finished.

        It is read once and not for every row: no one else writes in the meantime.
        """
        if region not in self._last:
            last = self.writer.last_decided(region)
            finished = last is not None and self.writer.finished(last.sequence)
            self._last[region] = None if finished else last
        return self._last[region]

    def _state(self, region: str, bucket: int) -> BucketState:
        if not 1 <= bucket < _LARGEST_BUCKET:
            return BucketState(None, Value())
        if (region, bucket) not in self.states:
            self._read([bucket])
        return self.states[region, bucket]

    def _read(self, buckets: list[int]) -> None:
        """Read all that is known of buckets, of every region."""
        for region in self.settings.regions or ("",):
            self.states.update({(region, bucket): BucketState(None, Value()) for bucket in buckets})
        for event in self.writer.of_buckets(buckets):
            self._take(event)

    def _take(self, event: Event) -> None:
        assert event.bucket is not None
        place = event.region, event.bucket
        state = self.states.get(place) or BucketState(None, Value())
        if event.kind == "decision":
            state = BucketState(decision_of(event, self.settings.options), state.value)
        else:
            state.value.take(event.at, event.body)
            del state.value.reports[:-1]  # no verdict needs more, and a state may be kept for long
        self.states[place] = state


def _is_far(value: float, usual: list[float]) -> bool:
    """Whether a value is a tenth of the usual ones or less, or ten times as much, and beyond all of them."""
    middle = statistics.median(usual)
    if middle <= 0:
        return False
    low = value <= middle / _FAR and value < min(usual) / 2
    return low or (value >= _FAR * middle and value > 2 * max(usual))


def check_gap(missed: int) -> None:
    """Refuse to fill in more buckets than a campaign can have missed."""
    if missed > _LONGEST_GAP:
        raise InvalidInput(
            f"{missed:,} buckets have passed since the last decision; is the clock right?"
        )


def why_unknown(settings: CampaignConfig, bucket: int, now: datetime) -> str:
    """Why nothing can be recorded for a bucket."""
    label = settings.buckets.label(bucket)
    if bucket < 1:
        return f"{label} is before the campaign's beginning."
    if settings.buckets.timed and bucket > settings.buckets.number(now):
        return f"{label} is in the future."
    return sentence(
        "no decision was taken for {label}, so it is not known what was shown; if it was "
        "before the first "
        "question, say what was shown ({shown:setting}).",
        label=label,
        shown="",
    )


def _note(verdict: Verdict, label: str, value: Value) -> str:
    if verdict == "conflicting":
        return sentence(
            "the value of {label} is final: {rounds} rounds, total {total}. If it must be "
            "corrected all the "
            "same, say so with {even_if_final:setting}.",
            label=label,
            rounds=value.rounds,
            total=value.total,
            even_if_final="",
        )
    if verdict == "too late":
        return f"it is kept, but {label} ended too long ago for it to be used."
    return ""
