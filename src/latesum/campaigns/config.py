"""What a campaign is set up with: one model, which Python, the command line and HTTP read from.

It is checked when a campaign is made, and a part of it when that is changed
(`latesum.campaigns.changes`). A store keeps it as `to_json` writes it; what is read back was
checked then, and is taken as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)

from latesum._checks import InvalidInput, known_name, shortened
from latesum._durations import parse_duration
from latesum.campaigns import setting_fields as fields
from latesum.campaigns.buckets import KINDS, Buckets, Every
from latesum.campaigns.market_fields import (
    SWITCHBACK,
    pattern_of,
)
from latesum.campaigns.rows import Observation, shown_of
from latesum.policies import Policy, registry

if TYPE_CHECKING:
    from latesum.markets import MarketConfig

TimeBasis = Literal["arrival", "decision"]

_Span = {"type": "string", "maxLength": 100, "examples": ["36 hours"]}


#: Marks the fields that can be changed while a campaign runs.
_CHANGEABLE = "changeable"


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

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, BeforeValidator(fields.read_name)] = Field(
        pattern=fields.NAME_PATTERN, description="Letters, digits, dots, dashes and underscores."
    )
    options: Annotated[tuple[str, ...], BeforeValidator(fields.read_options)] = Field(
        min_length=2, max_length=100, description="The options.", examples=[["red", "blue"]]
    )
    every: Annotated[
        Every, BeforeValidator(lambda value: known_name(value, KINDS, "kind of bucket"))
    ] = Field("day", description="What a bucket is: hour, day, week or number; by default day.")
    expected_rounds: Annotated[int, BeforeValidator(fields.read_rounds), _CHANGEABLE] = Field(
        ge=1, le=fields.MAX_ROUNDS, description="Rounds (visitors, ...) in a bucket."
    )
    time_basis: Annotated[TimeBasis, BeforeValidator(fields.read_time_basis)] = Field(
        description="'arrival' or 'decision': whether a total holds what arrived in its bucket "
        "(it should) or what was decided in it."
    )
    zone: Annotated[str, BeforeValidator(fields.read_zone)] = Field(
        "UTC", max_length=64, description="The time zone of hours, days and weeks; by default UTC."
    )
    start: Annotated[
        datetime | None,
        BeforeValidator(fields.read_start),
        WithJsonSchema({"anyOf": [{"type": "string", "maxLength": 40}, {"type": "null"}]}),
    ] = Field(
        None, validate_default=True, description="The first bucket, a date or time; by default now."
    )
    regions: Annotated[tuple[str, ...], BeforeValidator(fields.read_regions)] = Field(
        (),
        max_length=fields.MAX_REGIONS,
        description="The regions, each of which shows an option of its own; none for one stream.",
        examples=[["north", "south"]],
    )
    policy: Annotated[str, BeforeValidator(fields.read_policy), _CHANGEABLE] = Field(
        "unmix",
        description="A name from `latesum policies`; by default unmix, or with regions switchback.",
        examples=["odaaf"],
    )
    parameters: Annotated[dict[str, Any], BeforeValidator(fields.read_parameters), _CHANGEABLE] = (
        Field(
            default_factory=dict,
            description="Of the policy; horizon and delays may be given in time or in buckets.",
            examples=[{"horizon": "90 days", "mean_delay": "36 hours"}],
        )
    )
    range: Annotated[tuple[float, float], BeforeValidator(fields.read_range), _CHANGEABLE] = Field(
        (0.0, 1.0),
        description="The least and the most that one round can bring; by default 0 and 1.",
    )
    unit: Annotated[
        str, BeforeValidator(lambda value: fields.read_text(value, "the unit")), _CHANGEABLE
    ] = Field(
        "successes",
        max_length=fields.MAX_TEXT,
        description="What totals count; by default successes.",
    )
    settling_time: Annotated[
        timedelta,
        BeforeValidator(lambda value: parse_duration(value, "settling_time")),
        WithJsonSchema(_Span),
        _CHANGEABLE,
    ] = Field(timedelta(0), description="How old a total must be to be used; by default 0 days.")
    max_lateness: Annotated[
        timedelta | None,
        BeforeValidator(
            lambda value: None if value is None else parse_duration(value, "max_lateness")
        ),
        WithJsonSchema({"anyOf": [_Span, {"type": "null"}]}),
        _CHANGEABLE,
    ] = Field(None, description="Values that come later after their bucket's end are not used.")
    completeness: Annotated[
        fields.Curve | timedelta | None,
        PlainValidator(fields.read_curve),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "number"}},
                    {"type": "string", "maxLength": 100},
                    {"type": "null"},
                ]
            }
        ),
        _CHANGEABLE,
    ] = Field(
        None,
        description="The share of a total that is in at each age ('1 day: 0.6, 7 days: 1'), or "
        "'fit 7 days' to fit that to the campaign's own totals.",
    )
    align: Annotated[
        str | int | None,
        BeforeValidator(fields.read_align),
        WithJsonSchema(
            {
                "anyOf": [
                    {"const": "week"},
                    {"type": "integer", "minimum": 2, "maximum": 10_000},
                    {"type": "null"},
                ]
            }
        ),
        _CHANGEABLE,
    ] = Field(None, description="'week', or a number of buckets, for blocks of whole weeks.")
    seed: Annotated[
        int,
        BeforeValidator(fields.read_seed),
        WithJsonSchema(
            {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, {"type": "null"}]}
        ),
    ] = Field(None, validate_default=True, description="For policies that draw at random.")

    status_quo: Annotated[
        str, PlainValidator(fields.read_status_quo), WithJsonSchema({"type": "string"})
    ] = Field(
        "unknown",
        description="What was shown before the start: an option, 'other' (something that is no "
        "option), 'none' (nothing) or 'unknown' (the default).",
    )
    history: Annotated[
        tuple[Observation, ...],
        PlainValidator(fields.read_history),
        WithJsonSchema({"type": "array", "items": {"type": "object", "required": ["bucket"]}}),
    ] = Field(
        (),
        description="Rows before the start, with bucket, rounds, total and shown (by default the "
        "status quo).",
    )

    @classmethod
    def read(cls, given: Mapping[str, Any], *, now: datetime | None = None) -> CampaignConfig:
        """Check everything that a campaign is set up with, or refuse it in a sentence.

        Args:
            given: The fields.
            now: The start of timed buckets, where none is given.
        """
        given = dict(given)
        if given.get("policy") is None:
            given["policy"] = SWITCHBACK if given.get("regions") else "unmix"
        given.setdefault(
            "parameters", {}
        )  # a default is not read, and `switchback` has usual values
        if given.get("start") is None and given.get("every") != "number" and now is not None:
            given["start"] = now
        try:
            config = cls.model_validate(given)
        except ValidationError as error:
            raise InvalidInput(_sentence(error, cls)) from None
        config.check_policy()
        return config

    def check_policy(self) -> None:
        """Refuse a policy that cannot be built or cannot decide: now, not at the first bucket."""
        if self.is_market:
            from latesum.markets import decide

            decide([], 0, self.build_market())
            return
        if self.history and "history" not in registry.accepted_parameters(self.policy):
            raise InvalidInput(
                f"{self.policy} cannot be told what was played before the start; leave the "
                "history out, or choose another policy."
            )
        try:
            self.build_policy().ask()
        except (TypeError, ValueError, ArithmeticError, MemoryError, RecursionError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"the policy cannot be built with these parameters: {error}."
            ) from None

    def changed_by(self, given: Mapping[str, Any]) -> CampaignConfig:
        """The configuration with other values in some fields, read as those of a new campaign are.

        The policy is not built; `check_policy` does that.

        Args:
            given: The other values.
        """
        kept = {name: getattr(self, name) for name in type(self).model_fields if name != "history"}
        if self.curve is not None:
            kept["completeness"] = dict(self.curve)
        try:
            changed = type(self).model_validate({**kept, **given})
        except ValidationError as error:
            raise InvalidInput(_sentence(error, type(self))) from None
        return changed.model_copy(update={"history": self.history})

    def with_options(self, options: Sequence[str]) -> CampaignConfig:
        """The same with one option more, or with another name for one."""
        quo = self.status_quo
        if quo in self.options:
            quo = options[self.option(quo)]
        return self.model_copy(update={"options": tuple(options), "status_quo": quo})

    def with_saved(self, changes: Mapping[str, Any]) -> CampaignConfig:
        """The same with other values in some fields, as `to_json` has them."""
        return self.from_json({**self.to_json(), **changes})

    @cached_property
    def buckets(self) -> Buckets:
        """The buckets of the campaign."""
        return Buckets(self.every, self.zone, self.start)

    @property
    def is_market(self) -> bool:
        """Whether decisions come from the model of markets, `latesum.markets`, and not from a
        policy."""
        return self.policy == SWITCHBACK

    @property
    def n_options(self) -> int:
        """The number of options."""
        return len(self.options)

    @property
    def curve(self) -> fields.Curve | None:
        """The share of a total that is in at each age, where it was declared."""
        return self.completeness if isinstance(self.completeness, tuple) else None

    @property
    def full_after(self) -> timedelta | None:
        """The age at which totals are taken for full, where a curve is fitted to them."""
        return self.completeness if isinstance(self.completeness, timedelta) else None

    @property
    def note(self) -> str | None:
        """What the campaign does not use of what ran before it; None if it uses all."""
        if (
            self.is_market
            or self.status_quo == "none"
            or "status_quo" in registry.accepted_parameters(self.policy)
        ):
            return None
        return (
            f"{self.policy} takes it that nothing ran before the start: what arrives late from "
            "then is "
            "counted for the first options that are shown."
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
        accepted = registry.accepted_parameters(self.policy)
        extra: dict[str, Any] = {}
        if "names" in accepted:
            extra["names"] = list(self.options)
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
        return registry.build(self.policy, **parameters)

    def build_market(self, first: int = 1, *, rounds_known: bool = True) -> MarketConfig:
        """What the model of markets is told of the campaign.

        Args:
            first: The bucket that is the model's bucket 0: the first that was asked for.
            rounds_known: Whether the rounds of buckets are reported.
        """
        from latesum.markets import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig

        told, quo = self.parameters, self.status_quo
        is_option = quo in self.options
        pattern, phase = pattern_of(self.buckets, first)
        return MarketConfig(
            self.options,
            told["horizon"],
            self.regions or ("",),
            delay=DelayPrior(told["mean_delay"], told["sure"]),
            status_quo=quo if is_option else NOTHING if quo == "none" else NOT_KNOWN,
            pattern=pattern,
            phase=phase,
            holidays=tuple(self.buckets.number(day) - first for day in told.get("holidays", ())),
            novelty=told.get("novelty", 0.0),
            dated=self.time_basis,
            amounts=told.get("amounts", "counts"),
            differing_delays=told.get("differing_delays"),
            rounds_known=rounds_known,
            report_lag=told.get("report_lag", 0),
            period=told.get("stay"),
            seed=self.seed,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values, as stores keep it. What ran before is there if something did."""
        before: dict[str, Any] = {}
        if self.status_quo != "none" or self.history:
            before = {
                "status_quo": self.status_quo,
                "history": [row[:5] for row in self.history],
            }
        if self.regions:
            before["regions"] = list(self.regions)
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
            "settling_time": self.settling_time.total_seconds(),
            "max_lateness": None
            if self.max_lateness is None
            else self.max_lateness.total_seconds(),
            "completeness": self.curve
            and [[age.total_seconds(), share] for age, share in self.curve],
            "full_after": None if self.full_after is None else self.full_after.total_seconds(),
            "align": self.align,
            **before,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> CampaignConfig:
        """The opposite of `to_json`; nothing is checked again, since time zones and policies
        change."""
        buckets = Buckets.from_json(saved["buckets"])
        kept = {
            key: saved[key]
            for key in ("name", "policy", "expected_rounds", "time_basis", "seed", "unit", "align")
        }
        curve = saved["completeness"]
        return cls.model_construct(
            **kept,
            options=tuple(saved["options"]),
            parameters=dict(saved["parameters"]),
            every=buckets.every,
            zone=buckets.zone_name,
            start=buckets.first,
            range=tuple(saved["range"]),
            settling_time=timedelta(seconds=saved["settling_time"]),
            max_lateness=_seconds(saved["max_lateness"]),
            completeness=_seconds(saved["full_after"])
            if curve is None
            else tuple((timedelta(seconds=age), share) for age, share in curve),
            # Campaigns of earlier versions took it that nothing ran before.
            status_quo=saved.get("status_quo", "none"),
            history=tuple(map(_past_row, saved.get("history", ()))),
            regions=tuple(saved.get("regions", ())),
        )


#: The fields that can be changed while a campaign runs.
CHANGEABLE = tuple(
    name for name, field in CampaignConfig.model_fields.items() if _CHANGEABLE in field.metadata
)


def _past_row(saved: Sequence[Any]) -> Observation:
    region, bucket, rounds, shown, total = saved
    state: Literal["known", "pending"] = "pending" if total is None else "known"
    return Observation(region, bucket, rounds, shown_of(shown), total, state)


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, in a sentence."""
    problem = error.errors(include_url=False)[0]
    field = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        try:
            known_name(field, model.model_fields, "field")
        except InvalidInput as refusal:
            return str(refusal)
    if problem["type"] == "missing":
        if field == "time_basis":
            return fields.DATED
        return f"{field} is missing: {model.model_fields[field].description}"
    if problem["type"] == "value_error":
        wrong = problem["ctx"]["error"]
        return str(wrong)
    return f"{field} cannot be {shortened(repr(problem['input']))}."
