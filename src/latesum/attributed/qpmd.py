"""QPM-D: any algorithm for undelayed rewards, fed from queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from latesum.attributed import layout_kernels as layout
from latesum.attributed.bases import base_index, told_with_base
from latesum.attributed.memory import Memory
from latesum.attributed.policy import AttributedPolicy


class QPMD(AttributedPolicy):
    """QPM-D around a base: knows nothing about the delay.

    Rewards wait in one first-in-first-out queue per arm. The base is fed from the queue of the arm
    it asks for as long as that queue has something; when it is empty, that arm is played. The
    base's clock counts what it was fed. Without delay, QPM-D is its base.

    Args:
        base: The policy that is fed: "ucb1", "kl-ucb", "kl-ucb++", "thompson" or "fixed".
        n_arms: The number of arms.
        exploration: The factor in the index of "ucb1", 2 by default.
        horizon: The number of rounds in all, for "kl-ucb++".
        arm: The arm that "fixed" plays.

    >>> QPMD("ucb1", n_arms=2).name
    'QPM-D (UCB1)'

    References: Joulani, György, Szepesvári (2013), Online Learning under Delayed Feedback.
    """

    kind = "qpm-d"

    def __init__(
        self,
        base: str,
        n_arms: int,
        *,
        exploration: float | None = None,
        horizon: int | None = None,
        arm: int | None = None,
    ) -> None:
        super().__init__(n_arms)
        self.base = base_index(base, self.n_arms, exploration=exploration, horizon=horizon, arm=arm)

    @classmethod
    def told(cls, known: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
        return told_with_base(known, written)

    @property
    def name(self) -> str:
        return f"QPM-D ({self.base.label})"

    def __repr__(self) -> str:
        return f"QPMD({self.base.name!r}, n_arms={self.n_arms}{self.base.arguments})"

    def new_memory(self, rng: np.random.Generator) -> Memory:
        memory = Memory(layout.QUEUED, self.n_arms, rng)
        self.base.write_into(memory, rng)
        return memory
