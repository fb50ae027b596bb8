"""The description of the interface: what FastAPI derives, with the token and the links added."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from latesum.live.service.doors import OPEN
from latesum.live.service.models import Bulk

#: What may follow the making of a campaign: tools that explore the interface go these ways.
_AFTER_MAKING = (
    "option",
    "record",
    "upload",
    "status",
    "estimates",
    "history",
    "explanation",
    "hold",
    "resume",
    "override",
    "drop",
    "finish",
)


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, made once."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    whole = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    rows = Bulk.model_json_schema(ref_template="#/components/schemas/{model}")
    whole["components"]["schemas"] |= {**rows.pop("$defs"), "Bulk": rows}
    whole["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "From `latesum token new`."}
    }
    whole["security"] = [{"token": []}]
    for path in OPEN:
        for operation in whole["paths"][path].values():
            operation["security"] = []
    made = whole["paths"]["/v1/campaigns/{campaign}"]["put"]["responses"]
    for status in ("200", "201"):
        made[status]["links"] = {name: _link(name) for name in _AFTER_MAKING}
    shown = whole["paths"]["/v1/campaigns/{campaign}/option"]["get"]["responses"]["200"]
    shown["links"] = {
        "record": {
            "operationId": "record",
            "parameters": {
                "campaign": "$response.body#/campaign",
                "bucket": "$response.body#/label",
            },
        }
    }
    app.openapi_schema = whole
    return whole


def _link(name: str) -> dict[str, Any]:
    return {"operationId": name, "parameters": {"campaign": "$response.body#/name"}}
