"""Routes: what operators do to a campaign, each with who and why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header

from latesum._checks import InvalidInput
from latesum.errors import Moved, UnknownCampaign
from latesum.service.desk import Desk
from latesum.service.errors import AT_THE_DOOR, Refused, documented
from latesum.service.guarded import CampaignDesk, GuardedRoute, Who, needs
from latesum.service.models import Act, ActAnswer, Finish, OptionAct, Override
from latesum.service.tokens import Token

router = APIRouter(
    prefix="/v1/campaigns/{campaign}",
    route_class=GuardedRoute,
    tags=["operators"],
    responses=documented(*AT_THE_DOOR, 404, 409),
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
async def hold(desk: CampaignDesk, act: Act, who: Who, key: Key = None) -> ActAnswer:
    """Keep showing the present option until somebody says resume."""
    return await _act(desk, who, act, key, "hold")


@router.post("/resume")
@needs("operate")
async def resume(desk: CampaignDesk, act: Act, who: Who, key: Key = None) -> ActAnswer:
    """Let the policy decide again."""
    return await _act(desk, who, act, key, "resume")


@router.post("/override")
@needs("operate")
async def override(desk: CampaignDesk, act: Override, who: Who, key: Key = None) -> ActAnswer:
    """Show an option in the next buckets that are decided."""
    return await _act(desk, who, act, key, "override", option=act.option, buckets=act.buckets)


@router.post("/drop")
@needs("operate")
async def drop(desk: CampaignDesk, act: OptionAct, who: Who, key: Key = None) -> ActAnswer:
    """Take an option away for good."""
    return await _act(desk, who, act, key, "drop", option=act.option)


@router.post("/finish")
@needs("operate")
async def finish(desk: CampaignDesk, act: Finish, who: Who, key: Key = None) -> ActAnswer:
    """End the campaign with an option, by default the one that looks best."""
    return await _act(desk, who, act, key, "finish", option=act.option)


async def _act(
    desk: Desk, token: Token, act: Act, key: str | None, kind: str, **arguments: Any
) -> ActAnswer:
    if arguments.get("option") is not None:
        desk.campaign.settings.option(arguments["option"])  # an unknown one is no matter of state
    who = token.name if act.who is None else f"{act.who} (token {token.name})"
    try:
        new = await desk.write(desk.campaign.act, key, kind, who=who, why=act.why, **arguments)
    except (UnknownCampaign, Moved):
        raise
    except InvalidInput as refusal:
        raise Refused(409, str(refusal)) from None
    desk.forget_look()
    status = await desk.status()
    return ActAnswer(done=True, repeated=not new, state=status.state, headline=status.headline)
