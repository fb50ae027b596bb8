"""Routes: campaigns, the option to show, totals, what is known, and operator actions."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import create_model

from latesum._checks import InvalidInput
from latesum._render import plain
from latesum.campaigns.actions import ACTIONS, ActionResult, describe_event
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import NAME_PATTERN, CampaignConfig
from latesum.campaigns.view import CampaignStatus
from latesum.errors import UnknownCampaign
from latesum.files import FileForm
from latesum.files.form import SAID
from latesum.service import models
from latesum.service.cache import CachedCampaign, CampaignCache, Severity, select
from latesum.service.errors import ON_ANY_ROUTE, Refused, documented, send
from latesum.service.jobs import JSON, is_small, take_totals
from latesum.service.routing import AllCampaigns, NamedCampaign, ScopedRoute, Who, needs
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
    state: Annotated[CampaignStatus | None, Query(description="How the campaign is.")] = None,
    health: Annotated[Severity | None, Query(description="The worst of its findings.")] = None,
    offset: Annotated[int, Query(ge=0, le=10**6)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> Response:
    """The campaigns, those with alarms first, then those with warnings, the newest first; finished
    ones are last."""
    found = select(await campaigns.statuses(), search, state, health)
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
    answers = await cached.options(bucket, ahead=who.may("operate"))
    answer = next(each for each in answers if each.get("region", "") == name)
    return send(answer, 200, **_kept(cached, answer))


@router.get(
    "/{campaign}/options", response_model=models.OptionsAnswer, responses=documented(404, 409)
)
@needs("read")
async def options(cached: NamedCampaign, who: Who, bucket: Bucket | None = None) -> Response:
    """The option to show in every region, now or in a bucket; the answer stays the same."""
    answers = await cached.options(bucket, ahead=who.may("operate"))
    named = {name: answers[0][name] for name in ("campaign", "bucket", "label")}
    return send({**named, "options": answers}, 200, **_kept(cached, answers[0]))


def _kept(cached: CachedCampaign, answer: dict[str, Any]) -> dict[str, str]:
    """For how long an answer may be kept."""
    left = int((answer["ends"] - cached.clock()).total_seconds())
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
    cached.campaigns.metrics.records.labels(result.verdict).inc()
    cached.forget_status()
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
@needs("record", long=True)
async def upload(
    request: Request,
    cached: NamedCampaign,
    who: Who,
    form: Form,
    dry_run: Annotated[bool, Query(description="Only say what would happen.")] = False,
    only_this_file: Annotated[bool, Query(description="Read the next files as before.")] = False,
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
    if kind != JSON:
        how["remember"] = not only_this_file
    campaign, workers = cached.campaign, cached.campaigns.workers
    try:
        if is_small(body):
            given = (campaign, body, kind == JSON, form, how)
            return await workers.run(workers.uploads, take_totals, *given)
        job = {
            "store": cached.campaigns.store.url.render_as_string(hide_password=False),
            "campaign": campaign.name,
            "now": cached.clock().isoformat(),
            "is_json": kind == JSON,
            "form": None if form is None else form.to_json(),
            "how": how,
        }
        return await cached.campaigns.jobs.run("totals", job, body, owner=who.id)
    finally:
        cached.forget_status()


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
    cached.forget_status()
    status = await cached.status()
    return send({**done._asdict(), "state": status.state, "headline": status.headline})


def _user_name(token: Token, sent: models.ActionBody) -> str:
    return token.name if sent.user is None else f"{sent.user} (token {token.name})"
