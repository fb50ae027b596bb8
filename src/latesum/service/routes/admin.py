"""Routes for those who administer the service: its tokens, who has logged in, where alerts are sent."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field, StringConstraints

from latesum._checks import InvalidInput
from latesum.service.cache import CampaignCache
from latesum.service.configuration import read_networks
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.models import Body, Text
from latesum.service.routing import AllCampaigns, ScopedRoute, Who, needs
from latesum.service.tokens import Scope, Sessions, Token, Tokens
from latesum.service.webhooks import Poster, Webhook, Webhooks

router = APIRouter(
    prefix="/v1",
    route_class=ScopedRoute,
    tags=["administration"],
    responses=documented(*ON_ANY_ROUTE),
)
Id = Annotated[str, Path(max_length=16, description="An id from the list.")]


class NewToken(Body):
    """A token to make."""

    name: Text = Field(description="Whose it is; acts are signed with it.")
    scope: Scope


class TokenLine(BaseModel):
    """What is known of a token; the token itself is not."""

    id: str
    name: str
    scope: Scope
    created_at: datetime
    revoked_at: datetime | None


class TokenMade(TokenLine):
    """A token that was made, with the secret that is never shown again."""

    secret: str


class TokenList(BaseModel):
    """All tokens there have been, oldest first."""

    tokens: list[TokenLine]


class SessionLine(BaseModel):
    """Someone who has logged in."""

    id: str
    name: str = Field(description="The name of the token.")
    token: str = Field(description="The id of the token.")
    created_at: datetime
    expires_at: datetime


class SessionList(BaseModel):
    """The sessions that have not ended."""

    sessions: list[SessionLine]


@router.get("/tokens")
@needs("admin")
async def list_tokens(campaigns: AllCampaigns) -> TokenList:
    """All tokens there have been."""
    tokens = await campaigns.workers.run(campaigns.workers.readers, Tokens(campaigns.store).all)
    return TokenList(tokens=[TokenLine(**token._asdict()) for token in tokens])


@router.post("/tokens", status_code=201)
@needs("admin")
async def make_token(new: NewToken, campaigns: AllCampaigns) -> TokenMade:
    """Make a token. Its secret is in this answer and nowhere else."""

    def make() -> TokenMade:
        tokens = Tokens(campaigns.store)
        secret = tokens.new(new.name, new.scope)
        made = tokens.find(secret)
        assert made is not None
        return TokenMade(**made._asdict(), secret=secret)

    return await campaigns.workers.run(campaigns.workers.writers, make)


@router.post("/tokens/{id}/revoke", responses=documented(404, 409))
@needs("admin")
async def revoke_token(id: Id, who: Who, campaigns: AllCampaigns) -> TokenLine:
    """Make a token useless, with all its sessions. The one that asks cannot revoke itself."""
    if id == who.id:
        raise Refused(409, "this is the token you are using; revoke it with another one.")

    def revoke() -> Token:
        tokens = Tokens(campaigns.store)
        if id not in {token.id for token in tokens.all() if token.revoked_at is None}:
            raise Refused(404, "there is no such token, or it was revoked before.")
        return tokens.revoke(id)

    revoked = await campaigns.workers.run(campaigns.workers.writers, revoke)
    return TokenLine(**revoked._asdict())


@router.get("/sessions")
@needs("admin")
async def list_sessions(campaigns: AllCampaigns) -> SessionList:
    """Who has logged in to the page."""
    found = await campaigns.workers.run(campaigns.workers.readers, Sessions(campaigns.store).all)
    return SessionList(sessions=[SessionLine(**each._asdict()) for each in found])


@router.post("/sessions/{id}/end", responses=documented(404), status_code=204, response_model=None)
@needs("admin")
async def end_session(id: Id, campaigns: AllCampaigns) -> None:
    """Log someone out."""

    def end() -> None:
        try:
            Sessions(campaigns.store).end_id(id)
        except InvalidInput:
            raise Refused(404, "there is no such session; it may have ended.") from None

    await campaigns.workers.run(campaigns.workers.writers, end)


class NewWebhook(Body):
    """Where alerts are to be sent."""

    name: Text
    address: Annotated[str, StringConstraints(min_length=1, max_length=2000)] = Field(
        description="https, and public unless its network is listed.",
        examples=["https://hooks.example.com/latesum"],
    )


class WebhookLine(BaseModel):
    """Where alerts are sent, without what may be secret in the address."""

    id: str
    name: str
    address: str
    created_at: datetime
    created_by: str


class WebhookMade(WebhookLine):
    """A webhook that was made, with the secret that signs its messages; it is never shown again."""

    secret: str


class WebhookList(BaseModel):
    """Where alerts are sent."""

    webhooks: list[WebhookLine]


def _line(webhook: Webhook) -> dict[str, Any]:
    named = ("id", "name", "created_at", "created_by")
    return {**{name: getattr(webhook, name) for name in named}, "address": webhook.shown_address}


def webhooks_of(campaigns: CampaignCache) -> Webhooks:
    """The webhooks of the service."""
    return Webhooks(campaigns.store, read_networks(campaigns.configuration.webhook_networks))


@router.get("/webhooks")
@needs("admin")
async def list_webhooks(campaigns: AllCampaigns) -> WebhookList:
    """Where alerts are sent."""
    found = await campaigns.workers.run(campaigns.workers.readers, webhooks_of(campaigns).all)
    return WebhookList(webhooks=[WebhookLine(**_line(each)) for each in found])


@router.post("/webhooks", status_code=201)
@needs("admin")
async def make_webhook(new: NewWebhook, who: Who, campaigns: AllCampaigns) -> WebhookMade:
    """Send alerts to an address from now on. The secret that signs them is in this answer alone."""

    def make() -> Webhook:
        return webhooks_of(campaigns).new(new.name, new.address, by=who.name)

    made = await campaigns.workers.run(campaigns.workers.writers, make)
    return WebhookMade(**_line(made), secret=made.secret)


@router.post(
    "/webhooks/{id}/remove", responses=documented(404), status_code=204, response_model=None
)
@needs("admin")
async def remove_webhook(id: Id, campaigns: AllCampaigns) -> None:
    """Send nothing more there."""

    def remove() -> None:
        webhooks = webhooks_of(campaigns)
        webhooks.remove(_there(webhooks, id).id)

    await campaigns.workers.run(campaigns.workers.writers, remove)


@router.post("/webhooks/{id}/test", responses=documented(404, 409), status_code=204)
@needs("admin")
async def test_webhook(id: Id, campaigns: AllCampaigns, request: Request) -> None:
    """Send a message there, to see whether it arrives; 409 says why it did not."""
    webhook = await campaigns.workers.run(
        campaigns.workers.readers, _there, webhooks_of(campaigns), id
    )
    poster: Poster = request.app.state.poster
    problem = await poster.problem(webhook, {"text": "This is a test of latesum's alerts."})
    if problem is not None:
        raise Refused(409, f"the message did not arrive: {problem.rstrip('.')}.")


def _there(webhooks: Webhooks, id: str) -> Webhook:
    found = next((each for each in webhooks.all() if each.id == id), None)
    if found is None:
        raise Refused(404, "there is no such webhook; it may have been removed.")
    return found
