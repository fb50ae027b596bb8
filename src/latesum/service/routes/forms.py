"""Pages with forms: plan a campaign, set one up, bring in totals, look through its history, administer.

The forms are sent by a script to the interface for programs, so that there is one way in for everything.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from latesum.campaigns.actions import ACTIONS
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.describing import describe_event
from latesum.campaigns.state import Event
from latesum.errors import UnknownCampaign
from latesum.files.presets import PRESETS
from latesum.service.routes.admin import webhooks_of
from latesum.service.routes.page import not_found, show_page
from latesum.service.routing import AllCampaigns, ScopedRoute, Who, needs
from latesum.service.tokens import SCOPES, Sessions, Tokens

router = APIRouter(route_class=ScopedRoute, include_in_schema=False)
#: Events on one page of the history.
_EVENTS = 100
#: The newest buckets without a total, which are offered where totals are typed.
_WAITING = 14
#: What events can be filtered by, with the kinds of each.
_GROUPS = {
    "decisions": ("decision",),
    "totals": ("record", "file form", "import refused"),
    "people": (
        *ACTIONS, "file form",
    ),
}  # fmt: skip


@router.get("/plan")
@needs("operate")
async def plan_page(who: Who, regions: Annotated[str, Query(max_length=10)] = "") -> Response:
    """Will a campaign work, with one total for all or in regions?"""
    return show_page(
        "plan.html", title="Plan", who=who, every=0, here="plan", regional=regions == "yes"
    )


@router.get("/new")
@needs("operate")
async def new_page(
    who: Who,
    campaigns: AllCampaigns,
    policy: Annotated[str, Query(max_length=100)] = "",
    parameters: Annotated[str, Query(max_length=4000)] = "",
    options: Annotated[int, Query(ge=2, le=100)] = 2,
    regions: Annotated[int, Query(ge=1, le=200)] = 1,
    expected_rounds: Annotated[str, Query(max_length=20)] = "",
    every: Annotated[str, Query(max_length=10)] = "day",
    run_for: Annotated[str, Query(max_length=50)] = "",
    late: Annotated[str, Query(max_length=100)] = "",
    status_quo: Annotated[str, Query(max_length=20)] = "",
    no_go: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    """Set up a campaign, from a plan or from nothing."""
    planned = _is_object(parameters)
    return show_page(
        "new.html", title="New campaign", who=who, every=0, here="new", planned=planned,
        policy=policy if planned else "", parameters=parameters if planned else "",
        options=options, regions=regions, expected_rounds=expected_rounds, bucket=every, run_for=run_for, late=late,
        status_quo=status_quo, no_go=no_go, today=campaigns.configuration.clock().date().isoformat(),
    )  # fmt: skip


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
    open_rows = [row for row in status.timeline if row.total is None]
    newest = sorted({row.bucket for row in open_rows})[-_WAITING:]
    in_order = sorted(
        open_rows, key=lambda row: row.bucket
    )  # of one bucket in the order of regions
    waiting = [[row.label, row.region] for row in in_order if row.bucket in newest]
    return show_page(
        "totals.html", title=f"Totals of {campaign}", who=who, every=0, here="campaigns",
        name=cached.campaign.name, status=status, waiting=waiting, regions=list(status.regions),
        options=[row.name for row in status.options], is_market=status.model is not None, presets=sorted(PRESETS),
        form=await cached.read(cached.campaign.file_form),
    )  # fmt: skip


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
        "history.html", title=f"History of {campaign}", who=who, every=0, here="campaigns",
        name=cached.campaign.name, events=found[(page - 1) * _EVENTS : page * _EVENTS],
        found=len(found), page=page, pages=pages, kind=kind, search=search, kinds=list(_GROUPS),
    )  # fmt: skip


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
        "admin.html", title="Administration", who=who, every=0, here="admin", scopes=SCOPES,
        tokens=tokens, sessions=sessions, webhooks=await run(readers, webhooks_of(campaigns).all),
    )  # fmt: skip
