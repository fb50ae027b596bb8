"""A policy's constructor arguments: attributes of the same names, as JSON and as text."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from latesum._checks import InvalidInput
from latesum.policies.state import to_json


def arguments_of(policy: type) -> dict[str, inspect.Parameter]:
    """The arguments of a policy's constructor; each has a name, since they are saved by it."""
    arguments = dict(inspect.signature(policy.__init__).parameters)  # type: ignore[misc]
    del arguments["self"]
    for name, argument in arguments.items():
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise InvalidInput(
                f"{policy.__name__} takes *{name}; list a policy's arguments by their names, since "
                "they are kept as its parameters."
            )
    return arguments


def parameters_of(policy: Any) -> dict[str, Any]:
    """The arguments of a policy as JSON values, without `rng` and without usual names."""
    found = {}
    for name in _kept(policy):
        if name not in vars(policy):
            raise InvalidInput(
                f"{type(policy).__name__} does not keep its argument {name!r}: write "
                f"self.{name} = {name} in __init__, before super().__init__(...)."
            )
        value = getattr(policy, name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        found[name] = to_json(value, f"the parameter {name!r} of {type(policy).__name__}")
    return found


def typed(policy: Any) -> str:
    """What one would type to make a policy."""
    written: list[str] = []
    for name, argument in _kept(policy).items():
        value = getattr(policy, name, None)
        if value is None or value is argument.default or value == argument.default:
            continue
        text = repr(list(value) if isinstance(value, tuple) else value)
        position = ("n_arms", "horizon")[len(written) : len(written) + 1] == (name,)
        written.append(text if position else f"{name}={text}")
    return f"{type(policy).__name__}({', '.join(written)})"


def _kept(policy: Any) -> dict[str, inspect.Parameter]:
    arguments = arguments_of(type(policy))
    arguments.pop("rng", None)
    if policy.names == checked_names(None, policy.n_arms):
        arguments.pop("names", None)
    return arguments


def checked_names(names: Sequence[str] | None, n_arms: int) -> tuple[str, ...]:
    """The names of the arms, by default letters.

    >>> checked_names(None, 3)
    ('A', 'B', 'C')
    """
    if names is None:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return tuple(letters[i] if n_arms <= 26 else f"arm {i}" for i in range(n_arms))
    if len(names) != n_arms or len(set(names)) != n_arms:
        raise InvalidInput(f"give {n_arms} different names, one for each arm, not {list(names)!r}.")
    return tuple(str(name) for name in names)
