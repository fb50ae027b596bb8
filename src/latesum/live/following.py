"""The ledger of a campaign that others write to as well: brought up to date from its log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from latesum.live.ledger import Entry, Ledger
from latesum.live.store import Store, Writer


class Follower:
    """Follows a campaign's log, and lets one writer at a time add to it."""

    def __init__(self, store: Store, campaign: int, options: tuple[str, ...]) -> None:
        self._store = store
        self._campaign = campaign
        self._options = options
        self._ledger = Ledger(options)

    def refresh(self) -> Ledger:
        """What the log adds up to now."""
        return self._catch_up(lambda after: self._store.log(self._campaign, after))

    @contextlib.contextmanager
    def writing(self) -> Iterator[tuple[Writer, Ledger]]:
        """A write transaction in which the ledger is that of the store, up to the last entry."""
        written = False
        try:
            with self._store.writing(self._campaign) as writer:
                yield writer, self._catch_up(writer.log)
            written = True
        finally:
            if not written:  # the ledger may hold entries that were never written
                self._ledger = Ledger(self._options)

    def _catch_up(self, read: Callable[[int], list[Entry]]) -> Ledger:
        """Take in what is new. The newest entry is read again: is this still the log we know?"""
        known = self._ledger.newest
        entries = read(0 if known is None else known.sequence - 1)
        if known is not None:
            if entries[:1] == [known]:
                del entries[0]
            else:  # the database was put back to an earlier state
                self._ledger = Ledger(self._options)
                entries = read(0)
        for entry in entries:
            self._ledger.take(entry)
        return self._ledger
