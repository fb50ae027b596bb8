"""What is sent and what is answered, for the description of the interface and for checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fastapi import Query
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    create_model,
)

from latesum.campaigns.actions import ActionResult
from latesum.campaigns.config import CHANGEABLE, CampaignConfig
from latesum.campaigns.recording import Recorded
from latesum.campaigns.rows import RecordStatus
from latesum.campaigns.state import Decision, Event
from latesum.campaigns.view import CampaignStatus, Status
from latesum.files.totals import Row
from latesum.service.errors import ErrorAnswer
from latesum.service.jobs import MAX_ROWS


def _text(longest: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=longest)


Text = Annotated[str, _text(100)]
Sentence = Annotated[str, _text(1000)]


def _number(value: Any) -> Any:
    """A number as JSON has it: neither a truth value nor a text."""
    if isinstance(value, bool | str):
        raise ValueError("it must be a number")
    return value


Number = BeforeValidator(_number)
RegionName = Annotated[str, _text(64)]
RegionQuery = Annotated[
    str, Query(min_length=1, max_length=64, description="The region, in a campaign that has some.")
]
Flag = Annotated[bool, Field(strict=True)]


class Body(BaseModel):
    """What is sent: unknown fields are refused, because a misspelled one would be lost silently."""

    model_config = ConfigDict(extra="forbid")


def _config_schema(title: str, description: str, names: Iterable[str]) -> dict[str, Any]:
    """The schema of these fields of the config of a campaign."""
    schema = CampaignConfig.model_json_schema()
    properties = {name: schema["properties"][name] for name in names}
    return {**schema, "title": title, "description": description, "properties": properties}


_new = _config_schema(
    "NewCampaign",
    "A campaign to set up.",
    [name for name in CampaignConfig.model_fields if name != "name"],
)
_new["required"].remove("name")
_changes = _config_schema("Changes", "What to change, as for a new campaign.", CHANGEABLE)
_changes |= {"minProperties": 1, "required": []}
for _field in _changes["properties"].values():
    _field.pop("default", None)
#: `CampaignConfig.read` checks these, so that they are refused in the same words as elsewhere; the
#: name of a new campaign is in the address.
NewCampaign = Annotated[dict[str, Any], WithJsonSchema(_new)]
Changes = Annotated[dict[str, Any], WithJsonSchema(_changes)]


def model_of(record: type, name: str = "", *, without: str = "", **more: Any) -> type[BaseModel]:
    """What is answered of a record, for the description: an object with its fields.

    Args:
        record: A named tuple or a dataclass; its own records are described alike.
        name: The name in the description; by default that of the record.
        without: Fields that are left out.
        more: Types of fields that are added.
    """
    described: dict[str, Any] = {
        field: (_described(hint), ...)
        for field, hint in {**get_type_hints(record), **more}.items()
        if field not in without.split() and not field.startswith("_")
    }
    summary = (record.__doc__ or "").split("\n\n")[0]
    return create_model(name or record.__name__, __doc__=summary, **described)


_plain_model = cache(model_of)


def _described(hint: Any) -> Any:
    """The type of a field as JSON has it: an endless number is null, a record an object."""
    if hint is float:
        return float | None
    if isinstance(hint, type) and (hasattr(hint, "_fields") or is_dataclass(hint)):
        return _plain_model(hint)
    origin, inner = get_origin(hint), tuple(map(_described, get_args(hint)))
    if origin in (list, dict):
        return origin[inner]
    if origin is UnionType or origin is Union:
        return Union[inner]  # noqa: UP007 - of types that are made here
    if origin is tuple and inner[-1] is Ellipsis:
        return list.__class_getitem__(inner[0])
    return hint


def list_of(field: str, model: type[BaseModel], **more: Any) -> type[BaseModel]:
    """An answer with a list in it."""
    described: dict[str, Any] = {key: (hint, ...) for key, hint in more.items()}
    described[field] = (list.__class_getitem__(model), ...)
    return create_model(f"{model.__name__}s", **described)


#: What a list has of a campaign, beside the names of its options.
LINE = ("name", "state", "headline", "policy", "every", "alarm", "health")
_left_out = " ".join(field.name for field in fields(Status) if field.name not in LINE)
StatusAnswer = model_of(Status, alarm=str | None)
CampaignLine = model_of(
    Status, "CampaignLine", without=_left_out, alarm=str | None, options=list[str]
)
CampaignList = list_of("campaigns", CampaignLine)
#: What is sent of a decision, beside its region and time.
DECIDED = ("bucket", "label", "option", "purpose", "number", "source", "rounds", "reason")
OptionAnswer = model_of(
    Decision,
    "OptionAnswer",
    without=" ".join(name for name in Decision._fields if name not in DECIDED),
    campaign=str,
    decided_at=datetime,
    begins=datetime | None,
    ends=datetime | None,
)
OptionsAnswer = list_of("options", OptionAnswer, campaign=str, bucket=int, label=str)
RecordAnswer = model_of(Recorded, "RecordAnswer")
RowAnswer = model_of(Recorded, "RowAnswer", row=int)
RefusedRows = create_model(
    "RefusedRows",
    __base__=ErrorAnswer,
    __doc__="Nothing was written; the verdicts say because of which rows.",
    rows=(list[RowAnswer], ...),  # type: ignore[valid-type]
)
#: A row that is sent; the campaign checks it, in the words that files are refused with.
RecordRow = model_of(Row, "RecordRow", without="line", status=RecordStatus | None)
HistoryRow = model_of(Row, "HistoryRow", without="line status")
PastAnswer = list_of("rows", HistoryRow, regions=list[str], first=str, last=str, notes=list[str])
BulkAnswer = list_of("rows", RowAnswer, written=bool, ignored=list[str], notes=list[str])
HistoryAnswer = list_of("events", model_of(Event, "HistoryEvent", sentence=str), more=bool)
#: What was done, and how the campaign is since; its state is null once it is deleted.
ActionAnswer = model_of(ActionResult, "ActionAnswer", state=CampaignStatus | None, headline=str)
ExplanationAnswer = create_model("ExplanationAnswer", sentences=(list[str], ...))


def rows_schema(about: str, row: type[BaseModel] = RecordRow) -> dict[str, Any]:
    """The schema of an object with rows, of which only the bucket is needed."""
    items = {**row.model_json_schema(), "required": ["bucket"]}
    rows = {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_ROWS}
    return {
        "type": "object",
        "description": about,
        "properties": {"rows": rows},
        "required": ["rows"],
        "additionalProperties": False,
    }


class CampaignAnswer(BaseModel):
    """A campaign and what it is set up with now."""

    name: str
    created_at: datetime
    config: dict[str, Any]
    note: str | None = Field(
        description="What is not used of the status quo and the history; otherwise null."
    )


class Record(Body):
    """What is known of a bucket now. It is set and not added: sent twice it changes nothing."""

    # Only types: whether the values can be right, the campaign says.

    rounds: Annotated[int, Number] | None = None
    total: Annotated[float, Number] | None = None
    shown: Sentence | None = Field(
        None,
        description="What was shown, if not what was decided; several options with their shares.",
    )
    status: RecordStatus | None = None
    reason: Sentence | None = Field(None, description="Why; it is kept in the history.")
    overwrite_final: Flag = Field(False, description="Correct a final value.")
    allow_out_of_range: Flag = Field(
        False, description="The total is right, though out of its range."
    )


class ActionBody(Body):
    """What an operator does, and the reason; both are kept in the history."""

    reason: Sentence
    user: Text | None = Field(None, description="Who, if that is not the token's own name.")
    region: RegionName | None = Field(None, description="In a campaign that has regions.")
    option: Text | None = Field(None, description="The option that it is about.")
    name: Text | None = Field(
        None, description="The new name, of `rename-option`; of `delete` the campaign's, once more."
    )
    buckets: Annotated[int, Number] | None = Field(
        None, ge=1, le=10_000, description="For how many buckets, of `pin`."
    )
    config: Changes | None = Field(None, description="What to change, of `change`.")
