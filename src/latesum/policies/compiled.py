"""How compiled code plays whole runs of a policy (`latesum.experiments.whole_runs`), and what it and Python hand to each other.

The rule of such a policy is compiled, and its state is a tuple of arrays. A kernel plays many blocks by it, and the
protocol of the policy (`latesum.policies.base`) follows afterwards.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from latesum.policies.plays import PURPOSES, Block, Play, new_block

_NUMBER_OF = {purpose: number for number, purpose in enumerate(PURPOSES)}


class PlayedByKernels:
    """What compiled runs need of a policy: where it stands, and how it takes over where they end."""

    # What the protocol keeps; `Policy` says what each is for.
    n_arms: int
    rounds_told: int
    learns_from: Literal["blocks", "parts"]
    _asked: Block | None
    _open: Play | None
    _unplayed: int
    _highest: int
    _before: tuple[int, Any, Any]
    _dropped: frozenset[int]

    @abstractmethod
    def _memory(self) -> tuple[int, Any, Any]:
        """What is known now, to go back to."""

    def _compiled_goes_on(self) -> bool:
        """Whether it can go on with what is being played: not where a part would be learned by itself."""
        return self._unplayed <= 0 or self.learns_from == "parts"

    def _for_kernel(self) -> Any:
        """What the compiled rule knows; None where Python must play the next part."""
        return self._state  # type: ignore[attr-defined]

    def _opened(self) -> tuple[int, int, int, int]:
        """The block that is being played: arm, purpose, number, and the rounds that are left of it."""
        if self._open is None or self._unplayed <= 0:
            return -1, 0, 0, 0
        arm, _, _, purpose, number = self._open
        return arm, _NUMBER_OF[purpose], number or 0, self._unplayed

    def _learned_elsewhere(
        self, plays: Sequence[Play], rounds: int, highest: int, unplayed: int
    ) -> None:
        """Compiled code has taught the rule, up to the last of `plays`: the protocol follows."""
        self.rounds_told += rounds
        self._highest = highest
        self._asked, self._open, self._unplayed = None, None, 0
        if self.learns_from == "parts":
            self._open, self._unplayed = plays[-1], unplayed

    def _make_room(self) -> None:
        """Let the compiled rule learn one more block, where its arrays may be full."""

    def _roomier(self, state: Any) -> Any:
        """The same state of the compiled rule with more room, where its arrays may be full."""
        return state

    def _follow(
        self, state: Any, before: Any, before_rounds: int, rounds: int, open_block: Play | None,
        unplayed: int, highest: int,
    ) -> None:  # fmt: skip
        """Take over what compiled code has made of this policy, told late, and of what it knew before."""
        self._take_state(before)
        self.rounds_told, self._asked = before_rounds, None
        if open_block is not None:
            self._before = self._memory()
        self._take_state(state)
        self.rounds_told, self._open = rounds, open_block
        self._unplayed, self._highest = unplayed, highest

    def _take_state(self, state: Any) -> None:
        """Let the compiled rule go on from here."""
        self._state = state

    def _go_on(self) -> None:
        """Do what the compiled rule has stopped for."""

    def _available_arms(self) -> NDArray[np.bool_]:
        """The same for compiled rules: False for arms that were taken away."""
        available = np.ones(self.n_arms, dtype=np.bool_)
        for arm in self._dropped:
            available[arm] = False
        return available


def for_kernel(play: Play) -> tuple[int, int, float, bool, int]:
    """A play as compiled rules take it in: arm, rounds, total, whether it is known, purpose."""
    arm, rounds, total, purpose, _ = play
    known = total is not None
    return arm, rounds, total if total is not None else 0.0, known, _NUMBER_OF[purpose]


def from_kernel(planned: tuple[int, int, int]) -> Block:
    """The block that a compiled rule asks for."""
    arm, rounds, purpose = planned
    return new_block(Block, (arm, rounds, PURPOSES[purpose], 0, None))
