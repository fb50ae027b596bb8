"""The page, for people: drawn here, and kept up to date by a small script.

Its forms are sent by a script to the HTTP API, so that there is one way in for everything.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from latesum import _render
from latesum.campaigns.actions import describe_event
from latesum.campaigns.buckets import span_text
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.charts import N_COLORS
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.state import Decision, Event
from latesum.campaigns.static_page import status_section
from latesum.campaigns.view import Status
from latesum.errors import UnknownCampaign
from latesum.service.auth import (
    MAX_UNUSED,
    SHORT_SECONDS,
    ScopedRoute,
    Who,
    check_origin,
    cookie_name,
    login_page,
    needs,
    read_secret,
    with_body,
)
from latesum.service.cache import (
    AllCampaigns,
    CachedCampaign,
    CampaignCache,
    NamedCampaign,
    select,
    severity_of,
)
from latesum.service.logs import log
from latesum.service.routes.admin import AllWebhooks
from latesum.service.tokens import Token, Tokens

#: Campaigns on one page of the list, and events on one page of the history.
_LINES, _EVENTS = 25, 100
#: A longer timeline is shown from its end first, this many buckets; all of it can be chosen.
_MAX_AT_FIRST, _AT_FIRST = 120, 90
#: The newest buckets without a total, which are offered where totals are typed.
_WAITING = 14
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
    "page.js": ("service/static/page.js", "text/javascript"),
    "forms.js": ("service/static/forms.js", "text/javascript"),
}
router = APIRouter(route_class=ScopedRoute, include_in_schema=False)


def _draw(template: str, **values: Any) -> str:
    return _render.render(f"service/templates/{template}", **values)


def _page(template: str, title: str, who: Token, here: str, /, **values: Any) -> HTMLResponse:
    """A whole page, which only the service's own scripts and styles are allowed in."""
    html = _draw(template, **{"every": 0, **values}, title=title, who=who, here=here)
    return HTMLResponse(html, 200, _HEADERS)


def missing_page(request: Request, error: UnknownCampaign) -> HTMLResponse:
    """What a person sees at the address of a campaign that is not there."""
    page = _page("missing.html", "Not found", request.scope["token"], "", sentence=str(error))
    page.status_code = 404
    return page


def _fragment(request: Request, html: str) -> Response:
    tag = f'"{hashlib.sha256(html.encode()).hexdigest()[:24]}"'
    headers = {**_HEADERS, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers)
    return HTMLResponse(html, 200, headers)


