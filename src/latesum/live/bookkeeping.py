"""Writing down what somebody says about buckets, in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from latesum._checks import InvalidInput
from latesum.live.batches import CheckWanted, always_wanted, in_batches
from latesum.live.deciding import carry
from latesum.live.ledger import Decision, Entry, Ledger, Value, Verdict, decision_of
from latesum.live.maturity import Maturity
from latesum.live.recording import MOST_PROBLEMS, BadField, BadRows, Recorded, Row, judge
from latesum.live.settings import Settings
from latesum.live.store import Draft, Writer

#: What fits the stores' column; there is no later bucket anyway.
_LARGEST_BUCKET = 2**31 - 1
#: At most this many buckets without a decision are filled in; more look like a wrong clock.
_LONGEST_GAP = 100_000
#: Buckets asked for in one statement; databases have a limit.
_MOST_AT_ONCE = 500


class Page(NamedTuple):
    """What the log says about one bucket."""

    decision: Decision | None
    value: Value


class Bookkeeper:
    """Records rows one by one. It looks at the rows' buckets alone: a long log costs no time.

    `pages` is what is known of some buckets already. Whoever keeps them for the next transaction
    must know that nothing else was written meanwhile, and drop them if this one fails.
    On a draft nothing is written: the verdicts say what would be.
    """

    def __init__(
        self, settings: Settings, writer: Draft, now: datetime, pages: dict[int, Page]
    ) -> None:
        self.settings = settings
        self.writer = writer
        self.now = now
        self.pages = pages
        self._last: Entry | None = None
        self._last_is_read = False

    def look_ahead(self, rows: Iterable[Row], check_wanted: CheckWanted = always_wanted) -> None:
        """Read at once what will be looked at: the rows' buckets, and after numbered ones the next."""
        numbers: set[int] = set()
        for row in rows:
            with contextlib.suppress(InvalidInput, OverflowError):  # refused later, in its turn
                number = self.settings.buckets.number(row.bucket)
                if 1 <= number < _LARGEST_BUCKET:
                    numbers |= {number} if self.settings.buckets.timed else {number, number + 1}
        unread = sorted(numbers - self.pages.keys())
        for start in range(0, len(unread), _MOST_AT_ONCE):
            check_wanted()
            self._read(unread[start : start + _MOST_AT_ONCE])

    def record_all(
        self,
        rows: Sequence[Row],
        by: str | None,
        allowed: dict[str, bool],
        check_wanted: CheckWanted,
    ) -> list[Recorded]:
        """Record checked rows; `BadRows` if some are bad, and then the block must be left by it."""
        self.look_ahead(rows, check_wanted)
        results, problems = list[Recorded](), list[tuple[int, BadField]]()
        for place, row in enumerate(in_batches(rows, check_wanted)):
            try:
                results.append(self.record(row, by, allowed))
            except BadField as bad:
                problems.append((place, bad))
                if len(problems) == MOST_PROBLEMS:
                    break
        if problems:
            raise BadRows(problems)
        return results

    def record(self, row: Row, by: str | None, allowed: dict[str, bool]) -> Recorded:
        """Judge a checked row, write down what it changes, and say what became of it."""
        buckets = self.settings.buckets
        bucket = buckets.number(row.bucket)
        label = buckets.label(bucket)
        decision, value = self._decided_page(bucket)
        if decision is None:
            return Recorded(
                bucket, label, "unknown bucket", note=why_unknown(self.settings, bucket, self.now)
            )
        ledger = Ledger(self.settings.options)
        ledger.decisions[bucket] = decision
        ledger.values[bucket] = value
        if not buckets.timed and (following := self._page(bucket + 1).decision) is not None:
            ledger.decisions[bucket + 1] = following
        maturity = Maturity(self.settings, ledger, self.now)
        verdict, body = judge(row, bucket, decision.arm, value, maturity, **allowed)
        note = _note(verdict, label, value)
        if body is not None:
            body = body if by is None else {**body, "by": by}
            self._take(self.writer.append(self.now, "record", bucket, body))
        marks: tuple[str, ...] = ("negative",) if row.total is not None and row.total < 0 else ()
        if row.total is not None and not note and maturity.early(bucket):
            marks += ("early",)
            note = f"{label} has not ended: this counts once it has, unless another value comes."
        return Recorded(bucket, label, verdict, marks, note)

    def move_to(self, writer: Writer) -> bool:
        """Write what was drafted; False, and nothing, if it might come out otherwise by now.

        It comes out the same if nothing was added since but records of other buckets.
        """
        known = self.writer.began_after
        since = writer.log(0 if known is None else known.sequence - 1)
        if known is not None and since[:1] != [known]:
            return False  # the database was put back to an earlier state
        others = since if known is None else since[1:]
        if any(entry.kind != "record" or entry.bucket in self.pages for entry in others):
            return False
        for entry in self.writer.appended:
            writer.append(entry.at, entry.kind, entry.bucket, entry.body)
        return True

    def _decided_page(self, bucket: int) -> Page:
        """The page of a bucket; buckets that merely were not asked for are decided now."""
        page = self._page(bucket)
        if page.decision is not None:
            return page
        buckets = self.settings.buckets
        last = self._running_on() if buckets.timed else None
        if (
            last is None
            or last.bucket is None
            or not last.bucket < bucket < buckets.number(self.now)
        ):
            return page
        check_gap(bucket - last.bucket)
        before = decision_of(last, self.settings.options)
        for missed in range(last.bucket + 1, bucket + 1):
            body = carry(before).body(buckets.label(missed), before)
            self._last = self.writer.append(self.now, "decision", missed, body)
            self._take(self._last)
            before = decision_of(self._last, self.settings.options)
        return self._page(bucket)

    def _running_on(self) -> Entry | None:
        """The last decision, which holds for the buckets after it; None if the campaign is finished.

        It is read once and not for every row: no one else writes in the meantime.
        """
        if not self._last_is_read:
            last = self.writer.last_decided()
            finished = last is not None and self.writer.finished(last.sequence)
            self._last, self._last_is_read = None if finished else last, True
        return self._last

    def _page(self, bucket: int) -> Page:
        if not 1 <= bucket < _LARGEST_BUCKET:
            return Page(None, Value())
        if bucket not in self.pages:
            self._read([bucket])
        return self.pages[bucket]

    def _read(self, buckets: list[int]) -> None:
        self.pages.update({bucket: Page(None, Value()) for bucket in buckets})
        for entry in self.writer.of_buckets(buckets):
            self._take(entry)

    def _take(self, entry: Entry) -> None:
        assert entry.bucket is not None
        page = self.pages.get(entry.bucket) or Page(None, Value())
        if entry.kind == "decision":
            page = Page(decision_of(entry, self.settings.options), page.value)
        else:
            page.value.take(entry.at, entry.body)
            del page.value.looks[:-1]  # no verdict needs more, and a page may be kept for long
        self.pages[entry.bucket] = page


def check_gap(missed: int) -> None:
    """Refuse to fill in more buckets than a campaign can have missed."""
    if missed > _LONGEST_GAP:
        raise InvalidInput(
            f"{missed:,} buckets have passed since the last decision; is the clock right?"
        )


def why_unknown(settings: Settings, bucket: int, now: datetime) -> str:
    """Why nothing can be recorded for a bucket."""
    label = settings.buckets.label(bucket)
    if bucket < 1:
        return f"{label} is before the campaign's beginning."
    if settings.buckets.timed and bucket > settings.buckets.number(now):
        return f"{label} is in the future."
    return f"no decision was taken for {label}, so it is not known what was shown."


def _note(verdict: Verdict, label: str, value: Value) -> str:
    if verdict == "conflicting":
        return (
            f"the value of {label} is final: {value.rounds} rounds, total {value.total}. "
            "If it must be corrected all the same, say so with even_if_final (--even-if-final)."
        )
    if verdict == "too late":
        return f"it is kept, but {label} ended too long ago for it to be used."
    return ""
