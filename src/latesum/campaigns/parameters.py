"""The parameters of a campaign's policy, as people give them.

Spans of time ("90 days") and numbers of buckets ("3 buckets") become rounds for a policy, and
buckets for `switchback`. `late` says in words how late sales come.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._durations import parse_duration
from latesum.campaigns.buckets import LENGTHS
from latesum.delays.parsing import text_of
from latesum.policies import registry

if TYPE_CHECKING:
    from latesum.delays.lateness import Lateness

#: The name of the model of markets, which decides for campaigns with regions.
SWITCHBACK = "switchback"
#: Of `switchback`, in buckets, where neither a horizon nor a delay is given.
_USUAL_HORIZON, _USUAL_DELAY = 90, 1.0
#: Resolution of the shape of a given delay: parts of an hour.
_FINE = 1000.0
#: By what share a guess of the mean delay may be wrong.
_GUESS = 0.7
#: Parameters that may be given in time; those of policies become rounds.
_IN_TIME = ("horizon", "mean_delay", "delay_bound")
#: Parameters of `switchback`, in buckets; `late` is read into `mean_delay` and `certainty`.
_OF_MARKETS = (
    *("horizon", "mean_delay", "certainty", "late", "novelty", "amounts", "differing_delays"),
    *("shape", "period", "holidays", "report_lag"),
)
_ABOUT = re.compile(r"\s*(?:about|around|~)\s*(.+)", re.IGNORECASE)
_IN_BUCKETS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*buckets?\s*")


def read_parameters(
    given: dict[str, Any], policy: str, every: str, expected_rounds: int
) -> dict[str, Any]:
    """The parameters in rounds, those of `switchback` in buckets.

    >>> read_parameters({"horizon": "90 days", "late": "36 hours"}, "odaaf", "day", 5000)
    {'horizon': 450000, 'mean_delay': 7500.0}
    """
    given, length = dict(given), LENGTHS[every]
    if policy == SWITCHBACK:
        return _read_market_parameters(given, length)
    accepted = registry.accepted_parameters(policy)
    if "late" in given:
        if "mean_delay" not in accepted:
            raise InvalidInput(f"{policy} does not use how late sales come; leave it out.")
        given["mean_delay"], sure, law = _take_late(given)
        if law is not None and "delay" in accepted:
            del given["mean_delay"]
            per_hour = expected_rounds * timedelta(hours=1) / length
            given["delay"] = text_of(law.in_rounds(per_hour))
        if sure == "guess" and "uncertainty" in accepted:
            given.setdefault("uncertainty", _GUESS)
    return {key: _in_rounds(key, each, length, expected_rounds) for key, each in given.items()}


def _take_late(
    given: dict[str, Any],
) -> tuple[str, Literal["known", "guess"], Lateness | None]:
    """How late sales come: the mean, whether it is a guess, and the law, where it was given."""
    text = given.pop("late")
    if "mean_delay" in given:
        raise InvalidInput("say how late sales come by late or by mean_delay, not by both.")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"say how late sales come, such as 'about 2 days', not {text!r}.")
    guessed = _ABOUT.fullmatch(text)
    if guessed is not None:
        return guessed[1].strip(), "guess", None
    if "within" not in text and "up to" not in text and "(" not in text:
        return text.strip(), "known", None
    from latesum.delays.lateness import Lateness  # fits of delays take a while to import

    law = Lateness.read(text)
    return f"{law.in_rounds(_FINE).mean / _FINE:.6g} hours", "known", law


def _read_market_parameters(given: dict[str, Any], length: timedelta) -> dict[str, Any]:
    for name in given:
        known_name(name, _OF_MARKETS, "parameter of switchback")
    found = {"horizon": _USUAL_HORIZON, **given}
    if "late" in found:
        found["mean_delay"], found["certainty"], law = _take_late(found)
        if law is not None:
            found.setdefault("shape", text_of(law.in_rounds(_FINE)))
    if "mean_delay" not in found:
        found = {"certainty": "guess", **found, "mean_delay": _USUAL_DELAY}
    found.setdefault("certainty", "known")
    for name in ("horizon", "mean_delay"):
        if isinstance(found[name], str):
            found[name] = _in_buckets(found[name], name, length)
        found[name] = finite_number(found[name], f"the {name} in buckets", at_least=0)
    horizon = math.ceil(found["horizon"])
    found["horizon"] = whole_number(horizon, "the horizon in buckets", at_least=1)
    if "holidays" in found:
        days = found["holidays"]
        days = days.split(",") if isinstance(days, str) else days
        if not isinstance(days, list | tuple):
            raise InvalidInput("holidays are a list of buckets, such as ['2026-12-25'].")
        found["holidays"] = [str(day).strip() for day in days]
    return found


def _in_rounds(key: str, value: Any, length: timedelta, expected: int) -> Any:
    """A parameter given in time, or in buckets, as rounds."""
    if not isinstance(value, str) or key not in _IN_TIME:
        return value
    rounds = _in_buckets(value, key, length) * expected
    return rounds if key == "mean_delay" else math.ceil(rounds)


def _in_buckets(text: str, key: str, length: timedelta) -> float:
    counted = _IN_BUCKETS.fullmatch(text)
    if counted is not None:
        return float(counted[1])
    return parse_duration(text, key) / length
