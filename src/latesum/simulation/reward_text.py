"""Rewards as text, for files: "beta(6, 4)", "discrete([0, 0.5, 1], [0.5, 0.3, 0.2])"."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from latesum._checks import InvalidInput, known_name
from latesum.simulation import rewards
from latesum.simulation.rewards import Reward

_REWARDS: dict[str, Any] = {
    "bernoulli": rewards.Bernoulli,
    "beta": rewards.Beta,
    "constant": rewards.Constant,
    "discrete": rewards.Discrete,
    "scaled": rewards.Scaled,
    "uniform": rewards.Uniform,
}
_EXAMPLES = '"beta(6, 4)", "bernoulli(0.5)" or "scaled(uniform(0, 20), 0, 50)"'


def parse_reward(text: str) -> Reward:
    """Read a reward such as "beta(6, 4)".

    >>> parse_reward("scaled(discrete([0, 20], [0.9, 0.1]), 0, 20)").mean
    0.1
    """
    refusal = f"cannot read the reward {text!r}; write {_EXAMPLES}."
    try:
        return _build(ast.parse(text.strip(), mode="eval").body)
    except InvalidInput:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError):
        raise InvalidInput(refusal) from None


def reward_text(reward: Reward) -> float | str:
    """What `parse_reward` reads; a Bernoulli reward is its mean.

    >>> reward_text(parse_reward("scaled(uniform(0, 20), 0, 50)"))
    'scaled(uniform(0, 20), 0, 50)'
    """
    if isinstance(reward, rewards.Bernoulli):
        return float(reward.mean)
    for name, builder in _REWARDS.items():
        if type(reward) is builder:
            fields = dataclasses.fields(builder)  # type: ignore[arg-type]
            values = [getattr(reward, each.name) for each in fields]
            return f"{name}({', '.join(_value_text(value) for value in values)})"
    raise InvalidInput(
        f"{reward!r} cannot be written to a file; take one of {', '.join(sorted(_REWARDS))}."
    )


def _value_text(value: Any) -> str:
    if isinstance(value, Reward):
        text = reward_text(value)
        return text if isinstance(text, str) else f"bernoulli({text!r})"
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


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
