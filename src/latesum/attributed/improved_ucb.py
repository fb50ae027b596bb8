"""Improved UCB: phases and eliminations, for rewards without delay."""

from __future__ import annotations

import math

import numpy as np

from latesum._checks import whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.memory import Memory
from latesum.attributed.policy import AttributedPolicy


class ImprovedUCB(AttributedPolicy):
    """Improved UCB: for undelayed rewards only; knows the horizon T.

    With a tolerance D of 1, 1/2, 1/4, ... every active arm is played until it has
    ceil(2 ln(T D^2) / D^2) plays; then an arm goes when its mean + w is below the best mean - w,
    w = sqrt(ln(T D^2) / (2 n)). The phases end when one arm is left, which is played to the end,
    or when T D^2 would be below e; then the arm with the best mean is.

    It is what ODAAF grew out of: this is what ODAAF would do if nothing were late.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all, T.

    >>> ImprovedUCB(n_arms=2, horizon=250_000).name
    'Improved UCB'

    References: Auer, Ortner (2010), UCB Revisited.
    """

    kind = "improved-ucb"
    delay_knowledge = "nothing: there must be none"

    def __init__(self, n_arms: int, *, horizon: int) -> None:
        super().__init__(n_arms)
        self.horizon = whole_number(horizon, "horizon", at_least=1)

    @property
    def name(self) -> str:
        return "Improved UCB"

    def __repr__(self) -> str:
        return f"ImprovedUCB(n_arms={self.n_arms}, horizon={self.horizon})"

    def new_memory(self, rng: np.random.Generator) -> Memory:
        memory = Memory(layout.PHASED, self.n_arms, rng)
        memory.settings[layout.HORIZON] = self.horizon
        memory.settings[layout.TOLERANCE] = 1.0
        if self.horizon >= math.e:
            memory.whole[layout.PHASE_PLAYS] = math.ceil(2.0 * math.log(self.horizon))
        return memory
