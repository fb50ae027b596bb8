"""What a campaign is set up with: one model, which Python, the command line and HTTP read from.

It is checked when a campaign is made, and a part of it when that is changed
(`latesum.campaigns.actions`). A store keeps it as `to_json` writes it; what is read back was
checked then, and is taken as it is.

A validator that depends on other fields finds them in `info.data`: what stands there was read
before. One that was refused is missing there, and the refusal is already noted.
"""

from __future__ import annotations

import contextlib
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
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
from latesum._plugins import POLICIES
from latesum.campaigns.buckets import KINDS, Buckets, Every, read_zone
from latesum.campaigns.parameters import SWITCHBACK, read_parameters
from latesum.campaigns.rows import (
    MAX_ROUNDS,
    NO_OPTION,
    Observation,
    in_field,
    read_history,
    shown_of,
)
from latesum.delays.parsing import parse
from latesum.policies import Policy, registry

if TYPE_CHECKING:
    from latesum.markets import MarketConfig

TimeBasis = Literal["arrival", "decision"]
#: The age of a value and the share of the final total that is in by then, in order of age.
Curve = tuple[tuple[timedelta, float], ...]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
MAX_TEXT = 100
MAX_OPTIONS = 100
MAX_REGIONS = 200
_MAX_SEED = 2**53 - 1
_DATED = (
    "say by which time your totals are dated, time_basis='arrival' or 'decision'. By "
    "arrival: a sale counts on the day it came in, which is what latesum needs. By decision "
    "(many ad platforms' default): it counts on the day of the click, and yesterday's "
    "total keeps growing."
)
#: Marks the fields that can be changed while a campaign runs.
_CHANGEABLE = "changeable"


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


def _read_options(value: Any) -> tuple[str, ...]:
    names = _read_names(value, "option")
    if not 2 <= len(names) <= MAX_OPTIONS:
        listed = list(names)[:MAX_OPTIONS]
        raise InvalidInput(f"give two options or more, up to {MAX_OPTIONS}, not {listed}.")
    return names


def _read_zone(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 64:
        raise InvalidInput("a time zone is a name such as 'Europe/Berlin' or 'UTC'.")
    return read_zone(value).key


def _read_start(value: Any, info: ValidationInfo) -> datetime | None:
    every, zone = info.data.get("every"), info.data.get("zone")
    if every is None or zone is None:
        return None  # refused already
    return Buckets.create(every, zone, value).first


def _read_regions(value: Any) -> tuple[str, ...]:
    names = _read_names(value or (), "region")
    if len(names) == 1:
        raise InvalidInput("one region is no region: leave the regions out, or name two and more.")
    if any(len(name) > 64 for name in names):
        raise InvalidInput("a region's name has at most 64 characters.")
    return names


def _read_policy(value: Any, info: ValidationInfo) -> str:
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


def _read_parameters(value: Any, info: ValidationInfo) -> dict[str, Any]:
    """The parameters of the policy, without `n_arms`, which a plan has and the options say."""
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
    return read_parameters(given, known["policy"], known["every"], known["expected_rounds"])


def _check_range(value: tuple[float, float]) -> tuple[float, float]:
    low = finite_number(value[0], "the least that a round can bring", at_least=-1e12)
    return low, finite_number(value[1], "the most that a round can bring", above=low, at_most=1e12)


def _read_curve(value: Any) -> Curve | None:
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


def _read_align(value: Any, info: ValidationInfo) -> str | None:
    if value is None:
        return None
    if info.data.get("policy") == SWITCHBACK:
        raise InvalidInput("switchback knows weekdays by itself and needs no align; leave it out.")
    if value != "week":
        raise InvalidInput(f"align is 'week', not {value!r}.")
    return "week"


def _read_status_quo(value: Any, info: ValidationInfo) -> str:
    if isinstance(value, str) and value in NO_OPTION:
        return value
    return known_name(value, (*info.data.get("options", ()), *NO_OPTION), "status quo")


def _or_null(*schemas: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [*schemas, {"type": "null"}]})


_SHARES_TEXT = {"type": "string", "maxLength": 1000, "examples": ["1 day: 0.6, 7 days: 1"]}
_SHARES = {"type": "object", "additionalProperties": {"type": "number"}}
_PAST_ROWS = {"type": "array", "items": {"type": "object", "required": ["bucket"]}}


