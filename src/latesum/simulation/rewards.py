"""What one play earns: rewards in [0, 1], and how the sum of many is drawn.

As text, for files, a reward is the call that makes it: "beta(6, 4)",
"discrete([0, 0.5, 1], [0.5, 0.3, 0.2])".
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, known_name

Floats = NDArray[np.float64]

_PIECE = 1 << 20
_SHARE: dict[str, float] = {"at_least": 0, "at_most": 1}


@runtime_checkable
class Reward(Protocol):
    """What one play of an arm earns: a number between 0 and 1."""

    @property
    def mean(self) -> float:
        """The expected reward (the paper's mu_j)."""

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw `count` rewards."""

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        """Draw the sum of `count` rewards; by default in pieces, so that memory stays bounded."""
        total = 0.0
        for start in range(0, count, _PIECE):
            total += float(self.draw(min(_PIECE, count - start), rng).sum())
        return total


@dataclass(frozen=True)
class Bernoulli:
    """1 with probability `mean`, else 0.

    >>> Bernoulli(0.25).mean
    0.25
    """

    mean: float

    def __post_init__(self) -> None:
        finite_number(self.mean, "the mean of a Bernoulli reward", **_SHARE)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        return (rng.random(count) < self.mean).astype(np.float64)

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        return float(rng.binomial(count, self.mean))


@dataclass(frozen=True)
class Discrete(Reward):
    """One of `values`, with `probabilities`. Amounts are divided by the largest possible one.

    >>> Discrete([0, 0.5, 1], [0.5, 0.25, 0.25]).mean
    0.375
    """

    values: Sequence[float]
    probabilities: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.values) == 0 or len(self.values) != len(self.probabilities):
            raise InvalidInput(
                "a discrete reward needs as many probabilities as values, at least one of each; "
                f"there are {len(self.values)} values and {len(self.probabilities)} probabilities."
            )
        values, chances = (
            tuple(finite_number(each, f"a {what} of a discrete reward", **_SHARE) for each in given)
            for what, given in (("value", self.values), ("probability", self.probabilities))
        )
        if abs(math.fsum(chances) - 1) > 1e-9:
            raise InvalidInput(
                f"the probabilities of a discrete reward must sum to 1, not {math.fsum(chances):g}."
            )
        vars(self).update(values=values, probabilities=chances)

    @property
    def mean(self) -> float:
        return math.fsum(p * v for p, v in zip(self.probabilities, self.values, strict=True))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        drawn: Floats = rng.choice(np.array(self.values), size=count, p=self._normalized())
        return drawn

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        counts = rng.multinomial(count, self._normalized())
        return math.fsum(int(n) * v for n, v in zip(counts, self.values, strict=True))

    def _normalized(self) -> Floats:
        chances: Floats = np.array(self.probabilities) / math.fsum(self.probabilities)
        return chances


@dataclass(frozen=True)
class Beta(Reward):
    """Beta(a, b) on [0, 1].

    >>> Beta(3, 1).mean
    0.75
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        finite_number(self.a, "a of a Beta reward", above=0)
        finite_number(self.b, "b of a Beta reward", above=0)

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        return rng.beta(self.a, self.b, count)


_REWARDS: dict[str, Any] = {"bernoulli": Bernoulli, "beta": Beta, "discrete": Discrete}


def as_reward(arm: Reward | float | str) -> Reward:
    """A reward, also from its text or from a mean, which means a Bernoulli one.

    >>> as_reward("discrete([0, 1], [0.9, 0.1])").mean
    0.1
    """
    if isinstance(arm, str):
        try:
            call = ast.parse(arm.strip(), mode="eval").body
            if not isinstance(call, ast.Call) or call.keywords:
                raise ValueError
            kind = _REWARDS[known_name(ast.unparse(call.func), _REWARDS, "reward")]
            arm = kind(*map(ast.literal_eval, call.args))
        except InvalidInput:
            raise
        except (SyntaxError, ValueError, TypeError, RecursionError):
            raise InvalidInput(
                f'cannot read the reward {arm!r}; write "beta(6, 4)", "bernoulli(0.5)" or '
                '"discrete([0, 0.5, 1], [0.5, 0.3, 0.2])".'
            ) from None
    if isinstance(arm, (int, float, np.number)) and not isinstance(arm, bool):
        return Bernoulli(float(arm))
    if not isinstance(arm, Reward):
        raise InvalidInput(f"an arm is a reward or a number between 0 and 1, not {arm!r}.")
    return arm


def reward_text(reward: Reward) -> float | str:
    """What `as_reward` reads; a Bernoulli reward is its mean.

    >>> reward_text(as_reward("beta(6, 4)"))
    'beta(6, 4)'
    """
    kind: Any = type(reward)
    if kind is Bernoulli:
        return float(reward.mean)
    if kind not in _REWARDS.values():
        raise InvalidInput(
            f"{reward!r} cannot be written to a file; take one of {', '.join(_REWARDS)}."
        )
    values = (getattr(reward, each.name) for each in dataclasses.fields(kind))
    written = (repr(list(value) if isinstance(value, tuple) else value) for value in values)
    return f"{kind.__name__.lower()}({', '.join(written)})"
