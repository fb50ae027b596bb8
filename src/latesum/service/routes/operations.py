"""Routes for those who run the service: liveness, metrics, and the description."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import create_model
from sqlalchemy.exc import DBAPIError, TimeoutError

from latesum.service.auth import OPEN
from latesum.service.errors import ON_ANY_ROUTE, documented
from latesum.service.routing import AllCampaigns, ScopedRoute, needs, send

router = APIRouter(route_class=ScopedRoute, tags=["operations"])


Health = create_model("Health", status=(str, ...))


@router.get("/livez", response_model=Health)
async def alive() -> Response:
    """The process answers. This alone needs no token."""
    return send({"status": "alive"})


@router.get("/readyz", response_model=Health, responses=documented(*ON_ANY_ROUTE))
@needs("read")
async def ready(campaigns: AllCampaigns) -> Response:
    """The store can be written to as well; if not, 503."""
    await campaigns.write(campaigns.store.check_writable)
    return send({"status": "ready"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **documented(*ON_ANY_ROUTE),
    },
)
@needs("read", long=True)
async def metrics(campaigns: AllCampaigns) -> Response:
    """Figures for Prometheus, with the health of every campaign."""
    figures = campaigns.metrics
    try:
        seen = await campaigns.statuses()
        health = figures.health_text({each.name: each.health for each in seen})
    except (DBAPIError, TimeoutError):  # the figures are wanted most when the store fails
        health = figures.health_text(None)
    return Response(figures.text() + health, media_type="text/plain; version=0.0.4")


@router.get("/v1/openapi.json", responses=documented(*ON_ANY_ROUTE))
@needs("read")
async def description(request: Request) -> dict[str, Any]:
    """This description of the interface."""
    return describe(request.app)


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, made once: FastAPI's, with the token added."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    whole = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    whole["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "From `latesum token new`."}
    }
    whole["security"] = [{"token": []}]
    for path in OPEN:
        for operation in whole["paths"][path].values():
            operation["security"] = []
    app.openapi_schema = whole
    return whole
