# ruff: noqa: E402
"""The application: all routes, behind authentication."""

from __future__ import annotations

from latesum._extras import need

need("campaigns", "server")  # before anything of it is imported

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from latesum.campaigns.store import Store
from latesum.errors import MAX_PROBLEMS, UnknownCampaign
from latesum.service.auth import MAX_REQUESTS, AuthMiddleware
from latesum.service.cache import CampaignCache
from latesum.service.errors import Refused, problem_text, refusal_of
from latesum.service.forecasts import Forecasts
from latesum.service.logs import Metrics, log
from latesum.service.routes import admin, campaigns, page, plans
from latesum.service.server import Configuration, read_networks
from latesum.service.tokens import Tokens
from latesum.service.webhooks import Webhooks, watch

_PLAIN = {
    400: "the body cannot be read: it must be JSON in UTF-8.",
    404: "there is nothing at this address.",
    405: "this address does not take that method.",
}
#: All routes there are; those that are asked for most come first.
ROUTERS = (
    campaigns.router,
    campaigns.actions,
    plans.router,
    admin.router,
    admin.liveness,
    admin.operations,
    page.entry,
    page.router,
)
_ABOUT = """Which option to show, decided from totals that arrive late.

Every request but `/livez` needs a token, as `Authorization: Bearer <token>`; `latesum token new`
makes one with a scope: **read**, **record** (and read), **operate** (and all about campaigns) or
**admin** (and tokens and webhooks). Everything that is refused is answered with
`{"error": "a sentence", "details": [...]}`."""


def create_app(store: Store, configuration: Configuration | None = None) -> FastAPI:
    """The service of a store, for an ASGI server to run."""
    configuration = configuration or Configuration()
    metrics, tokens = Metrics(), Tokens(store)
    campaign_cache = CampaignCache(store, configuration, metrics)
    forecasts = Forecasts(campaign_cache.jobs, configuration.forecast_every)
    webhooks = Webhooks(store, read_networks(configuration.webhook_networks), configuration.site)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        log("started", store=store.place)
        watching = asyncio.create_task(watch(campaign_cache, webhooks))
        yield
        watching.cancel()
        await asyncio.wait([watching])
        await forecasts.close()
        await asyncio.to_thread(campaign_cache.close)
        log("stopped")

    app = FastAPI(
        title="latesum",
        version="1",
        description=_ABOUT,
        docs_url=None,  # its page fetches scripts from outside
        redoc_url=None,
        openapi_url=None,  # a route of ours serves it, for those with a token
        lifespan=lifespan,
    )
    app.state.campaigns, app.state.tokens = campaign_cache, tokens
    app.state.webhooks, app.state.forecasts = webhooks, forecasts
    app.state.working = asyncio.Semaphore(MAX_REQUESTS)
    app.state.long_requests = Counter[str]()
    for router in ROUTERS:
        # As they are: included, each would be built once more for every application.
        app.router.routes.extend(router.routes)
    for kind in (UnknownCampaign, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer_error)  # all others go to the middleware
    app.add_middleware(
        AuthMiddleware,
        tokens=tokens,
        metrics=metrics,
        unauthenticated_per_second=configuration.unauthenticated_per_second,
    )
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    """The answer to an error of the libraries, or to a name that is not there."""
    path = request.scope["path"]
    if isinstance(error, UnknownCampaign) and path.startswith("/campaigns/"):
        return page.missing_page(request, error)
    if isinstance(error, RequestValidationError):
        details = [problem_text(each) for each in error.errors()[:MAX_PROBLEMS]]
        return Refused(422, details[0], details).answer()
    if isinstance(error, HTTPException):
        refused = Refused(error.status_code, _PLAIN.get(error.status_code, str(error.detail)))
        if error.status_code == 405:
            refused.headers["allow"] = ", ".join(sorted(_methods_of(path)))
        return refused.answer()
    return refusal_of(error).answer()


def _methods_of(path: str) -> set[str]:
    """The methods that an address takes, over all routes that it matches."""
    return {
        method
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.match(path)
        for method in route.methods or ()
    }
