"""Rows: what was shown in a bucket of a region, and what is known of its total."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from latesum._checks import InvalidInput, finite_number, known_name, shortened

T = TypeVar("T")
#: What a record says about a total; one that is missing will never be known, which is not zero.
RecordStatus = Literal["provisional", "final", "missing"]

#: Words for a status quo that is none of the options: nothing ran; something else did; not known.
NO_OPTION = ("none", "other", "unknown")
#: By how much the shares of a bucket may miss 1.
_ROUNDING = 0.01
#: A name and its share. Blanks are part of the name: to try where they end takes endless.
_PAIR = re.compile(r"([^:;,]+):\s*([0-9]*\.?[0-9]+)(?=[\s,;]|$)[,;]?")

#: What was shown in a bucket: an option's number, or the share of each of several.
Shown = int | tuple[tuple[int, float], ...]


class Observation(NamedTuple):
    """A bucket of a region as it is known at a time, for a method to learn from.

    Buckets before the start are 0 and less.
    """

    region: str
    bucket: int
    rounds: int | None
    shown: Shown
    total: float | None = None
    #: Whether the total is known, may still come, or will never be known.
    state: Literal["known", "pending", "missing"] = "known"
    #: How much of the total was in when it was reported; the total is scaled up by it.
    share: float = 1.0


def shown_of(written: Any) -> Shown:
    """What was shown, as the log has it: a number, or pairs of a number and a share."""
    if isinstance(written, int):
        return written
    return tuple((int(arm), float(share)) for arm, share in written)


def read_shown(text: object, options: tuple[str, ...]) -> Shown:
    """What was shown in a bucket: an option's number, or the shares of several, which add up to 1.

    >>> read_shown("a gift", ("a gift", "free shipping"))
    0
    >>> read_shown("a gift:0.7 free shipping:0.3", ("a gift", "free shipping"))
    ((0, 0.7), (1, 0.3))
    """
    pairs = _PAIR.findall(text) if isinstance(text, str) and text not in options else []
    in_pairs = re.sub(r"\s", "", "".join(name + share for name, share in pairs))
    if not pairs or in_pairs != re.sub(r"[:,;\s]", "", str(text)):
        return options.index(known_name(text, options, "option"))
    shares: dict[int, float] = {}
    for name, share in pairs:
        arm = options.index(known_name(name.strip(), options, "option"))
        if arm in shares:
            raise InvalidInput(f"{name.strip()} is twice in {shortened(str(text))!r}.")
        shares[arm] = finite_number(float(share), "a share", at_least=0, at_most=1)
    whole = sum(shares.values())
    if abs(whole - 1) > _ROUNDING:
        raise InvalidInput(
            f"the shares in {shortened(str(text))!r} add up to {whole:g}; they must add up to 1."
        )
    shown = tuple((arm, share) for arm, share in sorted(shares.items()) if share)
    return shown[0][0] if len(shown) == 1 else shown


def shown_text(shown: Shown, options: tuple[str, ...]) -> str:
    """What was shown, as files have it: the opposite of `read_shown`.

    >>> shown_text(0, ("a gift", "free shipping")), shown_text(((0, 0.7), (1, 0.3)), ("a", "b"))
    ('a gift', 'a:0.7 b:0.3')
    """
    if isinstance(shown, int):
        return options[shown]
    return " ".join(f"{options[arm]}:{share:g}" for arm, share in shown)


def largest_share(shown: Shown) -> int:
    """The option that was shown, or that had the largest share."""
    return shown if isinstance(shown, int) else max(shown, key=lambda pair: pair[1])[0]


def in_field(field: str, check: Callable[..., T], *arguments: Any) -> T:
    """What a check returns; its refusal names the field."""
    try:
        return check(*arguments)
    except InvalidInput as refusal:
        raise InvalidInput(refusal.message, field=field, remedy=refusal.remedy) from None
