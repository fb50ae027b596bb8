"""The base indices, by name: algorithms for undelayed rewards that QPM-D and SBD are built on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.memory import Memory

#: The bases by name, with the one parameter each may take.
BASES: dict[str, tuple[int, str, str | None]] = {
    "ucb1": (layout.UCB1, "UCB1", "exploration"),
    "kl-ucb": (layout.KL_UCB, "KL-UCB", None),
    "kl-ucb++": (layout.KL_UCB_PLUS_PLUS, "KL-UCB++", "horizon"),
    "thompson": (layout.THOMPSON, "Thompson", None),
    "fixed": (layout.FIXED, "fixed arm", "arm"),
}


@dataclass(frozen=True)
class Base:
    """A base index with its parameter.

    - `ucb1`: mean + sqrt(exploration ln n / n_i), n the rewards fed so far, n_i the arm's.
    - `kl-ucb`: the largest q with n_i kl(mean, q) <= ln n.
    - `kl-ucb++`: the largest q with n_i kl(mean, q) <= ln(x (1 + ln^2 x)), x = max(1, T/(K n_i)).
    - `thompson`: a draw from Beta(1 + sum, 1 + n_i - sum). A reward between 0 and 1 adds its
      fraction to each side; for rewards of 0 and 1 that is the usual update.
    - `fixed`: always the same arm.

    Each but `thompson` and `fixed` begins with every arm once, in order; equal indices go to the
    first arm.
    """

    name: str
    n_arms: int
    exploration: float = 2.0
    horizon: int = 0
    arm: int = 0

    @property
    def label(self) -> str:
        """The name for tables."""
        label = BASES[self.name][1]
        if self.name == "ucb1" and self.exploration != 2:
            return f"{label}, exploration {self.exploration:g}"
        return f"{label} {self.arm}" if self.name == "fixed" else label

    @property
    def arguments(self) -> str:
        """The keyword argument that differs from the default, as text for a repr."""
        if self.name == "ucb1" and self.exploration != 2:
            return f", exploration={self.exploration:g}"
        if self.name == "kl-ucb++":
            return f", horizon={self.horizon}"
        return f", arm={self.arm}" if self.name == "fixed" else ""

    def write_into(self, memory: Memory, rng: np.random.Generator) -> None:
        """Put the base where the compiled code looks for it, and its first request."""
        memory.whole[layout.BASE] = BASES[self.name][0]
        memory.settings[layout.EXPLORATION] = self.exploration
        memory.settings[layout.HORIZON_PER_ARM] = self.horizon / self.n_arms
        if self.name == "fixed":
            memory.whole[layout.ASKED] = self.arm
        elif self.name == "thompson":
            # Nothing is known: the largest of equal draws is any arm.
            memory.whole[layout.ASKED] = rng.integers(self.n_arms)


def told_with_base(known: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What a policy with a base is told: UCB1 unless written, and the horizon if the base asks it.

    >>> told_with_base({"n_arms": 2, "horizon": 9}, {})
    {'base': 'ucb1', 'n_arms': 2}
    """
    told = {"base": "ucb1", **known}
    if BASES.get(written.get("base", "ucb1"), ("", "", ""))[2] != "horizon":
        told.pop("horizon", None)
    return told


def base_index(
    name: str,
    n_arms: int,
    *,
    exploration: float | None = None,
    horizon: int | None = None,
    arm: int | None = None,
) -> Base:
    """The base of this name; a parameter that it does not have is refused.

    >>> base_index("ucb1", 2, exploration=0.5).label
    'UCB1, exploration 0.5'
    >>> base_index("kl-ucb", 2, exploration=0.5)
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: the base 'kl-ucb' has no exploration; only 'ucb1' has.
    """
    name = known_name(name, BASES, "base")
    own = BASES[name][2]
    given = {"exploration": exploration, "horizon": horizon, "arm": arm}
    for parameter, value in given.items():
        if value is not None and parameter != own:
            owner = next(known for known, entry in BASES.items() if entry[2] == parameter)
            raise InvalidInput(f"the base {name!r} has no {parameter}; only {owner!r} has.")
    if name == "kl-ucb++" and horizon is None:
        raise InvalidInput("the base 'kl-ucb++' needs the horizon: horizon=250000, for example.")
    if name == "fixed" and arm is None:
        raise InvalidInput("the base 'fixed' needs an arm: arm=0, for example.")
    chosen = whole_number(arm or 0, "arm")
    if chosen >= n_arms:
        raise InvalidInput(f"there is no arm {chosen}; the arms are 0 to {n_arms - 1}.")
    return Base(
        name,
        n_arms,
        finite_number(2.0 if exploration is None else exploration, "exploration", above=0),
        whole_number(1 if horizon is None else horizon, "horizon", at_least=1),
        chosen,
    )
