"""What a campaign is set up with: one model, which Python, the command line and HTTP read from.

It is checked once, when a campaign is made, and never changed. A store keeps it as `to_json` writes
it; what is read back was checked then, and is taken as it is.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum._durations import duration_text, parse_duration
from latesum.live.before import PastBucket, check_history, check_status_quo
from latesum.live.buckets import KINDS, Buckets, Every
from latesum.policies import Policy, registry

TimeBasis = Literal["arrival", "decision"]
#: The age of a value and the share of the final total that is in by then, in order of age.
Curve = tuple[tuple[timedelta, float], ...]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_SQUARED = re.compile(r"\(\s*(.+?)\s*\)\s*(?:\^|\*\*)\s*2")
_IN_BUCKETS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*buckets?\s*")
#: Parameters of policies that may be given in time, and how they become rounds.
_IN_TIME = ("horizon", "mean_delay", "delay_bound")
_MOST_ROUNDS = 10**12
_LONGEST_TEXT = 100
_DATED = (
    "say by which time your totals are dated, time_basis='arrival' or 'decision'. By "
    "arrival: a sale counts on the day it came in, which is what latesum needs. By decision "
    "(many ad platforms' default): it counts on the day of the click, and yesterday's "
    "total keeps growing."
)


def _name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(NAME_PATTERN, value):
        raise InvalidInput(
            f"a campaign's name is up to 64 letters, digits, dots, dashes and underscores, "
            f"not {value!r}."
        )
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST_TEXT:
        raise InvalidInput(f"{name} is a text of 1 to {_LONGEST_TEXT} characters, not {value!r}.")
    return value.strip()


def _options(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InvalidInput(f"the options are a list of names, not the text {value!r}.")
    names = tuple(_text(option, "an option's name") for option in value)
    if not 2 <= len(names) <= 100 or len({name.casefold() for name in names}) < len(names):
        raise InvalidInput(
            f"give two options with different names, or more, up to 100, not {list(names)[:100]}."
        )
    return names


def _start(value: Any, info: ValidationInfo) -> datetime | None:
    every, zone = info.data.get("every"), info.data.get("zone")
    if every is None or zone is None:
        return None  # refused already
    return Buckets.create(every, zone, value).first


def _zone(value: Any, info: ValidationInfo) -> str:
    if not isinstance(value, str) or len(value) > 64:
        raise InvalidInput("a time zone is a name such as 'Europe/Berlin' or 'UTC'.")
    zone = Buckets.create("day", value, date(2000, 1, 1)).zone_name
    return "UTC" if info.data.get("every") == "number" else zone


def _rounds(value: object) -> int:
    expected = whole_number(value, "the expected rounds of a bucket", at_least=1)
    if expected > _MOST_ROUNDS:
        raise InvalidInput(f"a bucket has at most {_MOST_ROUNDS:,} rounds.")
    return expected


def _time_basis(value: object) -> str:
    if value not in ("arrival", "decision"):
        raise InvalidInput(_DATED)
    return str(value)


def _range(value: Any) -> tuple[float, float]:
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the range is the least and the most that a round can bring, such as (0, 250), "
            f"not {value!r}."
        ) from None
    low = finite_number(low, "the least that a round can bring", at_least=-1e12)
    return low, finite_number(high, "the most that a round can bring", above=low, at_most=1e12)


def _align(value: Any, info: ValidationInfo) -> str | int | None:
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


def _seed(value: object) -> int:
    if value is None:
        return secrets.randbits(32)
    seed = whole_number(value, "the seed")
    if seed >= 2**53:
        raise InvalidInput(f"the seed is at most {2**53 - 1}.")
    return seed


def _parameters(value: Any, info: ValidationInfo) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("the parameters of the policy are names with values.")
    if len(value) > 50:
        raise InvalidInput("a policy has at most 50 parameters.")
    every, expected = info.data.get("every"), info.data.get("expected_rounds")
    if every is None or expected is None:
        return dict(value)  # refused already
    return {key: _in_rounds(key, each, Buckets(every), expected) for key, each in value.items()}


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


def _fills_up(value: Any, info: ValidationInfo) -> Curve | timedelta | None:
    if value is None or isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        if info.data.get("every") == "number":
            raise InvalidInput("a curve can be fitted for hours, days and weeks only.")
        return parse_duration(value.removeprefix("fit").strip(), "fills_up")
    if not isinstance(value, Mapping):
        raise InvalidInput("fills_up is a share for each age, or a text such as 'fit 7 days'.")
    curve = sorted(
        (
            parse_duration(age, "an age in fills_up"),
            finite_number(share, f"the share at {age}", above=0, at_most=1),
        )
        for age, share in value.items()
    )
    shares = [share for _, share in curve]
    if not curve or shares != sorted(shares) or shares[-1] != 1:
        raise InvalidInput(
            "fills_up gives shares that grow with age and end at 1, such as "
            "{'1 day': 0.6, '3 days': 0.9, '7 days': 1}, not "
            + str({duration_text(age): share for age, share in curve})
            + "."
        )
    return tuple(curve)


def _status_quo(value: Any, info: ValidationInfo) -> str:
    return check_status_quo(value, info.data.get("options", ()))


def _history(value: Any, info: ValidationInfo) -> tuple[PastBucket, ...]:
    known = info.data
    if not value or not {"options", "every", "start", "status_quo", "expected_rounds"} <= set(
        known
    ):
        return ()  # nothing is given, or something else is refused already
    buckets = Buckets(known["every"], known.get("zone", "UTC"), known["start"])
    return check_history(
        value, known["options"], known["status_quo"], buckets, known["expected_rounds"]
    )


_Span = {"type": "string", "maxLength": 100, "examples": ["36 hours"]}


class Settings(BaseModel):
    """What a campaign is set up with. `Settings.read` checks it and refuses in sentences.

    The field `parameters` takes the horizon and the delays in time ("90 days") or in buckets
    ("3 buckets") too; they become rounds by `expected_rounds`.

    >>> settings = Settings.read({
    ...     "name": "banner", "options": ["red", "blue"], "policy": "odaaf", "every": "day",
    ...     "parameters": {"horizon": "90 days", "mean_delay": "36 hours"}, "start": "2026-03-01",
    ...     "expected_rounds": 5000, "time_basis": "arrival",
    ... })
    >>> settings.parameters
    {'horizon': 450000, 'mean_delay': 7500.0}
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, BeforeValidator(_name)] = Field(
        pattern=NAME_PATTERN, description="Letters, digits, dots, dashes and underscores."
    )
    options: Annotated[tuple[str, ...], BeforeValidator(_options)] = Field(
        min_length=2, max_length=100, description="The options.", examples=[["red", "blue"]]
    )
    every: Annotated[
        Every, BeforeValidator(lambda value: known_name(value, KINDS, "kind of bucket"))
    ] = Field("day", description="What a bucket is: hour, day, week or number.")
    expected_rounds: Annotated[int, BeforeValidator(_rounds)] = Field(
        ge=1, le=_MOST_ROUNDS, description="Rounds (visitors, ...) in a bucket."
    )
    time_basis: Annotated[TimeBasis, BeforeValidator(_time_basis)] = Field(
        description="'arrival' or 'decision': whether a total holds what arrived in its bucket "
        "(it should) or what was decided in it."
    )
    zone: Annotated[str, BeforeValidator(_zone)] = Field(
        "UTC", max_length=64, description="The time zone of hours, days and weeks."
    )
    start: Annotated[
        datetime | None,
        BeforeValidator(_start),
        WithJsonSchema({"anyOf": [{"type": "string", "maxLength": 40}, {"type": "null"}]}),
    ] = Field(
        None, validate_default=True, description="The first bucket, a date or time; by default now."
    )
    policy: Annotated[str, BeforeValidator(registry.checked_name)] = Field(
        description="A name from `latesum policies`.", examples=["odaaf"]
    )
    parameters: Annotated[dict[str, Any], BeforeValidator(_parameters)] = Field(
        default_factory=dict,
        description="Of the policy; horizon and delays may be given in time or in buckets.",
        examples=[{"horizon": "90 days", "mean_delay": "36 hours"}],
    )
    range: Annotated[tuple[float, float], BeforeValidator(_range)] = Field(
        (0.0, 1.0), description="The least and the most that one round can bring."
    )
    unit: Annotated[str, BeforeValidator(lambda value: _text(value, "the unit"))] = Field(
        "successes", max_length=_LONGEST_TEXT, description="What totals count."
    )
    usable_after: Annotated[
        timedelta,
        BeforeValidator(lambda value: parse_duration(value, "usable_after")),
        WithJsonSchema(_Span),
    ] = Field(timedelta(0), description="How old the newest value of a total must be to be used.")
    lateness: Annotated[
        timedelta | None,
        BeforeValidator(lambda value: None if value is None else parse_duration(value, "lateness")),
        WithJsonSchema({"anyOf": [_Span, {"type": "null"}]}),
    ] = Field(None, description="Values that come later after their bucket's end are not used.")
    fills_up: Annotated[
        Curve | timedelta | None,
        PlainValidator(_fills_up),
        WithJsonSchema(
            {"anyOf": [{"type": "object", "additionalProperties": {"type": "number"}},
                       {"type": "string", "maxLength": 100}, {"type": "null"}]}
        ),
    ] = Field(
        None,
        description="The share of a total that is in at each age ('1 day: 0.6, 7 days: 1'), or "
        "'fit 7 days' to fit that to the campaign's own totals.",
    )  # fmt: skip
    align: Annotated[
        str | int | None,
        BeforeValidator(_align),
        WithJsonSchema(
            {"anyOf": [{"const": "week"}, {"type": "integer", "minimum": 2, "maximum": 10_000},
                       {"type": "null"}]}
        ),
    ] = Field(None, description="'week', or a number of buckets, for stretches of whole weeks.")  # fmt: skip
    seed: Annotated[
        int, BeforeValidator(_seed),
        WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
                                  {"type": "null"}]}),
    ] = Field(None, validate_default=True, description="For policies that draw at random.")  # fmt: skip

    status_quo: Annotated[str, PlainValidator(_status_quo), WithJsonSchema({"type": "string"})] = (
        Field(
            "unknown",
            description="What was shown before the start: an option, 'other' (something that is no "
            "option), 'none' (nothing) or 'unknown'.",
        )
    )
    history: Annotated[
        tuple[PastBucket, ...],
        PlainValidator(_history),
        WithJsonSchema({"type": "array", "items": {"type": "object", "required": ["bucket"]}}),
    ] = Field(
        (),
        description="Rows before the start, with bucket, rounds, total and shown (by default the "
        "status quo).",
    )

    @classmethod
    def read(cls, given: Mapping[str, Any], *, now: datetime | None = None) -> Settings:
        """Check everything that a campaign is set up with, or refuse it in a sentence.

        Args:
            given: The fields.
            now: The start of timed buckets, where none is given.
        """
        given = dict(given)
        if given.get("start") is None and given.get("every") != "number" and now is not None:
            given["start"] = now
        try:
            settings = cls.model_validate(given)
        except ValidationError as error:
            raise InvalidInput(_sentence(error, cls)) from None
        if settings.history and "history" not in registry.accepted_parameters(settings.policy):
            raise InvalidInput(
                f"{settings.policy} cannot be told what was played before the start; leave the "
                "history out, or choose another policy."
            )
        newer = registry.newer_parameters(settings.policy)
        settings = settings.model_copy(update={"parameters": {**newer, **settings.parameters}})
        # A policy that cannot be built or cannot decide is refused now, not at the first bucket.
        try:
            settings.build_policy().ask()
        except (TypeError, ValueError, ArithmeticError, MemoryError, RecursionError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"the policy cannot be built with these parameters: {error}."
            ) from None
        return settings

    @cached_property
    def buckets(self) -> Buckets:
        """The buckets of the campaign."""
        return Buckets(self.every, self.zone, self.start)

    @property
    def n_options(self) -> int:
        """The number of options."""
        return len(self.options)

    @property
    def curve(self) -> Curve | None:
        """The share of a total that is in at each age, where it was declared."""
        return self.fills_up if isinstance(self.fills_up, tuple) else None

    @property
    def full_after(self) -> timedelta | None:
        """The age at which totals are taken for full, where a curve is fitted to them."""
        return self.fills_up if isinstance(self.fills_up, timedelta) else None

    @property
    def note(self) -> str | None:
        """What the campaign does not use of what ran before it; None if it uses all."""
        if self.status_quo == "none" or "before" in registry.accepted_parameters(self.policy):
            return None
        return (
            f"{self.policy} takes it that nothing ran before the start: what arrives late from then is "
            "counted for the first options that are shown."
        )

    def option(self, name: object) -> int:
        """The number of the option of this name."""
        return self.options.index(known_name(name, self.options, "option"))

    def scaled(self, total: float, rounds: int) -> float:
        """A total as policies see it: every round brings between 0 and 1."""
        low, high = self.range
        return (total - rounds * low) / (high - low)

    def per_round(self, mean: float) -> float:
        """A policy's mean in the campaign's own unit."""
        low, high = self.range
        return low + mean * (high - low)

    def build_policy(self) -> Policy:
        """The policy, knowing nothing; `simulate(..., seed=...)` draws from the same generator."""
        accepted = registry.accepted_parameters(self.policy)
        extra: dict[str, Any] = {}
        if "names" in accepted:
            extra["names"] = list(self.options)
        if "rng" in accepted:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(0, 1))
            extra["rng"] = np.random.Generator(np.random.PCG64(sequence))
        if "before" in accepted and self.status_quo != "none":
            is_option = self.status_quo in self.options
            extra["before"] = self.option(self.status_quo) if is_option else "other"
        if self.history:
            extra["history"] = [
                (past.arm, past.rounds,
                 None if past.total is None else self.scaled(past.total, past.rounds))
                for past in self.history
            ]  # fmt: skip
        parameters = {"n_arms": self.n_options, **extra, **self.written_parameters}
        return registry.build(self.policy, **parameters)

    @property
    def written_parameters(self) -> dict[str, Any]:
        """The parameters, with those that an earlier version did not write as they were then."""
        return {**registry.unwritten_parameters(self.policy), **self.parameters}

    def to_json(self) -> dict[str, Any]:
        """As plain values, as stores keep it. What ran before is there if something did."""
        before: dict[str, Any] = {}
        if self.status_quo != "none" or self.history:
            before = {"status_quo": self.status_quo, "history": [list(row) for row in self.history]}
        return {
            "name": self.name,
            "options": list(self.options),
            "policy": self.policy,
            "parameters": self.parameters,
            "buckets": self.buckets.to_json(),
            "expected_rounds": self.expected_rounds,
            "time_basis": self.time_basis,
            "seed": self.seed,
            "range": list(self.range),
            "unit": self.unit,
            "usable_after": self.usable_after.total_seconds(),
            "lateness": None if self.lateness is None else self.lateness.total_seconds(),
            "fills_up": self.curve and [[age.total_seconds(), share] for age, share in self.curve],
            "full_after": None if self.full_after is None else self.full_after.total_seconds(),
            "align": self.align,
            **before,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Settings:
        """The opposite of `to_json`; nothing is checked again, since time zones and policies change."""
        buckets = Buckets.from_json(saved["buckets"])
        kept = {
            key: saved[key]
            for key in ("name", "policy", "expected_rounds", "time_basis", "seed", "unit", "align")
        }
        curve = saved["fills_up"]
        return cls.model_construct(
            **kept,
            options=tuple(saved["options"]),
            parameters=dict(saved["parameters"]),
            every=buckets.every,
            zone=buckets.zone_name,
            start=buckets.first,
            range=tuple(saved["range"]),
            usable_after=timedelta(seconds=saved["usable_after"]),
            lateness=_seconds(saved["lateness"]),
            fills_up=_seconds(saved["full_after"])
            if curve is None
            else tuple((timedelta(seconds=age), share) for age, share in curve),
            # Campaigns of earlier versions took it that nothing ran before.
            status_quo=saved.get("status_quo", "none"),
            history=tuple(PastBucket(*row) for row in saved.get("history", ())),
        )


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, in a sentence."""
    problem = error.errors(include_url=False)[0]
    field = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        try:
            known_name(field, model.model_fields, "setting")
        except InvalidInput as refusal:
            return str(refusal)
    if problem["type"] == "missing":
        if field == "time_basis":
            return _DATED
        return f"{field} is missing: {model.model_fields[field].description}"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return f"{field} cannot be {shortened(repr(problem['input']))}."
