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
from sqlalchemy.exc import DBAPIError, TimeoutError
from starlette.exceptions import HTTPException

from latesum._checks import InvalidInput
from latesum.campaigns.store import Store
from latesum.errors import MAX_PROBLEMS, MissingExtra, UnknownCampaign
from latesum.service.auth import AuthMiddleware
from latesum.service.cache import CampaignCache, Workers
from latesum.service.configuration import Configuration, read_networks
from latesum.service.errors import Refused, problem_text, refusal_of
from latesum.service.forecasts import Forecasts
from latesum.service.jobs import Jobs
from latesum.service.logs import Metrics, log
from latesum.service.routes import admin, campaigns, page, plans
from latesum.service.tokens import Sessions, Tokens
from latesum.service.webhooks import Monitor, Poster, Webhooks

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
    admin.operations,
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
    workers = Workers(Metrics())
    jobs = Jobs(workers.uploads)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        log("started", store=store.place)
        watching = asyncio.create_task(monitor.watch())
        yield
        watching.cancel()
        await asyncio.wait([watching])
        await app.state.forecasts.close()
        await asyncio.to_thread(workers.close)
        store.close()
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
    app.state.campaigns = campaign_cache = CampaignCache(store, configuration, workers, jobs)
    app.state.long_requests = Counter[str]()
    app.state.forecasts = Forecasts(jobs, configuration.forecast_every)
    networks = read_networks(configuration.webhook_networks)
    app.state.poster = poster = Poster(networks, workers.background)
    webhooks = Webhooks(store, networks)
    monitor = Monitor(campaign_cache, webhooks, poster, workers.background)
    for router in ROUTERS:
        # As they are: included, each would be built once more for every application.
        app.router.routes.extend(router.routes)
    _set_up_errors(app)
    app.state.sessions = sessions = Sessions(store)
    app.add_middleware(
        AuthMiddleware,
        tokens=Tokens(store),
        sessions=sessions,
        workers=workers,
        configuration=configuration,
    )
    return app


def _set_up_errors(app: FastAPI) -> None:
    """Give every error of the app its answer."""

    @app.exception_handler(Refused)
    @app.exception_handler(InvalidInput)
    @app.exception_handler(OverflowError)
    @app.exception_handler(MissingExtra)
    @app.exception_handler(DBAPIError)
    @app.exception_handler(TimeoutError)
    async def known(request: Request, error: Exception) -> Response:
        if isinstance(error, UnknownCampaign) and request.scope["path"].startswith("/campaigns/"):
            return page.missing_page(request, error)
        return refusal_of(error).answer()

    @app.exception_handler(RequestValidationError)
    async def not_valid(_: Request, error: RequestValidationError) -> Response:
        details = [problem_text(each) for each in error.errors()[:MAX_PROBLEMS]]
        return Refused(422, details[0], details).answer()

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        refused = Refused(error.status_code, _PLAIN.get(error.status_code, str(error.detail)))
        if error.status_code == 405:
            refused.headers["allow"] = ", ".join(sorted(_methods_of(request.scope["path"])))
        return refused.answer()


def _methods_of(path: str) -> set[str]:
    """The methods that an address takes, over all routes that it matches."""
    return {
        method
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.match(path)
        for method in route.methods or ()
    }
