"""Routes: will a campaign work? Answered by simulating it, in a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, StringConstraints, WithJsonSchema

from latesum._checks import InvalidInput
from latesum._durations import parse_duration
from latesum._render import finite
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.jobs import Jobs
from latesum.service.models import MAX_ROWS, Body, Number, PastRow
from latesum.service.routing import AllCampaigns, ScopedRoute, Who, needs, send

#: Of a plan with regions: each day of it is simulated.
_LONGEST_RUN = timedelta(days=731)
#: A kind of answer: one JSON value a line.
_IN_LINES = "application/x-ndjson"
router = APIRouter(
    prefix="/v1", route_class=ScopedRoute, tags=["plans"], responses=documented(*ON_ANY_ROUTE)
)
#: Words with numbers and units: no path of a file or class can be written with them.
Phrase = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[A-Za-z0-9 .,%()+-]+$"
    ),
]


class PlanQuestion(Body):
    """A campaign that is thought of, in the words of `latesum plan`."""

    options: Annotated[int, Number] = Field(ge=2, le=20, description="How many there are.")
    rate: Annotated[float, Number] = Field(
        gt=0, lt=1, description="Today's rate of conversions, such as 0.025."
    )
    lift: Phrase = Field(description="The smallest difference worth having.", examples=["10%"])
    traffic: Phrase = Field(description="Decisions per time.", examples=["5000 per day"])
    late: Phrase = Field(description="How late results come.", examples=["2 days"])
    run_for: Phrase = Field(description="How long it may run.", examples=["12 weeks"])
    bucket: Literal["hour", "day", "week"] = Field("day", description="How totals are reported.")
    status_quo: Literal["option", "other"] | None = Field(
        None, description="What runs today: one of the options, something else, or nothing."
    )


#: Validated where it is simulated: to find all that is wrong in 10,000 rows takes long.
PastRows = Annotated[
    list[Any], WithJsonSchema({"type": "array", "items": PastRow.model_json_schema()})
]


class RegionPlanQuestion(Body):
    """A campaign in regions that is thought of, with what is known of them."""

    options: Annotated[int, Number] = Field(ge=2, le=20, description="How many there are.")
    regions: Annotated[int, Number] = Field(ge=2, le=50, description="How many there are.")
    lift: Annotated[float, Number] = Field(
        gt=0, le=5, description="What the better option sells more, as a share: 0.1 is 10%."
    )
    late: Phrase = Field(description="How late sales come.", examples=["about 2 days"])
    run_for: Phrase = Field(description="How long it may run.", examples=["12 weeks"])
    history: PastRows = Field(
        min_length=1,
        max_length=MAX_ROWS,
        description="Days before the start: bucket, region, rounds and total, as `/v1/histories` "
        "answers them.",
    )


@router.post("/plans/regions", response_model=None)
@needs("operate", long=True)
async def make_region_plan(
    question: RegionPlanQuestion, campaigns: AllCampaigns, who: Who
) -> Response:
    """Simulate markets like that of a history: what regions buy; answers as `/v1/plans` does."""
    given = question.model_dump()
    _refuse_files(question.late)
    if parse_duration(question.run_for, "the run") > _LONGEST_RUN:
        raise InvalidInput("a plan with regions is for a run of two years at most.")
    answer = await campaigns.jobs.run("plan", given, owner=who.id)
    return send(answer.content, answer.status)


@router.post("/plans", response_model=None)
@needs("operate", long=True)
async def make_plan(
    question: PlanQuestion, request: Request, campaigns: AllCampaigns, who: Who
) -> Response:
    """Simulate a campaign many times: go, conditional go or no-go, and with which policy.

    With `Accept: application/x-ndjson` it answers in lines: `{"present": ...}` each time that there
    is a surer answer, with its stage, whether it is a go, whether that is sure, and a sentence; and
    at last `{"found": ...}`, which is what is answered without.
    """
    given = question.model_dump(exclude_none=True)
    _refuse_files(question.late)
    if _IN_LINES in request.headers.get("accept", ""):
        return await _in_lines(campaigns.jobs, given, who.id)
    answer = await campaigns.jobs.run("plan", given, owner=who.id)
    return send(answer.content, answer.status)


def _refuse_files(late: str) -> None:
    if late.lower().endswith((".csv", ".xlsx", ".parquet", ".pq")):
        raise Refused(422, 'late: say it in words, such as "2 days"; the service reads no files.')


async def _in_lines(jobs: Jobs, given: dict[str, Any], owner: str) -> Response:
    """The answer in lines; what is refused before the first has its own status."""
    news: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    asking = asyncio.create_task(jobs.run("plan", given, owner=owner, on_news=news.put_nowait))
    asking.add_done_callback(lambda _: news.put_nowait(None))
    try:
        first = await news.get()
    except asyncio.CancelledError:  # the client has left
        asking.cancel()
        raise
    if first is None:
        return send(asking.result().content, asking.result().status)

    async def lines() -> AsyncIterator[bytes]:
        present: dict[str, Any] | None = first
        try:
            while present is not None:
                yield _line({"present": present})
                present = await news.get()
            try:
                yield _line({"found": asking.result().found()})
            except (InvalidInput, Refused) as error:
                yield _line({"error": str(error)})
        finally:
            asking.cancel()

    return StreamingResponse(lines(), media_type=_IN_LINES)


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(finite(content)).encode() + b"\n"
