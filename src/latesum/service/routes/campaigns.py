"""Routes: campaigns, the option to show, what is known, and operator actions."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response

from latesum._checks import InvalidInput
from latesum._render import finite
from latesum.campaigns.actions import ACTIONS, describe_event
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import NAME_PATTERN, CampaignConfig
from latesum.campaigns.view import CampaignStatus, Status, TableName
from latesum.errors import MissingExtra, UnknownCampaign
from latesum.service import models
from latesum.service.cache import (
    CachedCampaign,
    CampaignCache,
    OptionAnswer,
    Severity,
    select,
)
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented
from latesum.service.routing import (
    AllCampaigns,
    NamedCampaign,
    ScopedRoute,
    Who,
    needs,
    send,
)
from latesum.service.tokens import Token

router = APIRouter(
    prefix="/v1/campaigns",
    route_class=ScopedRoute,
    tags=["campaigns"],
    responses=documented(*ON_ANY_ROUTE),
)
Level = Annotated[float, Query(ge=0.5, le=0.999, description="The confidence level of intervals.")]
RegionQuery = Annotated[
    str, Query(min_length=1, max_length=64, description="The region, in a campaign that has some.")
]
Bucket = Annotated[str, Query(min_length=1, max_length=40, description="A date, time or number.")]


@router.get("", response_model=models.CampaignList)
@needs("read", long=True)
async def list_campaigns(
    campaigns: AllCampaigns,
    search: Annotated[
        str, Query(max_length=100, description="A part of the name or of an option's name.")
    ] = "",
    state: Annotated[CampaignStatus | None, Query(description="How the campaign is.")] = None,
    health: Annotated[Severity | None, Query(description="The worst of its findings.")] = None,
    archived: Annotated[bool, Query(description="Also those in the archive.")] = False,
    offset: Annotated[int, Query(ge=0, le=10**6)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> Response:
    """The campaigns, those with alarms first, then those with warnings, and the newest first."""
    found = select(await campaigns.statuses(archived=archived), search, state, health)
    lines = [
        {name: getattr(each, name) for name in models.LINE}
        | {"options": [option.name for option in each.options]}
        for each in found[offset : offset + limit]
    ]
    return send({"campaigns": lines, "total": len(found)})


@router.put("/{campaign}", responses={201: {"model": models.CampaignAnswer}, **documented(409)})
@needs("operate")
async def create_campaign(
    campaign: Annotated[str, Path(pattern=NAME_PATTERN)],
    new: models.NewCampaign,
    campaigns: AllCampaigns,
    response: Response,
) -> models.CampaignAnswer:
    """Set up a campaign: 201 if it is new, 200 if it is there and just the same."""
    made = await campaigns.write(_create, campaigns, campaign, new)
    response.status_code = 201 if made else 200
    return await show_campaign(await campaigns.of(campaign))


def _create(campaigns: CampaignCache, name: str, new: dict[str, Any]) -> bool:
    """Make the campaign; False if it is there already and just the same."""
    if "name" in new:
        raise InvalidInput("the name of the campaign is in the address; leave it out of the body.")
    store, clock = campaigns.store, campaigns.configuration.clock
    given = {**new, "name": name}
    try:
        stored = store.find(name)
    except UnknownCampaign:
        config = CampaignConfig.read(given, now=clock())
        try:
            Campaign.create(config, store=store, clock=clock)
            return True
        except InvalidInput as refused:
            try:
                stored = store.find(name)  # another process was faster
            except UnknownCampaign:  # there was one, and it was deleted
                raise Refused(409, str(refused)) from None
    there = CampaignConfig.from_json(store.config(stored.id))
    if new.get("seed") is None:
        given["seed"] = there.seed
    if CampaignConfig.read(given, now=there.start).to_json() != there.to_json():
        raise Refused(409, f"there is a campaign {name!r} already, set up otherwise.")
    return False


@router.get("/{campaign}", responses=documented(404))
@needs("read")
async def show_campaign(cached: NamedCampaign) -> models.CampaignAnswer:
    """What a campaign is set up with, with all changes."""
    stored, config = cached.campaign.stored, await cached.read(cached.reader.current_config)
    return models.CampaignAnswer(
        name=stored.name,
        created_at=stored.created_at,
        config=finite(config.to_json()),
        note=config.note,
    )


_MAY_BE_KEPT = {
    304: {"description": "It is what was answered with the ETag that was sent in If-None-Match."},
    **documented(404, 409),
}


@router.get("/{campaign}/option", response_model=models.OptionAnswer, responses=_MAY_BE_KEPT)
@needs("read")
async def option(
    cached: NamedCampaign,
    request: Request,
    who: Who,
    bucket: Bucket | None = None,
    region: RegionQuery | None = None,
) -> Response:
    """The option to show now, or in a bucket; asked again, the answer is the same.

    It may be kept until the bucket ends (Cache-Control); numbered buckets end when something is
    recorded, so that theirs has to be asked for each time, with If-None-Match. To decide a bucket
    that has not begun takes the scope operate.
    """
    if bucket is None and region is None:
        answer = await cached.option_now()
    else:
        ahead = who.may("operate")
        answers, _ = await cached.write(cached.decide, bucket, region or "", ahead=ahead)
        answer = answers[0]
    return _sent(cached, request, answer)


@router.get("/{campaign}/options", response_model=models.OptionsAnswer, responses=_MAY_BE_KEPT)
@needs("read")
async def options(
    cached: NamedCampaign, request: Request, who: Who, bucket: Bucket | None = None
) -> Response:
    """The option to show in every region, now or in a bucket; the answer stays the same."""
    answers, _ = await cached.write(cached.decide, bucket, None, ahead=who.may("operate"))
    first = answers[0]
    named = {name: first.content[name] for name in ("campaign", "bucket", "label")}
    content = {**named, "options": [each.content for each in answers]}
    tag = '"' + "-".join(each.tag.strip('"') for each in answers) + '"'
    return _sent(cached, request, OptionAnswer(content, tag, first.ends))


def _sent(cached: CachedCampaign, request: Request, answer: OptionAnswer) -> Response:
    """An answer that may be kept for as long as it holds; 304 if the client has it already."""
    left = 0 if answer.ends is None else int((answer.ends - cached.clock()).total_seconds())
    headers = {
        "cache_control": f"private, max-age={left}" if left > 0 else "private, no-cache",
        "etag": answer.tag,
        "vary": "Authorization, Cookie",
    }
    tags = request.headers.get("if-none-match", "").split(",")
    if answer.tag in [tag.strip() for tag in tags]:
        return send("", 304, **headers)
    return send(answer.content, 200, **headers)


@router.get("/{campaign}/status", response_model=models.StatusAnswer, responses=documented(404))
@needs("read", long=True)
async def status(cached: NamedCampaign, level: Level = 0.95) -> Response:
    """Everything that the page shows: what runs and why, the timeline, the options, its health."""
    found = await _status(cached, level)
    # A year of hours is a megabyte: to write it down would hold up the loop that answers requests.
    return send(await cached.read(lambda: json.dumps(found.to_json(), ensure_ascii=False)))


async def _status(cached: CachedCampaign, level: float) -> Status:
    if level == 0.95:
        return await cached.status()
    return await cached.read(cached.reader.status, level)


@router.get(
    "/{campaign}/estimates", response_model=models.EstimatesAnswer, responses=documented(404)
)
@needs("read", long=True)
async def estimates(cached: NamedCampaign, level: Level = 0.95) -> Response:
    """What is known of each option, and how it compares with the status quo."""
    status = await _status(cached, level)
    return send({"level": level, "unit": status.unit, "estimates": status.options})


_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@router.get(
    "/{campaign}/tables/{table}",
    response_class=Response,
    responses={
        200: {"description": "The table.", "content": {kind: {} for kind in _KINDS.values()}},
        **documented(404),
    },
)
@needs("read", long=True)
async def table(
    cached: NamedCampaign,
    table: Annotated[TableName, Path(description="What the rows are.")],
    kind: Annotated[
        Literal["csv", "json", "parquet"], Query(alias="format", description="How it is written.")
    ] = "csv",
    level: Level = 0.95,
) -> Response:
    """All buckets, decisions or estimates as a table for other tools."""
    try:
        content = await cached.read(lambda: cached.reader.table(table, level).to_bytes(kind))
    except MissingExtra as missing:
        raise Refused(422, f"this service cannot write such a file: {missing}.") from None
    return Response(content, media_type=_KINDS[kind])


@router.get("/{campaign}/history", response_model=models.HistoryAnswer, responses=documented(404))
@needs("read", long=True)
async def history(
    cached: NamedCampaign,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="Events after this one.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The log: decisions, totals, revisions, operator actions."""
    events = await cached.read(cached.campaigns.store.log, cached.campaign.stored.id, after)
    config = await cached.read(cached.reader.current_config)
    shown = [
        {**event._asdict(), "sentence": describe_event(event, config)} for event in events[:limit]
    ]
    return send({"events": shown, "more": len(events) > limit})


