"""Routes that say how far a token must reach; one that says nothing needs the most."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from latesum.campaigns.config import NAME_PATTERN
from latesum.campaigns.view import plain
from latesum.service.cache import CachedCampaign, CampaignCache
from latesum.service.errors import ClientLeft, Refused
from latesum.service.tokens import Scope, Token

Handler = TypeVar("Handler", bound=Callable[..., Any])
_MARK = "_latesum_scope"
_LONG = "_latesum_long"
#: Requests of one token at once that may take long, such as statuses.
MAX_LONG_REQUESTS = 16


def needs(scope: Scope, *, long: bool = False) -> Callable[[Handler], Handler]:
    """Mark what a token must be allowed to do to reach this.

    Args:
        scope: The least scope.
        long: Whether it only looks and may take long, so that it ends when its client leaves. (A
            record or an act that was begun is brought to its end.)
    """

    def mark(handler: Handler) -> Handler:
        setattr(handler, _MARK, scope)
        setattr(handler, _LONG, long)
        return handler

    return mark


def scope_of(handler: Callable[..., Any]) -> Scope:
    """What a token must be allowed to do."""
    return getattr(handler, _MARK, "admin")


class ScopedRoute(APIRoute):
    """A route that looks at the token's scope before it looks at anything that was sent.

    In the description it has the name of its handler.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        settings["generate_unique_id_function"] = lambda route: route.name
        super().__init__(path, endpoint, **settings)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the check."""
        handle = super().get_route_handler()
        needed = scope_of(self.endpoint)
        is_open = self.path == "/livez"
        is_long = getattr(self.endpoint, _LONG, False)

        async def guarded(request: Request) -> Response:
            token: Token | None = request.scope.get("token")
            if not is_open:
                if token is None:
                    raise Refused(401, "a token is needed.")
                if not token.may(needed):
                    raise Refused(
                        403, f"this needs a token of scope {needed}; yours is for {token.scope}."
                    )
            if not is_long or token is None:
                return await handle(request)
            long = request.app.state.long_requests
            if long[token.id] >= MAX_LONG_REQUESTS:
                raise Refused(
                    429, "too many of your requests are under way; try again.", retry_after="1"
                )
            long[token.id] += 1
            try:
                return await while_wanted(request, handle)
            finally:
                long[token.id] -= 1

        return guarded


def send(content: Any, status: int = 200, **headers: str) -> Response:
    """An answer in JSON: records become objects; of a list of options see `model_of`."""
    text = content if isinstance(content, str) else json.dumps(plain(content), ensure_ascii=False)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Response(text.encode(), status, named, "application/json")


async def while_wanted(
    request: Request, handle: Callable[[Request], Coroutine[Any, Any, Response]]
) -> Response:
    """Handle a request while its client waits; what is queued for a thread is taken back."""
    try:
        await request.body()  # what comes after it is that the client has left
    except ClientDisconnect:
        raise ClientLeft from None
    handling = asyncio.create_task(handle(request))
    watching = asyncio.create_task(_until_gone(request))
    try:
        await asyncio.wait((handling, watching), return_when=asyncio.FIRST_COMPLETED)
        if not handling.done():
            raise ClientLeft
        return handling.result()
    finally:
        for task in (handling, watching):
            task.cancel()
        await asyncio.wait((handling, watching))


async def _until_gone(request: Request) -> None:
    """Wait until the client of a request, whose body was read, has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
