"""Delayed-UCB1: UCB1 on what has been received."""

from __future__ import annotations

import numpy as np

from latesum.attributed import layout_kernels as layout
from latesum.attributed.bases import base_index
from latesum.attributed.memory import Memory
from latesum.attributed.policy import AttributedPolicy


class DelayedUCB1(AttributedPolicy):
    """Delayed-UCB1: knows nothing about the delay.

    The index of an arm is the mean of its received rewards plus sqrt(exploration ln t / s): s of
    them were received, t rounds have been played. An arm of which nothing was received comes
    first; of several, the one played least. Without delay it is UCB1.

    Args:
        n_arms: The number of arms.
        exploration: The factor in the index; 2 is UCB1's.

    >>> DelayedUCB1(n_arms=2).name
    'Delayed-UCB1'

    References: Joulani, György, Szepesvári (2013), Online Learning under Delayed Feedback.
    """

    kind = "delayed-ucb1"

    def __init__(self, n_arms: int, *, exploration: float = 2.0) -> None:
        super().__init__(n_arms)
        self._base = base_index("ucb1", self.n_arms, exploration=exploration)
        self.exploration = self._base.exploration

    @property
    def name(self) -> str:
        return "Delayed-" + self._base.label

    def __repr__(self) -> str:
        return f"DelayedUCB1(n_arms={self.n_arms}{self._base.arguments})"

    def new_memory(self, rng: np.random.Generator) -> Memory:
        memory = Memory(layout.RECEIVED, self.n_arms, rng)
        self._base.write_into(memory, rng)
        return memory
