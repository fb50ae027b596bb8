"""Writing down what somebody says about buckets, in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from latesum._checks import InvalidInput
from latesum.live.deciding import carry
from latesum.live.ledger import Decision, Entry, Ledger, Value, Verdict, decision_of
from latesum.live.maturity import Maturity
from latesum.live.recording import Recorded, Row, judge
from latesum.live.settings import Settings
from latesum.live.store import Writer

#: What fits the stores' column; there is no later bucket anyway.
_LARGEST_BUCKET = 2**31 - 1
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
    """

    def __init__(
        self, settings: Settings, writer: Writer, now: datetime, pages: dict[int, Page]
    ) -> None:
        self.settings = settings
        self.writer = writer
        self.now = now
        self.pages = pages

    def look_ahead(self, rows: Iterable[Row]) -> None:
        """Read at once what will be looked at: the rows' buckets, and after numbered ones the next."""
        numbers: set[int] = set()
        for row in rows:
            with contextlib.suppress(InvalidInput, OverflowError):  # refused later, in its turn
                number = self.settings.buckets.number(row.bucket)
                if 1 <= number < _LARGEST_BUCKET:
                    numbers |= {number} if self.settings.buckets.timed else {number, number + 1}
        unread = sorted(numbers - self.pages.keys())
        for start in range(0, len(unread), _MOST_AT_ONCE):
            self._read(unread[start : start + _MOST_AT_ONCE])

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

    def _decided_page(self, bucket: int) -> Page:
        """The page of a bucket; buckets that merely were not asked for are decided now."""
        page = self._page(bucket)
        if page.decision is not None:
            return page
        buckets = self.settings.buckets
        last = self.writer.last_decided() if buckets.timed else None
        if (
            last is None
            or last.bucket is None
            or not last.bucket < bucket < buckets.number(self.now)
        ):
            return page
        if any(entry.kind == "finish" for entry in self.writer.log(last.sequence)):
            return page
        before = decision_of(last, self.settings.options)
        for missed in range(last.bucket + 1, bucket + 1):
            body = carry(before).body(buckets.label(missed), before)
            entry = self.writer.append(self.now, "decision", missed, body)
            self._take(entry)
            before = decision_of(entry, self.settings.options)
        return self._page(bucket)

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
