"""What a campaign is set up with: one model, which Python, the command line and HTTP read from.

It is checked when a campaign is made, and a part of it when that is changed
(`latesum.campaigns.actions`). A store keeps it as `to_json` writes it; what is read back was
checked then, and is taken as it is.

Which rows can be right, those that are reported (`check_row`) and those of the history from before
the start, follows from it: a shop was open yesterday, and late rewards of what it showed then
arrive in the campaign's first days.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)

from latesum._checks import InvalidInput, finite_number, known_name, shortened, whole_number
from latesum.campaigns.buckets import KINDS, Buckets, Every
from latesum.campaigns.fields import (
    MAX_OPTIONS,
    MAX_TEXT,
    SWITCHBACK,
    Curve,
    check_range,
    read_align,
    read_curve,
    read_options,
    read_policy,
    read_policy_parameters,
    read_regions,
    read_start,
    read_status_quo,
    read_text,
    read_zone_name,
)
from latesum.campaigns.rows import Observation, RecordStatus, in_field, read_shown, shown_of
from latesum.delays.parsing import parse
from latesum.files.totals import Row
from latesum.policies import Policy, registry

if TYPE_CHECKING:
    from latesum.markets import MarketConfig

TimeBasis = Literal["arrival", "decision"]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
MAX_REGIONS = 200
#: A history is stored with the configuration, so there is a limit.
MAX_ROWS = 10_000
#: Limits far above anything real, so that no sum can overflow.
MAX_ROUNDS, MAX_TOTAL = 10**12, 1e15
#: In characters, of a text in a row.
_MAX_SAID = 1_000
_PAST_FIELDS = ("bucket", "rounds", "total", "shown", "region")
_MAX_SEED = 2**53 - 1
_DATED = (
    "say by which time your totals are dated, time_basis='arrival' or 'decision'. By "
    "arrival: a sale counts on the day it came in, which is what latesum needs. By decision "
    "(many ad platforms' default): it counts on the day of the click, and yesterday's "
    "total keeps growing."
)
#: Marks the fields that can be changed while a campaign runs.
_CHANGEABLE = "changeable"


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
    options: Annotated[tuple[str, ...], BeforeValidator(read_options)] = Field(
        min_length=2, max_length=MAX_OPTIONS, description="The options.", examples=[["red", "blue"]]
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
    zone: Annotated[str, BeforeValidator(read_zone_name)] = Field(
        "UTC", max_length=64, description="The time zone of the buckets; by default UTC."
    )
    start: Annotated[
        datetime, BeforeValidator(read_start), _or_null({"type": "string", "maxLength": 40})
    ] = Field(
        None, validate_default=True, description="The first bucket, a date or time; by default now."
    )
    regions: Annotated[tuple[str, ...], BeforeValidator(read_regions)] = Field(
        (),
        max_length=MAX_REGIONS,
        description="The regions, each of which shows an option of its own; none for one stream.",
        examples=[["north", "south"]],
    )
    policy: Annotated[str, BeforeValidator(read_policy), _CHANGEABLE] = Field(
        "unmix",
        description="A name from `latesum policies`; by default unmix, or with regions switchback.",
        examples=["odaaf"],
    )
    parameters: Annotated[dict[str, Any], BeforeValidator(read_policy_parameters), _CHANGEABLE] = (
        Field(
            default_factory=dict,
            description="Of the policy; horizon and delays may be given in time or in buckets.",
            examples=[{"horizon": "90 days", "mean_delay": "36 hours"}],
        )
    )
    range: Annotated[tuple[float, float], AfterValidator(check_range), _CHANGEABLE] = Field(
        (0.0, 1.0),
        description="The least and the most that one round can bring; by default 0 and 1.",
    )
    unit: Annotated[
        str, BeforeValidator(lambda value: read_text(value, "the unit")), _CHANGEABLE
    ] = Field(
        "successes", max_length=MAX_TEXT, description="What totals count; by default successes."
    )
    completeness: Annotated[
        Curve | None, PlainValidator(read_curve), _or_null(_SHARES, _SHARES_TEXT), _CHANGEABLE
    ] = Field(
        None,
        description="The share of a total that is in at each age: '1 day: 0.6, 7 days: 1'.",
    )
    align: Annotated[
        str | None, BeforeValidator(read_align), _or_null({"const": "week"}), _CHANGEABLE
    ] = Field(None, description="'week' for blocks of whole weeks.")
    seed: Annotated[
        int,
        BeforeValidator(lambda n: secrets.randbits(32) if n is None else whole_number(n, "seed")),
        _or_null({"type": "integer", "minimum": 0, "maximum": _MAX_SEED}),
    ] = Field(
        None, validate_default=True, le=_MAX_SEED, description="For policies that draw at random."
    )
    status_quo: Annotated[
        str, PlainValidator(read_status_quo), WithJsonSchema({"type": "string"})
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
            history = in_field("history", _read_history, rows, config)
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


def check_row(row: Row | Mapping[str, Any], config: CampaignConfig) -> Row:
    """The row with checked values, its bucket as a number, or a refusal that names the column.

    Whether its region is one of the campaign's, the verdict says.
    """
    if isinstance(row, Mapping):
        for name in row:
            in_field(str(name), known_name, name, Row._fields, "column of a record")
        if "bucket" not in row:
            text = "a record has a bucket, such as {'bucket': '2026-03-01', ...}."
            raise InvalidInput(text, field="bucket")
        row = Row(**row)
    bucket, rounds, total, status, shown, region, _ = row
    for name, given in (("status", status), ("shown", shown), ("region", region)):
        if given is not None and not (isinstance(given, str) and len(given) <= _MAX_SAID):
            raise InvalidInput(
                f"{name} is a text of up to {_MAX_SAID:,} characters, not "
                f"{shortened(repr(given))}.",
                field=name,
            )
    if rounds is None and total is None and status is None and shown is None:
        raise InvalidInput(
            "there is nothing to record: give rounds, a total or a status.", field="total"
        )
    bucket = in_field("bucket", config.buckets.number, bucket)
    if rounds is not None:
        rounds = in_field("rounds", whole_number, rounds, "the rounds of a bucket")
        if rounds > MAX_ROUNDS:
            raise InvalidInput(f"a bucket has at most {MAX_ROUNDS:,} rounds.", field="rounds")
    if total is not None:
        total = in_field("total", finite_number, total, "a total")
        if abs(total) > MAX_TOTAL:
            text = f"a total is at most {MAX_TOTAL:g}; use another unit."
            raise InvalidInput(text, field="total")
    if status is not None:
        in_field("status", known_name, status, get_args(RecordStatus), "status")
    if shown is not None:
        in_field("shown", _check_shown, shown, config)
    region = (region or "").strip()
    if config.regions and not region:
        named = ", ".join(config.regions)
        raise InvalidInput(f"say which region the row is of: {named}.", field="region")
    if region and not config.regions:
        raise InvalidInput("this campaign has no regions; leave the region out.", field="region")
    if status == "missing" and total is not None:
        text = "a missing total has no value; leave it empty, or the status out."
        raise InvalidInput(text, field="total")
    return row._replace(bucket=bucket, rounds=rounds, total=total, region=region)


def _check_shown(text: str, config: CampaignConfig) -> None:
    if not isinstance(read_shown(text, config.options), int) and not config.is_market:
        raise InvalidInput(
            f"{shortened(text)!r} is several options in one bucket, and {config.policy} learns "
            "from buckets of one option only; record it with the status missing, or use the policy "
            "switchback."
        )


def _read_history(value: Any, config: CampaignConfig) -> tuple[Observation, ...]:
    """The buckets before the start, oldest first.

    A row without `shown` showed the status quo.
    Policies need every bucket: a row without `rounds` has the expected ones, and buckets without a
    row are taken to have shown what was shown last, with a total that is not known.
    """
    if not isinstance(value, list | tuple):
        raise InvalidInput("the history is a list of rows, such as {'bucket': '2026-02-28', ...}.")
    if len(value) > MAX_ROWS:
        raise InvalidInput(f"a history has at most {MAX_ROWS:,} rows, not {len(value):,}.")
    found: dict[tuple[int, str], Observation] = {}
    for given in value:
        if not isinstance(given, Mapping) or "bucket" not in given:
            raise InvalidInput(
                "a row of the history has a 'bucket', and 'rounds', 'total' and 'shown'."
            )
        try:
            row = _past_row(given, config)
        except InvalidInput as bad:
            where = f"{shortened(str(given['bucket']))} in the history"
            raise InvalidInput(f"{where}: {bad.message}", remedy=bad.remedy) from None
        if (row.bucket, row.region) in found:
            label = f"{config.buckets.label(row.bucket)} {row.region}".rstrip()
            raise InvalidInput(f"{label} is twice in the history.")
        found[row.bucket, row.region] = row
    rows = [found[place] for place in sorted(found)]
    if not rows or config.is_market:
        return tuple(rows)
    last, whole = rows[0], list[Observation]()
    if -last.bucket > MAX_ROWS:
        raise InvalidInput(f"a history begins at most {MAX_ROWS:,} buckets before the start.")
    for bucket in range(last.bucket, 1):
        unknown = Observation("", bucket, config.expected_rounds, last.shown, None, "pending")
        last = found.get((bucket, ""), unknown)
        whole.append(last)
    return tuple(whole)


def _past_row(given: Mapping[str, Any], config: CampaignConfig) -> Observation:
    for name in given:
        known_name(name, _PAST_FIELDS, "column of a history")
    number = config.buckets.number(given["bucket"])
    if number >= 1:
        raise InvalidInput(
            f"it is not before the start, {config.buckets.label(1)}: leave it out of the history "
            "and record it once it is decided."
        )
    if given.get("shown") is None:
        if config.status_quo not in config.options:
            raise InvalidInput(
                "say which option was shown, or which one is the status quo; a history has options "
                "only."
            )
        given = {**given, "shown": config.status_quo}
    if given.get("region") and not config.regions:
        raise InvalidInput("it has a region, and the campaign has none; name its regions.")
    row = check_row(given, config)
    rounds = row.rounds
    if rounds is None and not config.is_market:
        rounds = config.expected_rounds
    if rounds is not None:
        whole_number(rounds, "the rounds", at_least=1)
    return Observation(
        known_name(row.region, config.regions, "region") if config.regions else "",
        number,
        rounds,
        read_shown(row.shown, config.options),
        row.total,
        "pending" if row.total is None else "known",
    )
