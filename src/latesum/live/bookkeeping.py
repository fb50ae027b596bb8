"""Writing down what somebody says about buckets, in one transaction."""

from __future__ import annotations

from datetime import datetime

from latesum.live.deciding import carry
from latesum.live.ledger import Entry, Ledger, Value, Verdict, decision_of
from latesum.live.maturity import Maturity
from latesum.live.recording import Recorded, Row, judge
from latesum.live.settings import Settings
from latesum.live.store import Writer


class Bookkeeper:
    """Records rows one by one. It looks at the rows' buckets alone: a long log costs no time."""

    def __init__(self, settings: Settings, writer: Writer, now: datetime) -> None:
        self.settings = settings
        self.writer = writer
        self.now = now

    def record(self, row: Row, by: str | None, allowed: dict[str, bool]) -> Recorded:
        """Judge a checked row, write down what it changes, and say what became of it."""
        buckets = self.settings.buckets
        bucket = buckets.number(row.bucket)
        label = buckets.label(bucket)
        entries = self._entries_of(bucket)
        if entries is None:
            return Recorded(
                bucket, label, "unknown bucket", note=why_unknown(self.settings, bucket, self.now)
            )
        ledger = Ledger(self.settings.options)
        value = ledger.values[bucket] = Value()
        for entry in entries:
            if entry.kind == "decision":
                ledger.decisions[bucket] = decision_of(entry, self.settings.options)
            else:
                value.take(entry.at, entry.body)
        if not buckets.timed:
            for entry in self.writer.of_bucket(bucket + 1):
                if entry.kind == "decision":
                    ledger.decisions[bucket + 1] = decision_of(entry, self.settings.options)
        maturity = Maturity(self.settings, ledger, self.now)
        decided = ledger.decisions[bucket].arm
        verdict, body = judge(row, bucket, decided, value, maturity, **allowed)
        if body is not None:
            self.writer.append(
                self.now, "record", bucket, body if by is None else {**body, "by": by}
            )
        marks = ("negative",) if row.total is not None and row.total < 0 else ()
        return Recorded(bucket, label, verdict, marks, _note(verdict, label, value))

    def _entries_of(self, bucket: int) -> list[Entry] | None:
        """The entries of a decided bucket; buckets that merely were not asked for are decided now."""
        entries = self.writer.of_bucket(bucket) if bucket >= 1 else []
        if any(entry.kind == "decision" for entry in entries):
            return entries
        buckets = self.settings.buckets
        last = self.writer.last_decided() if buckets.timed else None
        if (
            last is None
            or last.bucket is None
            or not last.bucket < bucket < buckets.number(self.now)
        ):
            return None
        if any(entry.kind == "finish" for entry in self.writer.log(last.sequence)):
            return None
        decision = decision_of(last, self.settings.options)
        for missed in range(last.bucket + 1, bucket + 1):
            body = carry(decision).body(buckets.label(missed))
            self.writer.append(self.now, "decision", missed, body)
        return self.writer.of_bucket(bucket)


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
