"""Routes: what is known of buckets is set, one at a time or many at once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import create_model

from latesum.files import FileForm
from latesum.files.form import SAID
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.jobs import JSON, do, is_small, take_totals
from latesum.service.models import (
    BulkAnswer,
    Record,
    RecordAnswer,
    RefusedRows,
    RegionQuery,
    rows_schema,
)
from latesum.service.routing import NamedCampaign, ScopedRoute, Who, needs, send

router = APIRouter(
    prefix="/v1/campaigns/{campaign}",
    route_class=ScopedRoute,
    tags=["totals"],
    responses=documented(*ON_ANY_ROUTE, 404),
)


BucketPath = Annotated[str, Path(max_length=40, description="A date, time or number.")]
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"
FILES = ("text/csv", EXCEL, PARQUET)


@router.put("/buckets/{bucket}", response_model=RecordAnswer, responses=documented(409))
@needs("record")
async def record(
    bucket: BucketPath,
    record: Record,
    cached: NamedCampaign,
    who: Who,
    region: RegionQuery | None = None,
) -> Response:
    """Set the rounds and the total of a bucket; sent twice it changes nothing."""
    result = await cached.write(
        cached.campaign.record, bucket, by=who.name, region=region, **record.model_dump()
    )
    cached.campaigns.metrics.records.labels(result.verdict).inc()
    cached.forget_status()
    return send(result)


def file_body(example: str, **more: Any) -> dict[str, Any]:
    """The description of a body that is a file."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    text = {"schema": {"type": "string"}, "example": example}
    content = {**more, "text/csv": text, EXCEL: binary, PARQUET: binary}
    return {"requestBody": {"required": True, "content": content}}


_said: dict[str, Any] = {
    name: (kind | None, Query(None, description=help, max_length=2000 if kind is str else None))
    for name, (kind, help) in SAID.items()
}
Said: Any = create_model("FileForm", **_said)


async def file_form(said: Annotated[Said, Query()]) -> FileForm:
    """How a file is written; what is not said is as it was for the campaign's last file."""
    return FileForm.read(**said.model_dump())


Form = Annotated[FileForm, Depends(file_form)]


async def read_body(request: Request, *kinds: str) -> tuple[str, bytes]:
    """The kind of a body, and the body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Refused(415, f"send the body as {', '.join(kinds[:-1])} or {kinds[-1]}.")
    return kind, await request.body()


@router.post(
    "/totals",
    response_model=BulkAnswer,
    openapi_extra=file_body(
        "bucket,rounds,total\n2026-03-01,5000,1512\n",
        **{JSON: {"schema": rows_schema("Many rows at once: all are taken in, or none.")}},
    ),
    responses={
        409: {"model": RefusedRows, "description": "Nothing was written: rows are in the way."},
        **documented(415),
    },
)
@needs("record", long=True)
async def upload(
    request: Request,
    cached: NamedCampaign,
    who: Who,
    form: Form,
    dry_run: Annotated[bool, Query(description="Only say what would happen.")] = False,
    only_this_file: Annotated[bool, Query(description="Read the next files as before.")] = False,
    skip_unknown: Annotated[bool, Query(description="Leave out unknown buckets.")] = False,
    overwrite_final: Annotated[bool, Query(description="Correct final values.")] = False,
    allow_out_of_range: Annotated[
        bool, Query(description="Totals out of range are right.")
    ] = False,
) -> Response:
    """Set many buckets, all or none, with a verdict for each row: a file, or rows in JSON.

    Totals are set and not added, so that an upload may safely be repeated. A file is CSV, Excel
    (.xlsx) or Parquet and has at most 10,000 rows and 100 columns; how it is written is remembered
    with the campaign.
    """
    kind, body = await read_body(request, JSON, *FILES)
    if kind == JSON and not form.says_nothing:
        raise Refused(422, "how a file is written is said, and this is no file; leave it out.")
    given = {
        "store": cached.campaigns.store.url.render_as_string(hide_password=False),
        "campaign": cached.campaign.name,
        "now": cached.clock().isoformat(),
        "kind": kind,
        "form": form.to_json(),
        "how": {
            "by": who.name,
            "dry_run": dry_run,
            "remember": not only_this_file,
            "skip_unknown": skip_unknown,
            "overwrite_final": overwrite_final,
            "allow_out_of_range": allow_out_of_range,
        },
    }
    workers, jobs = cached.campaigns.workers, cached.campaigns.jobs
    try:
        if is_small(body):
            answer = await workers.run(
                workers.uploads, do, take_totals, cached.campaign, given, body
            )
        else:
            answer = await jobs.run("totals", given, body, owner=who.id)
    finally:
        cached.forget_status()
    return send(answer.content, answer.status)
