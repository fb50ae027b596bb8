"""What operators do to a campaign: hold, resume, override, drop and finish, each with who and why.

Under one key an act happens once, however often it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum.live.ledger import Entry, Ledger
from latesum.live.settings import Settings
from latesum.live.store import Writer


class Acted(NamedTuple):
    """What an operator did; `repeated` if it had been done before, under the same key."""

    kind: str
    option: str | None
    repeated: bool


class OperatorAct(NamedTuple):
    """What an operator asks for; `body` is what the log keeps of it."""

    kind: str
    key: str | None
    body: dict[str, Any]
    #: Whether the option was chosen for the operator: sent again, it may be another one.
    any_option: bool = False

    @classmethod
    def read(cls, kind: str, who: object, why: object, key: str | None, **body: Any) -> OperatorAct:
        """The act, refused without who and why."""
        said = {}
        for name, text, what in (("who", who, "who you are"), ("why", why, "why")):
            if not isinstance(text, str) or not text.strip():
                raise InvalidInput(f"say {what}: it is kept in the campaign's history.")
            said[name] = text.strip()
        return cls(kind, key, {"who": said["who"], **body, "why": said["why"]})

    def write(self, settings: Settings, writer: Writer, ledger: Ledger, at: datetime) -> Acted:
        """Write it down, unless it cannot be done or was done under this key before."""
        entry = self._done_before(ledger)
        repeated = entry is not None
        if entry is None:
            for reason in self._obstacles(settings, ledger):
                raise InvalidInput(f"the campaign cannot do that: {reason}.")
            # The key is in the act's own entry, so that both are written or neither.
            key = {} if self.key is None else {"key": self.key}
            entry = writer.append(at, self.kind, None, {**self.body, **key})
            ledger.take(entry)
        arm = entry.body.get("option")
        return Acted(entry.kind, None if arm is None else settings.options[arm], repeated)

    def _done_before(self, ledger: Ledger) -> Entry | None:
        if self.key is None:
            return None
        entry = next((act for act in ledger.acts if act.body.get("key") == self.key), None)
        if entry is None:
            return None
        said = {name: value for name, value in self.body.items() if name != "who"}
        if self.any_option:
            said["option"] = entry.body.get("option")
        if entry.kind != self.kind or any(entry.body[name] != said[name] for name in said):
            raise InvalidInput("this Idempotency-Key was used for another act; choose a new one.")
        return entry

    def _obstacles(self, settings: Settings, ledger: Ledger) -> Iterator[str]:
        """Why it cannot be done."""
        if ledger.finished:
            yield "it is finished"
        if self.kind == "hold" and ledger.hold:
            yield "it is held already"
        if self.kind == "resume" and ledger.hold is None and ledger.order is None:
            yield "it is neither held nor overridden"
        arm = self.body.get("option")
        if arm is None:
            return
        name = settings.options[arm]
        if arm in ledger.dropped:
            yield f"{name} was dropped{' already' if self.kind == 'drop' else ''}"
        if self.kind == "drop" and len(ledger.dropped) == settings.n_options - 1:
            yield f"{name} is the last option left; finish the campaign instead"
