"""What is sent and what is answered, for the description of the interface and for checks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from latesum.campaigns.config import CHANGEABLE, CampaignConfig
from latesum.campaigns.vocabulary import (
    CampaignStatus,
    HealthLevel,
    Purpose,
    RecordStatus,
    Source,
    Verdict,
)
from latesum.service.errors import ErrorAnswer

#: More than any campaign counts, and small enough for every store and every float.
_MOST = 10**12
#: In one upload: more than a year of hours.
MOST_ROWS = 10_000

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


def _number(value: Any) -> Any:
    """A number as JSON has it: neither a truth value nor a text."""
    if isinstance(value, bool | str):
        raise ValueError("it must be a number")
    return value


Number = BeforeValidator(_number)
Rounds = Annotated[int, Field(ge=0, le=_MOST), Number]
Total = Annotated[float, Field(ge=-_MOST, le=_MOST, allow_inf_nan=False), Number]
#: A name, or names with shares: "a gift:0.7 free shipping:0.3".
ShownText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
RegionName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
Flag = Annotated[bool, Field(strict=True)]


class Body(BaseModel):
    """What is sent: unknown fields are refused, because a misspelt one would be lost silently."""

    model_config = ConfigDict(extra="forbid")


def _new_campaign() -> dict[str, Any]:
    """The config of a campaign without its name, which is in the address."""
    schema = CampaignConfig.model_json_schema()
    del schema["properties"]["name"]
    schema["required"].remove("name")
    return {**schema, "title": "NewCampaign", "description": "A campaign to set up."}


#: `CampaignConfig.read` checks it, so that what is refused is refused in the same words as elsewhere.
NewCampaign = Annotated[dict[str, Any], WithJsonSchema(_new_campaign())]


def _changes() -> dict[str, Any]:
    """The config of a campaign that can be changed."""
    schema = CampaignConfig.model_json_schema()
    named = {name: schema["properties"][name] for name in CHANGEABLE}
    for field in named.values():
        field.pop("default", None)
    return {
        "type": "object", "properties": named, "additionalProperties": False, "minProperties": 1,
        "title": "Changes", "description": "CampaignConfig of a campaign, as for a new one.",
    }  # fmt: skip


#: Read as the configuration of a new campaign are.
Changes = Annotated[dict[str, Any], WithJsonSchema(_changes())]


class FindingLine(BaseModel):
    """Something that should be known about a campaign, and what to do."""

    code: str
    level: HealthLevel
    sentence: str


class CampaignAnswer(BaseModel):
    """A campaign and what it is set up with now."""

    name: str
    created_at: datetime
    config: dict[str, Any]
    note: str | None = Field(
        description="What is not used of what ran before the start; otherwise null."
    )


class CampaignLine(BaseModel):
    """A campaign in a list."""

    name: str
    state: CampaignStatus
    headline: str
    options: list[str]
    policy: str
    every: str
    alarm: str | None = Field(
        description="What must be seen to now, such as that it learns nothing; otherwise null."
    )
    health: list[FindingLine] = Field(description="All that should be known, the worst first.")


class CampaignList(BaseModel):
    """The campaigns that were looked for."""

    campaigns: list[CampaignLine]
    total: int = Field(description="How many there are, with those beyond `limit`.")


class OptionAnswer(BaseModel):
    """The option for a bucket. It is taken once and never changed."""

    campaign: str
    bucket: int
    label: str = Field(description="How the bucket is called: a date, an hour or a number.")
    option: str
    purpose: Purpose
    number: int | None = Field(
        description="The bucket in which the block began that this decision is a part of."
    )
    source: Source
    rounds: int | None = Field(description="What the policy asked for, where it was asked.")
    reason: str
    region: str | None = Field(None, description="The region, in a campaign that has some.")
    winner: str | None = Field(
        description="The option that can be kept from now on (`finish`); null while there is none."
    )
    decided_at: datetime
    begins: datetime | None
    ends: datetime | None


class OptionsAnswer(BaseModel):
    """The option for a bucket in every region; a campaign without regions has one."""

    campaign: str
    bucket: int
    label: str
    options: list[OptionAnswer]


class Record(Body):
    """What is known of a bucket now. It is set and not added: sent twice it changes nothing."""

    rounds: Rounds | None = None
    total: Total | None = None
    status: RecordStatus | None = None
    shown: ShownText | None = Field(
        None,
        description="What was shown, if not what was decided; several options with their shares.",
    )
    overwrite_final: Flag = Field(False, description="Correct a final value.")
    allow_out_of_range: Flag = Field(
        False, description="The total is right, though out of its range."
    )


class PastRow(Body):
    """A day before the start."""

    bucket: Text = Field(description="The day, such as 2026-02-28.")
    region: RegionName | None = None
    rounds: Rounds | None = None
    total: Total | None = None
    shown: ShownText | None = None


class PastAnswer(BaseModel):
    """A file of rows before the start, read."""

    rows: list[dict[str, Any]] = Field(description="As the history of a new campaign takes them.")
    regions: list[str] = Field(description="The regions that are in it; none in one stream.")
    first: str
    last: str
    notes: list[str] = Field(description="What to know about the file.")


class BulkRow(Body):
    """One row of many."""

    bucket: Annotated[int, Field(strict=True)] | Text
    rounds: Rounds | None = None
    total: Total | None = None
    status: RecordStatus | None = None
    shown: ShownText | None = None
    region: RegionName | None = Field(None, description="In a campaign that has regions.")


class Bulk(Body):
    """Many rows at once: all are taken in, or none."""

    rows: list[BulkRow] = Field(min_length=1, max_length=MOST_ROWS)


class RecordAnswer(BaseModel):
    """What became of a record."""

    bucket: int
    label: str
    verdict: Verdict
    marks: list[str]
    note: str
    region: str = Field("", description="Empty in a campaign without regions.")
    rounds: int | None = Field(None, description="As they were read.")
    total: float | None = Field(None, description="As it was read.")
    shown: str = Field("", description="What the bucket is credited to.")
    was_rounds: int | None = Field(None, description="What was known before, where it changes.")
    was_total: float | None = Field(None, description="What was known before, where it changes.")
    was_shown: str | None = Field(None, description="What was known before, where it changes.")


class RowAnswer(RecordAnswer):
    """What became of a row, with its place in what was sent."""

    row: int


class BulkAnswer(BaseModel):
    """A verdict for every row, and whether they were written."""

    written: bool
    ignored: list[str] = Field(description="Columns of a file that mean nothing.")
    notes: list[str] = Field(
        description="What should be known of a file: lines that were left out."
    )
    rows: list[RowAnswer]


class RefusedRows(ErrorAnswer):
    """Nothing was written; the verdicts say because of which rows."""

    rows: list[RowAnswer]


class EstimateLine(BaseModel):
    """What is believed of an option, per round in the campaign's unit."""

    option: str
    mean: float | None
    low: float | None
    high: float | None
    rounds: int
    active: bool


