"""What was played and seen: segments with their totals, and the blocks that they are parts of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: When the status quo began, in rounds.
_ALWAYS = -1e15


class Segments:
    """The table of segments (`model_kernels` says its columns), and counts per arm.

    `n_arms` counts everything with a mean of its own, also a status quo that is none of the arms.

    >>> segments = Segments(2)
    >>> segments.add(0, 100, 48.0)
    >>> segments.add(0, 100, None)
    >>> segments.known, segments.pending, len(segments.table)
    ([100, 0], [100, 0], 2)
    """

    #: Fewer rounds or rewards say nothing: with fewer rewards at the start, "it earns nothing"
    #: explains as much as "rewards are late".
    FEWEST = 8

    def __init__(self, n_arms: int, status_quo: int | None = None) -> None:
        self.n_arms = n_arms
        self._table: Floats = np.zeros((64, 6))
        self._blocks: Floats = np.zeros((32, 3))
        self.count = self.n_blocks = self.clock = 0
        self.last_arm, self._block_start = -1, 0.0
        self.rewards = 0.0
        self.typical = 0.5  # the mean total per round
        #: The first segment after the last known total, from where on they are still to be
        #: reported; and how long no reward came at the start.
        self.pending_from = self.silence = 0
        #: Per arm: rounds with a known total, all rounds, rounds still to be reported, and blocks.
        self.known, self.played, self.pending, self.visits = ([0] * n_arms for _ in range(4))
        if status_quo is not None:
            self._begin_block(status_quo, _ALWAYS)

    @property
    def table(self) -> Floats:
        """The segments so far."""
        return self._table[: self.count]

    @property
    def blocks(self) -> Floats:
        """The blocks so far: start, end and arm."""
        return self._blocks[: self.n_blocks]

    @property
    def block_rounds(self) -> int:
        """How long the last block has been played since the start."""
        return self.clock - max(int(self._block_start), 0)

    def add(self, arm: int, rounds: int, total: float | None, merged_after: float = np.inf) -> None:
        """A segment that was played; late in a block it becomes a part of the last one."""
        if arm != self.last_arm:
            self._begin_block(arm, self.clock)
            self.visits[arm] += 1
        block, end, last = self.n_blocks - 1, self.clock + rounds, self._table[self.count - 1]
        goes_on = self.count > 0 and last[4] == 1.0 and last[5] == block
        if goes_on and total is not None and self.clock - self._block_start > merged_after:
            last[1], last[3] = end, last[3] + total
        else:
            if self.count == len(self._table):
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
            known = 0.0 if total is None else 1.0
            self._table[self.count] = self.clock, end, arm, total or 0.0, known, block
            self.count += 1
        self.clock = end
        self._blocks[block, 1] = end
        self.played[arm] += rounds
        if total is None:
            self.pending[arm] += rounds
            return
        if not self.rewards:
            self.silence = end
        self.pending_from = self.count
        self.pending = [0] * self.n_arms
        self.known[arm] += rounds
        self.rewards += total
        self.typical = min(1.0, max(0.0, (self.rewards + 0.5) / (sum(self.known) + 1.0)))

    def _begin_block(self, arm: int, start: float) -> None:
        if self.n_blocks == len(self._blocks):
            self._blocks = np.concatenate([self._blocks, np.zeros_like(self._blocks)])
        self._blocks[self.n_blocks] = start, max(start, 0.0), arm
        self.n_blocks += 1
        self.last_arm, self._block_start = arm, start
