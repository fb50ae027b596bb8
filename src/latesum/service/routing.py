"""Routes that say how far a token must reach; one that says nothing needs the most."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute

from latesum.live.setting_fields import NAME_PATTERN
from latesum.service.cache import CachedCampaign, CampaignCache
from latesum.service.errors import Refused
from latesum.service.tokens import Scope, Token

Handler = TypeVar("Handler", bound=Callable[..., Any])
_MARK = "_latesum_scope"


def needs(scope: Scope) -> Callable[[Handler], Handler]:
    """Mark what a token must be allowed to do to reach this."""

    def mark(handler: Handler) -> Handler:
        setattr(handler, _MARK, scope)
        return handler

    return mark


def scope_of(handler: Callable[..., Any]) -> Scope:
    """What a token must be allowed to do."""
    return getattr(handler, _MARK, "operate")


class ScopedRoute(APIRoute):
    """A route that looks at the token's scope before it looks at anything that was sent."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the check."""
        handle = super().get_route_handler()
        needed = scope_of(self.endpoint)
        is_open = self.path == "/livez"

        async def guarded(request: Request) -> Response:
            if not is_open:
                token: Token | None = request.scope.get("token")
                if token is None:
                    raise Refused(401, "a token is needed.")
                if not token.may(needed):
                    raise Refused(
                        403, f"this needs a token of scope {needed}; yours is for {token.scope}."
                    )
            return await handle(request)

        return guarded


# These are async only because FastAPI would hand anything else over to a thread.


async def token_of(request: Request) -> Token:
    """Who asks."""
    return cast(Token, request.scope["token"])


async def campaigns_of(request: Request) -> CampaignCache:
    """All campaigns of the service."""
    return cast(CampaignCache, request.app.state.campaigns)


async def campaign_of(
    request: Request, campaign: Annotated[str, Path(pattern=NAME_PATTERN)]
) -> CachedCampaign:
    """The campaign that is named in the address."""
    return await (await campaigns_of(request)).of(campaign)


NamedCampaign = Annotated[CachedCampaign, Depends(campaign_of)]
AllCampaigns = Annotated[CampaignCache, Depends(campaigns_of)]
Who = Annotated[Token, Depends(token_of)]
