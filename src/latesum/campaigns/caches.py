"""What an open campaign keeps in memory: its state, and its policy as it was told the state.

Both follow from the log alone, so that each can be thrown away and made again at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.events import Event
from latesum.campaigns.state import CampaignState, new_state
from latesum.campaigns.store import Store, Writer
from latesum.policies import Play, Policy

if TYPE_CHECKING:
    from latesum.campaigns.market import MarketChoice

#: What a policy is told in order: a play, or (a number alone) that an option was taken away.
Told = Play | int
_CHECKPOINT_EVERY = 32


class StateCache:
    """The state of a campaign that other processes write to as well."""

    def __init__(self, store: Store, campaign: int, settings: CampaignConfig) -> None:
        self._store = store
        self._campaign = campaign
        self._settings = settings  # as at the campaign's beginning
        self._state = new_state(settings)

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
                self._state = new_state(self._settings)

    def _catch_up(self, read: Callable[[int], list[Event]]) -> CampaignState:
        """Take in what is new. The newest event is read again: is this still the log we know?"""
        known = self._state.newest
        events = read(0 if known is None else known.sequence - 1)
        if known is not None:
            if events[:1] == [known]:
                del events[0]
            else:  # the database was put back to an earlier state
                self._state = new_state(self._settings)
                events = read(0)
        for event in events:
            self._state.apply(event)
        return self._state


class ReplayCache:
    """A policy that follows the log: it goes back only as far as something has changed."""

    def __init__(self, policy: Policy) -> None:
        self._told: list[Told] = []
        self._checkpoints: list[tuple[int, Policy]] = [(0, policy.fresh())]

    def after(self, told: list[Told]) -> Policy:
        """The policy that was told all this, the same as a fresh one would be."""
        same = 0
        for one, other in zip(self._told, told, strict=False):
            if one != other:
                break
            same += 1
        while self._checkpoints[-1][0] > same:
            self._checkpoints.pop()
        count, saved = self._checkpoints[-1]
        policy = saved.copy()
        for each in told[count:]:
            if isinstance(each, Play):
                policy.tell(*each)
            else:
                policy.drop(each)
            count += 1
            if count % _CHECKPOINT_EVERY == 0:
                self._checkpoints.append((count, policy.copy()))
        self._told = told
        return policy


class PolicyCache:
    """A campaign's policy as it follows the log; another one where the settings were changed.

    The new policy is told the whole log, as if it had been there from the beginning.
    """

    def __init__(self) -> None:
        self._settings: CampaignConfig | None = None
        self._replays: ReplayCache | None = None
        #: What `switchback` last decided, for all regions, and from what.
        self._choices: tuple[Any, dict[str, MarketChoice]] | None = None

    def after(self, settings: CampaignConfig, told: list[Told]) -> Policy:
        """The policy of these settings that was told all this."""
        if self._replays is None or (self._settings is not settings and self._settings != settings):
            self._replays = ReplayCache(settings.build_policy())
        self._settings = settings
        return self._replays.after(told)

    def market_choices(
        self, state: CampaignState, bucket: int, now: datetime
    ) -> dict[str, MarketChoice]:
        """What `switchback` shows in every region: decided together, and asked for one by one."""
        from latesum.campaigns.market import choose_all, market_rows

        found = market_rows(state, now, bucket)
        gone = [sorted(part.removed) for part in state.parts.values()]
        asked = (bucket, found, gone)
        if self._choices is None or self._choices[0] != asked:
            self._choices = asked, choose_all(state, bucket, found)
        return self._choices[1]
