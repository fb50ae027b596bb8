"""Rewards in flight whose round of arrival is known and further off than the next few.

They are kept in blocks of rounds: one that has passed as a whole is summed, and nothing else is
looked at.
"""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The rounds of a block are 2 to this power.
_BLOCK = 12
_NEVER = np.iinfo(np.int64).max


class InFlight:
    """Rewards in flight, by their round of arrival.

    >>> rewards = InFlight()
    >>> rewards.add(np.array([70_000, 12, 9]), np.array([1.0, 0.5, 1.0]))
    >>> rewards.take(10), rewards.take(100), rewards.total
    (1.0, 0.5, 1.0)
    """

    def __init__(self) -> None:
        self._blocks: dict[int, list[tuple[Integers, Floats]]] = {}
        self._order: list[int] = []  # a heap of the blocks that there are

    @property
    def total(self) -> float:
        """All that is still in flight."""
        return sum(float(rewards.sum()) for block in self._blocks.values() for _, rewards in block)

    @property
    def first_round(self) -> int:
        """A round before which nothing arrives."""
        return self._order[0] << _BLOCK if self._order else _NEVER

    def add(self, rounds: Integers, rewards: Floats) -> None:
        """Let each reward arrive in its round; those of 0 are left out."""
        paid = rewards != 0
        if not paid.all():
            rounds, rewards = rounds[paid], rewards[paid]
        if len(rounds) == 0:
            return
        blocks = rounds >> _BLOCK
        order = np.argsort(blocks, kind="stable")
        blocks, rounds, rewards = blocks[order], rounds[order], rewards[order]
        starts = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(blocks)]
        for start, stop in pairwise(starts):
            block = int(blocks[start])
            if block not in self._blocks:
                self._blocks[block] = []
                heapq.heappush(self._order, block)
            self._blocks[block].append((rounds[start:stop], rewards[start:stop]))

    def take(self, end: int) -> float:
        """The sum of what arrives up to the round `end`."""
        if not self._order or self._order[0] > end >> _BLOCK:
            return 0.0
        return float(self.take_each(end)[1].sum())

    def take_each(self, end: int) -> tuple[Integers, Floats]:
        """What arrives up to the round `end`, with the rounds."""
        taken: list[tuple[Integers, Floats]] = [(np.zeros(0, dtype=np.int64), np.zeros(0))]
        last = end >> _BLOCK
        while self._order and self._order[0] < last:
            taken += self._blocks.pop(heapq.heappop(self._order))
        if self._order and self._order[0] == last:
            rounds, rewards = _joined(self._blocks[last])
            due = rounds <= end
            taken.append((rounds[due], rewards[due]))
            if due.all():
                del self._blocks[heapq.heappop(self._order)]
            else:
                self._blocks[last] = [(rounds[~due], rewards[~due])]
        return _joined(taken)

    def clear(self) -> None:
        """Lose all of it."""
        self._blocks.clear()
        self._order.clear()


def _joined(parts: list[tuple[Integers, Floats]]) -> tuple[Integers, Floats]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
