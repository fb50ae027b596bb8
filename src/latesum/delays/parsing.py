"""Delays by name: the registry of families, and reading a delay from text.

Files and the command line write a delay as the call that makes it. The names in such a text are
those of this registry: latesum's own families, and those of installed packages.
"""

from __future__ import annotations

import ast
import copyreg
import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from latesum._checks import InvalidInput, known_name
from latesum._plugins import DELAYS
from latesum.delays.base import Delay, Family

_EXAMPLES = '"uniform(0, 100)", "exponential(50)" or "exponential(50).clipped(75)"'
#: The import path of a user-defined delay, package.module:Name(, or text in quotes (kept as it is).
_PATHS = re.compile(r"""("[^"]*"|'[^']*')|(?<![\w.])([A-Za-z_][\w.]*):([A-Za-z_]\w*)(?=\s*\()""")
_COLON = "__colon__"
_METHODS = ("clipped", "truncated")

Law = Callable[..., Delay]
_Function = TypeVar("_Function", bound=Law)


def law(function: _Function) -> _Function:
    """Register one of latesum's own families, under the function's name."""
    DELAYS.add(function.__name__, function)
    return function


def parse(text: str | Delay) -> Delay:
    """Read a delay such as "uniform(0, 100)"; a delay is returned as it is.

    One of your own is known by the name of an entry point of the group `latesum.delays`, or by its
    import path: "package.module:Name(...)".

    >>> parse("mixture((0.9, poisson(5)), (0.1, constant(60)))").mean
    10.5
    """
    if isinstance(text, Delay):
        return text
    if not isinstance(text, str):
        raise InvalidInput(f"a delay is written as text such as {_EXAMPLES}, not {text!r}.")
    try:
        # A colon is not Python: the path goes through the parser as a name with attributes.
        plain = _PATHS.sub(lambda m: m[1] or f"{m[2]}.{_COLON}.{m[3]}", text.strip())
        tree = ast.parse(plain, mode="eval").body
        value = _evaluate(tree)
    except InvalidInput:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidInput(f"cannot read the delay {text!r}; write {_EXAMPLES}.") from None
    except TypeError as error:
        raise InvalidInput(f"cannot read the delay {text!r}: {error}.") from None
    if not isinstance(value, Delay):
        raise InvalidInput(f"{text!r} is not a delay; write {_EXAMPLES}.")
    return value


def parse_each(delay: str | Delay | Sequence[str | Delay], n_arms: int) -> tuple[Delay, ...]:
    """One delay for each arm, from one for all or from a list.

    >>> [each.mean for each in parse_each("constant(7)", 2)]
    [7.0, 7.0]
    """
    if isinstance(delay, (str, Delay)) or not isinstance(delay, Sequence):
        return (parse(delay),) * n_arms
    if len(delay) != n_arms:
        raise InvalidInput(
            f"give one delay for all arms or one for each of the {n_arms}, not {len(delay)}."
        )
    return tuple(parse(each) for each in delay)


# Formulas cannot be pickled.
copyreg.pickle(Family, lambda family: family.made_by or (parse, (family.text,)))


@functools.lru_cache(maxsize=1024)
def text_of(delay: Delay) -> str:
    """The text under which results of a delay are kept; that of another delay is refused.

    A text that cannot be read is no danger: such a delay is known to this process alone.

    >>> text_of(parse("uniform(0, 100).clipped(70)"))
    'uniform(0, 100).clipped(70)'
    """
    try:
        again = parse(delay.text)
    except InvalidInput:
        return delay.text
    if again != delay:
        raise InvalidInput(
            f"the text of a {type(delay).__name__} delay, {delay.short_text!r}, is that of another "
            "delay, so that results of one would be taken for results of the other: give it a "
            "`text` that reads back as itself, see latesum.delays.check."
        )
    return delay.text


def _evaluate(node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_evaluate(item) for item in node.elts)
    if isinstance(node, ast.List):
        return [_evaluate(item) for item in node.elts]
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    function: Law
    path = ast.unparse(node.func)
    if isinstance(node.func, ast.Attribute) and (f".{_COLON}." not in path or "(" in path):
        parent = _evaluate(node.func.value)
        if not isinstance(parent, Delay):
            raise ValueError
        function = getattr(parent, known_name(node.func.attr, _METHODS, "change of a delay"))
    else:
        function = DELAYS.find(path.replace(f".{_COLON}.", ":"))
    arguments = [_evaluate(argument) for argument in node.args]
    named = {str(keyword.arg): _evaluate(keyword.value) for keyword in node.keywords}
    # First, because it says what is wrong without Python's name for the function.
    inspect.signature(function).bind(*arguments, **named)
    made = function(*arguments, **named)
    if not isinstance(made, Delay):
        raise InvalidInput(f"{ast.unparse(node)} makes {made!r}, which is not a delay.")
    return made
