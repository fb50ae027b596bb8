"""SBD, which its authors call SDB: QPM-D that lets a heuristic choose while its base waits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, known_name, whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.bases import base_index, told_with_base
from latesum.attributed.memory import Memory
from latesum.attributed.policy import AttributedPolicy
from latesum.simulation.problem import Problem

_HEURISTICS = {
    "thompson": (layout.THOMPSON_HEURISTIC, "Thompson"),
    "greedy": (layout.GREEDY_HEURISTIC, "greedy"),
}


class SBD(AttributedPolicy):
    """SBD: must be told the largest delay. Its authors call it SDB (stochastic delayed bandits).

    "SBD" is a slip of the ODAAF paper for the SDB of Mandel et al.

    QPM-D, but while the base waits for an arm, a heuristic that uses every received reward at once
    may play another one. It may not when that arm already has `max_delay` rewards that the base
    has not used, queued or outstanding: then the arm of the base is played. So the heuristic
    runs at most `max_delay` plays ahead on each arm, and the base always gets its turn.

    The rule about `max_delay` is from memory of the paper. There the heuristic gives a
    distribution over arms; here it names one.

    Args:
        base: The policy that is fed, as for `QPMD`.
        n_arms: The number of arms.
        heuristic: "thompson" draws from Beta(1 + sum, 1 + count - sum) of what was received;
            "greedy" takes the largest received mean, and the arm of the base while nothing was
            received.
        max_delay: The largest delay.
        exploration: As for `QPMD`.
        horizon: As for `QPMD`.
        arm: As for `QPMD`.

    >>> SBD("ucb1", n_arms=2, heuristic="greedy", max_delay=100).name
    'SBD (UCB1, greedy)'

    References: Mandel, Liu, Brunskill, Popović (2015), The Queue Method: Handling Delay,
    Heuristics, Prior Data, and Evaluation in Bandits.
    """

    kind = "sbd"
    delay_knowledge = "the largest delay (max_delay)"

    def __init__(
        self,
        base: str,
        n_arms: int,
        *,
        heuristic: str = "thompson",
        max_delay: int,
        exploration: float | None = None,
        horizon: int | None = None,
        arm: int | None = None,
    ) -> None:
        super().__init__(n_arms)
        self.base = base_index(base, self.n_arms, exploration=exploration, horizon=horizon, arm=arm)
        self.heuristic = known_name(heuristic, _HEURISTICS, "heuristic")
        self.max_delay = whole_number(max_delay, "max_delay")

    @classmethod
    def told(cls, known: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
        return told_with_base(known, written)

    @property
    def name(self) -> str:
        return f"SBD ({self.base.label}, {_HEURISTICS[self.heuristic][1]})"

    def __repr__(self) -> str:
        return (
            f"SBD({self.base.name!r}, n_arms={self.n_arms}, heuristic={self.heuristic!r}, "
            f"max_delay={self.max_delay}{self.base.arguments})"
        )

    def check(self, problem: Problem) -> None:
        super().check(problem)
        for delay in dict.fromkeys(problem.delays):
            if delay.bound is None:
                warnings.warn(
                    f"{self.name} was told a largest delay of {self.max_delay}, and "
                    f"{delay.short_text} has none: rewards may come later than that.",
                    stacklevel=3,
                )
            elif delay.bound > self.max_delay:
                raise InvalidInput(
                    f"{self.name} was told a largest delay of {self.max_delay}, and {delay.short_text} "
                    f"reaches {delay.bound}; give it max_delay={delay.bound} or more."
                )

    def new_memory(self, rng: np.random.Generator) -> Memory:
        memory = Memory(layout.QUEUED, self.n_arms, rng)
        self.base.write_into(memory, rng)
        memory.whole[layout.HEURISTIC] = _HEURISTICS[self.heuristic][0]
        memory.whole[layout.MAX_DELAY] = self.max_delay
        return memory
