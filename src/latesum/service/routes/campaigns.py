"""Routes: campaigns, the option to show, totals, what is known, and operator actions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import create_model

from latesum._checks import InvalidInput
from latesum._render import plain
from latesum.campaigns.actions import ACTIONS, ActionResult, describe_event
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import NAME_PATTERN, CampaignConfig
from latesum.campaigns.state import Decision
from latesum.errors import UnknownCampaign
from latesum.files import FileForm
from latesum.files.form import SAID
from latesum.service import models
from latesum.service.auth import ScopedRoute, Who, needs
from latesum.service.cache import (
    AllCampaigns,
    CachedCampaign,
    CampaignCache,
    NamedCampaign,
    select,
)
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented, send
from latesum.service.jobs import JSON, is_small, take_totals
from latesum.service.tokens import Token

router = APIRouter(
    prefix="/v1/campaigns",
    route_class=ScopedRoute,
    tags=["campaigns"],
    responses=documented(*ON_ANY_ROUTE),
)
Bucket = Annotated[str, Query(min_length=1, max_length=40, description="A date, time or number.")]


@router.get("", response_model=models.CampaignList)
@needs("read", long=True)
async def list_campaigns(
    campaigns: AllCampaigns,
    search: Annotated[
        str, Query(max_length=100, description="A part of the name or of an option's name.")
    ] = "",
) -> Response:
    """The campaigns, those with alarms first, then those with warnings, the newest first; finished
    ones are last."""
    found = select(await campaigns.statuses(), search)
    lines = [
        {name: getattr(each, name) for name in models.LINE}
        | {"options": [option.name for option in each.options]}
        for each in found
    ]
    return send({"campaigns": lines})


@router.put("/{campaign}", responses={201: {"model": models.CampaignAnswer}, **documented(409)})
@needs("operate", file=True)
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
    stored, state = cached.campaign.stored, await cached.read(cached.reader.state)
    config = state.config
    return models.CampaignAnswer(
        name=stored.name,
        created_at=stored.created_at,
        config=plain(config.to_json()),
        note=config.note,
    )


@router.get(
    "/{campaign}/option", response_model=models.OptionAnswer, responses=documented(404, 409)
)
@needs("read")
async def option(
    cached: NamedCampaign,
    who: Who,
    bucket: Bucket | None = None,
    region: models.RegionQuery | None = None,
) -> Response:
    """The option to show now, or in a bucket; asked again, the answer is the same.

    It may be kept until the bucket ends (Cache-Control). To decide a bucket that has not begun
    takes the scope operate.
    """
    name = cached.campaign.config.region(region)
    async with cached.deciding:
        found = await cached.write(_decide, cached, bucket, ahead=who.may("operate"))
    return send(_sent(cached, found[name]), 200, **_kept(cached, found[name]))


@router.get(
    "/{campaign}/options", response_model=models.OptionsAnswer, responses=documented(404, 409)
)
@needs("read")
async def options(cached: NamedCampaign, who: Who, bucket: Bucket | None = None) -> Response:
    """The option to show in every region, now or in a bucket; the answer stays the same."""
    async with cached.deciding:
        found = await cached.write(_decide, cached, bucket, ahead=who.may("operate"))
    answers = [_sent(cached, each) for each in found.values()]
    named = {name: answers[0][name] for name in ("campaign", "bucket", "label")}
    kept = _kept(cached, next(iter(found.values())))
    return send({**named, "options": answers}, 200, **kept)


def _decide(cached: CachedCampaign, bucket: str | None, *, ahead: bool) -> Mapping[str, Decision]:
    """The option in every region; unless `ahead`, a bucket that has not begun is not decided."""
    if bucket is not None and not ahead:
        state = cached.campaign.state()
        buckets = state.config.buckets
        asked = buckets.number(bucket)
        # Before it begins not all is known that will be known then.
        if asked > buckets.number(cached.clock()) and asked not in state.decisions:
            raise Refused(
                403, f"{buckets.label(asked)} has not begun; to decide it takes the scope operate."
            )
    return cached.campaign.decide_all(bucket)


def _sent(cached: CachedCampaign, decision: Decision) -> dict[str, Any]:
    """A decision as it is sent."""
    buckets = cached.campaign.config.buckets
    return {
        "campaign": cached.campaign.name,
        **{name: getattr(decision, name) for name in models.DECIDED},
        **({"region": decision.region} if decision.region else {}),
        "decided_at": decision.at,
        "begins": buckets.begin(decision.bucket),
        "ends": buckets.end(decision.bucket),
    }


def _kept(cached: CachedCampaign, decision: Decision) -> dict[str, str]:
    """For how long an answer may be kept."""
    ends = cached.campaign.config.buckets.end(decision.bucket)
    left = int((ends - cached.clock()).total_seconds())
    age = f"private, max-age={left}" if left > 0 else "private, no-cache"
    return {"cache_control": age, "vary": "Authorization, Cookie"}


@router.get("/{campaign}/status", response_model=models.StatusAnswer, responses=documented(404))
@needs("read", long=True)
async def status(cached: NamedCampaign) -> Response:
    """Everything that the page shows: what runs and why, the timeline, the options, its health."""
    found = await cached.status()
    # A year of hours is a megabyte: to write it down would hold up the loop that answers requests.
    return send(await cached.read(lambda: json.dumps(found.to_json(), ensure_ascii=False)))


_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@router.get(
    "/{campaign}/buckets",
    response_class=Response,
    responses={
        200: {"description": "The table.", "content": {kind: {} for kind in _KINDS.values()}},
        **documented(404),
    },
)
@needs("read", long=True)
async def buckets(
    cached: NamedCampaign,
    kind: Annotated[
        Literal["csv", "json", "parquet"], Query(alias="format", description="How it is written.")
    ] = "csv",
) -> Response:
    """All buckets as a table for other tools, which can be sent as totals again."""
    content = await cached.read(lambda: cached.reader.table().to_bytes(kind))
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
    config = (await cached.read(cached.reader.state)).config
    shown = [
        {**event._asdict(), "sentence": describe_event(event, config)} for event in events[:limit]
    ]
    return send({"events": shown, "more": len(events) > limit})


@router.get(
    "/{campaign}/explanation", response_model=models.ExplanationAnswer, responses=documented(404)
)
@needs("read", long=True)
async def explanation(
    cached: NamedCampaign, bucket: Bucket | None = None, region: models.RegionQuery | None = None
) -> Response:
    """Why the policy does what it does: now, or when it decided on a bucket."""
    explain = cached.reader.explain
    return send({"sentences": await cached.read(explain, bucket, region=region)})


BucketPath = Annotated[str, Path(max_length=40, description="A date, time or number.")]
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"
FILES = ("text/csv", EXCEL, PARQUET)


@router.put(
    "/{campaign}/buckets/{bucket}",
    response_model=models.RecordAnswer,
    responses=documented(404, 409),
)
@needs("record")
async def record(
    bucket: BucketPath,
    record: models.Record,
    cached: NamedCampaign,
    who: Who,
    region: models.RegionQuery | None = None,
) -> Response:
    """Set the rounds and the total of a bucket; sent twice it changes nothing."""
    result = await cached.write(
        cached.campaign.record, bucket, by=who.name, region=region, **record.model_dump()
    )
    return send(result)


def file_body(example: str, **more: Any) -> dict[str, Any]:
    """The description of a body that is a file."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    text = {"schema": {"type": "string"}, "example": example}
    content = {**more, "text/csv": text, EXCEL: binary, PARQUET: binary}
    return {"requestBody": {"required": True, "content": content}}