class CampaignConfig(BaseModel):
    """What a campaign is set up with. `CampaignConfig.read` checks it and refuses in sentences.

    The field `parameters` takes the horizon and the delays in time ("90 days") or in buckets
    ("3 buckets") too; they become rounds by `expected_rounds`.

    >>> config = CampaignConfig.read({
    ...     "name": "banner", "options": ["red", "blue"], "policy": "odaaf", "every": "day",
    ...     "parameters": {"horizon": "90 days", "mean_delay": "36 hours"}, "start": "2026-03-01",
    ...     "expected_rounds": 5000, "time_basis": "arrival",
    ... })
    >>> config.parameters
    {'horizon': 450000, 'mean_delay': 7500.0}
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str = Field(
        pattern=NAME_PATTERN, description="Letters, digits, dots, dashes and underscores."
    )
    options: Annotated[tuple[str, ...], BeforeValidator(_read_options)] = Field(
        min_length=2, max_length=100, description="The options.", examples=[["red", "blue"]]
    )
    every: Annotated[
        Every, BeforeValidator(lambda value: known_name(value, KINDS, "kind of bucket"))
    ] = Field("day", description="What a bucket is: hour, day or week; by default day.")
    expected_rounds: Annotated[
        int,
        BeforeValidator(lambda n: whole_number(n, "the expected rounds of a bucket", at_least=1)),
        _CHANGEABLE,
    ] = Field(ge=1, le=MAX_ROUNDS, description="Rounds (visitors, ...) in a bucket.")
    time_basis: TimeBasis = Field(
        description="'arrival' or 'decision': whether a total holds what arrived in its bucket "
        "(it should) or what was decided in it."
    )
    zone: Annotated[str, BeforeValidator(_read_zone)] = Field(
        "UTC", max_length=64, description="The time zone of the buckets; by default UTC."
    )
    start: Annotated[
        datetime, BeforeValidator(_read_start), _or_null({"type": "string", "maxLength": 40})
    ] = Field(
        None, validate_default=True, description="The first bucket, a date or time; by default now."
    )
    regions: Annotated[tuple[str, ...], BeforeValidator(_read_regions)] = Field(
        (),
        max_length=MAX_REGIONS,
        description="The regions, each of which shows an option of its own; none for one stream.",
        examples=[["north", "south"]],
    )
    policy: Annotated[str, BeforeValidator(_read_policy), _CHANGEABLE] = Field(
        "unmix",
        description="A name from `latesum policies`; by default unmix, or with regions switchback.",
        examples=["odaaf"],
    )
    parameters: Annotated[dict[str, Any], BeforeValidator(_read_parameters), _CHANGEABLE] = Field(
        default_factory=dict,
        description="Of the policy; horizon and delays may be given in time or in buckets.",
        examples=[{"horizon": "90 days", "mean_delay": "36 hours"}],
    )
    range: Annotated[tuple[float, float], AfterValidator(_check_range), _CHANGEABLE] = Field(
        (0.0, 1.0),
        description="The least and the most that one round can bring; by default 0 and 1.",
    )
    unit: Annotated[
        str, BeforeValidator(lambda value: read_text(value, "the unit")), _CHANGEABLE
    ] = Field(
        "successes", max_length=MAX_TEXT, description="What totals count; by default successes."
    )
    completeness: Annotated[
        Curve | None, PlainValidator(_read_curve), _or_null(_SHARES, _SHARES_TEXT), _CHANGEABLE
    ] = Field(
        None,
        description="The share of a total that is in at each age: '1 day: 0.6, 7 days: 1'.",
    )
    align: Annotated[
        str | None, BeforeValidator(_read_align), _or_null({"const": "week"}), _CHANGEABLE
    ] = Field(None, description="'week' for blocks of whole weeks.")
    seed: Annotated[
        int,
        BeforeValidator(lambda n: secrets.randbits(32) if n is None else whole_number(n, "seed")),
        _or_null({"type": "integer", "minimum": 0, "maximum": _MAX_SEED}),
    ] = Field(
        None, validate_default=True, le=_MAX_SEED, description="For policies that draw at random."
    )
    status_quo: Annotated[
        str, PlainValidator(_read_status_quo), WithJsonSchema({"type": "string"})
    ] = Field(
        "unknown",
        description="What was shown before the start: an option, 'other' (something that is no "
        "option), 'none' (nothing) or 'unknown' (the default).",
    )
    history: Annotated[tuple[Observation, ...], WithJsonSchema(_PAST_ROWS)] = Field(
        (),
        description="Rows before the start, with bucket, rounds, total and shown (by default the "
        "status quo).",
    )

    @classmethod
    def read(cls, given: Mapping[str, Any], *, now: datetime | None = None) -> CampaignConfig:
        """Check everything that a campaign is set up with, or refuse it in a sentence.

        `now` is the start, where none is given.
        """
        given = {"parameters": {}, **given}  # a default is not read, and `switchback` has some
        if given.get("policy") is None:
            given["policy"] = SWITCHBACK if given.get("regions") else "unmix"
        if given.get("start") is None:
            given["start"] = now
        rows = given.pop("history", None)  # it is read by the whole configuration
        config = cls._validated(given)
        if rows:
            history = in_field("history", read_history, rows, config)
            config = config.model_copy(update={"history": history})
        config.check_policy()
        return config

    @classmethod
    def _validated(cls, given: Mapping[str, Any]) -> CampaignConfig:
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise _refusal(error) from None

    def check_policy(self) -> None:
        """Refuse a policy that cannot be built or cannot decide: now, not at the first bucket."""
        if self.is_market:
            from latesum.markets import decide

            decide([], 0, self.build_market())
            return
        if self.history and "history" not in registry.accepted_parameters(self.policy):
            raise InvalidInput(
                f"{self.policy} cannot use what was played before the start; leave the history "
                "out, or choose another policy."
            )
        try:
            self.build_policy().ask()
        except InvalidInput:
            raise
        except (TypeError, ValueError, ArithmeticError, MemoryError, RecursionError) as error:
            text = f"the policy cannot be built with these parameters: {error}."
            raise InvalidInput(text) from None

    def changed_by(self, given: Mapping[str, Any]) -> CampaignConfig:
        """The configuration with other values in some fields, read as those of a new campaign are.

        The policy is not built; `check_policy` does that.
        """
        kept = {name: getattr(self, name) for name in type(self).model_fields if name != "history"}
        if self.completeness is not None:
            kept["completeness"] = dict(self.completeness)
        return self._validated({**kept, **given}).model_copy(update={"history": self.history})

    def with_options(self, options: Sequence[str]) -> CampaignConfig:
        """The same with one option more, or with another name for one."""
        quo = self.status_quo
        if quo in self.options:
            quo = options[self.option(quo)]
        return self.model_copy(update={"options": tuple(options), "status_quo": quo})

    @cached_property
    def buckets(self) -> Buckets:
        """The buckets of the campaign."""
        return Buckets(self.every, self.zone, self.start)

    @property
    def is_market(self) -> bool:
        """Whether the model of markets decides, `latesum.markets`, and not a policy."""
        return self.policy == SWITCHBACK

    @property
    def n_options(self) -> int:
        """The number of options."""
        return len(self.options)

    @property
    def note(self) -> str | None:
        """What the campaign does not use of status quo and history; None if it uses all."""
        nothing_ran = self.is_market or self.status_quo == "none"
        if nothing_ran or "status_quo" in registry.accepted_parameters(self.policy):
            return None
        return (
            f"{self.policy} takes it that nothing ran before the start: what arrives late from "
            "then is counted for the first options that are shown."
        )

    def region(self, name: object) -> str:
        """The region of this name; the one without a name where the campaign has none."""
        if not self.regions:
            if name:
                raise InvalidInput("this campaign has no regions; leave the region out.")
            return ""
        if name is None:
            raise InvalidInput(f"say which region: {', '.join(self.regions)}.")
        return known_name(name, self.regions, "region")

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
        import numpy as np

        accepted = registry.accepted_parameters(self.policy)
        extra: dict[str, Any] = {}
        if "rng" in accepted:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(0, 1))
            extra["rng"] = np.random.Generator(np.random.PCG64(sequence))
        if "status_quo" in accepted and self.status_quo != "none":
            is_option = self.status_quo in self.options
            extra["status_quo"] = self.option(self.status_quo) if is_option else "other"
        if self.history:
            extra["history"] = [
                (shown, rounds, None if total is None else self.scaled(total, rounds or 0))
                for _, _, rounds, shown, total, _, _ in self.history
            ]
        parameters = {**extra, **self.parameters, "n_arms": self.n_options}
        policy = registry.build(self.policy, **parameters)
        policy.names = tuple(self.options)
        return policy

    def build_market(self, first: int = 1, *, rounds_known: bool = True) -> MarketConfig:
        """The configuration of the model of markets.

        Its bucket 0 is the campaign's `first`, the first that was asked for; `rounds_known` says
        whether the rounds of buckets are reported.
        """
        from latesum.markets import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig

        given, quo = self.parameters, self.status_quo
        shape = parse(given["shape"]) if "shape" in given else None
        pattern: Literal["weekday", "hour", "none"] = "none"
        phase = 0
        if self.every in ("day", "hour"):  # demand repeats, and the first bucket lies here in it
            begin = self.buckets.local(self.buckets.begin(first))
            pattern, phase = "weekday", begin.weekday()
            if self.every == "hour":
                pattern, phase = "hour", 24 * begin.weekday() + begin.hour
        return MarketConfig(
            self.options,
            given["horizon"],
            self.regions or ("",),
            delay=DelayPrior(given["mean_delay"], given["certainty"], shape),
            status_quo=quo if quo in self.options else NOTHING if quo == "none" else NOT_KNOWN,
            pattern=pattern,
            phase=phase,
            holidays=tuple(self.buckets.number(day) - first for day in given.get("holidays", ())),
            novelty=given.get("novelty", 0.0),
            dated=self.time_basis,
            amounts=given.get("amounts", "counts"),
            differing_delays=given.get("differing_delays"),
            rounds_known=rounds_known,
            report_lag=given.get("report_lag", 0),
            period=given.get("period"),
            seed=self.seed,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values, as stores keep it; spans of time are in seconds."""
        saved = {name: getattr(self, name) for name in type(self).model_fields}
        for name in ("options", "regions", "range"):
            saved[name] = list(saved[name])
        if self.completeness is not None:
            curve = self.completeness
            saved["completeness"] = [[age.total_seconds(), share] for age, share in curve]
        saved["start"] = self.start.isoformat()
        saved["history"] = [list(row[:5]) for row in self.history]
        return saved

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> CampaignConfig:
        """The opposite of `to_json`; nothing is checked again, since time zones and policies
        change."""
        read = dict(saved)
        for name in ("options", "regions", "range"):
            read[name] = tuple(saved[name])
        curve = saved["completeness"]
        if curve is not None:
            read["completeness"] = tuple((timedelta(seconds=age), share) for age, share in curve)
        read["start"] = datetime.fromisoformat(saved["start"])
        read["history"] = tuple(
            Observation(
                region,
                bucket,
                rounds,
                shown_of(shown),
                total,
                "pending" if total is None else "known",
            )
            for region, bucket, rounds, shown, total in saved["history"]
        )
        return cls.model_construct(**read)


#: The fields that can be changed while a campaign runs.
CHANGEABLE = tuple(
    name for name, field in CampaignConfig.model_fields.items() if _CHANGEABLE in field.metadata
)


def _refusal(error: ValidationError) -> InvalidInput:
    """The first thing that is wrong."""
    problem, fields = error.errors(include_url=False)[0], CampaignConfig.model_fields
    field = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        try:
            known_name(field, fields, "field")
        except InvalidInput as refusal:
            return refusal
    if field == "time_basis":  # no default, since a wrong one spoils all
        return InvalidInput(_DATED, field=field)
    described = fields[field].description if field in fields else ""
    if problem["type"] == "missing":
        return InvalidInput(f"{field} is missing: {described}", field=field)
    if problem["type"] == "value_error":
        return InvalidInput(str(problem["ctx"]["error"]), field=field)
    given = shortened(repr(problem["input"]))
    return InvalidInput(f"{field} cannot be {given}: {described}", field=field)
