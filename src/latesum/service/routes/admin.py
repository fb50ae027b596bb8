"""Routes for those who run the service: tokens, webhooks, liveness, metrics, the description."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Path, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import Field, StringConstraints, create_model
from sqlalchemy.exc import DBAPIError, TimeoutError

from latesum.service.auth import ScopedRoute, Who, needs
from latesum.service.cache import AllCampaigns, CampaignCache
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented, send
from latesum.service.models import Body, Text, list_of, model_of
from latesum.service.tokens import Scope, Token, Tokens
from latesum.service.webhooks import Webhook, Webhooks

router = APIRouter(
    prefix="/v1",
    route_class=ScopedRoute,
    tags=["administration"],
    responses=documented(*ON_ANY_ROUTE),
)
Id = Annotated[str, Path(max_length=16, description="An id from the list.")]


class NewToken(Body):
    """A token to make."""

    name: Text = Field(description="Whose it is; actions are signed with it.")
    scope: Scope


class NewWebhook(Body):
    """Where alerts are to be sent."""

    name: Text
    address: Annotated[str, StringConstraints(min_length=1, max_length=2000)] = Field(
        description="https, and public unless its network is listed.",
        examples=["https://hooks.example.com/latesum"],
    )


TokenLine = model_of(Token)
WebhookLine = model_of(Webhook, without="secret delivered")


@router.get("/tokens", response_model=list_of("tokens", TokenLine))
@needs("admin")
async def list_tokens(campaigns: AllCampaigns) -> Response:
    """All tokens there have been, oldest first."""
    return send({"tokens": await campaigns.read(Tokens(campaigns.store).all)})


@router.post("/tokens", status_code=201, response_model=model_of(Token, "TokenMade", secret=str))
@needs("admin")
async def make_token(new: NewToken, campaigns: AllCampaigns) -> Response:
    """Make a token. Its secret is in this answer and nowhere else."""
    tokens = Tokens(campaigns.store)
    secret = await campaigns.write(tokens.new, new.name, new.scope)
    made = await campaigns.read(tokens.find, secret)
    assert made is not None
    return send({**made._asdict(), "secret": secret}, 201)


@router.post("/tokens/{id}/revoke", response_model=TokenLine, responses=documented(404, 409))
@needs("admin")
async def revoke_token(id: Id, who: Who, campaigns: AllCampaigns) -> Response:
    """Make a token useless, with all its sessions. The one that asks cannot revoke itself."""
    if id == who.id:
        raise Refused(409, "this is the token you are using; revoke it with another one.")
    tokens = Tokens(campaigns.store)
    if id not in {each.id for each in await campaigns.read(tokens.all) if not each.revoked_at}:
        raise Refused(404, "there is no such token, or it was revoked before.")
    return send(await campaigns.write(tokens.revoke, id))


async def _webhooks(request: Request) -> Webhooks:
    webhooks: Webhooks = request.app.state.webhooks
    return webhooks


AllWebhooks = Annotated[Webhooks, Depends(_webhooks)]


def _line(webhook: Webhook) -> dict[str, Any]:
    """A webhook without what may be secret in its address."""
    named = {name: getattr(webhook, name) for name in WebhookLine.model_fields}
    return {**named, "address": webhook.shown_address}


@router.get("/webhooks", response_model=list_of("webhooks", WebhookLine))
@needs("admin")
async def list_webhooks(campaigns: AllCampaigns, webhooks: AllWebhooks) -> Response:
    """Where alerts are sent."""
    found = await campaigns.read(webhooks.all)
    return send({"webhooks": [_line(each) for each in found]})


@router.post(
    "/webhooks",
    status_code=201,
    response_model=model_of(Webhook, "WebhookMade", without="delivered"),
)
@needs("admin")
async def make_webhook(
    new: NewWebhook, who: Who, campaigns: AllCampaigns, webhooks: AllWebhooks
) -> Response:
    """Send alerts to an address from now on. The secret that signs them is in this answer alone."""
    made = await campaigns.write(webhooks.new, new.name, new.address, by=who.name)
    return send({**_line(made), "secret": made.secret}, 201)


@router.post(
    "/webhooks/{id}/remove", responses=documented(404), status_code=204, response_model=None
)
@needs("admin")
async def remove_webhook(id: Id, campaigns: AllCampaigns, webhooks: AllWebhooks) -> None:
    """Send nothing more there."""
    webhook = await _find(id, campaigns, webhooks)
    await campaigns.write(webhooks.remove, webhook.id)


@router.post(
    "/webhooks/{id}/test", responses=documented(404, 409), status_code=204, response_model=None
)
@needs("admin")
async def test_webhook(id: Id, campaigns: AllCampaigns, webhooks: AllWebhooks) -> None:
    """Send a message there, to see whether it arrives; 409 says why it did not."""
    webhook = await _find(id, campaigns, webhooks)
    problem = await webhooks.post(webhook, {"text": "This is a test of latesum's alerts."})
    if problem is not None:
        raise Refused(409, f"the message did not arrive: {problem.rstrip('.')}.")


async def _find(id: str, campaigns: CampaignCache, webhooks: Webhooks) -> Webhook:
    found = [each for each in await campaigns.read(webhooks.all) if each.id == id]
    if not found:
        raise Refused(404, "there is no such webhook; it may have been removed.")
    return found[0]


#: This alone needs no token, and is answered whatever else there is to do.
liveness = APIRouter(tags=["operations"])
operations = APIRouter(route_class=ScopedRoute, tags=["operations"])
Health = create_model("Health", status=(str, ...))


@liveness.get("/livez", response_model=Health, operation_id="alive")
async def alive() -> Response:
    """The process answers. This alone needs no token."""
    return send({"status": "alive"})


@operations.get("/readyz", response_model=Health, responses=documented(*ON_ANY_ROUTE))
@needs("read")
async def ready(campaigns: AllCampaigns) -> Response:
    """The store can be written to as well; if not, 503."""
    await campaigns.write(campaigns.store.check_writable)
    return send({"status": "ready"})


@operations.get(
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
    health = None
    with contextlib.suppress(DBAPIError, TimeoutError):  # figures are wanted most when it fails
        health = {each.name: each.health for each in await campaigns.statuses()}
    return Response(campaigns.metrics.text(health), media_type="text/plain; version=0.0.4")


@operations.get("/v1/openapi.json", responses=documented(*ON_ANY_ROUTE))
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
    whole["paths"]["/livez"]["get"]["security"] = []
    app.openapi_schema = whole
    return whole
