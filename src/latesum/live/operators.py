"""What operators may do to a campaign, each with who and why, kept in its history."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from latesum._checks import InvalidInput, whole_number
from latesum.live.ledger import Ledger
from latesum.live.settings import Settings


class Operated(ABC):
    """Something that operators act on; a subclass writes the acts down."""

    settings: Settings

    def hold(self, *, who: str, why: str) -> None:
        """Keep showing the present option until somebody says `resume`."""
        self._act("hold", who, why, lambda ledger: _refuse_if(ledger.hold, "it is held already"))

    def resume(self, *, who: str, why: str) -> None:
        """Let the policy decide again: end a hold, and an override that is not over."""

        def check(ledger: Ledger) -> None:
            nothing = ledger.hold is None and ledger.order is None
            _refuse_if(nothing, "it is neither held nor overridden")

        self._act("resume", who, why, check)

    def override(self, option: str, *, buckets: int = 1, who: str, why: str) -> None:
        """Show this option in the next buckets that are decided."""
        arm = self.settings.option(option)
        count = whole_number(buckets, "the number of buckets", at_least=1)

        def check(ledger: Ledger) -> None:
            _refuse_if(arm in ledger.dropped, f"{option} was dropped")

        self._act("override", who, why, check, option=arm, buckets=count)

    def drop(self, option: str, *, who: str, why: str) -> None:
        """Take an option away for good."""
        arm = self.settings.option(option)

        def check(ledger: Ledger) -> None:
            _refuse_if(arm in ledger.dropped, f"{option} was dropped already")
            last = len(ledger.dropped) == self.settings.n_options - 1
            _refuse_if(last, f"{option} is the last option left; finish the campaign instead")

        self._act("drop", who, why, check, option=arm)

    def finish(self, option: str | None = None, *, who: str, why: str) -> str:
        """End the campaign. From now on `decide` answers `option`, by default the best so far."""
        arm = self.leading() if option is None else self.settings.option(option)

        def check(ledger: Ledger) -> None:
            _refuse_if(arm in ledger.dropped, f"{self.settings.options[arm]} was dropped")

        self._act("finish", who, why, check, option=arm)
        return self.settings.options[arm]

    @abstractmethod
    def leading(self) -> int:
        """The option that looks best now."""

    @abstractmethod
    def _write_act(self, kind: str, check: Callable[[Ledger], None], body: dict[str, Any]) -> None:
        """Write an act down, unless `check` refuses it in the same transaction."""

    def _act(
        self, kind: str, who: str, why: str, check: Callable[[Ledger], None], **body: Any
    ) -> None:
        for text, what in ((who, "who you are"), (why, "why")):
            if not isinstance(text, str) or not text.strip():
                raise InvalidInput(f"say {what}: it is kept in the campaign's history.")

        def check_all(ledger: Ledger) -> None:
            _refuse_if(ledger.finished, "it is finished")
            check(ledger)

        self._write_act(kind, check_all, {"who": who.strip(), "why": why.strip(), **body})


def _refuse_if(condition: object, reason: str) -> None:
    if condition:
        raise InvalidInput(f"the campaign cannot do that: {reason}.")
