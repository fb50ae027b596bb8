"""A campaign: what to show in each bucket, from totals that come late."""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from latesum._checks import InvalidInput, known_name, shortened
from latesum.campaigns.actions import ActionResult, Signature, perform, read_user_and_reason
from latesum.campaigns.buckets import When
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import (
    Replay,
    bucket_to_decide,
    carry,
    check_gap,
    check_next,
    check_open,
    decide,
    final_decision,
    plays_at,
)
from latesum.campaigns.health import Finding, find_health, without_doubts
from latesum.campaigns.recording import (
    Recorded,
    Recorder,
    check_rows,
    why_unknown,
)
from latesum.campaigns.state import Append, CampaignState, Decision, Event
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


class _Log:
    """The log of a campaign, which other processes write to as well, and what it adds up to."""

    def __init__(self, store: Store, campaign: int, config: CampaignConfig) -> None:
        self._store = store
        self._campaign = campaign
        self._config = config  # as at the campaign's beginning
        self._state = CampaignState(config)

    def refresh(self) -> CampaignState:
        """What the log adds up to now."""
        state = self._catch_up(lambda after: self._store.log(self._campaign, after))
        if state.newest is None:
            self._store.check_there(self._campaign)
        return state

    @contextlib.contextmanager
    def writing(self) -> Iterator[tuple[Writer, CampaignState]]:
        """A write transaction in which the state is that of the store, up to the last event."""
        written = False
        try:
            with self._store.writing(self._campaign) as writer:
                yield writer, self._catch_up(writer.log)
            written = True
        finally:
            if not written:  # the state may hold events that were never written
                self._state = CampaignState(self._config)

    def _catch_up(self, read: Callable[[int], list[Event]]) -> CampaignState:
        """Take in what is new. The newest event is read again: is this still the log we know?"""
        known = self._state.newest
        events = read(0 if known is None else known.sequence - 1)
        if known is not None:
            if events[:1] == [known]:
                del events[0]
            else:  # the database was put back to an earlier state
                self._state = CampaignState(self._config)
                events = read(0)
        for event in events:
            self._state.apply(event)
        return self._state


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
        #: What it is set up with, as far as this process knows; `current_config` asks the store.
        self.config = self.first_config = CampaignConfig.from_json(store.config(stored.id))
        self._owns_store = owns_store
        self._lock = threading.RLock()
        self._log = _Log(store, stored.id, self.first_config)
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
            given: The fields of the configuration, in place of `config`. Timed buckets start now,
                unless a `start` is given.
        """
        if config is None:
            config = CampaignConfig.read(given, now=clock())
        elif given:
            raise InvalidInput("give the configuration, or its fields, and not both.")
        opened, owns = _opened(store)
        stored = opened.create(config.name, config.to_json(), clock())
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
        return self.config.name

    def close(self) -> None:
        """Let go of the store, if this campaign opened it."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def current_config(self) -> CampaignConfig:
        """What the campaign is set up with now: what it was created with, and all changes since."""
        with self._lock:
            return self._refreshed().config

    def _refreshed(self) -> CampaignState:
        """What the log adds up to now."""
        state = self._log.refresh()
        self.config = state.config
        return state

    @contextlib.contextmanager
    def _one_reading(self) -> Iterator[CampaignState]:
        """What the log adds up to, read once for all that is looked up within the block.

        Another process may rename an option between two readings; an answer must not mix both.
        """
        with self._lock:
            outer = self._reading
            self._reading = self._refreshed() if outer is None else outer
            try:
                yield self._reading
            finally:
                self._reading = outer

    # Deciding.

    def decide(self, when: When | None = None, *, region: str = "") -> Decision:
        """The option for a bucket: taken once, and the same whenever it is asked for again.

        Args:
            when: The bucket: a number, a date or a time. By default it is the bucket of now; of
                numbered ones the last, until something is recorded for it, and then the next.
            region: The region, in a campaign that has some; `decide_all` answers for all of them.
        """
        region = self.config.region(region or None)
        return self.decide_all(when)[region]

    def decide_all(self, when: When | None = None) -> dict[str, Decision]:
        """The option for a bucket in every region; a campaign without regions has one without a
        name.

        Args:
            when: As for `decide`.
        """
        regions = self.config.regions or ("",)
        with self._lock:
            now, state = self.clock(), self._refreshed()
            if when is not None and (taken := state.taken(state.config.buckets.number(when))):
                return taken
            bucket = bucket_to_decide(state, when, now)
            if taken := state.taken(bucket):
                return taken
            if state.finished is not None:
                return {region: final_decision(state, bucket, region) for region in regions}
            check_open(state)
            if self._misses(state, bucket):
                with self._log.writing() as (writer, state):
                    self._carry_up_to(bucket, now, writer, state)
            seen, choices = state.newest, decide(state, bucket, now, self._replay)  # takes long
            with self._log.writing() as (writer, state):
                if state.finished is not None:
                    return {region: final_decision(state, bucket, region) for region in regions}
                check_open(state)
                if state.newest != seen:  # another process was faster, or wrote something else
                    self._carry_up_to(bucket, now, writer, state)
                    check_next(state, bucket)
                    choices = decide(state, bucket, now, self._replay)
                for region, part in state.parts.items():
                    if bucket not in part.decisions:
                        state.write(writer.append, choices[region])
                return state.taken(bucket)

    def _misses(self, state: CampaignState, bucket: int) -> bool:
        """Whether no one asked for some buckets before this one, in a region."""
        lasts = [part.last for part in state.parts.values()]
        return self.config.buckets.timed and any(
            last is not None and last < bucket - 1 for last in lasts
        )

    def _carry_up_to(
        self, bucket: int, now: datetime, writer: Writer, state: CampaignState
    ) -> None:
        """No one asked for some buckets before this one: what ran before went on."""
        if not self.config.buckets.timed or state.finished is not None:
            return
        for part in state.parts.values():
            if part.last is None:
                continue
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
        by: str | None = None,
        region: str | None = None,
        overwrite_final: bool = False,
        allow_out_of_range: bool = False,
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
            region: The region, in a campaign that has some.
            overwrite_final: Whether a final value may be changed.
            allow_out_of_range: Whether a total may lie outside its range.
        """
        row = Row(bucket, rounds, total, status, shown, region)
        try:
            done = self.record_many(
                [row],
                by=by,
                overwrite_final=overwrite_final,
                allow_out_of_range=allow_out_of_range,
            )
        except BadRows as bad:
            raise bad.problems[0][1] from None
        return done[0].accepted()

    def record_many(
        self,
        rows: Iterable[Row | Mapping[str, Any]],
        *,
        by: str | None = None,
        overwrite_final: bool = False,
        allow_out_of_range: bool = False,
        skip_unknown: bool = False,
        dry_run: bool = False,
    ) -> list[Recorded]:
        """Record many rows in one transaction, with a verdict for each.

        If a row stops it (`Recorded.stops`), nothing is recorded; the verdicts say which. Bad
        values raise `BadRows`, and nothing is recorded either.

        Args:
            rows: What is reported: a `Row`, or its fields by name.
            by: Who reports it.
            overwrite_final: Whether final values may be changed.
            allow_out_of_range: Whether totals may lie outside their range.
            skip_unknown: Whether rows of unknown buckets are left out, and do not stop the others.
            dry_run: Write nothing; the verdicts say what would be.
        """
        checked, now = check_rows(rows, self.current_config()), self.clock()
        recorder = functools.partial(
            Recorder,
            now=now,
            by=by,
            overwrite_final=overwrite_final,
            allow_out_of_range=allow_out_of_range,
        )
        results: list[Recorded] = []
        with self._lock:
            if dry_run:
                state = copy.deepcopy(self._refreshed())
                return recorder(state, _rehearsed(state)).record_all(checked)
            with (
                contextlib.suppress(_NothingIsWritten),
                self._log.writing() as (writer, state),
            ):
                results = recorder(state, writer.append).record_all(checked)
                if any(result.stops(skip_unknown) for result in results):
                    raise _NothingIsWritten
        return results

    # Operator actions (`latesum.campaigns.actions`).

    def act(
        self,
        action: str,
        *,
        user: str,
        reason: str,
        key: str | None = None,
        region: str | None = None,
        dry_run: bool = False,
        **arguments: Any,
    ) -> ActionResult:
        """Do one of `latesum.campaigns.actions.ACTIONS`, in one transaction.

        What cannot be done as things are raises `NotPossible`.

        Args:
            action: Its name.
            user: Who does it.
            reason: Why.
            key: Under one key an action happens once, however often it is sent.
            region: The region that it is for, in a campaign that has some; otherwise all.
            dry_run: Only say what it would do.
            arguments: What the action takes besides.
        """
        needs_leading = action == "finish" and arguments.get("option") is None
        leading = self.leading() if needs_leading else None
        by: Signature = {"user": user, "reason": reason, "key": key, "region": region}
        with self._lock:
            now = self.clock()
            if dry_run:
                return perform(self._refreshed(), None, now, action, arguments, by, leading)
            with self._log.writing() as (writer, state):
                done = perform(state, writer.append, now, action, arguments, by, leading)
            self.current_config()
        if action == "add-option" and not done.note and not done.repeated:
            return done._replace(note=self._when_shown(done.option))
        return done

    def pause(self, **by: Unpack[Signature]) -> ActionResult:
        """Keep showing the present option until `resume`. A pin that runs goes on first."""
        return self.act("pause", **by)

    def resume(self, **by: Unpack[Signature]) -> ActionResult:
        """Let the policy decide again. A pin goes on after a pause; without a pause it ends."""
        return self.act("resume", **by)

    def pin(self, option: str, *, buckets: int = 1, **by: Unpack[Signature]) -> ActionResult:
        """Show this option in the next buckets that are decided."""
        return self.act("pin", option=option, buckets=buckets, **by)

    def unpin(self, **by: Unpack[Signature]) -> ActionResult:
        """End a pin that is not over; a pause goes on."""
        return self.act("unpin", **by)

    def remove_option(self, option: str, **by: Unpack[Signature]) -> ActionResult:
        """Take an option away, until `restore_option`."""
        return self.act("remove-option", option=option, **by)

    def restore_option(self, option: str, **by: Unpack[Signature]) -> ActionResult:
        """Undo a removal: the policy goes on as if the option had never been away."""
        return self.act("restore-option", option=option, **by)

    def add_option(self, option: str, **by: Unpack[Signature]) -> ActionResult:
        """Add an option; its first block is asked for next. Policies that cannot do that refuse.

        Only options that were never shown either, or whose turn it is, come before it.
        """
        return self.act("add-option", option=option, **by)

    def rename_option(self, option: str, name: str, **by: Unpack[Signature]) -> ActionResult:
        """Give an option another name; nothing else changes."""
        return self.act("rename-option", option=option, name=name, **by)

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
        stay.

        Args:
            user: Who does it.
            reason: Why.
            key: As for `act`.
            dry_run: Change nothing; the note says what the change would do.
            config: Any of `latesum.campaigns.config.CHANGEABLE`, as for a new campaign. Of the
                `parameters`, those that are not named stay.
        """
        return self.act("change", user=user, reason=reason, key=key, dry_run=dry_run, config=config)

    def finish(self, option: str | None = None, **by: Unpack[Signature]) -> ActionResult:
        """End the campaign. From now on `decide` answers `option`, by default the best so far."""
        return self.act("finish", option=option, **by)

    def reopen(self, **by: Unpack[Signature]) -> ActionResult:
        """Go on with a finished campaign, from the next bucket on; pauses and pins are over."""
        return self.act("reopen", **by)

    def archive(self, **by: Unpack[Signature]) -> ActionResult:
        """Put a finished campaign away: lists leave it out. `reopen` takes it back."""
        return self.act("archive", **by)

    def _when_shown(self, option: str | None) -> str:
        """When an option that was just added is shown."""
        if self.current_config().is_market:
            return f"{option} is shown in a region as soon as something changes there."
        policy = self.policy()
        first = policy.names[policy.ask().arm]
        if first == option:
            return f"{first} is asked for next."
        return f"{first} is asked for first, and then {option}."

    def delete(self, name: str, *, user: str, reason: str) -> None:
        """Delete the campaign with its whole log. When, by whom and why stays, and its name
        stays taken.

        Args:
            name: The campaign's name, once more, so that no other one is deleted by mistake.
            user: Who does it.
            reason: Why.
        """
        if name != self.name:
            raise InvalidInput(
                f"to delete this campaign, type its name: {self.name!r}, not {name!r}."
            )
        said = read_user_and_reason(user, reason)
        with self._lock, self.store.writing(self.stored.id) as writer:
            writer.delete(self.clock(), *said)

    # How the files are written that totals come in.

    def file_form(self) -> FileForm:
        """How the last file was written that said so; `import_totals` reads the next one the
        same way."""
        return FileForm.from_json(self.state().file_form)

    def remember_file_form(self, form: FileForm, *, user: str, reason: str) -> None:
        """Keep in the log how the campaign's files are written.

        Args:
            form: How they are written.
            user: Who says so.
            reason: Why.
        """
        body = {"user": user, "reason": reason, "form": form.to_json()}
        with self._lock, self.store.writing(self.stored.id) as writer:
            writer.append(self.clock(), "file form", None, body)

    def log_refused_import(self, problem: str, *, user: str) -> None:
        """Keep in the log that a file was refused, once for the same refusal in a row.

        Args:
            problem: What was wrong with it, in a sentence.
            user: Who sent it.
        """
        body = {"user": user, "reason": shortened(problem, _MAX_PROBLEM)}
        with (
            contextlib.suppress(NotPossible),  # a store that can only be read says so elsewhere
            self._lock,
            self._log.writing() as (writer, state),
        ):
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

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """What is believed of each option, per round in the campaign's own unit.

        Args:
            level: The confidence level of the intervals.
        """
        with self._knowing() as known:
            return known.estimates(level)

    def leading(self) -> int:
        """The option that looks best now, of those that may still be shown."""
        with self._knowing() as known:
            return known.leading()

    def winner(self) -> str | None:
        """The option that can be kept, once there is one; `status().why_no_winner` says why
        there is none."""
        with self._knowing() as known:
            return known.winner()[0]

    def explain(self, bucket: When | None = None) -> list[str]:
        """Why things are as they are: now, or when the decision for a bucket was taken.

        Args:
            bucket: The bucket, if not now.
        """
        from latesum.campaigns.knowledge import knowledge_of

        with self._knowing() as known:
            state = known.state
            if bucket is None:
                shown = [part.decisions[part.last] for part in state.parts.values() if part.last]
                return [*known.sentences(), *_reasons(shown)]
            number = self.config.buckets.number(bucket)
            taken = [
                part.decisions[number] for part in state.parts.values() if number in part.decisions
            ]
            if not taken:
                raise InvalidInput(why_unknown(self.config, number, self.clock()))
            first = min(taken, key=lambda each: each.sequence or 0)
            assert first.sequence is not None
            earlier = self.state_before(first.sequence)
            before = knowledge_of(earlier, first.at, Replay(), number)
            return [*before.findings(), *_reasons(taken)]

    def status(self, level: float = 0.95) -> Status:
        """Everything that a page about the campaign shows.

        Args:
            level: The confidence level of the intervals.
        """
        from latesum.campaigns.view import make_status

        with self._knowing() as known:
            return make_status(known, self.clock(), level, self.store.free_bytes())

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def table(self, name: str, level: float = 0.95) -> TableOut:
        """A table for other tools; `.to_frame()` makes a frame of it.

        Args:
            name: "buckets", "decisions" or "estimates".
            level: How sure the intervals of the estimates are.
        """
        from latesum.campaigns import tables

        known_name(name, tables.TABLES, "table of a campaign")
        if name == "decisions":
            return tables.decisions_table(self.state())
        status = self.status(level)
        if name == "estimates":
            return tables.estimates_table(status)
        return tables.buckets_table(status)

    def health(self) -> list[Finding]:
        """What is wrong or worrying now, the worst first, each with what to do about it."""
        with self._one_reading() as state:
            found = find_health(state, self.clock(), self.store.free_bytes())
            doubtful = len(without_doubts(found)) < len(found)
            return without_doubts(found) if doubtful and self.winner() is not None else found

    def alarm(self) -> str | None:
        """What must be seen to now, such as that nothing is learned, and what to do; None if
        nothing."""
        return next((each.sentence for each in self.health() if each.level == "alarm"), None)

    def history(self) -> list[Event]:
        """The whole log, oldest event first."""
        return self.store.log(self.stored.id)

    def state(self) -> CampaignState:
        """What the log adds up to now."""
        with self._one_reading() as state:
            return state

    def state_before(self, sequence: int) -> CampaignState:
        """What the log added up to before one of its events.

        Args:
            sequence: The event's place in the log.
        """
        state = CampaignState(self.first_config)
        for event in self.history():
            if event.sequence >= sequence:
                break
            state.apply(event)
        return state


def _reasons(decisions: Iterable[Decision]) -> list[str]:
    said = []
    for each in decisions:
        # The reason of a policy begins with the option; after a renaming it has the old name.
        named = "" if each.reason.startswith(f"{each.option} ") else f"{each.option}. "
        said.append(f"{' '.join((each.label, each.region)).strip()}: {named}{each.reason}")
    return said


class _NothingIsWritten(Exception):
    """Leave a write transaction without a trace."""


def _rehearsed(state: CampaignState) -> Append:
    """Makes the next events of a log that is not written."""

    def append(
        at: datetime, kind: str, bucket: int | None, body: dict[str, object], region: str
    ) -> Event:
        sequence = 1 if state.newest is None else state.newest.sequence + 1
        return Event(sequence, at, kind, bucket, body, region)

    return append


def _opened(store: Store | str | Path | None) -> tuple[Store, bool]:
    return (store, False) if isinstance(store, Store) else (Store(store), True)
