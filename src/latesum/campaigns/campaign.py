"""A campaign: what to show in each bucket, from totals that come late."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from latesum._checks import InvalidInput, shortened
from latesum.campaigns.actions import ActionResult, perform, read_arguments, read_user_and_reason
from latesum.campaigns.buckets import When
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import (
    Replay,
    bucket_to_decide,
    carry,
    check_gap,
    decide,
    final_decision,
    plays_at,
)
from latesum.campaigns.health import Finding, find_health
from latesum.campaigns.recording import Recorded, Recorder, why_unknown
from latesum.campaigns.state import CampaignState, Decision, Event, fold
from latesum.campaigns.store import Store, Stored, Writer
from latesum.errors import BadRows, NotPossible
from latesum.files import FileForm
from latesum.files.totals import Row
from latesum.policies import Estimate, Policy

if TYPE_CHECKING:
    from latesum.campaigns.knowledge import Knowledge
    from latesum.campaigns.view import Status
    from latesum.files.written import TableOut

Clock = Callable[[], datetime]
#: Characters of a refusal that are kept.
_MAX_PROBLEM = 300


def system_clock() -> datetime:
    """The time now.

    >>> system_clock().tzname()
    'UTC'
    """
    return datetime.now(UTC)


class Campaign:
    """Decides which option to show in each bucket, and keeps a log of everything.

    Many processes may have the same campaign open; what one writes, all see. `create` and `open`
    make one.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> campaign = Campaign.create(
    ...     name="banner", options=["red", "blue"], start="2026-03-01", expected_rounds=1000,
    ...     time_basis="arrival", policy="odaaf",
    ...     parameters={"horizon": 90_000, "mean_delay": 100},
    ...     store=folder.name + "/campaigns.db",
    ... )
    >>> campaign.decide("2026-03-01").option
    'red'
    >>> campaign.record("2026-03-01", rounds=1004, total=312).verdict
    'new'
    >>> campaign.record("2026-03-01", rounds=1004, total=312).verdict
    'same'
    >>> campaign.close(); folder.cleanup()
    """

    def __init__(self, store: Store, stored: Stored, clock: Clock, *, owns_store: bool) -> None:
        self.store, self.stored, self.clock = store, stored, clock
        self.first_config = CampaignConfig.from_json(store.config(stored.id))
        #: What it is set up with, as far as this process knows; `state` asks the store.
        self.config = self.first_config
        self._owns_store = owns_store
        self._lock = threading.RLock()
        #: What the log adds up to, as far as it was read; and while it must stay as it is.
        self._state = CampaignState(self.first_config)
        self._reading: CampaignState | None = None
        self._replay = Replay()

    @classmethod
    def create(
        cls,
        config: CampaignConfig | None = None,
        /,
        *,
        store: Store | str | Path | None = None,
        clock: Clock = system_clock,
        **given: Any,
    ) -> Self:
        """Set up a campaign.

        Args:
            config: What it is set up with; `latesum.campaigns.config.CampaignConfig` says what
                each field means.
            store: Where it is kept: a path, an address or an open store.
            clock: What time it is.
            given: The fields of the configuration, in place of `config`. It starts now,
                unless a `start` is given.
        """
        if config is None:
            config = CampaignConfig.read(given, now=clock())
        elif given:
            raise InvalidInput("give the configuration, or its fields, and not both.")
        opened = store if isinstance(store, Store) else Store(store)
        stored = opened.create(config.name, config.to_json(), clock())
        return cls(opened, stored, clock, owns_store=opened is not store)

    @classmethod
    def open(
        cls, name: str, *, store: Store | str | Path | None = None, clock: Clock = system_clock
    ) -> Self:
        """Open the campaign of this name; `store` and `clock` are as for `create`."""
        opened = store if isinstance(store, Store) else Store(store)
        return cls(opened, opened.find(name), clock, owns_store=opened is not store)

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self.config.name

    def close(self) -> None:
        """Let go of the store, if this campaign opened it."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The log, which other processes write to as well, and what it adds up to.

    def _catch_up(self, read: Callable[[int], list[Event]]) -> CampaignState:
        """Take in what is new. The newest event is read again: is this still the log we know?"""
        known = self._state.newest
        events = read(0 if known is None else known.sequence - 1)
        if known is not None and events[:1] == [known]:
            del events[0]
        elif known is not None:  # the database was put back to an earlier state
            self._state, events = fold(self.first_config, read(0)), []
        # Until all is taken in there is no state: one with a part of an event would be believed.
        state, self._state = self._state, CampaignState(self.first_config)
        for event in events:
            state.apply(event)
        self._state, self.config = state, state.config
        return state

    @contextlib.contextmanager
    def _writing(self) -> Iterator[tuple[Writer, CampaignState]]:
        """A write transaction in which the state is that of the store, up to the last event."""
        with self._lock:
            seen = self._state.newest
            try:
                with self.store.writing(self.stored.id) as writer:
                    state = self._catch_up(writer.log)
                    seen = state.newest
                    yield writer, state
            except BaseException:
                if self._state.newest is not seen:  # it may hold events that were never written
                    self._state = CampaignState(self.first_config)
                raise

    @contextlib.contextmanager
    def _one_reading(self) -> Iterator[CampaignState]:
        """What the log adds up to, read once for all that is looked up within the block.

        Another process may rename an option between two readings; an answer must not mix both.
        """
        with self._lock:
            if self._reading is not None:
                yield self._reading
                return
            state = self._catch_up(lambda after: self.store.log(self.stored.id, after))
            if state.newest is None:
                self.store.head(self.stored.id)  # refused if it was deleted
            self._reading = state
            try:
                yield state
            finally:
                self._reading = None

    def state(self) -> CampaignState:
        """What the log adds up to now."""
        with self._one_reading() as state:
            return state

    def history(self) -> list[Event]:
        """The whole log, oldest event first."""
        return self.store.log(self.stored.id)

    # Deciding.

    def decide(self, when: When | None = None, *, region: str = "") -> Decision:
        """The option for a bucket: taken once, and the same whenever it is asked for again.

        Args:
            when: The bucket: a number, a date or a time. By default the bucket of now.
            region: The region, in a campaign that has some; `decide_all` answers for all of them.
        """
        region = self.config.region(region or None)
        return self.decide_all(when)[region]

    def decide_all(self, when: When | None = None) -> dict[str, Decision]:
        """The option for a bucket in every region, as `decide` takes it.

        A campaign without regions has one without a name.
        """
        with self._lock:
            now, state = self.clock(), self.state()
            if when is not None and (taken := state.taken(state.config.buckets.number(when))):
                return taken
            bucket = bucket_to_decide(state, when, now)
            if taken := state.taken(bucket):
                return taken
            lasts = [part.last for part in state.parts.values()]
            missed = any(last is not None and last < bucket - 1 for last in lasts)
            if missed and state.finished is None:
                with self._writing() as (writer, state):
                    self._carry_up_to(bucket, now, writer, state)
            if state.finished is None:
                seen, choices = state.newest, decide(state, bucket, now, self._replay)  # takes long
                with self._writing() as (writer, state):
                    if state.finished is None:
                        if state.newest != seen:  # another process was faster, or wrote otherwise
                            self._carry_up_to(bucket, now, writer, state)
                            choices = decide(state, bucket, now, self._replay)
                        for region, part in state.parts.items():
                            if bucket not in part.decisions:
                                state.write(writer.append, choices[region])
                        return state.taken(bucket)
            return {region: final_decision(state, bucket, region) for region in state.parts}

    def _carry_up_to(
        self, bucket: int, now: datetime, writer: Writer, state: CampaignState
    ) -> None:
        """Buckets before this one were not asked for: the last option is assumed to have stayed."""
        if state.finished is not None:
            return
        for part in state.parts.values():
            if part.last is not None:
                check_gap(bucket - part.last)
                for missed in range(part.last + 1, bucket):
                    state.write(writer.append, carry(part, missed, now))

    # Recording.

    def record(
        self,
        bucket: When,
        *,
        rounds: int | None = None,
        total: float | None = None,
        status: str | None = None,
        shown: str | None = None,
        region: str | None = None,
        **how: Any,
    ) -> Recorded:
        """Set the rounds and the total of a bucket, apart or together.

        Sent twice it changes nothing; another value is a revision.

        Args:
            bucket: The bucket: a number, a date or a time.
            rounds: Its rounds.
            total: Its total.
            status: "provisional", "final" or "missing" (it will never be known; that is not zero).
            shown: What was really shown, where that is not what was decided.
            region: The region, in a campaign that has some.
            how: As for `record_many`: `by`, `reason`, `overwrite_final`, `allow_out_of_range`.
        """
        try:
            row = Row(bucket, rounds, total, status, shown, region)
            return self.record_many([row], **how)[0].accepted()
        except BadRows as bad:
            raise bad.problems[0][1] from None

    def record_many(
        self,
        rows: Iterable[Row | Mapping[str, Any]],
        *,
        skip_unknown: bool = False,
        dry_run: bool = False,
        **how: Any,
    ) -> list[Recorded]:
        """Record many rows in one transaction, with a verdict for each.

        If a row stops it (`Recorded.stops`), nothing is recorded; the verdicts say which. Bad
        values raise `BadRows`, and nothing is recorded either.

        Args:
            rows: What is reported: a `Row`, or its fields by name.
            skip_unknown: Whether rows of unknown buckets are left out, and do not stop the others.
            dry_run: Write nothing; the verdicts say what would be.
            how: `by` and `reason`, who reports it and why; `overwrite_final`, whether final values
                may be changed; `allow_out_of_range`, whether totals may lie outside their range.
        """
        now, results = self.clock(), list[Recorded]()
        with contextlib.suppress(_NothingIsWritten), self._writing() as (writer, state):
            results = Recorder(state, writer.append, now, **how).record_all(rows)
            if dry_run or any(result.stops(skip_unknown) for result in results):
                raise _NothingIsWritten
        return results

    # Operator actions (`latesum.campaigns.actions`).

    def act(
        self,
        action: str,
        /,
        *values: Any,
        user: str,
        reason: str,
        key: str | None = None,
        region: str | None = None,
        dry_run: bool = False,
        **named: Any,
    ) -> ActionResult:
        """Do one of `latesum.campaigns.actions.ACTIONS`, in one transaction.

        Each is a method too: `campaign.pin("red", buckets=7, user="ada", reason="Easter")`. What
        cannot be done as things are raises `NotPossible`.

        Args:
            action: Its name.
            values: What the action takes, in the order of its `arguments`.
            user: Who does it.
            reason: Why.
            key: Under one key an action happens once, however often it is sent.
            region: The region that it is for, in a campaign that has some; otherwise all.
            dry_run: Only say what it would do.
            named: What the action takes, by name.
        """
        arguments = read_arguments(action, values, named)
        needs_leading = action == "finish" and "option" not in arguments
        leading = self.leading() if needs_leading else None
        by: dict[str, Any] = {"user": user, "reason": reason, "key": key, "region": region}
        now = self.clock()
        if dry_run:
            with self._one_reading() as state:
                return perform(state, None, now, action, arguments, leading, **by)
        with self._writing() as (writer, state):
            done = perform(state, writer.append, now, action, arguments, leading, **by)
        self.config = state.config
        if action == "add-option" and not done.note and not done.repeated:
            return done._replace(note=self._when_shown(done.option))
        return done

    pause = partialmethod(act, "pause")
    resume = partialmethod(act, "resume")
    pin = partialmethod(act, "pin")
    unpin = partialmethod(act, "unpin")
    remove_option = partialmethod(act, "remove-option")
    restore_option = partialmethod(act, "restore-option")
    add_option = partialmethod(act, "add-option")
    rename_option = partialmethod(act, "rename-option")
    finish = partialmethod(act, "finish")
    reopen = partialmethod(act, "reopen")

    def change(
        self,
        *,
        user: str,
        reason: str,
        key: str | None = None,
        dry_run: bool = False,
        **config: Any,
    ) -> ActionResult:
        """Change what the campaign is set up with, from the next decision on.

        The policy of the new configuration learns from the whole log; decisions that were taken
        stay. `config` is any of `latesum.campaigns.config.CHANGEABLE`, as for a new campaign; of
        the `parameters`, those that are not named stay.
        """
        return self.act("change", config, user=user, reason=reason, key=key, dry_run=dry_run)

    def _when_shown(self, option: str | None) -> str:
        """When an option that was just added is shown."""
        if self.config.is_market:
            return f"{option} is shown in a region as soon as something changes there."
        policy = self.policy()
        first = policy.names[policy.ask().arm]
        if first == option:
            return f"{first} is asked for next."
        return f"{first} is asked for first, and then {option}."

    def delete(self, name: str, *, user: str, reason: str) -> None:
        """Delete the campaign with its whole log. When, by whom and why stays, and so does its
        name, which is to be said once more, so that no other campaign is deleted by mistake.
        """
        if name != self.name:
            raise InvalidInput(
                f"to delete this campaign, type its name: {self.name!r}, not {name!r}."
            )
        said = read_user_and_reason(user, reason)
        with self._lock, self.store.writing(self.stored.id) as writer:
            writer.delete(self.clock(), *said)

    # How the files are written that totals come in.

    def remember_file_form(self, form: FileForm, *, user: str, reason: str) -> None:
        """Keep in the log how the campaign's files are written."""
        body = {"user": user, "reason": reason, "form": form.to_json()}
        with self._writing() as (writer, _):
            writer.append(self.clock(), "file form", None, body)

    def log_refused_import(self, problem: str, *, user: str) -> None:
        """Keep in the log that a file was refused, once for the same refusal in a row."""
        body = {"user": user, "reason": shortened(problem, _MAX_PROBLEM)}
        with self._writing() as (writer, state):
            newest = state.newest
            if newest is None or (newest.kind, newest.body) != ("import refused", body):
                writer.append(self.clock(), "import refused", None, body)

    # Looking.

    @contextlib.contextmanager
    def _knowing(self) -> Iterator[Knowledge]:
        """What the method knows now, by one reading of the log."""
        from latesum.campaigns.knowledge import knowledge_of

        with self._one_reading() as state:
            yield knowledge_of(state, self.clock(), self._replay)

    def policy(self) -> Policy:
        """The policy as it stands now, after everything that is known."""
        if self.config.is_market:
            raise NotPossible("switchback keeps no state; `status()` says what it has found.")
        with self._one_reading() as state:
            return self._replay.after(state.config, plays_at(state, self.clock()))

    def estimates(self) -> list[Estimate]:
        """What is believed of each option, per round in the campaign's own unit, with intervals of
        95%."""
        with self._knowing() as known:
            return known.estimates()

    def leading(self) -> int:
        """The option that looks best now, of those that may still be shown."""
        from latesum.campaigns.knowledge import leading

        with self._knowing() as known:
            return leading(known)

    def winner(self) -> str | None:
        """The option that can be kept; `status().why_no_winner` says why there is none yet."""
        with self._knowing() as known:
            return known.winner()[0]

    def explain(self, bucket: When | None = None, *, region: str | None = None) -> list[str]:
        """Why things are as they are: now, or when the decision for a bucket was taken.

        Args:
            bucket: The bucket, if not now.
            region: The region, in a campaign that has some; otherwise all.
        """
        from latesum.campaigns.knowledge import knowledge_of

        where = "" if region is None else self.config.region(region)
        with self._knowing() as known:
            parts = known.state.parts_of(where)
            if bucket is None:
                taken = [part.decisions[part.last] for part in parts if part.last]
                found = known.sentences(region=where or None)
            else:
                number = self.config.buckets.number(bucket)
                taken = [part.decisions[number] for part in parts if number in part.decisions]
                if not taken:
                    raise InvalidInput(why_unknown(self.config, number, self.clock()))
                first = min(taken, key=lambda each: each.sequence or 0)
                before = fold(self.first_config, self.history()[: (first.sequence or 1) - 1])
                known_then = knowledge_of(before, first.at, Replay(), number)
                found = known_then.sentences(region=where or None, next_block=False)
        for each in taken:
            # The reason of a policy begins with the option; after a renaming it has the old name.
            named = "" if each.reason.startswith(f"{each.option} ") else f"{each.option}. "
            found.append(f"{f'{each.label} {each.region}'.strip()}: {named}{each.reason}")
        return found

    def status(self) -> Status:
        """Everything that a page about the campaign shows, with intervals of 95%."""
        from latesum.campaigns.view import make_status

        with self._knowing() as known:
            return make_status(known, self.clock(), self.store.free_bytes())

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def table(self) -> TableOut:
        """Every bucket as a table for other tools; `.to_frame()` makes a frame of it."""
        from latesum.campaigns.view import bucket_table

        return bucket_table(self.status())

    def health(self) -> list[Finding]:
        """What is wrong or worrying now, the worst first, each with what to do about it."""
        with self._one_reading() as state:
            return find_health(state, self.clock(), self.store.free_bytes())


class _NothingIsWritten(Exception):
    """Leave a write transaction without a trace."""
