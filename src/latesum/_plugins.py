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

#: A name of ours, or the place of one: package.module:Class.
_WRITTEN = re.compile(r"\s*(?P<name>[\w.+:-]+)\s*(\((?P<arguments>.*)\))?\s*", re.DOTALL)


class Registry:
    """Names of one kind of thing, with no two things of one name.

    `what` is what a thing is called in messages, `group` the group of entry points that packages
    may bring more by, and `check(name, thing)` refuses what does not belong here: what cannot be
    called, without it. For a thing named by its place, "package.module:Class", `name` is None.

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
        """All names, those that packages bring last."""
        return [*self._known, *(name for name in self._brought if name not in self._known)]

    def loaded(self, name: str) -> Any:
        """The thing of this name if it is here already, without a look at packages, or None."""
        return self._known.get(name)

    def find(self, name: object) -> Any:
        """The thing of this name, loaded if need be."""
        if isinstance(name, str) and name in self._known:
            return self._known[name]
        place = isinstance(name, str) and ":" in name
        found = str(name) if place else known_name(name, self.names(), self.what)
        try:
            if place:
                module, _, path = found.partition(":")
                thing = functools.reduce(getattr, path.split("."), importlib.import_module(module))
            else:
                thing = self._brought[found].load()
        except (ImportError, AttributeError, ValueError) as error:
            whose = "" if place else f" of {_package(self._brought[found])}"
            raise InvalidInput(
                f"the {self.what} {found!r}{whose} cannot be loaded: {error}; a {self.what} of "
                "your own is named package.module:Name, and Python must find that module."
            ) from error
        self._check(None if place else found, thing)
        self._known[found] = thing
        return thing

    @functools.cached_property
    def _brought(self) -> dict[str, Any]:
        """The entry points of installed packages, read when a name is first missed."""
        from importlib.metadata import entry_points

        brought: dict[str, Any] = {}
        for entry in entry_points(group=self.group):
            if entry.name in self._known or entry.name in brought:
                raise InvalidInput(
                    f"{_package(entry)} brings a {self.what} {entry.name!r}, and there is one of "
                    "that name already; remove the package, or give its entry point another name."
                )
            brought[entry.name] = entry
        return brought


def _same(known: Any, thing: Any) -> bool:
    """Whether this is one thing, or one that was defined again, as a notebook's cells do."""
    name = getattr(thing, "__qualname__", "<no name>")
    place = getattr(known, "__module__", None), getattr(known, "__qualname__", None)
    return known is thing or ("<" not in name and place == (thing.__module__, name))


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
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]
