# ruff: noqa: E402
"""The application: all routes, behind authentication."""

from __future__ import annotations

from latesum._extras import need

need("campaigns", "server")  # before anything of it is imported

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.routing import APIRoute

from latesum.campaigns.store import Store
from latesum.service.auth import AuthMiddleware
from latesum.service.cache import CampaignCache, Workers
from latesum.service.configuration import Configuration, read_networks
from latesum.service.errors import set_up_errors
from latesum.service.forecasts import Forecasts
from latesum.service.jobs import Jobs
from latesum.service.logs import log
from latesum.service.metrics import Metrics
from latesum.service.monitor import Monitor
from latesum.service.routes import admin, campaigns, operations, page, plans, totals
from latesum.service.tokens import Sessions, Tokens
from latesum.service.webhooks import Poster, Webhooks

#: All routes there are; those that are asked for most come first.
ROUTERS = (
    campaigns.router,
    totals.router,
    campaigns.actions,
    plans.router,
    admin.router,
    operations.router,
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
    set_up_errors(app, _methods_of, page.missing_page)
    app.state.sessions = sessions = Sessions(store)
    app.add_middleware(
        AuthMiddleware,
        tokens=Tokens(store),
        sessions=sessions,
        workers=workers,
        configuration=configuration,
    )
    return app


def _methods_of(path: str) -> set[str]:
    """The methods that an address takes, over all routes that it matches."""
    return {
        method
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.match(path)
        for method in route.methods or ()
    }
