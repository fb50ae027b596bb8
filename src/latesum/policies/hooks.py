"""The hooks of a policy: what a subclass of `Policy` fills in or replaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from latesum.policies.plays import Block, Play
from latesum.policies.saying import Units, usual_reason
from latesum.policies.state import copied

#: What is believed of an arm: mean, lower and upper limit, and the rounds learned from.
Believed = tuple[float | None, float, float, int]


class Hooks(ABC):
    """What a policy learns, asks for and says. A hook that is replaced is always called.

    `_reset`, `_learn` and `_next` must be filled in; the others have defaults. `_next` must not
    change anything.
    """

    n_arms: int
    _dropped: frozenset[int]
    _learned: tuple[str, ...]  # the attributes that `_reset` sets

    @abstractmethod
    def ask(self) -> Block:
        """The block to play next."""

    @abstractmethod
    def _reset(self) -> None:
        """Know nothing."""

    @abstractmethod
    def _learn(self, play: Play) -> None:
        """Take in a whole block (or a segment, see `learns_from`); `rounds_told` includes it."""

    @abstractmethod
    def _next(self) -> Block:
        """The block to play next."""

    def _snapshot(self) -> Any:
        """A copy of all that was learned: of the attributes that `_reset` sets."""
        return {name: copied(getattr(self, name)) for name in self._learned}

    def _restore(self, learned: Any) -> None:
        """The opposite of `_snapshot`; the argument must not be changed later."""
        for name, value in learned.items():
            setattr(self, name, copied(value))

    def _estimate(self, arm: int, level: float) -> Believed:
        """What is believed of one arm; nothing by default."""
        return None, 0.0, 1.0, 0

    def _estimates(self, level: float) -> list[Believed]:
        """The same for all arms."""
        return [self._estimate(arm, level) for arm in range(self.n_arms)]

    def _forget(self, arm: int) -> None:
        """An option was taken away; most policies look at `_available()` and need nothing here."""

    def _candidates(self) -> Iterable[int]:
        """The arms that may still be the answer."""
        return self._available()

    def _findings(self, units: Units) -> list[str]:
        """What the policy has found out so far, in sentences."""
        return []

    def _reason(self) -> str:
        """Why the next block is played. It claims nothing where nothing is known."""
        asked = self.ask()
        known = None if self._nothing_known() else self._known_rounds(asked.arm)
        return usual_reason(asked.purpose, known)

    def _known_rounds(self, arm: int) -> int:
        """The rounds of an arm that were learned from."""
        return self._estimate(arm, 0.95)[3]

    def _nothing_known(self) -> bool:
        return not any(self._known_rounds(arm) for arm in range(self.n_arms))

    def _available(self) -> list[int]:
        return [arm for arm in range(self.n_arms) if arm not in self._dropped]
