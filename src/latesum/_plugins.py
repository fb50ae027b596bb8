"""Plugins: things known by a name, and the text that calls one with its parameters.

A name is looked up in this order: what latesum has and what a program registered; for a name such
as "package.module:Class", that object of that module; and the entry points of installed packages.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from latesum._checks import InvalidInput, known_name

#: A registered name, or an import path: package.module:Class.
_WRITTEN = re.compile(r"\s*(?P<name>[\w.+:-]+)\s*(\((?P<arguments>.*)\)\s*)?", re.DOTALL)


class Registry:
    """Names of one kind of thing, with no two things of one name.

    Args:
        what: What a thing is called in messages.
        group: The group of entry points by which installed packages add more.
        check: Refuses what does not belong here, by its name (None for one that is named by its
            import path, "package.module:Class"); without it, what cannot be called.

    >>> tools = Registry("tool", "latesum.no_such_group")
    >>> tools.add("hammer", print)
    >>> tools.find("hammer") is print, tools.names()
    (True, ['hammer'])
    >>> tools.add("hammer", len)
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: there is a tool 'hammer' already; choose another name.
    """

    def __init__(
        self, what: str, group: str, check: Callable[[str | None, Any], None] | None = None
    ) -> None:
        self.what, self.group, self._own_check = what, group, check
        self._known: dict[str, Any] = {}

    def _check(self, name: str | None, thing: Any) -> None:
        if self._own_check is not None:
            self._own_check(name, thing)
        elif not callable(thing):
            raise InvalidInput(f"{thing!r} cannot be called, and so is no {self.what}.")

    def add(self, name: str, thing: Any) -> None:
        """Make a thing known in this process; a name that is taken is refused."""
        self._check(name, thing)
        if not _same(self._known.get(name, thing), thing):
            raise InvalidInput(f"there is a {self.what} {name!r} already; choose another name.")
        self._known[name] = thing

    def names(self) -> list[str]:
        """All names; those of entry points come last."""
        return [*self._known, *(name for name in self._entry_points if name not in self._known)]

    def loaded(self, name: str) -> Any:
        """The thing of this name if it is here already, without a look at packages, or None."""
        return self._known.get(name)

    def find(self, name: object) -> Any:
        """The thing of this name, loaded if need be."""
        if isinstance(name, str) and name in self._known:
            return self._known[name]
        is_path = isinstance(name, str) and ":" in name
        found = str(name) if is_path else known_name(name, self.names(), self.what)
        try:
            if is_path:
                module, _, path = found.partition(":")
                thing = functools.reduce(getattr, path.split("."), importlib.import_module(module))
            else:
                thing = self._entry_points[found].load()
        except (ImportError, AttributeError, ValueError) as error:
            whose = "" if is_path else f" of {_package(self._entry_points[found])}"
            raise InvalidInput(
                f"the {self.what} {found!r}{whose} cannot be loaded: {error}; a {self.what} of "
                "your own is named package.module:Name, and Python must find that module."
            ) from error
        self._check(None if is_path else found, thing)
        self._known[found] = thing
        return thing

    @functools.cached_property
    def _entry_points(self) -> dict[str, Any]:
        """The entry points of installed packages, read when a name is first missed."""
        from importlib.metadata import entry_points

        found: dict[str, Any] = {}
        for entry in entry_points(group=self.group):
            if entry.name in self._known or entry.name in found:
                raise InvalidInput(
                    f"{_package(entry)} brings a {self.what} {entry.name!r}, and there is one of "
                    "that name already; remove the package, or give its entry point another name."
                )
            found[entry.name] = entry
        return found


def _same(known: Any, thing: Any) -> bool:
    """Whether this is one thing, or one that was defined again, as a notebook's cells do."""
    name = getattr(thing, "__qualname__", "<no name>")
    origin = getattr(known, "__module__", None), getattr(known, "__qualname__", None)
    return known is thing or ("<" not in name and origin == (thing.__module__, name))


def _package(entry: Any) -> str:
    return f"the package {entry.dist.name!r}" if entry.dist else f"the entry point {entry.value!r}"


def _check_policy(name: str | None, thing: Any) -> None:
    kind = getattr(thing, "kind", None)
    if not isinstance(thing, type) or getattr(thing, "sees", None) not in ("totals", "attributed"):
        raise InvalidInput(f"{thing!r} is no policy: give a subclass of latesum.Policy.")
    if not isinstance(kind, str) or (name is not None and name != kind):
        raise InvalidInput(
            f"{thing.__name__} has the kind {kind!r}; a policy is registered under its kind"
            + ("." if name is None else f", and {name!r} is another name.")
        )
    if name is None:
        POLICIES.add(kind, thing)  # a saved state names the kind, and no two kinds are the same


#: What decides, by `kind`: policies and attributed baselines alike. Each package adds its own.
POLICIES = Registry("policy", "latesum.policies", _check_policy)
#: What makes a delay of the arguments that are written behind its name.
DELAYS = Registry("delay", "latesum.delays")


def read_call(text: str, what: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters that are written; `what` says in messages what it is.

    >>> read_call("flow(index='ucb1')", "policy")
    ('flow', {'index': 'ucb1'})
    """
    match = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput(
            f"cannot read the {what} {text!r}; write a name, or name(parameter=value, ...)."
        )
    try:
        call = ast.parse(f"f({match['arguments'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        return match["name"], {
            str(each.arg): ast.literal_eval(each.value) for each in call.keywords
        }
    except (SyntaxError, ValueError):
        raise InvalidInput(
            f"cannot read the parameters in {text!r}; write name(parameter=value, ...)."
        ) from None


def write_call(name: str, parameters: Mapping[str, Any]) -> str:
    """The opposite of `read_call`.

    >>> write_call("flow", {"index": "ucb1"}), write_call("flow", {})
    ("flow(index='ucb1')", 'flow')
    """
    inside = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def split_list(text: str) -> list[str]:
    """Split at the commas that are not inside brackets.

    >>> split_list("odaaf, odaaf-b(mean_delay=20, delay_bound=60)")
    ['odaaf', 'odaaf-b(mean_delay=20, delay_bound=60)']
    """
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]
