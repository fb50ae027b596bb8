"""Routes: what operators do to a campaign, each with who and why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header

from latesum._checks import InvalidInput
from latesum.errors import Moved, UnknownCampaign
from latesum.service.cache import CachedCampaign
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.models import Act, ActAnswer, Finish, OptionAct, Override
from latesum.service.routing import NamedCampaign, ScopedRoute, Who, needs
from latesum.service.tokens import Token

router = APIRouter(
    prefix="/v1/campaigns/{campaign}",
    route_class=ScopedRoute,
    tags=["operators"],
    responses=documented(*ON_ANY_ROUTE, 404, 409),
)
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        description="Under one key an act happens once, however often it is sent.",
    ),
]


@router.post("/hold")
@needs("operate")
async def hold(cached: NamedCampaign, act: Act, who: Who, key: Key = None) -> ActAnswer:
    """Keep showing the present option until an operator resumes."""
    return await _act(cached, who, act, key, "hold")


@router.post("/resume")
@needs("operate")
async def resume(cached: NamedCampaign, act: Act, who: Who, key: Key = None) -> ActAnswer:
    """Let the policy decide again."""
    return await _act(cached, who, act, key, "resume")


@router.post("/override")
@needs("operate")
async def override(cached: NamedCampaign, act: Override, who: Who, key: Key = None) -> ActAnswer:
    """Show an option in the next buckets that are decided."""
    return await _act(cached, who, act, key, "override", option=act.option, buckets=act.buckets)


@router.post("/drop")
@needs("operate")
async def drop(cached: NamedCampaign, act: OptionAct, who: Who, key: Key = None) -> ActAnswer:
    """Take an option away; it cannot come back."""
    return await _act(cached, who, act, key, "drop", option=act.option)


@router.post("/finish")
@needs("operate")
async def finish(cached: NamedCampaign, act: Finish, who: Who, key: Key = None) -> ActAnswer:
    """End the campaign with an option, by default the one that looks best."""
    return await _act(cached, who, act, key, "finish", option=act.option)


async def _act(
    cached: CachedCampaign, token: Token, sent: Act, key: str | None, kind: str, **arguments: Any
) -> ActAnswer:
    if arguments.get("option") is not None:
        cached.campaign.settings.option(arguments["option"])  # an unknown one is no matter of state
    who = token.name if sent.who is None else f"{sent.who} (token {token.name})"
    try:
        act = getattr(cached.campaign, kind)
        done = await cached.write(act, who=who, why=sent.why, key=key, **arguments)
    except (UnknownCampaign, Moved):
        raise
    except InvalidInput as refusal:
        raise Refused(409, str(refusal)) from None
    cached.forget_status()
    status = await cached.status()
    return ActAnswer(
        done=True, repeated=done.repeated, state=status.state, headline=status.headline
    )
