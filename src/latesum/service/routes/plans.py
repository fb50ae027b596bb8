"""Routes: will a campaign work? Answered by simulating it, in a process of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field, StringConstraints, WithJsonSchema

from latesum._checks import InvalidInput
from latesum._durations import parse_duration
from latesum.files import FileForm
from latesum.service.auth import ScopedRoute, Who, needs
from latesum.service.cache import AllCampaigns
from latesum.service.errors import ON_ANY_ROUTE, documented
from latesum.service.jobs import MAX_ROWS, is_small, take_history
from latesum.service.models import Body, HistoryRow, Number, PastAnswer, rows_schema
from latesum.service.routes.campaigns import FILES, Form, file_body, read_body

#: Of a plan with a history: each day of it is simulated.
_MAX_RUN = timedelta(days=731)
#: Runs of each policy, of a plan with a history too, and the policies of one without: a verdict
#: while someone waits. `latesum plan` tries more, more often.
REPLICATIONS, HISTORY_REPLICATIONS = 100, 40
POLICIES = ("unmix", "half test")
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
#: Checked where it is simulated: to find all that is wrong in 10,000 rows takes long.
PastRows = Annotated[list[Any], WithJsonSchema(rows_schema("", HistoryRow)["properties"]["rows"])]


class PlanQuestion(Body):
    """A campaign to simulate, in the words of `latesum plan`: of today's rate and traffic, or of a
    history.
    """

    options: Annotated[int, Number] = Field(ge=2, le=20, description="How many there are.")
    late: Phrase = Field(description="How late results come.", examples=["about 2 days"])
    run_for: Phrase = Field(description="How long it may run.", examples=["12 weeks"])
    lift: Phrase = Field(description="The smallest difference worth having.", examples=["10%"])
    rate: Annotated[float, Number] | None = Field(
        None, gt=0, lt=1, description="Today's rate of conversions, such as 0.025."
    )
    traffic: Phrase | None = Field(None, description="Decisions per time: 5000 per day.")
    bucket: Literal["hour", "day", "week"] | None = Field(
        None, description="How totals are reported; by day if nothing is said."
    )
    status_quo: Literal["option", "other"] | None = Field(
        None, description="What runs today: one of the options, something else, or nothing."
    )
    history: PastRows | None = Field(
        None,
        min_length=1,
        max_length=MAX_ROWS,
        description="Days before the start, as `/v1/histories` answers them: markets like theirs "
        "are simulated.",
    )
    regions: Annotated[int, Number] | None = Field(
        None, ge=1, le=50, description="With a history: in how many regions options differ."
    )


@router.post("/plans", response_model=None)
@needs("operate", long=True, file=True)
async def make_plan(question: PlanQuestion, campaigns: AllCampaigns, who: Who) -> Response:
    """Simulate a campaign many times: go, conditional go or no-go, and with which policy."""
    if question.late.lower().endswith((".csv", ".xlsx", ".parquet", ".pq")):
        raise InvalidInput('late: say it in words, such as "2 days"; the service reads no files.')
    if question.history and parse_duration(question.run_for, "the run") > _MAX_RUN:
        raise InvalidInput("a plan with a history is for a run of two years at most.")
    runs: dict[str, Any] = {"replications": REPLICATIONS, "policies": POLICIES}
    if question.history:
        runs = {"replications": HISTORY_REPLICATIONS}
    given = {**question.model_dump(exclude_none=True), **runs}
    return await campaigns.jobs.run("plan", given, owner=who.id)


@router.post(
    "/histories",
    response_model=PastAnswer,
    openapi_extra=file_body("date,region,rounds,total\n2026-02-01,north,5000,151\n"),
    responses=documented(415),
)
@needs("operate", long=True, file=True)
async def read_history(request: Request, campaigns: AllCampaigns, who: Who, form: Form) -> Response:
    """The rows of a file of totals before the start, as a new campaign takes them (`history`).

    A column `region` says which region a row is of; with `add_up` regions are added up.
    The file is read and not kept.
    """
    _, body = await read_body(request, *FILES)
    form = form or FileForm()
    if is_small(body):
        return await campaigns.jobs.in_thread(take_history, body, form)
    return await campaigns.jobs.run("history", {"form": form.to_json()}, body, owner=who.id)
