"""Text such as "name" or "name(key=value, ...)": how policies and measures are written in files."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from latesum._checks import InvalidInput

#: A name of ours, or the place of one: package.module:Class.
_WRITTEN = re.compile(r"\s*(?P<name>[\w.+:-]+)\s*(\((?P<arguments>.*)\))?\s*", re.DOTALL)


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
