"""The description of the interface: what FastAPI derives, with the token and the links added."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from latesum.service.doors import OPEN
from latesum.service.models import Bulk

_READS = ("option", "status", "estimates", "history", "explanation")
#: Finishing is left out: whoever goes at random would soon have nowhere to go.
_ACTS = ("hold", "resume", "override", "drop")
_WRITES = ("record", "upload", *_ACTS)


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
    _add_links(whole["paths"])
    app.openapi_schema = whole
    return whole


def _add_links(paths: dict[str, Any]) -> None:
    """What may follow what: whoever explores the interface, a person or a tool, goes these ways."""
    one = "/v1/campaigns/{campaign}"
    everything = ("show_campaign", *_READS, *_WRITES)
    _link(paths["/v1/campaigns"]["get"], everything, campaign="$response.body#/campaigns/0/name")
    _link(paths[one]["put"], everything, campaign="$response.body#/name")
    _link(paths[one]["get"], (*_READS, *_WRITES, "finish"), campaign="$response.body#/name")
    shown = {"campaign": "$response.body#/campaign", "bucket": "$response.body#/label"}
    _link(paths[f"{one}/option"]["get"], ("record",), **shown)


def _link(operation: dict[str, Any], names: tuple[str, ...], **parameters: str) -> None:
    for status in ("200", "201"):
        if status in operation["responses"]:
            links = operation["responses"][status].setdefault("links", {})
            links |= {name: {"operationId": name, "parameters": parameters} for name in names}
