"""Campaigns as files, and replayed to see that nothing has changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from latesum._checks import InvalidInput
from latesum.campaigns.config import NAME_PATTERN, CampaignConfig
from latesum.campaigns.deciding import Replay, carry, decide
from latesum.campaigns.state import CampaignState, Decision, Event, decision_of, fold
from latesum.campaigns.store import Store

_VERSION = 1


def export_campaigns(store: Store, name: str | None = None) -> dict[str, Any]:
    """A campaign with its whole log, or all of a store, as plain values."""
    return {
        "latesum_campaigns": _VERSION,
        "campaigns": [
            {
                "created_at": each.created_at.isoformat(),
                "config": store.config(each.id),
                "log": [[event.at.isoformat(), *event[2:]] for event in store.log(each.id)],
            }
            for each in (store.campaigns() if name is None else [store.find(name)])
        ],
    }


def read_export(text: str) -> list[dict[str, Any]]:
    """The campaigns in what was exported."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"the file is not JSON: {error}.") from None
    whole = found if isinstance(found, dict) else {}
    keys = {"created_at", "config", "log"}
    campaigns: Any = whole.get("campaigns")
    known = whole.get("latesum_campaigns") == _VERSION and isinstance(campaigns, list)
    if not known or not all(isinstance(each, dict) and keys <= each.keys() for each in campaigns):
        raise InvalidInput(
            "this is not an export of a version that this latesum reads; `latesum campaign "
            "export` makes one."
        )
    exported: list[dict[str, Any]] = campaigns
    return exported


def exported_log(exported: dict[str, Any]) -> list[Event]:
    """The log of a campaign that was exported."""
    return [
        Event(sequence, datetime.fromisoformat(at), *rest)
        for sequence, (at, *rest) in enumerate(exported["log"], start=1)
    ]


def restore_campaigns(
    store: Store, exported: list[dict[str, Any]], name: str | None = None
) -> list[str]:
    """Make campaigns from exports, one maybe under another name; none if a name is taken or a log
    cannot be read.
    """
    if name is not None and len(exported) != 1:
        raise InvalidInput(f"the file has {len(exported)} campaigns, so leave --name out.")
    restored = list[tuple[str, dict[str, Any], datetime, list[Event]]]()
    for each in exported:
        try:
            config = {**each["config"], "name": name or each["config"]["name"]}
            events, created = exported_log(each), datetime.fromisoformat(each["created_at"])
            fold(CampaignConfig.from_json(config), events)
        except InvalidInput:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
            raise InvalidInput(
                "the file is damaged, and nothing was restored "
                f"({type(error).__name__}: {error}); export it again."
            ) from None
        if not re.fullmatch(NAME_PATTERN, str(config["name"])):
            raise InvalidInput(
                f"a campaign cannot be called {config['name']!r}: use letters, digits, dots, "
                "dashes and underscores."
            )
        restored.append((config["name"], config, created, events))
    names = [each[0] for each in restored]
    taken = sorted({each.name for each in store.campaigns()}.intersection(names))
    if taken:
        raise InvalidInput(
            "there are campaigns of these names already, and nothing was restored: "
            f"{', '.join(taken)}."
        )
    for given in restored:
        store.create(*given)
    return names


def replay_log(config: CampaignConfig, events: Iterable[Event]) -> list[tuple[Decision, Decision]]:
    """Take every decision of a log again, from what was known then.

    Those that come out otherwise, each as it was taken and as it would be now. Each is taken by the
    configuration of its own time; `config` is that of the beginning.
    """
    state, replay = CampaignState(config), Replay()
    found: list[tuple[Decision, Decision]] = []
    choices: dict[str, Decision] = {}
    together: int | None = None  # all regions are decided together, and written one by one
    for event in events:
        source = event.body["source"] if event.kind == "decision" else "reported"
        if source not in ("reported", "finished"):  # these were seen, not decided
            taken = decision_of(event, state.config.options)
            if source == "carried":
                choices = {event.region: carry(state.parts[event.region], taken.bucket, event.at)}
            elif together != taken.bucket:
                choices = decide(state, taken.bucket, event.at, replay)
            now = choices[event.region]
            if _substance(taken) != _substance(now):
                found.append((taken, now))
        together = event.bucket if source not in ("reported", "finished", "carried") else None
        state.apply(event)
    return found


def _substance(decision: Decision) -> tuple[object, ...]:
    return decision.arm, decision.purpose, decision.source, decision.number
