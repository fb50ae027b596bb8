"""Routes: what is known of buckets is set, one at a time or many at once."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import ValidationError

from latesum.errors import Conflicting, UnknownBucket
from latesum.live.importing import Imported, import_totals
from latesum.live.recording import Recorded, Row
from latesum.service.desk import Desk
from latesum.service.errors import AT_THE_DOOR, Refused, documented
from latesum.service.group_commit import Terms
from latesum.service.guarded import CampaignDesk, GuardedRoute, Who, needs
from latesum.service.models import (
    Bulk,
    BulkAnswer,
    Record,
    RefusedRows,
    RowVerdict,
    Verdict,
)

router = APIRouter(
    prefix="/v1/campaigns/{campaign}",
    route_class=GuardedRoute,
    tags=["totals"],
    responses=documented(*AT_THE_DOOR, 404),
)


@router.put("/buckets/{bucket}", response_model=Verdict, responses=documented(409))
@needs("record")
async def record(
    bucket: Annotated[str, Path(max_length=40, description="A date, time or number.")],
    record: Record,
    desk: CampaignDesk,
    who: Who,
) -> Response:
    """Set the rounds and the total of a bucket, apart or together; sent twice it changes nothing."""
    row = Row(bucket, record.rounds, record.total, record.status, record.shown)
    terms = Terms(who.name, record.even_if_final, record.beyond_range)
    result = await desk.records.record(row, terms)
    if result.verdict == "unknown bucket":
        raise UnknownBucket(result.note)
    if result.verdict == "conflicting":
        raise Conflicting(result.note)
    desk.forget_look()
    return Response(json.dumps(_verdict(result)), media_type="application/json")


_BULK_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Bulk"}},
            "text/csv": {
                "schema": {"type": "string"},
                "example": "bucket,rounds,total\n2026-03-01,5000,1512\n",
            },
        },
    }
}


@router.post(
    "/totals",
    openapi_extra=_BULK_BODY,
    responses={
        409: {"model": RefusedRows, "description": "Nothing was written: rows are in the way."},
        **documented(415),
    },
)
@needs("record")
async def upload(
    request: Request,
    desk: CampaignDesk,
    who: Who,
    dry_run: Annotated[bool, Query(description="Only say what would happen.")] = False,
    skip_unknown: Annotated[bool, Query(description="Leave out unknown buckets.")] = False,
    even_if_final: Annotated[bool, Query(description="Correct final values.")] = False,
    beyond_range: Annotated[bool, Query(description="Totals out of range are right.")] = False,
) -> BulkAnswer:
    """Set many buckets, all or none, with a verdict for each row: a CSV file, or rows in JSON.

    Totals are set and not added, so that an upload may safely be repeated.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    allowed = {
        "by": who.name, "dry_run": dry_run, "skip_unknown": skip_unknown,
        "even_if_final": even_if_final, "beyond_range": beyond_range,
    }  # fmt: skip
    if kind == "text/csv":
        found = await desk.write(import_totals, desk.campaign, body, **allowed)
    elif kind == "application/json":
        found = await desk.write(_import_rows, desk, _read_rows(body), allowed)
    else:
        raise Refused(415, "send rows as application/json, or a file as text/csv.")
    rows = [RowVerdict(row=line, **_verdict(result)) for line, result in found.rows]
    if not (found.written or dry_run):
        bad = [row for row in rows if row.verdict in ("conflicting", "unknown bucket")]
        raise Refused(
            409,
            "nothing was written, because of rows that are conflicting or of unknown buckets.",
            [f"row {row.row}: {row.note or row.verdict}" for row in bad[:20]],
            rows=[row.model_dump() for row in rows],
        )
    desk.forget_look()
    return BulkAnswer(written=found.written, rows=rows)


def _read_rows(body: bytes) -> Bulk:
    try:
        return Bulk.model_validate(json.loads(body))
    except ValidationError as error:
        problems = error.errors(include_input=False, include_context=False)
        if not problems[0]["loc"]:
            raise Refused(422, 'the body must be an object such as {"rows": [...]}.') from None
        details = [
            f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}." for each in problems
        ]
        raise Refused(422, details[0], details[:20]) from None
    except (ValueError, RecursionError):
        raise Refused(422, "the body is not JSON.") from None


def _import_rows(desk: Desk, bulk: Bulk, allowed: dict[str, Any]) -> Imported:
    rows = [Row(**each.model_dump()) for each in bulk.rows]
    results = desk.campaign.record_many(rows, **allowed)
    in_the_way = ["conflicting"] + ([] if allowed["skip_unknown"] else ["unknown bucket"])
    stopped = any(result.verdict in in_the_way for result in results)
    return Imported(list(enumerate(results, start=1)), not (allowed["dry_run"] or stopped))


def _verdict(result: Recorded) -> dict[str, Any]:
    return {**result._asdict(), "marks": list(result.marks)}
