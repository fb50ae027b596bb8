"""How each field of a campaign's config is read, or refused in a sentence.

A field that depends on others finds them in `info.data`: what stands there was read before. One
that was refused is missing there, and the refusal is already noted.
"""

from __future__ import annotations

import math
import re
import secrets
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from pydantic import ValidationInfo

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._durations import duration_text, parse_duration
from latesum.campaigns.buckets import Buckets
from latesum.campaigns.market_fields import SWITCHBACK, read_late, read_market_parameters
from latesum.campaigns.rows import NO_OPTION, Observation
from latesum.campaigns.rows import read_history as read_past_rows
from latesum.policies import registry

#: The age of a value and the share of the final total that is in by then, in order of age.
Curve = tuple[tuple[timedelta, float], ...]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
MAX_ROUNDS = 10**12
MAX_TEXT = 100
MAX_REGIONS = 200
DATED = (
    "say by which time your totals are dated, time_basis='arrival' or 'decision'. By "
    "arrival: a sale counts on the day it came in, which is what latesum needs. By decision "
    "(many ad platforms' default): it counts on the day of the click, and yesterday's "
    "total keeps growing."
)
#: By what share a guess of the mean delay may be wrong.
_GUESS = 0.7
#: Parameters of policies that may be given in time, and how they become rounds.
_IN_TIME = ("horizon", "mean_delay", "delay_bound")
_SQUARED = re.compile(r"\(\s*(.+?)\s*\)\s*(?:\^|\*\*)\s*2")
_IN_BUCKETS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*buckets?\s*")


def read_name(value: object) -> str:
    """A campaign's name, which is also a part of addresses."""
    if not isinstance(value, str) or not re.fullmatch(NAME_PATTERN, value):
        raise InvalidInput(
            f"a campaign's name is up to 64 letters, digits, dots, dashes and underscores, "
            f"not {value!r}."
        )
    return value


def read_text(value: object, name: str) -> str:
    """A short text that is not empty."""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= MAX_TEXT:
        raise InvalidInput(f"{name} is a text of 1 to {MAX_TEXT} characters, not {value!r}.")
    return check_printable(value.strip(), name)


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
            raise InvalidInput(
                f"{name} has a character that cannot be shown, U+{ord(character):04X}; leave it "
                "out."
            )
    return text


def read_option_name(value: object) -> str:
    """The name of an option."""
    return read_text(value, "an option's name")


def read_options(value: Any) -> tuple[str, ...]:
    """The names of the options."""
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InvalidInput(f"the options are a list of names, not {value!r}.")
    names = tuple(read_option_name(option) for option in value)
    if not 2 <= len(names) <= 100 or len({name.casefold() for name in names}) < len(names):
        raise InvalidInput(
            f"give two options with different names, or more, up to 100, not {list(names)[:100]}."
        )
    return names


def read_start(value: Any, info: ValidationInfo) -> datetime | None:
    """The beginning of the first bucket; `every` and `zone` are read before."""
    every, zone = info.data.get("every"), info.data.get("zone")
    if every is None or zone is None:
        return None  # refused already
    return Buckets.create(every, zone, value).first


def read_zone(value: Any, info: ValidationInfo) -> str:
    """The name of a time zone; numbered buckets have none."""
    if not isinstance(value, str) or len(value) > 64:
        raise InvalidInput("a time zone is a name such as 'Europe/Berlin' or 'UTC'.")
    zone = Buckets.create("day", value, date(2000, 1, 1)).zone_name
    return "UTC" if info.data.get("every") == "number" else zone


def read_rounds(value: object) -> int:
    """The rounds of a bucket."""
    expected = whole_number(value, "the expected rounds of a bucket", at_least=1)
    if expected > MAX_ROUNDS:
        raise InvalidInput(f"a bucket has at most {MAX_ROUNDS:,} rounds.")
    return expected


def read_time_basis(value: object) -> str:
    """By which time totals are dated; there is no default, since a wrong one spoils all."""
    if value not in ("arrival", "decision"):
        raise InvalidInput(DATED)
    return str(value)


def read_range(value: Any) -> tuple[float, float]:
    """The least and the most that a round can bring."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the range is the least and the most that a round can bring, such as (0, 250), "
            f"not {value!r}."
        ) from None
    low = finite_number(low, "the least that a round can bring", at_least=-1e12)
    return low, finite_number(high, "the most that a round can bring", above=low, at_most=1e12)


def read_align(value: Any, info: ValidationInfo) -> str | int | None:
    """ "week", or a number of buckets."""
    if value is not None and info.data.get("policy") == SWITCHBACK:
        raise InvalidInput(
            "switchback knows weekdays by itself and needs no align; for how long a choice stays "
            "is its "
            "parameter stay."
        )
    if value is None or (value == "week" and info.data.get("every") != "number"):
        return None if value is None else "week"
    if isinstance(value, str):
        raise InvalidInput(
            f"align is 'week' (for hours, days and weeks) or a number of buckets, not {value!r}."
        )
    aligned = whole_number(value, "align", at_least=2)
    if aligned > 10_000:
        raise InvalidInput("align is at most 10,000 buckets.")
    return aligned


def read_seed(value: object) -> int:
    """A seed; a new one where none is given."""
    if value is None:
        return secrets.randbits(32)
    seed = whole_number(value, "the seed")
    if seed >= 2**53:
        raise InvalidInput(f"the seed is at most {2**53 - 1}.")
    return seed


def read_parameters(value: Any, info: ValidationInfo) -> dict[str, Any]:
    """The policy's parameters, with times and buckets as rounds."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("the parameters of the policy are names with values.")
    if len(value) > 50:
        raise InvalidInput("a policy has at most 50 parameters.")
    every, expected = info.data.get("every"), info.data.get("expected_rounds")
    if every is None or expected is None:
        return dict(value)  # refused already
    value = _without_arms(value, info.data.get("options", ()))
    if info.data.get("policy") == SWITCHBACK:
        return read_market_parameters(value, Buckets(every))
    value = _told_late(value, info.data.get("policy"))
    return {key: _in_rounds(key, each, Buckets(every), expected) for key, each in value.items()}