def _part(found: Sequence[Any], page: int, size: int) -> dict[str, Any]:
    """One page of a long list, for its template."""
    pages = max(1, -(-len(found) // size))
    page = min(page, pages)
    part = found[(page - 1) * size : page * size]
    return {"part": part, "found": len(found), "page": page, "pages": pages}


Search = Annotated[str, Query(max_length=100)]
PageNumber = Annotated[int, Query(ge=1, le=10**6)]


@router.get("/")
@needs("read", long=True)
async def front(
    campaigns: AllCampaigns, who: Who, search: Search = "", page: PageNumber = 1
) -> Response:
    """All campaigns."""
    return _page(
        "list.html",
        "Campaigns",
        who,
        "campaigns",
        every=campaigns.configuration.page_every,
        live=Markup(await _list(campaigns, who, search, page)),
        search=search,
        page=page,
    )


@router.get("/live")
@needs("read", long=True)
async def front_live(
    request: Request,
    campaigns: AllCampaigns,
    who: Who,
    search: Search = "",
    page: PageNumber = 1,
) -> Response:
    """The part of the front page that changes."""
    return _fragment(request, await _list(campaigns, who, search, page))


async def _list(campaigns: CampaignCache, who: Token, search: str, page: int) -> str:
    everything = await campaigns.statuses()
    return _draw(
        "list_live.html",
        **_part(select(everything, search), page, _LINES),
        counts=Counter(map(severity_of, everything)),
        all=len(everything),
        search=search,
        n_colors=N_COLORS,
        severity_of=severity_of,
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
    request: Request, cached: NamedCampaign, who: Who, span: Span = ""
) -> Response:
    """One campaign."""
    name, live = cached.campaign.name, await _campaign(request, cached, span)
    return _page(
        "campaign.html",
        name,
        who,
        "campaigns",
        every=cached.campaigns.configuration.page_every,
        name=name,
        config=cached.reader.config,
        parameters=_parameters(cached.reader.config),
        live=Markup(live),
        span=span,
    )


@router.get("/campaigns/{campaign}/live")
@needs("read", long=True)
async def campaign_live(request: Request, cached: NamedCampaign, span: Span = "") -> Response:
    """The part of a campaign's page that changes."""
    return _fragment(request, await _campaign(request, cached, span))


async def _campaign(request: Request, cached: CachedCampaign, span: str) -> str:
    status = await cached.status()
    last = int(span) if span.isdecimal() and 0 < int(span) < status.n_buckets else None
    if not span and status.n_buckets > _MAX_AT_FIRST:
        last = _AT_FIRST
    # The present bucket, if no one has asked what to show in it.
    buckets, undecided = cached.reader.config.buckets, None
    if status.state != "finished":
        present = buckets.number(status.now)
        decided = 0 if status.current is None else status.current.bucket
        undecided = buckets.label(present) if present > decided else None
    return await cached.read(
        status_section,
        status,
        last=last,
        decision=request.app.state.forecasts.of(cached, status),
        name=cached.campaign.name,
        undecided=undecided,
    )


#: What people call parameters that are times.
_TIMES = {
    "horizon": "Planned to run for",
    "mean_delay": "Results come late, on average by",
    "report_lag": "Reports come later by",
    "period": "An option stays for at least",
}


def _parameters(config: CampaignConfig) -> list[tuple[str, str]]:
    """The parameters of the method for people: times as times, and without switches."""
    every, found = config.buckets.every, []
    for key, value in config.parameters.items():
        name, shown = key.replace("_", " ").capitalize(), f"{value}"
        if key in _TIMES and isinstance(value, int | float):
            rounds = 1 if config.is_market else config.expected_rounds
            name, shown = _TIMES[key], span_text(value / rounds, every)
        elif key == "certainty":
            name, shown = "This delay is", "a guess" if value == "guess" else shown
        if not isinstance(value, bool):
            found.append((name, shown))
    return found


@router.get("/plan")
@needs("operate")
async def plan_page(who: Who, regions: Annotated[str, Query(max_length=10)] = "") -> Response:
    """Will a campaign work, with one total for all or in regions?"""
    return _page("plan.html", "Plan", who, "plan", regional=regions == "yes")


#: What a plan fills in where a campaign is set up, with what is there without.
_PREFILLED = {
    **dict.fromkeys(("policy", "expected_rounds", "run_for", "late", "status_quo", "no_go"), ""),
    "parameters": "",
    "every": "day",
}


@router.get("/new")
@needs("operate")
async def new_page(
    who: Who,
    campaigns: AllCampaigns,
    request: Request,
    options: Annotated[int, Query(ge=2, le=100)] = 2,
    regions: Annotated[int, Query(ge=1, le=200)] = 1,
) -> Response:
    """Set up a campaign, from a plan or from nothing."""
    asked = request.query_params
    filled = {name: asked.get(name, text)[:4000] for name, text in _PREFILLED.items()}
    try:
        planned = isinstance(json.loads(filled["parameters"]), dict)
    except ValueError:
        planned = False
    if not planned:
        filled |= {"policy": "", "parameters": ""}
    return _page(
        "new.html",
        "New campaign",
        who,
        "new",
        planned=planned,
        options=options,
        regions=regions,
        bucket=filled.pop("every"),
        today=campaigns.configuration.clock().date().isoformat(),
        **filled,
    )


@router.get("/campaigns/{campaign}/totals")
@needs("record")
async def totals_page(cached: NamedCampaign, who: Who) -> Response:
    """Import totals: one that is typed, or a file."""
    status = await cached.status()
    # Of one bucket in the order of the regions.
    missing = (row for row in status.timeline if row.total is None)
    open_rows = sorted(missing, key=lambda row: row.bucket)
    newest = sorted({row.bucket for row in open_rows})[-_WAITING:]
    return _page(
        "totals.html",
        f"Totals of {status.name}",
        who,
        "campaigns",
        name=status.name,
        status=status,
        waiting=[[row.label, row.region] for row in open_rows if row.bucket in newest],
        regions=list(status.regions),
        options=[row.name for row in status.options],
        is_market=status.model is not None,
        form=(await cached.read(cached.campaign.state)).file_form,
    )


@router.get("/campaigns/{campaign}/history")
@needs("read", long=True)
async def history_page(
    cached: NamedCampaign, who: Who, search: Search = "", page: PageNumber = 1
) -> Response:
    """The log of a campaign, newest first."""
    found = await cached.read(_find_events, cached.reader, search.strip().casefold())
    return _page(
        "history.html",
        f"History of {cached.campaign.name}",
        who,
        "campaigns",
        **_part(found, page, _EVENTS),
        name=cached.campaign.name,
        search=search,
    )


def _find_events(campaign: Campaign, text: str) -> list[tuple[Event, str]]:
    """The events that have a text in their sentence, newest first."""
    config = campaign.state().config
    described = [(each, describe_event(each, config)) for each in reversed(campaign.history())]
    return [each for each in described if text in each[1].casefold()]


@router.get("/admin")
@needs("admin")
async def admin_page(campaigns: AllCampaigns, webhooks: AllWebhooks, who: Who) -> Response:
    """Tokens, and where alerts are sent."""
    return _page(
        "admin.html",
        "Administration",
        who,
        "admin",
        tokens=await campaigns.read(Tokens(campaigns.store).all),
        webhooks=await campaigns.read(webhooks.all),
    )


@router.get("/static/{file}")
@needs("read")
async def static_file(file: str) -> Response:
    """The page's style and scripts."""
    if file not in _STATIC:
        return Response("There is nothing here.", 404, media_type="text/plain")
    place, kind = _STATIC[file]
    return Response(_render.read(place), 200, {"cache-control": "private, no-cache"}, kind)


#: Logging in needs no token yet.
entry = APIRouter(include_in_schema=False)


@entry.post("/login")
async def log_in(request: Request, campaigns: AllCampaigns) -> Response:
    """Begin a session, for a token that is typed in; its secret goes into a cookie."""
    check_origin(request.scope)
    request = await with_body(request, MAX_UNUSED, SHORT_SECONDS)
    form = parse_qs((await request.body()).decode("latin-1"))
    tokens: Tokens = request.app.state.tokens
    token = await campaigns.write(tokens.find, form.get("token", [""])[0].strip())
    if token is None:
        return login_page("There is no such token.")
    lasts = timedelta(hours=campaigns.configuration.session_hours)
    session = await campaigns.write(tokens.new_session, token, lasts)
    log("logged in", token=token.id, who=token.name)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        cookie_name(request.scope),
        session,
        max_age=max(1, int(lasts.total_seconds())),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/logout")
@needs("read")
async def log_out(request: Request, campaigns: AllCampaigns, who: Who) -> Response:
    """End the session, on the server and in the browser."""
    secret, by_cookie = read_secret(request.scope)
    if by_cookie and secret is not None:
        await campaigns.write(request.app.state.tokens.end_session, secret)
    log("logged out", token=who.id)
    answer, secure = Response(None, 204), request.url.scheme == "https"
    name = cookie_name(request.scope)
    answer.delete_cookie(name, httponly=True, samesite="strict", secure=secure)
    return answer
