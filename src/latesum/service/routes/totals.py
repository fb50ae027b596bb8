"""Routes: what is known of buckets is set, one at a time or many at once."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from latesum.files import FileForm
from latesum.files.form import read_columns
from latesum.service.cache import CachedCampaign
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.job import Upload, is_small, take_history, take_in
from latesum.service.models import BulkAnswer, PastAnswer, Record, RecordAnswer, RefusedRows
from latesum.service.routing import AllCampaigns, NamedCampaign, ScopedRoute, Who, needs, send
from latesum.service.tokens import Token

router = APIRouter(
    prefix="/v1/campaigns/{campaign}",
    route_class=ScopedRoute,
    tags=["totals"],
    responses=documented(*ON_ANY_ROUTE, 404),
)


@router.put("/buckets/{bucket}", response_model=RecordAnswer, responses=documented(409))
@needs("record")
async def record(
    bucket: Annotated[str, Path(max_length=40, description="A date, time or number.")],
    record: Record,
    cached: NamedCampaign,
    who: Who,
) -> Response:
    """Set the rounds and the total of a bucket; sent twice it changes nothing."""
    return await _record(cached, bucket, None, record, who)


@router.put(
    "/regions/{region}/buckets/{bucket}", response_model=RecordAnswer, responses=documented(409)
)
@needs("record")
async def record_in_region(
    region: Annotated[str, Path(max_length=64, description="The region.")],
    bucket: Annotated[str, Path(max_length=40, description="A date, time or number.")],
    record: Record,
    cached: NamedCampaign,
    who: Who,
) -> Response:
    """Set the rounds and the total of a bucket of a region."""
    return await _record(cached, bucket, region, record, who)


async def _record(
    cached: CachedCampaign,
    bucket: str,
    region: str | None,
    record: Record,
    who: Token,
) -> Response:
    result = await cached.write(
        cached.campaign.record,
        bucket,
        rounds=record.rounds,
        total=record.total,
        status=record.status,
        shown=record.shown,
        by=who.name,
        region=region,
        overwrite_final=record.overwrite_final,
        allow_out_of_range=record.allow_out_of_range,
    )
    cached.workers.metrics.records.labels(result.verdict).inc()
    cached.forget_status()
    return send(result)


EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"
_BULK_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Bulk"}},
            "text/csv": {
                "schema": {"type": "string"},
                "example": "bucket,rounds,total\n2026-03-01,5000,1512\n",
            },
            EXCEL: {"schema": {"type": "string", "format": "binary"}},
            PARQUET: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


async def file_form(
    preset: Annotated[
        str | None, Query(max_length=40, description="google-ads, meta-ads or none.")
    ] = None,
    columns: Annotated[
        str | None,
        Query(max_length=2000, description="Names of columns: rounds=Clicks,total=Conversions."),
    ] = None,
    date_format: Annotated[
        str | None,
        Query(max_length=50, description="day-first, month-first, or a pattern: %d.%m.%y."),
    ] = None,
    decimal: Annotated[
        str | None, Query(max_length=1, description="The decimal mark, a point or a comma.")
    ] = None,
    thousands: Annotated[
        str | None, Query(max_length=1, description="What stands between thousands.")
    ] = None,
    skip_lines: Annotated[
        int | None, Query(ge=0, le=1000, description="Lines before the names of the columns.")
    ] = None,
    sheet: Annotated[
        str | None, Query(max_length=200, description="The sheet of an Excel file.")
    ] = None,
    add_up: Annotated[bool | None, Query(description="Rows of one bucket are parts of it.")] = None,
) -> FileForm:
    """How a file is written; what is not said is as it was for the campaign's last file."""
    return FileForm(
        columns=read_columns(columns),
        date_format=date_format,
        decimal=decimal,
        thousands=thousands,
        skip_lines=skip_lines,
        sheet=sheet,
        preset=preset,
        add_up=add_up,
    )


@router.post(
    "/totals",
    response_model=BulkAnswer,
    openapi_extra=_BULK_BODY,
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
    form: Annotated[FileForm, Depends(file_form)],
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
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("text/csv", EXCEL, PARQUET, "application/json"):
        raise Refused(
            415, f"send rows as application/json, or a file as text/csv, {EXCEL} or {PARQUET}."
        )
    if kind == "application/json" and not form.says_nothing:
        raise Refused(422, "how a file is written is said, and this is no file; leave it out.")
    sent = Upload(
        kind,
        form.to_json(),
        by=who.name,
        overwrite_final=overwrite_final,
        allow_out_of_range=allow_out_of_range,
        skip_unknown=skip_unknown,
        dry_run=dry_run,
        remember=not only_this_file,
    )
    try:
        if is_small(body):
            run, threads = cached.workers.run, cached.workers.uploads
            status, content = await run(threads, take_in, cached.campaign, body, sent)
            return send(content, status)
        given = {
            "store": cached.store.url.render_as_string(hide_password=False),
            "campaign": cached.campaign.name,
            "now": cached.configuration.clock().isoformat(),
            "sent": sent._asdict(),
        }
        answer = await cached.jobs.run("totals", given, body, owner=who.id)
        return send(answer.content, answer.status)
    finally:
        cached.forget_status()


#: A file of rows before the start is read for a plan or a new campaign; nothing is stored.
histories = APIRouter(
    prefix="/v1", route_class=ScopedRoute, tags=["plans"], responses=documented(*ON_ANY_ROUTE)
)
_FILE = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "date,region,rounds,total\n2026-02-01,north,5000,151\n",
            },
            EXCEL: {"schema": {"type": "string", "format": "binary"}},
            PARQUET: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@histories.post(
    "/histories", response_model=PastAnswer, openapi_extra=_FILE, responses=documented(415)
)
@needs("operate", long=True)
async def read_history(
    request: Request,
    campaigns: AllCampaigns,
    who: Who,
    form: Annotated[FileForm, Depends(file_form)],
) -> Response:
    """The rows of a file of totals before the start, as a new campaign takes them (`history`).

    A column `region` says which region a row is of; with `add_up` regions are added up.
    The file is read and not kept.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("text/csv", EXCEL, PARQUET):
        raise Refused(415, f"send a file as text/csv, {EXCEL} or {PARQUET}.")
    sent = Upload(kind, form.to_json())
    if is_small(body):
        run, threads = campaigns.workers.run, campaigns.workers.uploads
        status, content = await run(threads, take_history, body, sent)
        return send(content, status)
    answer = await campaigns.jobs.run("history", {"sent": sent._asdict()}, body, owner=who.id)
    return send(answer.content, answer.status)