@router.get(
    "/{campaign}/explanation", response_model=models.ExplanationAnswer, responses=documented(404)
)
@needs("read", long=True)
async def explanation(
    cached: NamedCampaign, bucket: Bucket | None = None, region: RegionQuery | None = None
) -> Response:
    """Why the policy does what it does: now, or when it decided on a bucket."""
    explain = cached.reader.explain
    return send({"sentences": await cached.read(explain, bucket, region=region)})


#: Operator actions, each with a user and a reason.
actions = APIRouter(
    prefix="/v1/campaigns/{campaign}/actions",
    route_class=ScopedRoute,
    tags=["operators"],
    responses=documented(*ON_ANY_ROUTE, 404, 409),
)
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        description="Under one key an action happens once, however often it is sent.",
    ),
]
#: What each action does and takes is in the table.
ActionName = Annotated[
    str,
    Path(
        json_schema_extra={"enum": list(ACTIONS)},
        description=" ".join(
            f"`{name}` ({', '.join(each.arguments) or 'no arguments'}): {each.summary}"
            for name, each in ACTIONS.items()
        ),
    ),
]


@actions.post("/delete")
@needs("operate")
async def delete(
    cached: NamedCampaign, sent: models.ActionBody, who: Who, campaigns: AllCampaigns
) -> models.ActionAnswer:
    """Delete a campaign with its whole log. When, by whom and why stays; its name stays taken."""
    name, user = cached.campaign.name, _user_name(who, sent)
    await cached.write(cached.campaign.delete, sent.name or "", user=user, reason=sent.reason)
    campaigns.forget(name)
    note = f"{name} was deleted; its name stays taken."
    return models.ActionAnswer(done=True, repeated=False, note=note, state=None, headline=note)


@actions.post("/{action}")
@needs("operate")
async def act(
    cached: NamedCampaign, action: ActionName, sent: models.ActionBody, who: Who, key: Key = None
) -> models.ActionAnswer:
    """Do one of the operator actions; each takes what its description says, and no more."""
    done = await cached.write(
        cached.campaign.act,
        action,
        user=_user_name(who, sent),
        reason=sent.reason,
        key=key,
        region=sent.region,
        **sent.model_dump(exclude_unset=True, exclude={"reason", "user", "region"}),
    )
    cached.forget_status()
    status = await cached.status()
    return models.ActionAnswer(
        done=True,
        repeated=done.repeated,
        note=done.note,
        state=status.state,
        headline=status.headline,
    )


def _user_name(token: Token, sent: models.ActionBody) -> str:
    return token.name if sent.user is None else f"{sent.user} (token {token.name})"
