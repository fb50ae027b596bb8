"""Refusing bad input where it comes in, in one sentence that says what would be right."""

from __future__ import annotations

import contextlib
import difflib
import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, cast

from latesum.errors import InvalidInput as InvalidInput


def whole_number(value: object, name: str, *, at_least: int = 0) -> int:
    """Return `value` as an int, or refuse it.

    >>> whole_number(3.0, "rounds")
    3
    >>> whole_number(2.5, "rounds")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: rounds must be a whole number of at least 0, not 2.5.
    """
    if type(value) is int and value >= at_least:  # most are
        return value
    number = None
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    elif not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            number = operator.index(cast(SupportsIndex, value))
    if number is None or number < at_least:
        raise InvalidInput(f"{name} must be a whole number of at least {at_least}, not {value!r}.")
    return number


def finite_number(
    value: object,
    name: str,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    above: float = -math.inf,
) -> float:
    """Return `value` as a finite float within the limits, or refuse it.

    >>> finite_number(0.5, "mean", at_least=0, at_most=1)
    0.5
    >>> finite_number(float("nan"), "mean", at_least=0, at_most=1)
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: mean must be a number of at least 0 and at most 1, not nan.
    """
    try:
        number = math.nan if isinstance(value, bool | str) else float(cast(Any, value))
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number) and at_least <= number <= at_most and number > above:
        return number
    limits = [
        text
        for text, applies in (
            (f"of at least {at_least:g}", at_least > -math.inf),
            (f"above {above:g}", above > -math.inf),
            (f"at most {at_most:g}", at_most < math.inf),
        )
        if applies
    ]
    wanted = "a finite number" if not limits else "a number " + " and ".join(limits)
    raise InvalidInput(f"{name} must be {wanted}, not {value!r}.")


#: In characters; what is longer than this resembles no name.
_MAX_NAME = 100


def shortened(text: str, most: int = 60) -> str:
    """The text for a message, without its end where it is longer than `most` characters.

    >>> shortened("a" * 100, most=10)
    'aaaaaaaaaa...'
    """
    return text if len(text) <= most else text[:most] + "..."


def known_name(name: object, known: Iterable[str], kind: str) -> str:
    """Return `name` if it is one of the `known` ones, or refuse it, naming the nearest.

    >>> known_name("unifrom", ["uniform", "poisson"], "delay")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: there is no delay 'unifrom'; did you mean 'uniform'? Known:
    poisson, uniform.
    """
    names = sorted(known)
    if isinstance(name, str) and name in names:
        return name
    # The search for the nearest name takes a time that grows with the square of the lengths.
    brief = len(str(name)) <= _MAX_NAME
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.4) if brief else []
    hint = f"; did you mean {close[0]!r}?" if close else "."
    shown = name if brief else shortened(str(name))
    listed = f" Known: {', '.join(names)}." if names else ""
    raise InvalidInput(f"there is no {kind} {shown!r}{hint}{listed}")
