"""Routes: what operators do to a campaign, each with who and why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header

from latesum._checks import InvalidInput
from latesum.service.cache import CachedCampaign
from latesum.service.errors import ON_ANY_ROUTE, documented
from latesum.service.models import (
    Act,
    ActAnswer,
    Addition,
    Deletion,
    DeletionAnswer,
    Finish,
    OptionAct,
    Override,
    RegionAct,
    Renaming,
    SettingsChange,
)
from latesum.service.routing import AllCampaigns, NamedCampaign, ScopedRoute, Who, needs
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
async def hold(cached: NamedCampaign, act: RegionAct, who: Who, key: Key = None) -> ActAnswer:
    """Keep showing the present option until an operator resumes."""
    return await _act(cached, who, act, key, "hold")


@router.post("/resume")
@needs("operate")
async def resume(cached: NamedCampaign, act: RegionAct, who: Who, key: Key = None) -> ActAnswer:
    """Let the policy decide again. An override goes on after a hold; without a hold it ends."""
    return await _act(cached, who, act, key, "resume")


@router.post("/override")
@needs("operate")
async def override(cached: NamedCampaign, act: Override, who: Who, key: Key = None) -> ActAnswer:
    """Show an option in the next buckets that are decided."""
    return await _act(cached, who, act, key, "override", option=act.option, buckets=act.buckets)


@router.post("/drop")
@needs("operate")
async def drop(cached: NamedCampaign, act: OptionAct, who: Who, key: Key = None) -> ActAnswer:
    """Take an option away, until it is brought back."""
    return await _act(cached, who, act, key, "drop", option=act.option)


@router.post("/cancel-override")
@needs("operate")
async def cancel_override(
    cached: NamedCampaign, act: RegionAct, who: Who, key: Key = None
) -> ActAnswer:
    """End an override that is not over; a hold goes on."""
    return await _act(cached, who, act, key, "cancel_override")


@router.post("/bring-back")
@needs("operate")
async def bring_back(cached: NamedCampaign, act: OptionAct, who: Who, key: Key = None) -> ActAnswer:
    """Undo a drop: the policy goes on as if the option had never been away."""
    return await _act(cached, who, act, key, "bring_back", option=act.option)


@router.post("/add")
@needs("operate")
async def add(cached: NamedCampaign, act: Addition, who: Who, key: Key = None) -> ActAnswer:
    """Add an option; its first block is asked for next. Policies that cannot do that refuse."""
    return await _act(cached, who, act, key, "add", option=act.option)


@router.post("/rename")
@needs("operate")
async def rename(cached: NamedCampaign, act: Renaming, who: Who, key: Key = None) -> ActAnswer:
    """Give an option another name; nothing else changes."""
    return await _act(cached, who, act, key, "rename", option=act.option, new_name=act.name)


@router.post("/change")
@needs("operate")
async def change(
    cached: NamedCampaign, act: SettingsChange, who: Who, key: Key = None
) -> ActAnswer:
    """Change settings from the next decision on; the policy learns from the whole log again."""
    for name in ("who", "why", "key"):
        if name in act.settings:
            raise InvalidInput(f"there is no setting {name!r}.")
    return await _act(cached, who, act, key, "change", **act.settings)


@router.post("/finish")
@needs("operate")
async def finish(cached: NamedCampaign, act: Finish, who: Who, key: Key = None) -> ActAnswer:
    """End the campaign with an option, by default the one that looks best."""
    return await _act(cached, who, act, key, "finish", option=act.option)


@router.post("/reopen")
@needs("operate")
async def reopen(cached: NamedCampaign, act: Act, who: Who, key: Key = None) -> ActAnswer:
    """Go on with a finished or archived campaign, from the next bucket on."""
    return await _act(cached, who, act, key, "reopen")


@router.post("/archive")
@needs("operate")
async def archive(cached: NamedCampaign, act: Act, who: Who, key: Key = None) -> ActAnswer:
    """Put a finished campaign away: lists leave it out. To reopen it takes it back."""
    return await _act(cached, who, act, key, "archive")


@router.post("/delete")
@needs("operate")
async def delete(
    cached: NamedCampaign, act: Deletion, who: Who, campaigns: AllCampaigns
) -> DeletionAnswer:
    """Delete a campaign with its whole log. When, who and why stay; its name stays taken."""
    name = cached.campaign.name
    await cached.write(cached.campaign.delete, act.name, who=_name_of(who, act), why=act.why)
    campaigns.forget(name)
    return DeletionAnswer(done=True, sentence=f"{name} was deleted; its name stays taken.")


def _name_of(token: Token, sent: Act) -> str:
    return token.name if sent.who is None else f"{sent.who} (token {token.name})"


async def _act(
    cached: CachedCampaign, token: Token, sent: Act, key: str | None, kind: str, **arguments: Any
) -> ActAnswer:
    act = getattr(cached.campaign, kind)
    if isinstance(sent, RegionAct):
        arguments["region"] = sent.region
    done = await cached.write(act, who=_name_of(token, sent), why=sent.why, key=key, **arguments)
    cached.forget_status()
    status = await cached.status()
    return ActAnswer(
        done=True, repeated=done.repeated, note=done.note, state=status.state,
        headline=status.headline,
    )  # fmt: skip
