"""What a policy at work remembers: the arrays that the compiled code reads and writes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum.attributed import layout_kernels as layout

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Memory:
    """The arrays of one policy at work; `layout_kernels` says what is where."""

    def __init__(self, kind: int, n_arms: int, rng: np.random.Generator) -> None:
        self.whole: Integers = np.zeros(layout.WHOLE_SIZE, dtype=np.int64)
        self.whole[layout.KIND] = kind
        self.whole[layout.QUEUE_FREE] = -1
        self.whole[layout.UNSEEN] = n_arms
        self.whole[layout.LAST_ARM] = -1
        self.whole[layout.COMMITTED] = -1
        self.settings: Floats = np.zeros(layout.SETTINGS_SIZE)
        self.tallies: Integers = np.zeros((layout.TALLY_ROWS, n_arms), dtype=np.int64)
        self.tallies[layout.QUEUE_HEAD] = -1
        self.tallies[layout.QUEUE_TAIL] = -1
        self.tallies[layout.ACTIVE] = 1
        self.arms: Floats = np.zeros((layout.ARM_ROWS, n_arms))
        self.arms[layout.EXPIRY] = -1.0
        self.queue_next: Integers = np.empty(16, dtype=np.int64)
        self.queue_reward: Floats = np.empty(16)
        self.survival: Integers = np.zeros((n_arms, 1), dtype=np.int64)
        self.edges: Integers = np.zeros((3, 1), dtype=np.int64)
        self.random_state: NDArray[np.uint64] = rng.integers(1, 2**64, size=4, dtype=np.uint64)

    def make_room(self, arrivals: int) -> bool:
        """Let the queues hold this many more rewards; says whether arrays were replaced."""
        if self.whole[layout.KIND] != layout.QUEUED:
            return False
        needed = int(self.whole[layout.QUEUED_NOW]) + arrivals
        if needed <= len(self.queue_next):
            return False
        more = max(needed, 2 * len(self.queue_next)) - len(self.queue_next)
        self.queue_next = np.concatenate([self.queue_next, np.empty(more, dtype=np.int64)])
        self.queue_reward = np.concatenate([self.queue_reward, np.empty(more)])
        return True

    @property
    def state(self) -> layout.PolicyState:
        """The arrays by name, as the compiled code takes them."""
        return layout.PolicyState(
            self.whole, self.settings, self.tallies, self.arms,
            self.queue_next, self.queue_reward, self.survival, self.edges, self.random_state,
        )  # fmt: skip
