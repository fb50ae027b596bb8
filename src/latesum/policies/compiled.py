"""What Python and the compiled rules of policies hand to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum.policies.plays import PURPOSES, Block, Play, new_block

_NUMBER_OF = {purpose: number for number, purpose in enumerate(PURPOSES)}


class PlayedByKernels:
    """A policy whose rule may be compiled."""

    n_arms: int
    _dropped: frozenset[int]

    def _available_arms(self) -> NDArray[np.bool_]:
        """False for arms that were taken away."""
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
