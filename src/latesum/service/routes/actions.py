"""Routes: operator actions, each with a user and a reason."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path

from latesum.campaigns.actions import ACTIONS
from latesum.service.errors import ON_ANY_ROUTE, documented
from latesum.service.models import ActionAnswer, ActionBody
from latesum.service.routing import AllCampaigns, NamedCampaign, ScopedRoute, Who, needs
from latesum.service.tokens import Token

router = APIRouter(
    prefix="/v1/campaigns/{campaign}/actions",
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
        description="Under one key an action happens once, however often it is sent.",
    ),
]
#: What each action does and takes is in the table.
ActionName = Annotated[
    str,
    Path(
        json_schema_extra={"enum": list(ACTIONS)},
        description=" ".join(
            f"`{name}` ({', '.join(each.arguments) or 'no arguments'}): {each.summary}"
            for name, each in ACTIONS.items()
        ),
    ),
]


@router.post("/delete")
@needs("operate")
async def delete(
    cached: NamedCampaign, sent: ActionBody, who: Who, campaigns: AllCampaigns
) -> ActionAnswer:
    """Delete a campaign with its whole log. When, by whom and why stays; its name stays taken."""
    name, user = cached.campaign.name, _user_name(who, sent)
    await cached.write(cached.campaign.delete, sent.name or "", user=user, reason=sent.reason)
    campaigns.forget(name)
    note = f"{name} was deleted; its name stays taken."
    return ActionAnswer(done=True, repeated=False, note=note, state=None, headline=note)


@router.post("/{action}")
@needs("operate")
async def act(
    cached: NamedCampaign, action: ActionName, sent: ActionBody, who: Who, key: Key = None
) -> ActionAnswer:
    """Do one of the operator actions; each takes what its description says, and no more."""
    done = await cached.write(
        cached.campaign.act,
        action,
        user=_user_name(who, sent),
        reason=sent.reason,
        key=key,
        region=sent.region,
        **sent.model_dump(exclude_unset=True, exclude={"reason", "user", "region"}),
    )
    cached.forget_status()
    status = await cached.status()
    return ActionAnswer(
        done=True,
        repeated=done.repeated,
        note=done.note,
        state=status.state,
        headline=status.headline,
    )


def _user_name(token: Token, sent: ActionBody) -> str:
    return token.name if sent.user is None else f"{sent.user} (token {token.name})"
