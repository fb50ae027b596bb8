"""A campaign: what to show in each bucket, from totals that come late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from latesum._checks import InvalidInput
from latesum.live.bookkeeping import Bookkeeper, why_unknown
from latesum.live.buckets import When
from latesum.live.deciding import Choice, Planner, carry, choose, told_plays
from latesum.live.following import Follower
from latesum.live.ledger import Decision, Entry, Ledger, decision_of
from latesum.live.operators import Operated
from latesum.live.recording import Conflicting, Recorded, Row, UnknownBucket, check_row
from latesum.live.settings import Settings, make_settings
from latesum.live.store import Store, Stored, Writer
from latesum.policies import Estimate, Policy

if TYPE_CHECKING:
    from latesum.live.status import Status

Clock = Callable[[], datetime]
#: Buckets that nobody asked for are filled in by as many at most; more look like a wrong clock.
_LONGEST_GAP = 100_000


def system_clock() -> datetime:
    """The time now."""
    return datetime.now(UTC)


class Campaign(Operated):
    """Decides which option to show in each bucket, and keeps a log of everything.

    Many processes may have the same campaign open; what one writes, all see.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> campaign = Campaign.create(
    ...     "banner", ["red", "blue"], "odaaf", {"horizon": 90_000, "mean_delay": 100},
    ...     every="number", expected_rounds=1000, time_basis="arrival",
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
        self._follower = Follower(store, stored.id, self.settings.options)
        self._planner = Planner(self.settings.build_policy())

    @classmethod
    def create(
        cls,
        name: str,
        options: Sequence[str],
        policy: str,
        parameters: Mapping[str, Any],
        *,
        every: str,
        expected_rounds: int,
        time_basis: str | None = None,
        zone: str = "UTC",
        start: str | date | None = None,
        range: tuple[float, float] = (0.0, 1.0),
        unit: str = "successes",
        usable_after: str | timedelta = timedelta(0),
        lateness: str | timedelta | None = None,
        fills_up: Mapping[str, float] | str | None = None,
        align: str | int | None = None,
        seed: int | None = None,
        store: Store | str | Path | None = None,
        clock: Clock = system_clock,
    ) -> Self:
        """Set up a campaign.

        `policy` and `parameters` are as in `latesum.policies.registry.build`; the horizon and delays
        may be given in time ("90 days") or in buckets, and become rounds by `expected_rounds`.
        `every` is "hour", "day", "week" (in the time zone `zone`, from the local date or time
        `start` on; by default today) or "number". `time_basis` says whether a total holds
        what *arrived* in its bucket (it should) or what was decided in it. `range` is the least and
        the most that one round can bring. A total counts as known once its newest value is
        `usable_after` old; one that comes more than `lateness` after its bucket's end is kept but
        not used. `fills_up` says which share of a total is in at which age, {"1 day": 0.6,
        "7 days": 1}, or "fit 7 days" to fit that to the campaign's own totals. `align` is
        "week", or a number of buckets, for stretches of whole weeks.
        """
        if start is None and every != "number":
            start = clock().isoformat()
        settings = make_settings(
            name, options, policy, parameters, every=every, expected_rounds=expected_rounds,
            time_basis=time_basis, zone=zone, start=start, range=range, unit=unit,
            usable_after=usable_after, lateness=lateness, fills_up=fills_up, align=align, seed=seed,
        )  # fmt: skip
        opened, owns = _opened(store)
        stored = opened.create(settings.name, settings.to_json(), clock())
        return cls(opened, stored, clock, owns_store=owns)

    @classmethod
    def open(
        cls, name: str, *, store: Store | str | Path | None = None, clock: Clock = system_clock
    ) -> Self:
        """Open the campaign of this name."""
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
        """The option for a bucket: taken once, and the same for whoever asks again.

        Without `when` it is the bucket of now; of numbered ones the last, until something is
        recorded for it, and then the next.
        """
        with self._lock:
            now = self.clock()
            if when is not None:
                found = self.store.decision(self.stored.id, self.settings.buckets.number(when))
                if found is not None:
                    return decision_of(found, self.settings.options)
            ledger = self._follower.refresh()
            bucket = self._bucket(when, now, ledger)
            if bucket in ledger.decisions:
                return ledger.decisions[bucket]
            if ledger.finished is not None:
                return self._final(bucket, ledger)
            choose(self.settings, ledger, self._planner, bucket, now)  # the long part, unlocked
            with self._follower.writing() as (writer, ledger):
                if ledger.finished is not None:
                    return self._final(bucket, ledger)
                self._carry_up_to(bucket, now, writer, ledger)
                if bucket not in ledger.decisions:
                    self._check_next(bucket, ledger)
                    choice = choose(self.settings, ledger, self._planner, bucket, now)
                    self._write_decision(bucket, choice, now, writer, ledger)
                return ledger.decisions[bucket]

    def _bucket(self, when: When | None, now: datetime, ledger: Ledger) -> int:
        buckets = self.settings.buckets
        if when is not None:
            bucket = buckets.number(when)
        elif buckets.timed:
            bucket = buckets.number(now)
        elif ledger.last is None:
            bucket = 1
        else:
            bucket = ledger.last + (1 if ledger.value(ledger.last).recorded else 0)
        first = ledger.first or 1
        if bucket < first:
            raise InvalidInput(
                f"the campaign begins with {buckets.label(first)}; "
                f"{buckets.label(bucket)} is before it."
            )
        if buckets.timed and bucket > buckets.number(now) + 1:
            raise InvalidInput(
                f"{buckets.label(bucket)} is too far ahead to decide on: at most the "
                f"{buckets.every} after the present one, {buckets.label(buckets.number(now) + 1)}."
            )
        self._check_next(bucket, ledger)
        return bucket

    def _check_next(self, bucket: int, ledger: Ledger) -> None:
        if not self.settings.buckets.timed and bucket > (ledger.last or 0) + 1:
            raise InvalidInput(
                f"bucket {bucket} cannot be decided yet; the next one is {(ledger.last or 0) + 1}."
            )

    def _carry_up_to(self, bucket: int, now: datetime, writer: Writer, ledger: Ledger) -> None:
        """Nobody asked for some buckets before this one: what ran before went on."""
        last = ledger.last
        if last is None or not self.settings.buckets.timed:
            return
        if bucket - last > _LONGEST_GAP:
            raise InvalidInput(
                f"{bucket - last:,} buckets have passed since the last decision; is the clock right?"
            )
        for missed in range(last + 1, bucket):
            choice = carry(ledger.decisions[missed - 1])
            self._write_decision(missed, choice, now, writer, ledger)

    def _write_decision(
        self, bucket: int, choice: Choice, now: datetime, writer: Writer, ledger: Ledger
    ) -> None:
        body = choice.body(self.settings.buckets.label(bucket))
        ledger.take(writer.append(now, "decision", bucket, body))

    def _final(self, bucket: int, ledger: Ledger) -> Decision:
        assert ledger.finished is not None
        arm = ledger.finished.body["option"]
        label = self.settings.buckets.label(bucket)
        reason = f"The campaign is finished: {ledger.finished.body['why']}"
        return Decision(
            bucket, label, self.settings.options[arm], arm, "commit", "finished", None, reason,
            ledger.finished.at, None,
        )  # fmt: skip

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

        Sent twice it changes nothing; another value is a revision. `status` is "provisional",
        "final" or "missing" (it will never be known; that is not zero); `shown` says what was
        really shown where that is not what was decided. A final value stands, unless
        `even_if_final`; a total outside its range is refused, unless `beyond_range`.
        """
        row = Row(bucket, rounds, total, status, shown)
        result = self.record_many(
            [row], by=by, even_if_final=even_if_final, beyond_range=beyond_range
        )[0]
        if result.verdict == "unknown bucket":
            raise UnknownBucket(result.note)
        if result.verdict == "conflicting":
            raise Conflicting(result.note)
        return result

    def record_many(
        self,
        rows: Iterable[Row],
        *,
        by: str | None = None,
        even_if_final: bool = False,
        beyond_range: bool = False,
        skip_unknown: bool = False,
        dry_run: bool = False,
    ) -> list[Recorded]:
        """Record many rows at once, all or none, with a verdict for each.

        If a row is conflicting, or of an unknown bucket (unless `skip_unknown`), nothing is
        recorded; the verdicts say which. Bad values raise before anything is written.
        """
        checked = [check_row(row, self.settings) for row in rows]
        now = self.clock()
        allowed = {"even_if_final": even_if_final, "beyond_range": beyond_range}
        results: list[Recorded] = []
        with self._lock:
            try:
                with self.store.writing(self.stored.id) as writer:
                    keeper = Bookkeeper(self.settings, writer, now, pages={})
                    keeper.look_ahead(checked)
                    results = [keeper.record(row, by, allowed) for row in checked]
                    refused = ["conflicting"] if skip_unknown else ["conflicting", "unknown bucket"]
                    if dry_run or any(result.verdict in refused for result in results):
                        raise _NothingIsWritten
            except _NothingIsWritten:
                pass
        return results

    # Looking.

    def policy(self) -> Policy:
        """The policy as it stands now, told everything that is known."""
        with self._lock:
            ledger = self._follower.refresh()
            return self._planner.after(told_plays(self.settings, ledger, self.clock())).copy()

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """What is believed of each option, per round in the campaign's own unit."""
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
        """Why things are as they are: now, or when the decision for a bucket was taken."""
        with self._lock:
            ledger = self._follower.refresh()
            if bucket is None:
                return self.policy().explain()
            number = self.settings.buckets.number(bucket)
            if number not in ledger.decisions:
                raise InvalidInput(why_unknown(self.settings, number, self.clock()))
            decision = ledger.decisions[number]
            assert decision.sequence is not None
            earlier = self.ledger_before(decision.sequence)
            told = told_plays(self.settings, earlier, decision.at, number)
            findings = Planner(self.settings.build_policy()).after(told).findings()
            return [*findings, f"{decision.label}: {decision.option}. {decision.reason}"]

    def status(self, level: float = 0.95) -> Status:
        """Everything that a page about the campaign shows."""
        from latesum.live.status import make_status

        with self._lock:
            return make_status(self, level)

    def history(self) -> list[Entry]:
        """The whole log, oldest entry first."""
        return self.store.log(self.stored.id)

    def ledger(self) -> Ledger:
        """What the log adds up to now."""
        with self._lock:
            return self._follower.refresh()

    def ledger_before(self, sequence: int) -> Ledger:
        """What the log added up to before one of its entries."""
        ledger = Ledger(self.settings.options)
        for entry in self.history():
            if entry.sequence >= sequence:
                break
            ledger.take(entry)
        return ledger

    # Following the log.

    def _write_act(self, kind: str, check: Callable[[Ledger], None], body: dict[str, Any]) -> None:
        with self._lock, self._follower.writing() as (writer, ledger):
            check(ledger)
            ledger.take(writer.append(self.clock(), kind, None, body))


class _NothingIsWritten(Exception):
    """Leave a write transaction without a trace."""


def _opened(store: Store | str | Path | None) -> tuple[Store, bool]:
    return (store, False) if isinstance(store, Store) else (Store(store), True)