class EstimatesAnswer(BaseModel):
    """What is believed of every option."""

    level: float
    unit: str
    estimates: list[EstimateLine]


class HistoryEvent(BaseModel):
    """One event of the log, which is never changed."""

    sequence: int
    at: datetime
    kind: str
    bucket: int | None
    body: dict[str, Any]
    region: str = Field("", description="The region that it is about; empty for all.")
    sentence: str


class HistoryAnswer(BaseModel):
    """A part of the log, in order."""

    events: list[HistoryEvent]
    more: bool = Field(description="Whether there are events after these.")


class ExplanationAnswer(BaseModel):
    """Why, in sentences."""

    sentences: list[str]


class ActionBody(Body):
    """What an operator does, and the reason; both are kept in the history."""

    reason: Sentence
    user: Text | None = Field(None, description="Who, if that is not the token's own name.")
    region: RegionName | None = Field(None, description="In a campaign that has regions.")
    option: Text | None = Field(None, description="The option that it is about.")
    name: Text | None = Field(None, description="The new name, of `rename-option`.")
    buckets: Annotated[int, Number] | None = Field(
        None, ge=1, le=10_000, description="For how many buckets, of `pin`."
    )
    config: Changes | None = Field(None, description="What to change, of `change`.")


class Deletion(Body):
    """A campaign to delete; its name once more, because it cannot be undone."""

    reason: Sentence
    user: Text | None = Field(None, description="Who, if that is not the token's own name.")
    name: Text


class DeletionAnswer(BaseModel):
    """The campaign was deleted; when, by whom and why is kept."""

    done: bool
    sentence: str


class ActionAnswer(BaseModel):
    """What was done. `repeated`: it had been done before, under the same Idempotency-Key."""

    done: bool
    repeated: bool
    note: str = Field("", description="What to know about it, such as that a pin goes on.")
    state: CampaignStatus
    headline: str
