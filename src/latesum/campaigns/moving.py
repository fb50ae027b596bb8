"""Campaigns as files, from store to store, and replayed to see that nothing has changed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import Replay, carry, decide
from latesum.campaigns.state import CampaignState, Decision, Event, decision_of
from latesum.campaigns.store import Store, Stored
from latesum.errors import UnknownCampaign

EXPORT_VERSION = 1


class Mismatch(NamedTuple):
    """A decision in the log that this version would have taken otherwise."""

    bucket: int
    label: str
    decided: str
    now: str


def export_campaign(store: Store, name: str) -> dict[str, Any]:
    """A campaign and its whole log, as plain values."""
    stored = store.find(name)
    return {
        "latesum_campaign": EXPORT_VERSION,
        "created_at": stored.created_at.isoformat(),
        "config": stored.config,
        "log": [
            [
                event.sequence,
                event.at.isoformat(),
                event.kind,
                event.bucket,
                event.body,
                *([event.region] if event.region else []),
            ]
            for event in store.log(stored.id)
        ],
    }


def export_all(store: Store) -> dict[str, Any]:
    """All campaigns of a store with their logs, as plain values; those that were moved are only
    named."""
    found = store.campaigns()
    return {
        "latesum_campaigns": EXPORT_VERSION,
        "campaigns": [export_campaign(store, each.name) for each in found if not each.moved_to],
        "moved": {each.name: each.moved_to for each in found if each.moved_to},
    }


def exported_campaigns(exported: dict[str, Any]) -> list[dict[str, Any]]:
    """The campaigns in what `export_campaign` or `export_all` wrote."""
    if "latesum_campaigns" not in exported:
        return [exported]
    campaigns = exported.get("campaigns")
    if exported["latesum_campaigns"] != EXPORT_VERSION or not isinstance(campaigns, list):
        raise InvalidInput("these are campaigns of a version that this latesum does not read.")
    return campaigns


def restore_all(store: Store, exported: list[dict[str, Any]], name: str | None = None) -> list[str]:
    """Make campaigns from exports; none if one of the names is taken. Returns their names."""
    if name is not None and len(exported) != 1:
        raise InvalidInput(f"the file has {len(exported)} campaigns, so leave --name out.")
    for each in exported:
        check_export(each)
    names = [name or each["config"]["name"] for each in exported]
    taken = sorted({each.name for each in store.campaigns()}.intersection(names))
    if taken:
        raise InvalidInput(
            "there are campaigns of these names already, and nothing was restored: "
            f"{', '.join(taken)}."
        )
    for each, wanted in zip(exported, names, strict=True):
        restore_campaign(store, each, wanted)
    return names


def check_export(exported: Any) -> None:
    """Refuse what is no exported campaign."""
    if not isinstance(exported, dict) or exported.get("latesum_campaign") != EXPORT_VERSION:
        raise InvalidInput(
            "this is not an exported campaign of a version that this latesum reads; "
            "`latesum campaign export` makes one."
        )


def restore_campaign(store: Store, exported: dict[str, Any], name: str | None = None) -> None:
    """Make a campaign from an export, under its own or another name."""
    check_export(exported)
    config = {**exported["config"], "name": name or exported["config"]["name"]}
    created = datetime.fromisoformat(exported["created_at"])
    store.create(config["name"], config, created, exported_log(exported))


def exported_log(exported: dict[str, Any]) -> list[Event]:
    """The log of an export."""
    return [
        Event(sequence, datetime.fromisoformat(at), kind, bucket, *rest)
        for sequence, at, kind, bucket, *rest in exported["log"]
    ]


def move_campaign(source: Store, target: Store, name: str) -> int:
    """Move a campaign to another store; the number of events that it has there.

    The source is locked while the log is copied and refuses writes afterwards. If the machine dies
    in between, the source is still whole: move again, and what is there already is not repeated.
    """
    stored = source.find(name)
    if source.url == target.url:
        raise InvalidInput("the campaign is in that store already.")
    with source.writing(stored.id) as leaving:
        events = leaving.log()
        there = _find_or_create(target, stored)
        with target.writing(there.id) as arriving:
            already = arriving.log()
            if there.config != stored.config or already != events[: len(already)]:
                raise InvalidInput(
                    f"{target.place} has another campaign {name!r}; nothing was moved."
                )
            for event in events[len(already) :]:
                arriving.append(event.at, event.kind, event.bucket, event.body, event.region)
        if target.log(there.id) != events:
            raise InvalidInput(f"the copy in {target.place} differs; nothing was removed.")
        leaving.move_away(target.place)
    return len(events)


def _find_or_create(target: Store, stored: Stored) -> Stored:
    try:
        return target.find(stored.name)
    except UnknownCampaign:
        return target.create(stored.name, stored.config, stored.created_at)


def replay_log(config: CampaignConfig, events: list[Event]) -> list[Mismatch]:
    """Take every decision of a log again, from what was known then; those that come out otherwise.

    Each is taken by the config by which it was taken; `config` are
    those of the beginning.
    """
    state = CampaignState(config)
    replay = Replay()
    found = []
    choices: dict[str, Decision] = {}
    together: int | None = None  # all regions are decided together, and written one by one
    for event in events:
        if event.kind != "decision" or event.body["source"] in ("reported", "finished"):
            together = None  # what was seen, not decided
        else:
            assert event.bucket is not None
            if event.body["source"] == "carried":
                together = None
                choice = carry(state.parts[event.region], event.bucket, event.at)
            else:
                if together != event.bucket:
                    choices = decide(state, event.bucket, event.at, replay)
                together = event.bucket
                choice = choices[event.region]
            decided = decision_of(event, state.config.options)
            then = decided.arm, decided.purpose, decided.source, decided.number
            if (choice.arm, choice.purpose, choice.source, choice.number) != then:
                found.append(
                    Mismatch(
                        event.bucket,
                        f"{event.body['label']} {event.region}".rstrip(),
                        f"{decided.option} ({decided.purpose})",
                        f"{state.config.options[choice.arm]} ({choice.purpose})",
                    )
                )
        state.apply(event)
    return found


def read_export(text: str) -> dict[str, Any]:
    """An export from its text."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"the file is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise InvalidInput("the file is not an exported campaign.")
    return found
