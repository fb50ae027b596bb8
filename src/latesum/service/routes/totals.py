"""Routes: what is known of buckets is set, one at a time or many at once."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from latesum._checks import shortened
from latesum.errors import MOST_PROBLEMS, BadRows, MissingExtra
from latesum.files import FileForm
from latesum.live.batches import CheckWanted, in_batches
from latesum.live.campaign import Campaign
from latesum.live.importing import Imported, import_totals, imported
from latesum.live.verdicts import Allowed, Recorded, Row
from latesum.service.cache import CachedCampaign
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.models import MOST_ROWS, BulkAnswer, BulkRow, Record, RecordAnswer, RefusedRows
from latesum.service.routing import NamedCampaign, ScopedRoute, Who, needs
from latesum.service.sentences import of_problem
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
    """Set the rounds and the total of a bucket, apart or together; sent twice it changes nothing."""
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
    cached: CachedCampaign, bucket: str, region: str | None, record: Record, who: Token
) -> Response:
    allowed = Allowed(record.even_if_final, record.beyond_range)
    row = Row(
        bucket, record.rounds, record.total, record.status, record.shown, who.name, allowed, region
    )
    result = (await cached.records.record(row)).accepted()
    cached.forget_status()
    return Response(json.dumps(_verdict(result)), media_type="application/json")


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
        str | None, Query(max_length=40, description="google-ads, meta-ads, amazon-ads or none.")
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
    return FileForm.create(
        columns=columns, date_format=date_format, decimal=decimal, thousands=thousands,
        skip_lines=skip_lines, sheet=sheet, preset=preset, add_up=add_up,
    )  # fmt: skip


@router.post(
    "/totals",
    response_model=BulkAnswer,
    openapi_extra=_BULK_BODY,
    responses={
        409: {"model": RefusedRows, "description": "Nothing was written: rows are in the way."},
        **documented(415),
    },
)
@needs("record")
async def upload(
    request: Request,
    cached: NamedCampaign,
    who: Who,
    form: Annotated[FileForm, Depends(file_form)],
    dry_run: Annotated[bool, Query(description="Only say what would happen.")] = False,
    skip_unknown: Annotated[bool, Query(description="Leave out unknown buckets.")] = False,
    even_if_final: Annotated[bool, Query(description="Correct final values.")] = False,
    beyond_range: Annotated[bool, Query(description="Totals out of range are right.")] = False,
) -> Response:
    """Set many buckets, all or none, with a verdict for each row: a file, or rows in JSON.

    Totals are set and not added, so that an upload may safely be repeated. A file is CSV, Excel
    (.xlsx) or Parquet and has at most 10,000 rows and 100 columns; how it is written is remembered with
    the campaign.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("text/csv", EXCEL, PARQUET, "application/json"):
        raise Refused(
            415, f"send rows as application/json, or a file as text/csv, {EXCEL} or {PARQUET}."
        )
    if kind == "application/json" and not form.says_nothing:
        raise Refused(422, "how a file is written is said, and this is no file; leave it out.")
    allowed = Allowed(even_if_final, beyond_range, skip_unknown)

    def take_in(check_wanted: CheckWanted) -> Response:
        given: dict[str, Any] = {
            "by": who.name, "allowed": allowed, "dry_run": dry_run, "most_rows": MOST_ROWS,
            "check_wanted": check_wanted,
        }  # fmt: skip
        if kind == "application/json":
            return _answer(_import_rows(cached.campaign, body, **given), allowed, dry_run)
        try:
            found = import_totals(cached.campaign, body, form, **given)
        except MissingExtra as missing:
            raise Refused(415, f"this service cannot read such a file: {missing}.") from None
        return _answer(found, allowed, dry_run)

    answer = await cached.upload(request.receive, take_in)
    cached.forget_status()
    return answer


def _import_rows(
    campaign: Campaign, body: bytes, *, by: str, allowed: Allowed, dry_run: bool, most_rows: int,
    check_wanted: CheckWanted,
) -> Imported:  # fmt: skip
    """As `import_totals`, of rows in JSON."""
    sent = _read_rows(body, most_rows, check_wanted)
    rows = [Row(**each.model_dump(), by=by, allowed=allowed) for each in sent]
    try:
        results = campaign.record_many(rows, dry_run=dry_run, check_wanted=check_wanted)
    except BadRows as refused:
        details = [
            f"row {place + 1}, column {bad.column}: {bad}" for place, bad in refused.problems
        ]
        raise Refused(422, details[0], details) from None
    return imported(range(1, len(rows) + 1), results, allowed, dry_run=dry_run)


def _read_rows(body: bytes, most_rows: int, check_wanted: CheckWanted) -> list[BulkRow]:
    """The rows of `Bulk`, validated one by one and no further than the first few bad ones.

    A body may be wrong in 100,000 places, and to say so of each would take longer than anything
    that is right.
    """
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(422, "the body is not JSON.") from None
    if not isinstance(sent, dict) or sent.keys() != {"rows"} or not isinstance(sent["rows"], list):
        raise Refused(422, 'the body must be an object such as {"rows": [...]}, and no more.')
    if not 1 <= len(sent["rows"]) <= most_rows:
        raise Refused(
            422, f"rows: there must be 1 to {most_rows:,} of them, not {len(sent['rows']):,}."
        )
    rows, details = list[BulkRow](), list[str]()
    for place, row in enumerate(in_batches(sent["rows"], check_wanted)):
        if isinstance(row, dict) and len(row) > len(BulkRow.model_fields):
            unknown = next(name for name in row if name not in BulkRow.model_fields)
            details.append(f"rows.{place}: there is no field {shortened(unknown)!r}.")
        else:
            try:
                rows.append(BulkRow.model_validate(row))
            except ValidationError as error:
                problems = error.errors(include_input=False)
                details += [
                    of_problem(each, _where("rows", place, *each["loc"])) for each in problems
                ]
        if len(details) >= MOST_PROBLEMS:
            break
    if details:
        raise Refused(422, details[0], details[:MOST_PROBLEMS])
    return rows


def _where(*parts: object) -> str:
    return ".".join(shortened(str(part)) for part in parts)


def _answer(found: Imported, allowed: Allowed, dry_run: bool) -> Response:
    """The verdicts as they are sent; made here, because for many rows that takes a while too."""
    rows = [{**_verdict(result), "row": line} for line, result in found.rows]
    if found.written or dry_run:
        content: dict[str, Any] = {
            "written": found.written, "ignored": found.ignored, "notes": found.notes, "rows": rows,
        }  # fmt: skip
        return JSONResponse(content)
    bad = [(line, result) for line, result in found.rows if result.stops(allowed)]
    content = {
        "error": "nothing was written, because of rows that are conflicting or of unknown buckets.",
        "details": [f"row {line}: {row.note or row.verdict}" for line, row in bad[:MOST_PROBLEMS]],
        "rows": rows,
    }
    return JSONResponse(content, 409)


def _verdict(result: Recorded) -> dict[str, Any]:
    return {**result._asdict(), "marks": list(result.marks)}
