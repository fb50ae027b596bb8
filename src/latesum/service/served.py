"""A campaign as the service needs it: many records at once, and acts that may be sent twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from latesum._checks import InvalidInput
from latesum.live.bookkeeping import Bookkeeper, Page
from latesum.live.campaign import Campaign
from latesum.live.ledger import Entry, Ledger
from latesum.live.recording import Recorded, Row, check_row

#: So many buckets are kept at hand between two transactions.
_MOST_PAGES = 2000


class Repeated(InvalidInput):
    """This act is in the log already, under the same key."""

    def __init__(self, act: Entry) -> None:
        super().__init__("this was done already.")
        self.act = act


class Served(Campaign):
    """A campaign with keys for acts: under one key an act happens once, however often it is sent."""

    _key = threading.local()
    #: What the log says about some buckets up to the entry `_pages_after`; see `record_each`.
    _pages: dict[int, Page]
    _pages_after: Entry | None = None

    def act(self, key: str | None, kind: str, **arguments: Any) -> bool:
        """Hold, resume, override, drop or finish; False if it was done before under this key."""
        self._key.now = key
        try:
            getattr(self, kind)(**arguments)
        except Repeated as repeated:
            self._check_same(repeated.act, kind, arguments)
            return False
        except InvalidInput:
            # An act that was done may forbid its repetition: a campaign is held only once.
            earlier = None if key is None else _with_key(self.ledger(), key)
            if earlier is None:
                raise
            self._check_same(earlier, kind, arguments)
            return False
        finally:
            self._key.now = None
        return True

    def record_each(
        self, records: Sequence[tuple[Row, str, bool, bool]]
    ) -> list[Recorded | Exception]:
        """Record rows in one transaction, each for itself: one that is refused stops no other.

        A record is a row, who says so, and whether it may correct a final value and go beyond its
        range. A refusal is in the place of the verdict.
        """
        results: list[Recorded | Exception] = []
        now = self.clock()
        with self._lock:
            with self.store.writing(self.stored.id) as writer:
                # Nobody has written since if the log still ends with the same entry.
                known = self._pages_after is not None and self._pages_after == writer.newest()
                pages = self._pages if known else {}
                self._pages, self._pages_after = {}, None  # until this is written too
                keeper = Bookkeeper(self.settings, writer, now, pages)
                keeper.look_ahead(record[0] for record in records)
                for row, by, even_if_final, beyond_range in records:
                    allowed = {"even_if_final": even_if_final, "beyond_range": beyond_range}
                    try:
                        results.append(keeper.record(check_row(row, self.settings), by, allowed))
                    except (InvalidInput, OverflowError) as refusal:
                        results.append(refusal)
                newest = writer.newest()
            if len(pages) <= _MOST_PAGES:
                self._pages, self._pages_after = pages, newest
        return results

    def _act(
        self, kind: str, who: str, why: str, check: Callable[[Ledger], None], **body: Any
    ) -> None:
        key = getattr(self._key, "now", None)
        if key is None:
            super()._act(kind, who, why, check, **body)
            return

        def check_key_too(ledger: Ledger) -> None:
            earlier = _with_key(ledger, key)
            if earlier is not None:
                raise Repeated(earlier)
            check(ledger)

        # The key is in the act's own entry, so that both are written or neither.
        super()._act(kind, who, why, check_key_too, **body, key=key)

    def _check_same(self, earlier: Entry, kind: str, arguments: dict[str, Any]) -> None:
        same = earlier.kind == kind and earlier.body["why"] == str(arguments["why"]).strip()
        option = arguments.get("option")
        if same and option is not None:
            same = self.settings.options[earlier.body["option"]] == option
        if not same:
            raise InvalidInput("this Idempotency-Key was used for another act; choose a new one.")


def _with_key(ledger: Ledger, key: str) -> Entry | None:
    return next((act for act in ledger.acts if act.body.get("key") == key), None)
