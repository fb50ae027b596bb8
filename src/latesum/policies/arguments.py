"""A policy's constructor arguments, kept by its base class: as attributes, as JSON, as text."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np

from latesum._checks import InvalidInput

#: Written by position in `repr`, as people do; all others by name.
_BY_POSITION = ("n_arms", "horizon")


class KeepsArguments:
    """Every constructor argument is an attribute of the same name before `__init__` begins.

    A constructor may replace one by its checked value. `rng` is not kept: it is not data.
    """

    __signature__: ClassVar[inspect.Signature]
    _left_out: frozenset[str]  # the arguments that were None, whatever the constructor made of it

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        cls.__signature__ = inspect.Signature(own)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Keep the arguments, then let `__init__` check them."""
        new = super().__new__(cls)
        for parameter in cls.__signature__.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise InvalidInput(
                    f"{cls.__name__} takes *{parameter.name}; list a policy's arguments by their "
                    "names, since they are kept as its parameters."
                )
        try:
            bound = cls.__signature__.bind(*given, **named)
        except TypeError:  # a pickle is read, or `__init__` says what is missing
            return new
        bound.apply_defaults()
        kept = {name: value for name, value in bound.arguments.items() if name != "rng"}
        new.__dict__.update(kept)
        new._left_out = frozenset(name for name, value in kept.items() if value is None)
        return new

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, as plain JSON values."""
        return {
            name: None if name in self._left_out else _plain(getattr(self, name), name, self)
            for name in self.__signature__.parameters
            if name != "rng" and not (name == "names" and name in self._left_out)
        }

    def __repr__(self) -> str:
        """What one would type."""
        return self._typed()

    def _typed(self, **instead: str) -> str:
        """What one would type, with some arguments as they are given here."""
        written: list[str] = []
        for name, parameter in self.__signature__.parameters.items():
            if name == "rng" or (name in self._left_out and name not in instead):
                continue
            value = getattr(self, name)
            if name in instead:
                text = instead[name]
            elif value is parameter.default or value == parameter.default:
                continue
            else:
                text = repr(list(value) if isinstance(value, tuple) else value)
            position = name in _BY_POSITION and len(written) == _BY_POSITION.index(name)
            written.append(text if position else f"{name}={text}")
        return f"{type(self).__name__}({', '.join(written)})"


def _plain(value: Any, name: str, owner: object) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each, name, owner) for each in value]
    raise InvalidInput(
        f"the parameter {name!r} of {type(owner).__name__} is {value!r}, which cannot be saved; "
        "give numbers, text, or lists of them."
    )
