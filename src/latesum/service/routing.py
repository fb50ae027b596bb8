"""Routes that say how far a token must reach; one that says nothing needs the most."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from latesum.campaigns.config import NAME_PATTERN
from latesum.service.cache import CachedCampaign, CampaignCache
from latesum.service.errors import ClientLeft, Refused
from latesum.service.tokens import Scope, Token

Handler = TypeVar("Handler", bound=Callable[..., Any])
Handle = Callable[[Request], Coroutine[Any, Any, Response]]
#: Requests of one token at once that may take long, such as statuses.
MAX_LONG_REQUESTS = 16


def needs(scope: Scope, *, long: bool = False) -> Callable[[Handler], Handler]:
    """Mark what a token must be allowed to do to reach this.

    Args:
        scope: The least scope.
        long: Whether it only looks and may take long, so that it ends when its client leaves. (A
            record or an action that was begun is brought to its end.)
    """

    def mark(handler: Handler) -> Handler:
        handler.__dict__.update(scope=scope, long=long)
        return handler

    return mark


def scope_of(handler: Callable[..., Any]) -> Scope:
    """What a token must be allowed to do."""
    return getattr(handler, "scope", "admin")


class ScopedRoute(APIRoute):
    """A route that looks at the token's scope before it looks at anything that was sent.

    In the description it has the name of its handler.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        settings["generate_unique_id_function"] = lambda route: route.name
        super().__init__(path, endpoint, **settings)

    def get_route_handler(self) -> Handle:
        """The handler, behind the check."""
        handle, needed = super().get_route_handler(), scope_of(self.endpoint)
        is_long = getattr(self.endpoint, "long", False)

        async def guarded(request: Request) -> Response:
            if self.path == "/livez":
                return await handle(request)
            token: Token | None = request.scope.get("token")
            if token is None:
                raise Refused(401, "a token is needed.")
            if not token.may(needed):
                raise Refused(
                    403, f"this needs a token of scope {needed}; yours is for {token.scope}."
                )
            if not is_long:
                return await handle(request)
            in_progress = request.app.state.long_requests
            if in_progress[token.id] >= MAX_LONG_REQUESTS:
                raise Refused(
                    429, "too many of your requests are in progress; try again.", retry_after="1"
                )
            in_progress[token.id] += 1
            try:
                return await _while_wanted(request, handle)
            finally:
                in_progress[token.id] -= 1

        return guarded


async def _while_wanted(request: Request, handle: Handle) -> Response:
    """Handle a request while its client waits; what is queued for a thread is taken back."""

    async def until_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    try:
        await request.body()  # what comes after it is that the client has left
    except ClientDisconnect:
        raise ClientLeft from None
    tasks = handling, _ = asyncio.create_task(handle(request)), asyncio.create_task(until_gone())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not handling.done():
            raise ClientLeft
        return handling.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


# These are async only because FastAPI would hand anything else over to a thread.


async def _token(request: Request) -> Token:
    return cast(Token, request.scope["token"])


async def _campaigns(request: Request) -> CampaignCache:
    return cast(CampaignCache, request.app.state.campaigns)


async def _campaign(
    request: Request, campaign: Annotated[str, Path(pattern=NAME_PATTERN)]
) -> CachedCampaign:
    """The campaign that is named in the address."""
    campaigns: CampaignCache = request.app.state.campaigns
    return await campaigns.of(campaign)


NamedCampaign = Annotated[CachedCampaign, Depends(_campaign)]
AllCampaigns = Annotated[CampaignCache, Depends(_campaigns)]
Who = Annotated[Token, Depends(_token)]
