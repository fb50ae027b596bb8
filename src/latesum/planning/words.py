"""Reading what people say: traffic, rates and lifts."""

from __future__ import annotations

import re
from typing import Any

from latesum import _durations
from latesum._checks import InvalidInput, finite_number
from latesum.delays.lateness import unit_hours

_TRAFFIC = re.compile(
    rf"\s*(?P<number>{_durations.NUMBER})\s*(?:per|a|an|/)\s*(?P<unit>{_durations.UNIT})\s*", re.I
)
#: A point before three digits, which stands between thousands in half of the world.
_TWO_WAYS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")


def read_traffic(text: Any) -> float:
    """Traffic such as "5,000 per day", as decisions per hour.

    >>> read_traffic("2,400 per day")
    100.0
    """
    match = _TRAFFIC.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput(f'traffic must be written such as "5000 per day", not {text!r}.')
    number = _durations.number_of(match["number"])
    if _TWO_WAYS.fullmatch(match["number"]):
        whole = match["number"].replace(".", "")
        raise InvalidInput(
            f"the traffic {text!r} can be read in two ways; write {whole} or {number:g} per "
            f"{match['unit']}."
        )
    if number <= 0:
        raise InvalidInput("traffic must be above 0: without it there is nothing to decide.")
    return number / unit_hours(match["unit"])


def read_rate(rate: Any) -> float:
    """Today's rate: a share as a number or as text, in percent or not.

    >>> read_rate(0.03), read_rate("3%"), read_rate("0.03")
    (0.03, 0.03, 0.03)
    """
    if isinstance(rate, str):
        text = rate.strip()
        try:
            rate = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            raise InvalidInput(
                f'today\'s rate must be written such as "3%" or 0.03, not {rate!r}.'
            ) from None
    found = finite_number(rate, "today's rate", above=0)
    if found > 1:
        raise InvalidInput(
            f"today's rate must be at most 1, not {found:g}; for {found:g}% write {found:g}%."
        )
    return found


def read_lift(lift: Any, mean: float) -> float:
    """The smallest difference worth having, in units of the reward.

    A number or a text with % is relative (0.1 and "10%" are the same), "0.2 points" are percentage
    points, and "+0.002" is the difference itself.

    >>> read_lift("10%", 0.02), read_lift("0.2 points", 0.02), read_lift("+0.002", 0.02)
    (0.002, 0.002, 0.002)
    """
    wanted = f'the lift must be written such as "10%", "0.2 points" or "+0.002", not {lift!r}.'
    if isinstance(lift, str):
        text = lift.strip().lower()
        try:
            if text.endswith("%"):
                value = float(text[:-1]) / 100 * abs(mean)
            elif text.endswith(("points", "point", "pp")):
                value = float(re.sub(r"(percentage\s+)?(points?|pp)$", "", text)) / 100
            elif text.startswith("+"):
                value = float(text)
            else:
                raise InvalidInput(wanted)
        except ValueError:
            raise InvalidInput(wanted) from None
    else:
        value = finite_number(lift, "the lift") * abs(mean)
    if not value > 0:
        raise InvalidInput(f"the smallest lift worth having must be above 0, not {lift!r}.")
    return round(value, 12)


def an(word: str) -> str:
    """The word with its article.

    >>> an("hour"), an("day")
    ('an hour', 'a day')
    """
    return f"an {word}" if word == "hour" else f"a {word}"
