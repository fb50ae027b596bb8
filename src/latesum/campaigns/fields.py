"""The fields of a campaign's configuration, as people give them.

Spans of time ("90 days") and numbers of buckets ("3 buckets") become rounds for a policy, and
buckets for `switchback`. `late` says in words how late sales come.

A reader that depends on other fields finds them in `info.data`: what stands there was read before.
One that was refused is missing there, and the refusal is already noted.
"""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationInfo

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum._durations import duration_text, parse_duration
from latesum._plugins import POLICIES
from latesum.campaigns.buckets import LENGTHS, Buckets, read_zone
from latesum.campaigns.rows import NO_OPTION
from latesum.delays.parsing import text_of
from latesum.policies import registry

if TYPE_CHECKING:
    from latesum.delays.lateness import Lateness

#: The age of a value and the share of the final total that is in by then, in order of age.
Curve = tuple[tuple[timedelta, float], ...]
MAX_TEXT = 100
MAX_OPTIONS = 100
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


def check_printable(text: str, name: str) -> str:
    """A text, refused if it holds characters that could disturb a terminal or a page.

    >>> check_printable("rouge foncé", "a name")
    'rouge foncé'
    >>> check_printable("red\x1b[2J", "a name")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: a name has a character that cannot be shown, U+001B; leave it out.
    """
    for character in text:
        # Control and format characters: escapes, line breaks, marks of zero width or of direction.
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            code = f"U+{ord(character):04X}"
            raise InvalidInput(
                f"{name} has a character that cannot be shown, {code}; leave it out."
            )
    return text


def read_text(value: object, name: str) -> str:
    """A short text that is not empty."""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= MAX_TEXT:
        raise InvalidInput(f"{name} is a text of 1 to {MAX_TEXT} characters, not {value!r}.")
    return check_printable(value.strip(), name)


def _read_names(value: Any, what: str) -> tuple[str, ...]:
    """Names that differ, whatever their capitals."""
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"the {what}s are a list of names, not {value!r}.")
    names = tuple(read_text(each, f"{what} name") for each in value)
    if len({name.casefold() for name in names}) < len(names):
        raise InvalidInput(f"each {what} needs a name of its own, not {list(names)}.")
    return names


def read_options(value: Any) -> tuple[str, ...]:
    names = _read_names(value, "option")
    if not 2 <= len(names) <= MAX_OPTIONS:
        listed = list(names)[:MAX_OPTIONS]
        raise InvalidInput(f"give two options or more, up to {MAX_OPTIONS}, not {listed}.")
    return names


def read_zone_name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 64:
        raise InvalidInput("a time zone is a name such as 'Europe/Berlin' or 'UTC'.")
    return read_zone(value).key


def read_start(value: Any, info: ValidationInfo) -> datetime | None:
    every, zone = info.data.get("every"), info.data.get("zone")
    if every is None or zone is None:
        return None  # refused already
    return Buckets.create(every, zone, value).first


def read_regions(value: Any) -> tuple[str, ...]:
    names = _read_names(value or (), "region")
    if len(names) == 1:
        raise InvalidInput("one region is no region: leave the regions out, or name two and more.")
    if any(len(name) > 64 for name in names):
        raise InvalidInput("a region's name has at most 64 characters.")
    return names


def read_policy(value: Any, info: ValidationInfo) -> str:
    if value == SWITCHBACK:
        return SWITCHBACK
    try:
        name = registry.checked_name(value)
    except InvalidInput:
        if isinstance(value, str) and ":" not in value and value not in POLICIES.names():
            known_name(value, (*registry.available(), SWITCHBACK), "policy")
        raise
    if info.data.get("regions"):
        raise InvalidInput(
            f"{name} decides for one stream; a campaign with regions has the policy switchback."
        )
    return name


def read_policy_parameters(value: Any, info: ValidationInfo) -> dict[str, Any]:
    """The parameters of the policy in rounds, those of `switchback` in buckets.

    They are without `n_arms`, which a plan has and the options say.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("the parameters of the policy are names with values.")
    if len(value) > 50:
        raise InvalidInput("a policy has at most 50 parameters.")
    given, known = dict(value), info.data
    if not {"every", "expected_rounds", "policy"} <= known.keys():
        return given  # refused already
    options, n_arms = known.get("options"), given.pop("n_arms", None)
    if options and n_arms not in (None, len(options)):
        raise InvalidInput(
            f"the parameters are for {n_arms} options (n_arms), and here are {len(options)}; plan "
            "again, or leave n_arms out."
        )
    policy, length, rounds = known["policy"], LENGTHS[known["every"]], known["expected_rounds"]
    if policy == SWITCHBACK:
        return _read_market_parameters(given, length)
    accepted = registry.accepted_parameters(policy)
    if "late" in given:
        if "mean_delay" not in accepted:
            raise InvalidInput(f"{policy} does not use how late sales come; leave it out.")
        given["mean_delay"], sure, law = _take_late(given)
        if law is not None and "delay" in accepted:
            del given["mean_delay"]
            given["delay"] = text_of(law.in_rounds(rounds * timedelta(hours=1) / length))
        if sure == "guess" and "uncertainty" in accepted:
            given.setdefault("uncertainty", _GUESS)
    return {key: _in_rounds(key, each, length, rounds) for key, each in given.items()}


def check_range(value: tuple[float, float]) -> tuple[float, float]:
    low = finite_number(value[0], "the least that a round can bring", at_least=-1e12)
    return low, finite_number(value[1], "the most that a round can bring", above=low, at_most=1e12)


def read_curve(value: Any) -> Curve | None:
    """The share of a total that is in at each age; a text has them as '1 day: 0.6, 7 days: 1'."""
    if value is None:
        return None
    if isinstance(value, str):
        pairs = [part.split(":") for part in value.split(",")]
        with contextlib.suppress(ValueError):  # refused below
            value = {age.strip(): float(share) for age, share in pairs}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            "completeness is a share for each age, such as '1 day: 0.6, 7 days: 1', not "
            f"{shortened(repr(value))}."
        )
    curve = sorted(
        (
            parse_duration(age, "an age in completeness"),
            finite_number(share, f"the share at {age}", above=0, at_most=1),
        )
        for age, share in value.items()
    )
    shares = [share for _, share in curve]
    if not curve or shares != sorted(shares) or shares[-1] != 1:
        given = {duration_text(age): share for age, share in curve}
        raise InvalidInput(
            "completeness gives shares that grow with age and end at 1, such as "
            f"{{'1 day': 0.6, '3 days': 0.9, '7 days': 1}}, not {given}."
        )
    return tuple(curve)


def read_align(value: Any, info: ValidationInfo) -> str | None:
    if value is None:
        return None
    if info.data.get("policy") == SWITCHBACK:
        raise InvalidInput("switchback knows weekdays by itself and needs no align; leave it out.")
    if value != "week":
        raise InvalidInput(f"align is 'week', not {value!r}.")
    return "week"


def read_status_quo(value: Any, info: ValidationInfo) -> str:
    if isinstance(value, str) and value in NO_OPTION:
        return value
    return known_name(value, (*info.data.get("options", ()), *NO_OPTION), "status quo")


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
