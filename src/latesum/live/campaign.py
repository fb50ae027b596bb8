"""A campaign: what to show in each bucket, from totals that come late."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, overload

from latesum._checks import InvalidInput, whole_number
from latesum.errors import BadRows
from latesum.live.acts import Acted, OperatorAct
from latesum.live.batches import CheckWanted, always_wanted
from latesum.live.buckets import When
from latesum.live.caches import LedgerCache, ReplayCache
from latesum.live.deciding import (
    Choice,
    bucket_to_decide,
    carry,
    check_next,
    choose,
    final_decision,
    told_plays,
)
from latesum.live.ledger import Decision, Entry, Ledger, decision_of
from latesum.live.maturity import Maturity
from latesum.live.recorder import BucketState, Recorder, check_gap, why_unknown
from latesum.live.rules import check_rules
from latesum.live.settings import Settings
from latesum.live.store import Store, Stored, Writer
from latesum.live.verdicts import Allowed, CheckedRow, Recorded, Refusal, Row, check_rows
from latesum.live.warnings import learning_stopped
from latesum.policies import Estimate, Policy

if TYPE_CHECKING:
    from latesum.live.status import Status

Clock = Callable[[], datetime]
#: Buckets whose state is kept between two transactions.
_MOST_STATES = 2000
#: Rows that are judged within the transaction that writes them; more are judged before.
_FEW_ROWS = 100


def system_clock() -> datetime:
    """The time now.

    >>> system_clock().tzname()
    'UTC'
    """
    return datetime.now(UTC)


class _States(NamedTuple):
    """What the log says about some buckets up to its entry `newest`."""

    states: dict[int, BucketState]
    newest: Entry | None


class Campaign:
    """Decides which option to show in each bucket, and keeps a log of everything.

    Many processes may have the same campaign open; what one writes, all see.

    Args:
        store: The database.
        stored: The campaign as the database has it. `create` and `open` find it.
        clock: What time it is.
        owns_store: Whether `close` closes the store.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> campaign = Campaign.create(
    ...     name="banner", options=["red", "blue"], every="number", expected_rounds=1000,
    ...     time_basis="arrival", policy="odaaf",
    ...     parameters={"horizon": 90_000, "mean_delay": 100},
    ...     store=folder.name + "/campaigns.db",
    ... )
    >>> campaign.decide().option
    'red'
    >>> campaign.record(1, rounds=1004, total=312).verdict
    'new'
    >>> campaign.record(1, rounds=1004, total=312).verdict
    'same'
    >>> campaign.close(); folder.cleanup()
    """

    def __init__(self, store: Store, stored: Stored, clock: Clock, *, owns_store: bool) -> None:
        self.store = store
        self.stored = stored
        self.clock = clock
        self.settings = Settings.from_json(stored.settings)
        self._owns_store = owns_store
        self._lock = threading.RLock()
        self._states: _States | None = None
        self._ledgers = LedgerCache(store, stored.id, self.settings.options)
        self._replays = ReplayCache(self.settings.build_policy())

    @classmethod
    def create(
        cls,
        settings: Settings | None = None,
        /,
        *,
        store: Store | str | Path | None = None,
        clock: Clock = system_clock,
        **given: Any,
    ) -> Self:
        """Set up a campaign.

        Args:
            settings: What it is set up with; `latesum.live.settings.Settings` says what each field means.
            store: Where it is kept: a path, an address or an open store.
            clock: What time it is.
            given: The fields of the settings, in place of `settings`. Timed buckets start now, unless
                a `start` is given.
        """
        if settings is None:
            settings = Settings.read(given, now=clock())
        elif given:
            raise InvalidInput("give the settings, or their fields, and not both.")
        opened, owns = _opened(store)
        stored = opened.create(settings.name, settings.to_json(), clock())
        return cls(opened, stored, clock, owns_store=owns)

    @classmethod
    def open(
        cls, name: str, *, store: Store | str | Path | None = None, clock: Clock = system_clock
    ) -> Self:
        """Open the campaign of this name.

        Args:
            name: The campaign's name.
            store: Where it is kept: a path, an address or an open store.
            clock: What time it is.
        """
        opened, owns = _opened(store)
        return cls(opened, opened.find(name), clock, owns_store=owns)

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self.settings.name

    def close(self) -> None:
        """Let go of the store, if this campaign opened it."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Deciding.

    def decide(self, when: When | None = None) -> Decision:
        """The option for a bucket: taken once, and the same whenever it is asked for again.

        Args:
            when: The bucket: a number, a date or a time. By default it is the bucket of now; of
                numbered ones the last, until something is recorded for it, and then the next.
        """
        with self._lock:
            now = self.clock()
            if when is not None:
                found = self.store.decision(self.stored.id, self.settings.buckets.number(when))
                if found is not None:
                    return decision_of(found, self.settings.options)
            ledger = self._ledgers.refresh()
            bucket = bucket_to_decide(self.settings, ledger, when, now)
            if bucket in ledger.decisions:
                return ledger.decisions[bucket]
            if ledger.finished is not None:
                return final_decision(self.settings, ledger, bucket)
            choose(self.settings, ledger, self._replays, bucket, now)  # the long part, unlocked
            with self._ledgers.writing() as (writer, ledger):
                if ledger.finished is not None:
                    return final_decision(self.settings, ledger, bucket)
                self._carry_up_to(bucket, now, writer, ledger)
                if bucket not in ledger.decisions:
                    check_next(self.settings, ledger, bucket)
                    choice = choose(self.settings, ledger, self._replays, bucket, now)
                    self._write_decision(bucket, choice, now, writer, ledger)
                return ledger.decisions[bucket]

    def _carry_up_to(self, bucket: int, now: datetime, writer: Writer, ledger: Ledger) -> None:
        """No one asked for some buckets before this one: what ran before went on."""
        last = ledger.last
        if last is None or not self.settings.buckets.timed:
            return
        check_gap(bucket - last)
        for missed in range(last + 1, bucket):
            choice = carry(ledger.decisions[missed - 1])
            self._write_decision(missed, choice, now, writer, ledger)

    def _write_decision(
        self, bucket: int, choice: Choice, now: datetime, writer: Writer, ledger: Ledger
    ) -> None:
        before = ledger.decisions.get(bucket - 1)
        body = choice.body(self.settings.buckets.label(bucket), before)
        ledger.take(writer.append(now, "decision", bucket, body))

    # Recording.

    def record(
        self,
        bucket: When,
        *,
        rounds: int | None = None,
        total: float | None = None,
        status: str | None = None,
        shown: str | None = None,
        by: str | None = None,
        even_if_final: bool = False,
        beyond_range: bool = False,
    ) -> Recorded:
        """Set the rounds and the total of a bucket, apart or together.

        Sent twice it changes nothing; another value is a revision.

        Args:
            bucket: The bucket: a number, a date or a time.
            rounds: Its rounds.
            total: Its total.
            status: "provisional", "final" or "missing" (it will never be known; that is not zero).
            shown: What was really shown, where that is not what was decided.
            by: Who reports it.
            even_if_final: Whether a final value may be changed.
            beyond_range: Whether a total may lie outside its range.
        """
        allowed = Allowed(even_if_final, beyond_range)
        row = Row(bucket, rounds, total, status, shown, by, allowed)
        try:
            return self.record_many([row])[0].accepted()
        except BadRows as bad:
            raise bad.problems[0][1] from None

    @overload
    def record_many(
        self,
        rows: Sequence[Row | CheckedRow],
        *,
        dry_run: bool = False,
        check_wanted: CheckWanted = always_wanted,
    ) -> list[Recorded]: ...

    @overload
    def record_many(
        self, rows: Sequence[Row | CheckedRow], *, each_alone: Literal[True]
    ) -> list[Recorded | Refusal]: ...

    def record_many(
        self,
        rows: Sequence[Row | CheckedRow],
        *,
        each_alone: bool = False,
        dry_run: bool = False,
        check_wanted: CheckWanted = always_wanted,
    ) -> Sequence[Recorded | Refusal]:
        """Record many rows in one transaction, with a verdict for each.

        If a row stops it (`Recorded.stops`), nothing is recorded; the verdicts say which. Bad
        values raise `BadRows`, and nothing is recorded either.

        Args:
            rows: What is reported, by whom, and what each row may do.
            each_alone: Record every row that can be recorded, whatever becomes of the others. A refusal
                is in the place of the verdict.
            dry_run: Write nothing; the verdicts say what would be.
            check_wanted: Called between rows; what it raises ends it all, and nothing is written.
        """
        checked = check_rows(rows, self.settings, check_wanted)
        now = self.clock()
        results: Sequence[Recorded | Refusal] = []
        drafted: Recorder | None = None
        if not each_alone and (dry_run or len(rows) > _FEW_ROWS):
            # To judge many rows takes long: decisions and other records must not wait for it.
            with self.store.drafting(self.stored.id) as draft:
                drafted = Recorder(self.settings, draft, now, states={})
                results = drafted.record_all(checked, check_wanted)
            if dry_run or not draft.appended or _stopped(rows, results):
                return results
        with self._lock:
            before, self._states = self._states, None
            states = None
            with (
                contextlib.suppress(_NothingIsWritten),
                self.store.writing(self.stored.id) as writer,
            ):
                if drafted is None or not drafted.move_to(writer):
                    # The states still hold if the log ends with the same entry as after them.
                    holds = before is not None and before.newest == writer.newest()
                    known = before.states if before is not None and holds else {}
                    recorder = Recorder(self.settings, writer, now, known)
                    if each_alone:
                        results = list(recorder.record_each(checked))
                    else:
                        results = recorder.record_all(checked, check_wanted)
                        if _stopped(rows, results):
                            raise _NothingIsWritten
                    states = _States(recorder.states, writer.newest())
            if states is not None and len(states.states) <= _MOST_STATES:
                self._states = states
        return results

    # What operators do (`latesum.live.acts`).

    def hold(self, *, who: str, why: str, key: str | None = None) -> Acted:
        """Keep showing the present option until `resume`.

        Args:
            who: Who does it.
            why: The reason.
            key: Under one key an act happens once, however often it is sent.
        """
        return self._act(OperatorAct.read("hold", who, why, key))

    def resume(self, *, who: str, why: str, key: str | None = None) -> Acted:
        """Let the policy decide again: end a hold, and an override that is not over.

        Args:
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        return self._act(OperatorAct.read("resume", who, why, key))

    def override(
        self, option: str, *, buckets: int = 1, who: str, why: str, key: str | None = None
    ) -> Acted:
        """Show this option in the next buckets that are decided.

        Args:
            option: The option.
            buckets: The number of buckets.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        arm = self.settings.option(option)
        count = whole_number(buckets, "the number of buckets", at_least=1)
        return self._act(OperatorAct.read("override", who, why, key, option=arm, buckets=count))

    def drop(self, option: str, *, who: str, why: str, key: str | None = None) -> Acted:
        """Take an option away; it cannot come back.

        Args:
            option: The option.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        return self._act(
            OperatorAct.read("drop", who, why, key, option=self.settings.option(option))
        )

    def finish(
        self, option: str | None = None, *, who: str, why: str, key: str | None = None
    ) -> Acted:
        """End the campaign. From now on `decide` answers `option`, by default the best so far.

        Args:
            option: The option to show from now on.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        arm = self.leading() if option is None else self.settings.option(option)
        act = OperatorAct.read("finish", who, why, key, option=arm)
        return self._act(act._replace(any_option=option is None))

    def _act(self, act: OperatorAct) -> Acted:
        with self._lock, self._ledgers.writing() as (writer, ledger):
            return act.write(self.settings, writer, ledger, self.clock())

    # Looking.

    def policy(self) -> Policy:
        """The policy as it stands now, told everything that is known."""
        with self._lock:
            ledger = self._ledgers.refresh()
            return self._replays.after(told_plays(self.settings, ledger, self.clock())).copy()

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """What is believed of each option, per round in the campaign's own unit.

        Args:
            level: The confidence level of the intervals.
        """
        rescale = self.settings.per_round
        return [
            each._replace(
                mean=None if each.mean is None else rescale(each.mean),
                low=rescale(each.low),
                high=rescale(each.high),
            )
            for each in self.policy().estimates(level)
        ]

    def leading(self) -> int:
        """The option that looks best now, of those that may still be shown."""
        rows = [each for each in self.policy().estimates() if each.arm not in self.ledger().dropped]
        known = [each for each in rows if each.mean is not None and each.active]
        known = known or [each for each in rows if each.mean is not None]
        if not known:
            last = self.ledger().last
            return rows[0].arm if last is None else self.ledger().decisions[last].arm
        return max(known, key=lambda each: each.mean or 0.0).arm

    def explain(self, bucket: When | None = None) -> list[str]:
        """Why things are as they are: now, or when the decision for a bucket was taken.

        Args:
            bucket: The bucket, if not now.
        """
        with self._lock:
            ledger = self._ledgers.refresh()
            if bucket is None:
                return self.policy().explain()
            number = self.settings.buckets.number(bucket)
            if number not in ledger.decisions:
                raise InvalidInput(why_unknown(self.settings, number, self.clock()))
            decision = ledger.decisions[number]
            assert decision.sequence is not None
            earlier = self.ledger_before(decision.sequence)
            check_rules(decision.rules)
            told = told_plays(self.settings, earlier, decision.at, number, decision.rules)
            findings = ReplayCache(self.settings.build_policy()).after(told).findings()
            return [*findings, f"{decision.label}: {decision.option}. {decision.reason}"]

    def status(self, level: float = 0.95) -> Status:
        """Everything that a page about the campaign shows.

        Args:
            level: The confidence level of the intervals.
        """
        from latesum.live.status import make_status

        with self._lock:
            return make_status(self, level)

    def alarm(self) -> str | None:
        """A sentence that says that the campaign learns nothing, and what to do; None if it learns."""
        with self._lock:
            ledger = self._ledgers.refresh()
            maturity = Maturity(self.settings, ledger, self.clock())
            return learning_stopped(self.settings, ledger, maturity)

    def history(self) -> list[Entry]:
        """The whole log, oldest entry first."""
        return self.store.log(self.stored.id)

    def ledger(self) -> Ledger:
        """What the log adds up to now."""
        with self._lock:
            return self._ledgers.refresh()

    def ledger_before(self, sequence: int) -> Ledger:
        """What the log added up to before one of its entries.

        Args:
            sequence: The entry's place in the log.
        """
        ledger = Ledger(self.settings.options)
        for entry in self.history():
            if entry.sequence >= sequence:
                break
            ledger.take(entry)
        return ledger


class _NothingIsWritten(Exception):
    """Leave a write transaction without a trace."""


def _stopped(rows: Sequence[Row | CheckedRow], results: Sequence[Recorded | Refusal]) -> bool:
    return any(
        isinstance(result, Recorded) and result.stops(row.allowed)
        for row, result in zip(rows, results, strict=True)
    )


def _opened(store: Store | str | Path | None) -> tuple[Store, bool]:
    return (store, False) if isinstance(store, Store) else (Store(store), True)
