"""What a policy was built with and has learned: checks, copies, JSON values, its repr."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number

#: The version of the saved state's layout; `from_state` refuses any other.
STATE_VERSION = 1
#: Nothing (the pipeline is empty, as in the paper), an arm, or something that is no arm.
StatusQuo = int | Literal["other"] | None
#: Segments from before the start, oldest first: arm, rounds and total (None: not known).
History = tuple[tuple[int, int, float | None], ...]
_SCALARS = frozenset((bool, int, float, str, type(None)))


def copied(value: Any) -> Any:
    """A copy that shares nothing that can change; it is fast for plain data.

    >>> one = {"sums": [1.0, 2.0], "means": np.zeros(2)}
    >>> other = copied(one)
    >>> other["sums"].append(3.0)
    >>> one["sums"]
    [1.0, 2.0]
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list or kind is tuple:
        return kind([each if type(each) in _SCALARS else copied(each) for each in value])
    if kind is dict:
        return {
            key: each if type(each) in _SCALARS else copied(each) for key, each in value.items()
        }
    if kind is np.ndarray and value.dtype != object:
        return value.copy()
    if is_dataclass(value) and not isinstance(value, type):
        new = object.__new__(kind)
        vars(new).update(copied(vars(value)))
        return new
    return copy.deepcopy(value)


def generator_in(state: dict[str, Any]) -> np.random.Generator:
    """A generator in this state.

    >>> rng = np.random.default_rng(3)
    >>> generator_in(rng.bit_generator.state).random() == rng.random()
    True
    """
    bits: Any = getattr(np.random, state["bit_generator"])(0)
    bits.state = state
    return np.random.Generator(bits)


def check_state(state: Any, kind: str) -> None:
    """Refuse what is not the saved state of a policy of this kind.

    >>> check_state({"latesum_state": STATE_VERSION, "policy": "flow"}, "flow")
    """
    if not isinstance(state, dict) or "latesum_state" not in state:
        raise InvalidInput("this is not a saved policy: it has no 'latesum_state' entry.")
    if state["latesum_state"] != STATE_VERSION:
        raise InvalidInput(
            f"this policy was saved with state version {state['latesum_state']!r}; this "
            f"latesum reads version {STATE_VERSION}. Replay its plays instead."
        )
    if state["policy"] != kind:
        raise InvalidInput(f"this is the state of a {state['policy']!r} policy, not of {kind!r}.")


def arguments_of(policy: type) -> Mapping[str, inspect.Parameter]:
    """The arguments of a policy's constructor; each has a name, since they are saved by it."""
    arguments = inspect.signature(policy).parameters
    for name, argument in arguments.items():
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise InvalidInput(
                f"{policy.__name__} takes *{name}; list a policy's arguments by their names, since "
                "they are kept as its parameters."
            )
    return arguments


def parameters_of(policy: Any) -> dict[str, Any]:
    """The arguments of a policy as JSON values, without `rng` and without usual names."""
    owner, found = type(policy).__name__, {}
    for name in _kept(policy):
        if name not in vars(policy):
            raise InvalidInput(
                f"{owner} does not keep its argument {name!r}: write "
                f"self.{name} = {name} in __init__, before super().__init__(...)."
            )
        found[name] = _json_value(getattr(policy, name), f"the parameter {name!r} of {owner}")
    return found


def _json_value(value: Any, what: str) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if type(value) in _SCALARS:
        return value
    if isinstance(value, (list, tuple)):
        return [_json_value(each, what) for each in value]
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: _json_value(each, f"{what}.{key}") for key, each in value.items()}
    raise InvalidInput(
        f"{what} holds a {type(value).__name__}, which cannot be saved: give numbers, text, lists "
        "or dicts with text as keys."
    )


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
    arguments = dict(arguments_of(type(policy)))
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


def check_status_quo(status_quo: Any, n_arms: int) -> StatusQuo:
    """`status_quo` if it is one of the three answers: None, an arm, or "other".

    >>> check_status_quo("other", 2), check_status_quo(1, 2)
    ('other', 1)
    """
    if status_quo is None:
        return None
    if status_quo == "other":
        return "other"
    if isinstance(status_quo, str):
        raise InvalidInput(
            f"the status quo is one of the arms (0 to {n_arms - 1}), 'other' (something that is "
            f"no arm, or is not known) or None (nothing ran), not {status_quo!r}."
        )
    arm = whole_number(status_quo, "the status quo")
    if arm >= n_arms:
        raise InvalidInput(f"arm {arm} cannot have run before; the arms are 0 to {n_arms - 1}.")
    return arm


def check_history(history: Iterable[Sequence[Any]], n_arms: int) -> History:
    """`history`, oldest first, as arms, rounds and totals; what is wrong with it is refused.

    >>> check_history([[0, 20_000, 600], (1, 100, None)], 2)
    ((0, 20000, 600.0), (1, 100, None))
    """
    checked = []
    for segment in history:
        try:
            arm, rounds, total = segment
        except (TypeError, ValueError):
            raise InvalidInput(
                f"a segment of the history is (arm, rounds, total), not {segment!r}."
            ) from None
        arm = whole_number(arm, "an arm in the history")
        if arm >= n_arms:
            raise InvalidInput(f"there is no arm {arm} in the history; the last is {n_arms - 1}.")
        rounds = whole_number(rounds, "the rounds of a segment of the history", at_least=1)
        if total is not None:
            total = finite_number(total, "a total in the history (None where it is not known)")
        checked.append((arm, rounds, total))
    return tuple(checked)
