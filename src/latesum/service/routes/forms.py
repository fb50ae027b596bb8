"""Pages with forms: plan a campaign, set one up, import totals, look through its history.

The forms are sent by a script to the interface for programs, so that there is one way in for
everything.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from latesum.campaigns.actions import ACTIONS, describe_event
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.state import Event
from latesum.errors import UnknownCampaign
from latesum.files import PRESETS
from latesum.service.routes.admin import webhooks_of
from latesum.service.routes.page import not_found, show_page
from latesum.service.routing import AllCampaigns, ScopedRoute, Who, needs
from latesum.service.tokens import Sessions, Tokens

router = APIRouter(route_class=ScopedRoute, include_in_schema=False)
#: Events on one page of the history.
_EVENTS = 100
#: The newest buckets without a total, which are offered where totals are typed.
_WAITING = 14
#: What events can be filtered by, with the kinds of each.
_GROUPS = {
    "decisions": ("decision",),
    "totals": ("record", "file form", "import refused"),
    "people": (*ACTIONS, "file form"),
}


@router.get("/plan")
@needs("operate")
async def plan_page(who: Who, regions: Annotated[str, Query(max_length=10)] = "") -> Response:
    """Will a campaign work, with one total for all or in regions?"""
    return show_page("plan.html", title="Plan", who=who, here="plan", regional=regions == "yes")


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
    planned = _is_object(filled["parameters"])
    if not planned:
        filled |= {"policy": "", "parameters": ""}
    return show_page(
        "new.html",
        title="New campaign",
        who=who,
        here="new",
        planned=planned,
        options=options,
        regions=regions,
        bucket=filled.pop("every"),
        today=campaigns.configuration.clock().date().isoformat(),
        **filled,
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@router.get("/campaigns/{campaign}/totals")
@needs("record")
async def totals_page(campaign: str, campaigns: AllCampaigns, who: Who) -> Response:
    """Bring in totals: one that is typed, or a file."""
    try:
        cached = await campaigns.of(campaign)
        status = await cached.status()
    except UnknownCampaign as unknown:
        return not_found(who, str(unknown))
    # Of one bucket in the order of the regions.
    open_rows = sorted(
        (row for row in status.timeline if row.total is None), key=lambda row: row.bucket
    )
    newest = sorted({row.bucket for row in open_rows})[-_WAITING:]
    return show_page(
        "totals.html",
        title=f"Totals of {campaign}",
        who=who,
        here="campaigns",
        name=cached.campaign.name,
        status=status,
        waiting=[[row.label, row.region] for row in open_rows if row.bucket in newest],
        regions=list(status.regions),
        options=[row.name for row in status.options],
        is_market=status.model is not None,
        presets=sorted(PRESETS),
        form=await cached.read(cached.campaign.file_form),
    )


@router.get("/campaigns/{campaign}/history")
@needs("read", long=True)
async def history_page(
    campaign: str,
    campaigns: AllCampaigns,
    who: Who,
    kind: Annotated[str, Query(max_length=20)] = "",
    search: Annotated[str, Query(max_length=100)] = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> Response:
    """The log of a campaign, newest first."""
    try:
        cached = await campaigns.of(campaign)
        found = await cached.read(_find_events, cached.reader, kind, search.strip())
    except UnknownCampaign as unknown:
        return not_found(who, str(unknown))
    pages = max(1, -(-len(found) // _EVENTS))
    page = min(page, pages)
    return show_page(
        "history.html",
        title=f"History of {campaign}",
        who=who,
        here="campaigns",
        name=cached.campaign.name,
        events=found[(page - 1) * _EVENTS : page * _EVENTS],
        found=len(found),
        page=page,
        pages=pages,
        kind=kind,
        search=search,
        kinds=list(_GROUPS),
    )


def _find_events(campaign: Any, kind: str, search: str) -> list[tuple[Event, str]]:
    """The events of a kind that have the searched text in their sentence, newest first."""
    config: CampaignConfig = campaign.current_config()
    kinds = _GROUPS.get(kind)
    events = [each for each in reversed(campaign.history()) if not kinds or each.kind in kinds]
    told = [(event, describe_event(event, config)) for event in events]
    text = search.casefold()
    return [each for each in told if text in each[1].casefold()]


@router.get("/admin")
@needs("admin")
async def admin_page(campaigns: AllCampaigns, who: Who) -> Response:
    """Tokens, and who has logged in."""
    run, readers = campaigns.workers.run, campaigns.workers.readers
    tokens = await run(readers, Tokens(campaigns.store).all)
    sessions = await run(readers, Sessions(campaigns.store).all)
    return show_page(
        "admin.html",
        title="Administration",
        who=who,
        here="admin",
        tokens=tokens,
        sessions=sessions,
        webhooks=await run(readers, webhooks_of(campaigns).all),
    )