_said: dict[str, Any] = {
    name: (kind | None, Query(None, description=help, max_length=2000 if kind is str else None))
    for name, (kind, help) in SAID.items()
}
Said: Any = create_model("FileForm", **_said)


async def file_form(said: Annotated[Said, Query()]) -> FileForm | None:
    """How a file is written; if nothing is said, as the campaign's last file."""
    return FileForm.read(**said.model_dump())


Form = Annotated[FileForm | None, Depends(file_form)]


async def read_body(request: Request, *kinds: str) -> tuple[str, bytes]:
    """The kind of a body, and the body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Refused(415, f"send the body as {', '.join(kinds[:-1])} or {kinds[-1]}.")
    return kind, await request.body()


@router.post(
    "/{campaign}/totals",
    response_model=models.BulkAnswer,
    openapi_extra=file_body(
        "bucket,rounds,total\n2026-03-01,5000,1512\n",
        **{JSON: {"schema": models.rows_schema("Many rows at once: all are taken in, or none.")}},
    ),
    responses={
        409: {
            "model": models.RefusedRows,
            "description": "Rows are in the way; none was written.",
        },
        **documented(404, 415),
    },
)
@needs("record", long=True, file=True)
async def upload(
    request: Request,
    cached: NamedCampaign,
    who: Who,
    form: Form,
    dry_run: Annotated[bool, Query(description="Only say what would happen.")] = False,
    skip_unknown: Annotated[bool, Query(description="Leave out unknown buckets.")] = False,
    overwrite_final: Annotated[bool, Query(description="Correct final values.")] = False,
    allow_out_of_range: Annotated[
        bool, Query(description="Totals out of range are right.")
    ] = False,
) -> Response:
    """Set many buckets, all or none, with a verdict for each row: a file, or rows in JSON.

    Totals are set and not added, so that an upload may safely be repeated. A file is CSV, Excel
    (.xlsx) or Parquet and has at most 10,000 rows and 100 columns; how it is written is remembered
    with the campaign.
    """
    kind, body = await read_body(request, JSON, *FILES)
    if kind == JSON and form is not None:
        raise Refused(422, "how a file is written is said, and this is no file; leave it out.")
    how = {
        "by": who.name,
        "dry_run": dry_run,
        "skip_unknown": skip_unknown,
        "overwrite_final": overwrite_final,
        "allow_out_of_range": allow_out_of_range,
    }
    jobs = cached.campaigns.jobs
    if is_small(body):
        return await jobs.in_thread(take_totals, cached.campaign, body, kind == JSON, form, how)
    job = {"is_json": kind == JSON, "form": form and form.to_json(), "how": how}
    return await jobs.run("totals", {**cached.job(), **job}, body, owner=who.id)


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


@actions.post("/delete", response_model=models.ActionAnswer)
@needs("operate")
async def delete(
    cached: NamedCampaign, sent: models.ActionBody, who: Who, campaigns: AllCampaigns
) -> Response:
    """Delete a campaign with its whole log. When, by whom and why stays; its name stays taken."""
    name, user = cached.campaign.name, _user_name(who, sent)
    await cached.write(cached.campaign.delete, sent.name or "", user=user, reason=sent.reason)
    campaigns.forget(name)
    note = f"{name} was deleted; its name stays taken."
    done = ActionResult("delete", None, repeated=False, note=note)
    return send({**done._asdict(), "state": None, "headline": note})


@actions.post("/{action}", response_model=models.ActionAnswer)
@needs("operate")
async def act(
    cached: NamedCampaign, action: ActionName, sent: models.ActionBody, who: Who, key: Key = None
) -> Response:
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
    status = await cached.status()
    return send({**done._asdict(), "state": status.state, "headline": status.headline})


def _user_name(token: Token, sent: models.ActionBody) -> str:
    return token.name if sent.user is None else f"{sent.user} (token {token.name})"
