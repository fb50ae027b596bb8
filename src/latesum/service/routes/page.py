"""The page: what runs and why, for people. Drawn here, and kept up to date by a small script."""

from __future__ import annotations

import gzip
import hashlib
import logging
from collections import Counter
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from latesum import _render
from latesum.campaigns.buckets import span_text
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.state import Decision
from latesum.campaigns.static_page import (
    N_COLOURS,
    chart_library,
    chart_library_version,
    status_section,
)
from latesum.campaigns.view import CampaignStatus, Status
from latesum.errors import UnknownCampaign
from latesum.service.auth import cookie_name, read_secret
from latesum.service.cache import (
    GLANCES,
    CachedCampaign,
    CampaignCache,
    Glance,
    glance_at,
    select,
)
from latesum.service.logs import log
from latesum.service.routing import AllCampaigns, ScopedRoute, Who, needs
from latesum.service.tokens import Token

#: Campaigns on one page of the list.
_LINES = 25
#: A longer timeline is shown from its end first; all of it can be chosen.
_MOST_AT_FIRST = 120

router = APIRouter(route_class=ScopedRoute, include_in_schema=False)
#: Everything comes from the service itself, and nothing that stands in a page is ever run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-store"}
#: The style and scripts by their names, with their places and kinds.
_STATIC = {
    "page.css": ("campaigns/static/page.css", "text/css"),
    "forms.css": ("service/static/forms.css", "text/css"),
    "charts.js": ("campaigns/static/charts.js", "text/javascript"),
    "page.js": ("service/static/page.js", "text/javascript"),
    "forms.js": ("service/static/forms.js", "text/javascript"),
}


def _page(template: str, **values: Any) -> str:
    return _render.render(
        f"service/templates/{template}", chart_library=chart_library_version(), **values
    )


class ListQuestion(NamedTuple):
    """A part of the list of campaigns."""

    search: str
    state: CampaignStatus | None
    health: Glance | None
    page: int

    def address(self, path: str = "/", **changed: Any) -> str:
        """The address of this part, or of another one."""
        asked = {**self._asdict(), **changed}
        said = {key: value for key, value in asked.items() if value and (key, value) != ("page", 1)}
        return path + ("?" + urlencode(said) if said else "")


