"""Routes for those who run the service: is it alive, is it ready, how much does it do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from sqlalchemy import text

from latesum.service.description import describe
from latesum.service.errors import AT_THE_DOOR, documented
from latesum.service.guarded import AllDesks, GuardedRoute, needs

router = APIRouter(route_class=GuardedRoute, tags=["operations"])


class Health(BaseModel):
    """How the service is."""

    status: str


@router.get("/livez")
async def alive() -> Health:
    """The process answers. This alone needs no token."""
    return Health(status="alive")


@router.get("/readyz", responses=documented(*AT_THE_DOOR))
@needs("read")
async def ready(desks: AllDesks) -> Health:
    """The store answers too; if not, 503."""

    def ask() -> None:
        with desks.store.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    await desks.staff.run(desks.staff.writers, ask)
    return Health(status="ready")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
               **documented(*AT_THE_DOOR)},
)  # fmt: skip
@needs("read")
async def metrics(desks: AllDesks) -> Response:
    """Figures for Prometheus."""
    return Response(desks.staff.metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/v1/openapi.json", responses=documented(*AT_THE_DOOR))
@needs("read")
async def description(request: Request) -> dict[str, Any]:
    """This description of the interface."""
    return describe(request.app)
