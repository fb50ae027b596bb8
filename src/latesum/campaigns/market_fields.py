"""The parameters of the policy `switchback`, read from what a campaign is set up with.

Spans of time are in buckets here, not in rounds: the model knows each bucket by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal
from zoneinfo import ZoneInfo

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._durations import parse_duration
from latesum.campaigns.buckets import Buckets

#: The name of the policy that decides for campaigns with regions.
SWITCHBACK = "switchback"
#: What it can be told; `late` is read into `mean_delay` and `sure`.
PARAMETERS = (
    "horizon",
    "mean_delay",
    "sure",
    "novelty",
    "amounts",
    "differing_delays",
    "stay",
    "holidays",
    "report_lag",
)
#: Planned for where no horizon is told, and the guess of a delay where none is, in buckets.
USUAL_HORIZON = 90
USUAL_DELAY = 1.0
_ABOUT = re.compile(r"\s*(?:about|around|~)\s*(.+)", re.IGNORECASE)
_IN_BUCKETS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*buckets?\s*")


def read_late(text: object) -> tuple[str, Literal["known", "guess"]]:
    """How late sales come, as people say it: the span, and "guess" or "known".

    >>> read_late("about 2 days"), read_late("36 hours")
    (('2 days', 'guess'), ('36 hours', 'known'))
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"say how late sales come, such as 'about 2 days', not {text!r}.")
    guessed = _ABOUT.fullmatch(text)
    return (text.strip(), "known") if guessed is None else (guessed[1].strip(), "guess")


def read_market_parameters(given: Mapping[str, Any], buckets: Buckets) -> dict[str, Any]:
    """The parameters of `switchback`, with spans of time as buckets.

    Args:
        given: As people write them: "12 weeks", or a number of buckets.
        buckets: The campaign's.

    >>> read_market_parameters({"horizon": "12 weeks", "late": "about 2 days"}, Buckets("day"))
    {'horizon': 84, 'mean_delay': 2.0, 'sure': 'guess'}
    """
    found = dict(given)
    if "late" in found:
        if "mean_delay" in found:
            raise InvalidInput("say how late sales come by late or by mean_delay, not by both.")
        found["mean_delay"], found["sure"] = read_late(found.pop("late"))
    for name in found:
        known_name(name, (*PARAMETERS, "late"), "parameter of switchback")
    found.setdefault("horizon", USUAL_HORIZON)
    if "mean_delay" not in found:
        found["mean_delay"] = USUAL_DELAY
        found.setdefault("sure", "guess")
    found.setdefault("sure", "known")
    whole = math.ceil(_in_buckets(found["horizon"], "the horizon", buckets))
    found["horizon"] = whole_number(whole, "the horizon in buckets", at_least=1)
    delay = _in_buckets(found["mean_delay"], "the mean delay", buckets)
    found["mean_delay"] = finite_number(delay, "the mean delay in buckets", at_least=0)
    if "holidays" in found:
        found["holidays"] = _holidays(found["holidays"])
    return found


def _in_buckets(value: Any, name: str, buckets: Buckets) -> float:
    if not isinstance(value, str):
        return finite_number(value, f"{name} in buckets", at_least=0)
    counted = _IN_BUCKETS.fullmatch(value)
    if counted is not None:
        return float(counted[1])
    if buckets.length is None:
        raise InvalidInput(
            f"{name} cannot be given in time, because the buckets are numbered; give a number of "
            "them."
        )
    return parse_duration(value, name) / buckets.length


def _holidays(value: Any) -> list[str]:
    named = value.split(",") if isinstance(value, str) else value
    if not isinstance(named, list | tuple):
        raise InvalidInput("holidays are a list of buckets, such as ['2026-12-25'].")
    return [str(each).strip() for each in named]


def pattern_of(buckets: Buckets, first: int) -> tuple[Literal["weekday", "hour", "none"], int]:
    """The pattern that repeats, and where in it a bucket lies.

    >>> pattern_of(Buckets.create("day", "UTC", "2026-03-04"), 1)  # a Wednesday
    ('weekday', 2)
    """
    if buckets.every not in ("day", "hour"):
        return "none", 0
    begin = buckets.begin(first).astimezone(ZoneInfo(buckets.zone_name))
    if buckets.every == "day":
        return "weekday", begin.weekday()
    return "hour", 24 * begin.weekday() + begin.hour
