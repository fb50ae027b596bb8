"""Routes: a file of rows before the start is read, for a plan or a campaign to be set up with; nothing is stored."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from latesum.files import FileForm
from latesum.service.errors import ON_ANY_ROUTE, PAGE_HEADER, Refused, documented
from latesum.service.models import PastAnswer
from latesum.service.routes.totals import EXCEL, PARQUET, file_form
from latesum.service.routing import AllCampaigns, ScopedRoute, needs
from latesum.service.taking_in import Upload

router = APIRouter(
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


@router.post(
    "/histories", response_model=PastAnswer, openapi_extra=_FILE, responses=documented(415)
)
@needs("operate")
async def read_history(
    request: Request,
    campaigns: AllCampaigns,
    form: Annotated[FileForm, Depends(file_form)],
) -> Response:
    """The rows of a file of totals before the start, as a new campaign takes them (`history`).

    A column `region` says which region a row is of, if there is one. The file is read and not kept.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("text/csv", EXCEL, PARQUET):
        raise Refused(415, f"send a file as text/csv, {EXCEL} or {PARQUET}.")
    sent = Upload(kind, form.to_json(), page=PAGE_HEADER in request.headers)
    answer = await campaigns.workers.uploads.take_history(request.receive, body, sent)
    return Response(answer.content, answer.status, media_type="application/json")