async def list_question(
    search: Annotated[str, Query(max_length=100)] = "",
    state: str = "",
    health: str = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> ListQuestion:
    """Which part of the list is asked for; what is not known is passed over: a link may be old."""
    known_state = next((each for each in get_args(CampaignStatus) if each == state), None)
    glance = next((each for each in GLANCES if each == health), None)
    return ListQuestion(search.strip(), known_state, glance, page)


AskedFor = Annotated[ListQuestion, Depends(list_question)]


@router.get("/")
@needs("read", long=True)
async def front(campaigns: AllCampaigns, who: Who, asked: AskedFor) -> Response:
    """All campaigns."""
    return show_page(
        "list.html",
        title="Campaigns",
        who=who,
        every=campaigns.configuration.page_every,
        live=Markup(await _list(campaigns, asked, who)),
        asked=asked,
        states=get_args(CampaignStatus),
        glances=GLANCES,
        here="campaigns",
    )


@router.get("/live")
@needs("read", long=True)
async def front_live(
    request: Request, campaigns: AllCampaigns, who: Who, asked: AskedFor
) -> Response:
    """The part of the front page that changes."""
    return _fragment(request, await _list(campaigns, asked, who))


async def _list(campaigns: CampaignCache, asked: ListQuestion, who: Token) -> str:
    everything = await campaigns.statuses(archived=asked.state == "archived")
    found = select(everything, asked.search, asked.state, asked.health)
    pages = max(1, -(-len(found) // _LINES))
    page = min(asked.page, pages)
    return _page(
        "list_live.html",
        lines=found[(page - 1) * _LINES : page * _LINES],
        found=len(found),
        counts=Counter(map(glance_at, everything)),
        all=len(everything),
        asked=asked,
        page=page,
        pages=pages,
        n_colours=N_COLOURS,
        glance_at=glance_at,
        shown_in=_shown_in,
        who=who,
    )


def _shown_in(status: Status) -> list[tuple[Decision, int]]:
    """What is shown now, most first, each with the number of regions that show it."""
    counted = Counter(each.option for each in status.shown_now)
    first = {each.option: each for each in reversed(status.shown_now)}
    return [(first[option], number) for option, number in counted.most_common()]


Span = Annotated[str, Query(max_length=10, description="How many of the last buckets, or all.")]


@router.get("/campaigns/{campaign}")
@needs("read", long=True)
async def campaign_page(
    request: Request, campaign: str, campaigns: AllCampaigns, who: Who, span: Span = ""
) -> Response:
    """One campaign."""
    try:
        cached = await campaigns.of(campaign)
        live = await _campaign(request, cached, span)
    except UnknownCampaign as unknown:
        return not_found(who, str(unknown))
    return show_page(
        "campaign.html",
        title=cached.campaign.name,
        who=who,
        every=campaigns.configuration.page_every,
        name=cached.campaign.name,
        may_operate=who.may("operate"),
        may_record=who.may("record"),
        here="campaigns",
        config=cached.reader.config,
        parameters=_parameters(cached.reader.config),
        live=Markup(live),
        span=span,
    )


#: What people call parameters that are times.
_TIMES = {
    "horizon": "Planned to run for",
    "mean_delay": "Results come late, on average by",
    "report_lag": "Reports come later by",
    "stay": "An option stays for at least",
}


def _parameters(config: CampaignConfig) -> list[tuple[str, str]]:
    """The parameters of the method for people: times as times, and without switches."""
    every, found = config.buckets.every, []
    for key, value in config.parameters.items():
        if isinstance(value, bool):
            continue
        if key == "sure":
            found.append(("This delay is", "a guess" if value == "guess" else str(value)))
        elif key in _TIMES and isinstance(value, int | float):
            if config.is_market:
                shown = span_text(value, every)
            elif every == "number":
                shown = f"{value:,.6g} visitors"
            else:
                shown = span_text(value / config.expected_rounds, every)
            found.append((_TIMES[key], shown))
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else f"{value}"
            found.append((key.replace("_", " ").capitalize(), shown))
    return found


@router.get("/campaigns/{campaign}/live")
@needs("read", long=True)
async def campaign_live(
    request: Request, campaign: str, campaigns: AllCampaigns, span: Span = ""
) -> Response:
    """The part of a campaign's page that changes."""
    return _fragment(request, await _campaign(request, await campaigns.of(campaign), span))


async def _campaign(request: Request, cached: CachedCampaign, span: str) -> str:
    status = await cached.status()
    decided = request.app.state.forecasts.of(cached, status)
    buckets = status.n_buckets
    last = int(span) if span.isdigit() and 0 < int(span) < buckets else None
    if not span and buckets > _MOST_AT_FIRST:
        last = 90

    return await cached.read(
        status_section,
        status,
        last=last,
        decision=decided,
        name=cached.campaign.name,
        undecided=_undecided(cached, status),
    )


def _undecided(cached: CachedCampaign, status: Status) -> str | None:
    """The present bucket, if no one has asked what to show in it."""
    buckets = cached.reader.config.buckets
    if status.state in ("finished", "archived") or not buckets.timed:
        return None
    present = buckets.number(status.now)
    if present < 1 or (status.current is not None and status.current.bucket >= present):
        return None
    return buckets.label(present)


@router.get("/static/chart-library.js")
@needs("read")
async def chart_library_file(request: Request) -> Response:
    """Chart.js; its version is in the address, so that a browser never asks again."""
    headers = {"cache-control": "private, max-age=31536000, immutable", "vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(chart_library().read_bytes(), 200, headers, "text/javascript")
    headers["content-encoding"] = "gzip"
    return Response(_packed_library(), 200, headers, "text/javascript")


@cache
def _packed_library() -> bytes:
    return gzip.compress(chart_library().read_bytes(), mtime=0)


@router.get("/static/{file}")
@needs("read")
async def static_file(file: str) -> Response:
    """The page's style and scripts."""
    if file not in _STATIC:
        return Response("There is nothing here.", 404, media_type="text/plain")
    place, kind = _STATIC[file]
    return Response(_render.read(place), 200, {"cache-control": "private, no-cache"}, kind)


@router.post("/logout")
@needs("read")
async def log_out(request: Request, campaigns: AllCampaigns, who: Who) -> Response:
    """End the session, on the server and in the browser."""
    secret, by_cookie = read_secret(request.scope)
    if by_cookie and secret is not None:
        workers, sessions = campaigns.workers, request.app.state.sessions
        await workers.run(workers.tokens, sessions.end, secret)
    log("logged out", logging.INFO, token=who.id)
    answer = Response(None, 204)
    secure = request.url.scheme == "https"
    answer.delete_cookie(
        cookie_name(request.scope), httponly=True, samesite="strict", secure=secure
    )
    return answer


def show_page(template: str, code: int = 200, /, **values: Any) -> HTMLResponse:
    """A whole page, which only the service's own scripts and styles are allowed in."""
    html = _page(template, **{"every": 0, **values})
    return HTMLResponse(html, code, _HEADERS)


def not_found(who: Token, sentence: str) -> HTMLResponse:
    """A page that says that something is not there."""
    return show_page("missing.html", 404, title="Not found", who=who, sentence=sentence, here="")


def _fragment(request: Request, html: str) -> Response:
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:24]}"'
    headers = {**_HEADERS, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return HTMLResponse(html, 200, headers)