def _told_late(value: dict[str, Any], policy: str | None) -> dict[str, Any]:
    """The parameters with `late`, as people say it, in those of the policy."""
    if "late" not in value or policy is None:
        return value
    accepted = registry.accepted_parameters(policy)
    if "mean_delay" not in accepted:
        raise InvalidInput(f"{policy} is not told how late sales come; leave it out.")
    if "mean_delay" in value:
        raise InvalidInput("say how late sales come by late or by mean_delay, not by both.")
    span, sure = read_late(value["late"])
    told = {key: each for key, each in value.items() if key != "late"} | {"mean_delay": span}
    if sure == "guess" and "uncertainty" in accepted:
        told.setdefault("uncertainty", _GUESS)
    return told


def _without_arms(value: Mapping[str, Any], options: tuple[str, ...]) -> dict[str, Any]:
    """The parameters without those that follow from the options, as a plan has them."""
    n_arms, names = value.get("n_arms", len(options)), value.get("names")
    if options and n_arms != len(options):
        raise InvalidInput(
            f"the parameters are for {n_arms} options (n_arms), and here are {len(options)}; plan "
            "again, "
            "or leave n_arms out."
        )
    if options and names is not None and list(names) != list(options):
        raise InvalidInput("the parameter names is not the list of the options; leave it out.")
    return {key: each for key, each in value.items() if key not in ("n_arms", "names")}


def _in_rounds(key: str, value: Any, buckets: Buckets, expected: int) -> Any:
    """A parameter given in time, or in buckets, as rounds."""
    if not isinstance(value, str):
        return value
    squared = _SQUARED.fullmatch(value) if key == "delay_variance" else None
    if key not in _IN_TIME and squared is None:
        return value
    text = value if squared is None else squared[1]
    in_buckets = _IN_BUCKETS.fullmatch(text)
    if in_buckets is not None:
        rounds = float(in_buckets[1]) * expected
    elif buckets.length is None:
        raise InvalidInput(
            f"{key} cannot be given in time, because the buckets are numbered; give rounds, or "
            "buckets such as '2 buckets'."
        )
    else:
        rounds = parse_duration(text, key) / buckets.length * expected
    if squared is not None:
        return rounds**2
    return rounds if key == "mean_delay" else math.ceil(rounds)


def read_curve(value: Any, info: ValidationInfo) -> Curve | timedelta | None:
    """The share of a total that is in at each age, or the age from which on it is full."""
    if value is None or isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        if info.data.get("every") == "number":
            raise InvalidInput("a curve can be fitted for hours, days and weeks only.")
        return parse_duration(value.removeprefix("fit").strip(), "completeness")
    if not isinstance(value, Mapping):
        raise InvalidInput("completeness is a share for each age, or a text such as 'fit 7 days'.")
    curve = sorted(
        (
            parse_duration(age, "an age in completeness"),
            finite_number(share, f"the share at {age}", above=0, at_most=1),
        )
        for age, share in value.items()
    )
    shares = [share for _, share in curve]
    if not curve or shares != sorted(shares) or shares[-1] != 1:
        raise InvalidInput(
            "completeness gives shares that grow with age and end at 1, such as "
            "{'1 day': 0.6, '3 days': 0.9, '7 days': 1}, not "
            + str({duration_text(age): share for age, share in curve})
            + "."
        )
    return tuple(curve)


def read_status_quo(value: Any, info: ValidationInfo) -> str:
    """What was shown before the start."""
    if isinstance(value, str) and value in NO_OPTION:
        return value
    return known_name(value, (*info.data.get("options", ()), *NO_OPTION), "status quo")


def read_history(value: Any, info: ValidationInfo) -> tuple[Observation, ...]:
    """The rows before the start; the fields that they depend on are read before."""
    known = info.data
    if not value or not {"options", "every", "start", "status_quo", "expected_rounds"} <= set(
        known
    ):
        return ()  # nothing is given, or something else is refused already
    buckets = Buckets(known["every"], known.get("zone", "UTC"), known["start"])
    each_bucket = known.get("policy") != SWITCHBACK
    return read_past_rows(
        value,
        known["options"],
        known["status_quo"],
        buckets,
        known.get("regions", ()),
        expected_rounds=known["expected_rounds"] if each_bucket else None,
    )


def read_regions(value: Any) -> tuple[str, ...]:
    """The names of the regions; none, or two and more."""
    if value is None or value == "":
        return ()
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InvalidInput("the regions are a list of names, such as ['north', 'south'].")
    names = tuple(read_text(each, "a region's name") for each in value)
    if len(names) == 1:
        raise InvalidInput("one region is no region: leave the regions out, or name two and more.")
    if len(names) > MAX_REGIONS:
        raise InvalidInput(f"a campaign has at most {MAX_REGIONS} regions, not {len(names)}.")
    if any(len(name) > 64 for name in names):
        raise InvalidInput("a region's name has at most 64 characters.")
    if len({name.casefold() for name in names}) < len(names):
        raise InvalidInput("each region needs a name of its own.")
    return names


def read_policy(value: Any, info: ValidationInfo) -> str:
    """The name of a policy; regions need one that decides for all of them."""
    if value == SWITCHBACK:
        return SWITCHBACK
    name = registry.checked_name(value)
    if info.data.get("regions"):
        raise InvalidInput(
            f"{name} decides for one stream; a campaign with regions has the policy switchback."
        )
    return name
