"""What every attributed policy is, and how one is stepped by hand.

A policy here is a description: a name, a number of arms, parameters. `start` gives it a memory
and returns `Steps`, which alternate between `choose` and `observe`. Its protocol is not the
anonymous one: there is no `ask`, no `tell`, and a total without labels cannot be handed to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from latesum import _render
from latesum._checks import InvalidInput, finite_number, whole_number
from latesum._plugins import signature_of
from latesum.attributed import layout_kernels as layout
from latesum.attributed.memory import Floats, Integers, Memory
from latesum.attributed.playable import memory_of, refuse_other_arms
from latesum.simulation.problem import Problem

#: What a policy might be told about delays, by the names these parameters have here.
_DELAY_PARAMETERS = ("delay", "delays", "max_delay", "cdf_horizon")


class AttributedPolicy(ABC):
    """A policy that sees which arm paid: every reward arrives with the arm it belongs to.

    Subclasses set `kind`, the name in the registry, `name`, the label for tables, and
    `delay_knowledge`, what they must be told about the delay. How one plays is compiled:
    `playable` refuses what would not be used.

    Args:
        n_arms: The number of arms.
    """

    #: The policy's name in the registry.
    kind: ClassVar[str]
    #: Marks these policies in tables and figures: they see more than a total.
    sees: ClassVar[Literal["labels"]] = "labels"
    #: What the policy must be told about the delay, in words.
    delay_knowledge: ClassVar[str] = "nothing"

    n_arms: int
    #: The constructor's arguments.
    parameters: dict[str, Any]

    def __new__(cls, *values: Any, **parameters: Any) -> AttributedPolicy:
        """Refuse knowledge of the delay that this policy has no use for."""
        usable = signature_of(cls).parameters
        for parameter in _DELAY_PARAMETERS:
            if parameter in parameters and parameter not in usable:
                raise InvalidInput(
                    f"{cls.__name__} cannot use {parameter}: it must be told "
                    f"{cls.delay_knowledge} about the delay. DUCB and KLDUCB use a delay, "
                    "SBD a max_delay."
                )
        policy = super().__new__(cls)
        names = (name for name in usable if name not in parameters)
        policy.parameters = {**dict(zip(names, values, strict=False)), **parameters}
        return policy

    @classmethod
    def told(cls, known: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
        """What this policy takes of what is known of a problem, beside the parameters written.

        Args:
            known: What is true of the problem, by the names of parameters.
            written: The parameters that are given already.
        """
        return dict(known)

    def __init__(self, n_arms: int) -> None:
        self.n_arms = whole_number(n_arms, "n_arms", at_least=2)

    @property
    @abstractmethod
    def name(self) -> str:
        """The label for tables and figures."""

    def _repr_html_(self) -> str:
        """As a notebook shows it: what one would type, and what it sees and must be told."""
        told = f"It sees which arm paid, and must be told {self.delay_knowledge} about the delay."
        return _render.heading(repr(self)) + _render.sentences([f"{self.name}, a baseline. {told}"])

    @abstractmethod
    def new_memory(self, rng: np.random.Generator) -> Memory:
        """The arrays of this policy before its first round.

        Args:
            rng: The generator that the policy draws from.
        """

    def check(self, problem: Problem) -> None:
        """Refuse a problem that this policy cannot play, and warn where it was told wrongly.

        Args:
            problem: What is to be played.
        """
        refuse_other_arms(self, problem)

    def start(self, *, rng: np.random.Generator) -> Steps:
        """Begin, knowing nothing: choose an arm, observe what arrived, and so on.

        Args:
            rng: The generator for policies that draw (Thompson sampling, DUCB's first plays).

        >>> from latesum.attributed import QPMD
        >>> steps = QPMD("ucb1", n_arms=2).start(rng=np.random.default_rng(1))
        >>> steps.choose()
        0
        >>> steps.observe([(0, 1.0)])               # arm 0 paid 1, in the same round
        >>> steps.choose()
        1
        >>> steps.observe([])                       # nothing arrived: arm 1 still has to answer
        >>> steps.choose()
        1
        """
        return Steps(self, rng)


class Steps:
    """A policy at work, one round at a time, on the compiled code of the fast runs.

    Args:
        policy: The policy.
        rng: The generator that it draws from.
    """

    def __init__(self, policy: AttributedPolicy, rng: np.random.Generator) -> None:
        from latesum.attributed import policy_kernels  # Numba is loaded here, not at import

        self.policy = policy
        self._kernels = policy_kernels
        self._memory = memory_of(policy, rng)
        self._state = self._memory.state
        self._outstanding = np.zeros(policy.n_arms, dtype=np.int64)

    @property
    def plays(self) -> Integers:
        """How often each arm has been played so far."""
        plays: Integers = self._memory.tallies[layout.PLAYS].copy()
        return plays

    def choose(self) -> int:
        """The arm to play now. Each call is a new round."""
        if self._memory.whole[layout.KIND] == layout.PHASED and self._outstanding.any():
            raise InvalidInput(
                f"{self.policy.name} is for undelayed rewards: observe the reward of a play "
                "before the next one."
            )
        arm = int(self._kernels.choose_once(*self._state))
        self._outstanding[arm] += 1
        return arm

    def observe(self, arrivals: Iterable[tuple[int, float]]) -> None:
        """Take in the rewards that arrived in this round, as (arm, reward) pairs, in order.

        Args:
            arrivals: An arm and a reward for each arrival.
        """
        taken = [
            (
                whole_number(arm, "the arm of an arrival"),
                finite_number(reward, "an arriving reward", at_least=0, at_most=1),
            )
            for arm, reward in arrivals
        ]
        left = self._outstanding.copy()
        for arm, _ in taken:
            if arm >= self.policy.n_arms or left[arm] == 0:
                raise InvalidInput(
                    f"a reward of arm {arm} arrived, and no play of that arm is outstanding; "
                    "observe each play's reward once, after the play."
                )
            left[arm] -= 1
        self._outstanding = left
        if self._memory.make_room(len(taken)):
            self._state = self._memory.state
        arms: Integers = np.array([arm for arm, _ in taken], dtype=np.int64)
        rewards: Floats = np.array([reward for _, reward in taken], dtype=np.float64)
        self._kernels.receive_all(*self._state, arms, rewards)
