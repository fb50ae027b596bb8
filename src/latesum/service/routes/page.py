"""The page: what runs and why, for people. Drawn here, and kept up to date by a small script."""

from __future__ import annotations

import gzip
import hashlib
import logging
from functools import cache
from importlib import metadata, resources
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from latesum import _pages
from latesum.errors import UnknownCampaign
from latesum.live import figures
from latesum.live.status import BucketRow, Status
from latesum.live.terminal_page import gain_sentence
from latesum.service import charts
from latesum.service.auth import COOKIE
from latesum.service.cache import CachedCampaign
from latesum.service.logs import log
from latesum.service.routing import AllCampaigns, ScopedRoute, Who, needs

router = APIRouter(route_class=ScopedRoute, include_in_schema=False)
#: Everything comes from the service itself, and nothing that stands in a page is ever run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-store"}
_FOLDER = resources.files("latesum.service")
# The package chartkick is how Chart.js comes from the registry; nothing else of it is used.
_LIBRARY = resources.files("chartkick") / "django" / "static" / "chartkick" / "Chart.bundle.js"
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "charts.js": "text/javascript"}
#: Buckets in the table; the charts and the history have all.
_LAST_BUCKETS = 40


def _render(template: str, **values: Any) -> str:
    return _pages.render(
        f"service/templates/{template}",
        n_colours=figures.N_COLOURS,
        chart_library=metadata.version("chartkick"),
        **values,
    )


@router.get("/")
@needs("read")
async def front(request: Request, campaigns: AllCampaigns, who: Who) -> Response:
    """All campaigns."""
    every = campaigns.configuration.page_every
    html = await _list(request)
    return _page("list.html", title="Campaigns", who=who, every=every, live=Markup(html))


@router.get("/live")
@needs("read")
async def front_live(request: Request) -> Response:
    """The part of the front page that changes."""
    return _fragment(request, await _list(request))


async def _list(request: Request) -> str:
    campaigns = await request.app.state.campaigns.all()
    lines = [(cached.campaign.settings, await cached.status()) for cached in campaigns]
    return _render("list_live.html", lines=lines)


@router.get("/campaigns/{campaign}")
@needs("read")
async def campaign_page(
    request: Request, campaign: str, campaigns: AllCampaigns, who: Who
) -> Response:
    """One campaign."""
    try:
        cached = await campaigns.of(campaign)
    except UnknownCampaign as unknown:
        return _page("missing.html", 404, title="Not found", who=who, every=0, sentence=unknown)
    return _page(
        "campaign.html", title=cached.campaign.name, who=who,
        every=campaigns.configuration.page_every, name=cached.campaign.name,
        options=cached.campaign.settings.options, may_operate=who.may("operate"),
        live=Markup(await _campaign(cached)),
    )  # fmt: skip


@router.get("/campaigns/{campaign}/live")
@needs("read")
async def campaign_live(request: Request, campaign: str, campaigns: AllCampaigns) -> Response:
    """The part of a campaign's page that changes."""
    return _fragment(request, await _campaign(await campaigns.of(campaign)))


async def _campaign(cached: CachedCampaign) -> str:
    status = await cached.status()
    return await cached.read(_draw, cached, status)


def _draw(cached: CachedCampaign, status: Status) -> str:
    return _render(
        "campaign_live.html",
        status=status,
        lag=_lag(status),
        counts=_counts(status.timeline),
        gain=None if status.gain is None else gain_sentence(status),
        timeline=charts.timeline_chart(status, charts.phases(cached.reader)),
        totals=charts.totals_chart(status),
        estimates=charts.estimates_chart(status),
        last=status.timeline[: -_LAST_BUCKETS - 1 : -1],
        acts=status.acts[::-1],
    )


def _lag(status: Status) -> str:
    """How far what is known is behind what is shown."""
    waiting = 0
    for row in reversed(status.timeline):
        if row.state in ("known", "missing"):
            break
        waiting += row.state == "pending"
    unit = "bucket" if status.every == "number" else status.every
    return f"{waiting} {unit}" + ("" if waiting == 1 else "s")


def _counts(rows: list[BucketRow]) -> dict[str, int]:
    counts = {state: sum(row.state == state for row in rows) for state in ("known", "pending")}
    counts["missing"] = sum(row.state == "missing" for row in rows)
    counts["revised"] = sum(row.revisions > 0 for row in rows)
    return counts


@router.get("/static/chart-library.js")
@needs("read")
async def chart_library(request: Request) -> Response:
    """Chart.js; its version is in the address, so that a browser never asks again."""
    headers = {
        "cache-control": "private, max-age=31536000, immutable",
        "vary": "Accept-Encoding",
    }
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(_LIBRARY.read_bytes(), 200, headers, "text/javascript")
    headers["content-encoding"] = "gzip"
    return Response(_packed_library(), 200, headers, "text/javascript")


@cache
def _packed_library() -> bytes:
    return gzip.compress(_LIBRARY.read_bytes(), mtime=0)


@router.get("/static/{file}")
@needs("read")
async def static_file(file: str) -> Response:
    """The page's style and scripts."""
    if file not in _STATIC:
        return Response("There is nothing here.", 404, media_type="text/plain")
    text = (_FOLDER / "static" / file).read_text(encoding="utf-8")
    return Response(text, 200, {"cache-control": "private, no-cache"}, _STATIC[file])


@router.post("/logout")
@needs("read")
async def log_out(who: Who) -> Response:
    """Take the token out of the browser; it stays valid elsewhere."""
    log("logged out", logging.INFO, token=who.id)
    answer = Response(None, 204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    html = _render(template, **values)
    return HTMLResponse(html, status, _HEADERS)


def _fragment(request: Request, html: str) -> Response:
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:24]}"'
    headers = {**_HEADERS, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return HTMLResponse(html, 200, headers)
