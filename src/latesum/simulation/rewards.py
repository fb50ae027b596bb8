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


@runtime_checkable
class Reward(Protocol):
    """What one play of an arm earns."""

    @property
    def mean(self) -> float:
        """The expected reward (the paper's mu_j)."""

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest reward possible."""
        return (0.0, 1.0)

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
        finite_number(self.mean, "the mean of a Bernoulli reward", at_least=0, at_most=1)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        return (rng.random(count) < self.mean).astype(np.float64)

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        return float(rng.binomial(count, self.mean))


@dataclass(frozen=True)
class Constant(Reward):
    """Always `value`.

    >>> Constant(0.5).mean
    0.5
    """

    value: float

    def __post_init__(self) -> None:
        finite_number(self.value, "the value of a constant reward")

    @property
    def mean(self) -> float:
        return self.value

    @property
    def support(self) -> tuple[float, float]:
        return (self.value, self.value)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        return np.full(count, self.value, dtype=np.float64)

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        return count * self.value


@dataclass(frozen=True)
class Discrete(Reward):
    """One of `values`, with `probabilities`.

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
        values = tuple(finite_number(v, "a value of a discrete reward") for v in self.values)
        what = "a probability of a discrete reward"
        chances = tuple(finite_number(p, what, at_least=0, at_most=1) for p in self.probabilities)
        if abs(math.fsum(chances) - 1) > 1e-9:
            raise InvalidInput(
                f"the probabilities of a discrete reward must sum to 1, not {math.fsum(chances):g}."
            )
        vars(self).update(values=values, probabilities=chances)

    @property
    def mean(self) -> float:
        return math.fsum(p * v for p, v in zip(self.probabilities, self.values, strict=True))

    @property
    def support(self) -> tuple[float, float]:
        return (min(self.values), max(self.values))

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


@dataclass(frozen=True)
class Uniform(Reward):
    """Anywhere between `low` and `high`, each as likely.

    >>> Uniform(0.2, 0.6).mean
    0.4
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        finite_number(self.low, "low of a uniform reward")
        finite_number(self.high, "high of a uniform reward", above=self.low)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        return rng.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class Scaled(Reward):
    """`reward`, in its own unit, which lies in the range `low` to `high`, brought to [0, 1].

    >>> basket = Discrete([0, 20, 50], [0.9, 0.08, 0.02])       # in pounds
    >>> round(Scaled(basket, 0, 50).mean, 6)
    0.052
    """

    reward: Reward
    low: float
    high: float

    def __post_init__(self) -> None:
        finite_number(self.low, "low of a scaled reward")
        finite_number(self.high, "high of a scaled reward", above=self.low)
        lowest, highest = self.reward.support
        if lowest < self.low or highest > self.high:
            raise InvalidInput(
                f"the declared range {self.low:g} to {self.high:g} does not hold this reward, "
                f"which lies between {lowest:g} and {highest:g}."
            )

    @property
    def mean(self) -> float:
        return (self.reward.mean - self.low) / (self.high - self.low)

    @property
    def support(self) -> tuple[float, float]:
        lowest, highest = self.reward.support
        width = self.high - self.low
        return ((lowest - self.low) / width, (highest - self.low) / width)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        return (self.reward.draw(count, rng) - self.low) / (self.high - self.low)

    def draw_sum(self, count: int, rng: np.random.Generator) -> float:
        drawn = self.reward.draw_sum(count, rng)
        return (drawn - count * self.low) / (self.high - self.low)


_REWARDS: dict[str, Any] = {
    each.__name__.lower(): each for each in (Bernoulli, Beta, Constant, Discrete, Scaled, Uniform)
}


def as_reward(arm: Reward | float | str) -> Reward:
    """A reward, also from its text or from a mean, which means a Bernoulli one.

    >>> as_reward("scaled(discrete([0, 20], [0.9, 0.1]), 0, 20)").mean
    0.1
    """
    if isinstance(arm, str):
        arm = _parsed(arm)
    if isinstance(arm, (int, float, np.number)) and not isinstance(arm, bool):
        return Bernoulli(float(arm))
    if not isinstance(arm, Reward):
        raise InvalidInput(f"an arm is a reward or a number between 0 and 1, not {arm!r}.")
    lowest, highest = arm.support
    if lowest < 0 or highest > 1:
        raise InvalidInput(
            f"rewards must lie between 0 and 1, and {arm!r} lies between {lowest:g} and "
            f"{highest:g}; declare its range with Scaled(reward, low, high)."
        )
    return arm


def _parsed(text: str) -> Reward:
    try:
        return _build(ast.parse(text.strip(), mode="eval").body)
    except InvalidInput:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError):
        raise InvalidInput(
            f'cannot read the reward {text!r}; write "beta(6, 4)", "bernoulli(0.5)" or '
            '"scaled(uniform(0, 20), 0, 50)".'
        ) from None


def _build(node: ast.expr) -> Reward:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError
    builder = _REWARDS[known_name(node.func.id, _REWARDS, "reward")]
    arguments = [
        _build(argument) if isinstance(argument, ast.Call) else ast.literal_eval(argument)
        for argument in node.args
    ]
    reward: Reward = builder(*arguments)
    return reward


def reward_text(reward: Reward) -> float | str:
    """What `as_reward` reads; a Bernoulli reward is its mean.

    >>> reward_text(as_reward("scaled(uniform(0, 20), 0, 50)"))
    'scaled(uniform(0, 20), 0, 50)'
    """
    kind: Any = type(reward)
    if kind is Bernoulli:
        return float(reward.mean)
    if kind not in _REWARDS.values():
        raise InvalidInput(
            f"{reward!r} cannot be written to a file; take one of {', '.join(sorted(_REWARDS))}."
        )
    values = [getattr(reward, each.name) for each in dataclasses.fields(kind)]
    return f"{kind.__name__.lower()}({', '.join(map(_value_text, values))})"


def _value_text(value: Any) -> str:
    if isinstance(value, Reward):
        text = reward_text(value)
        return text if isinstance(text, str) else f"bernoulli({text!r})"
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
