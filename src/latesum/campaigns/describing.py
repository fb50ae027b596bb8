"""The history: one line of the log, in words."""

from __future__ import annotations

from typing import Any

from latesum._render import counted
from latesum.campaigns.actions import ACTIONS
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.rows import shown_of, shown_text
from latesum.campaigns.state import Event
from latesum.files import FileForm


def describe_event(event: Event, config: CampaignConfig) -> str:
    """What happened, for people."""
    if event.kind == "decision":
        body = event.body
        label = f"{body['label']} {event.region}".rstrip()
        option = config.options[body["option"]]
        reason: str = body["reason"]
        shown = reason if reason.startswith(f"{option} ") else f"{option}. {reason}"
        what = f"decided {label}: {shown}"
    elif event.kind == "record":
        what = _record(event, config)
    else:
        return action_sentence(event, config)
    return f"{event.at:%Y-%m-%d %H:%M} UTC: {what}"


def _record(event: Event, config: CampaignConfig) -> str:
    body = event.body
    assert event.bucket is not None
    said = list[str]()
    if "rounds" in body:
        said.append(counted(body["rounds"], "visitor"))
    if "total" in body:
        said.append(f"total {body['total']:,g}" + (" (negative)" if body["total"] < 0 else ""))
    if "shown" in body:
        said.append(f"shown was {shown_text(shown_of(body['shown']), config.options)}")
    if "status" in body:
        said.append(body["status"])
    buckets = config.buckets
    if "total" in body and buckets.timed and event.at < buckets.end(event.bucket):
        said.append(f"early: the {buckets.every} had not ended")
    by = f", by {body['by']}" if "by" in body else ""
    label = f"{buckets.label(event.bucket)} {event.region}".rstrip()
    why = f": {body['reason']}" if "reason" in body else ""
    return f"recorded {label}: {', '.join(said)} ({body['verdict']}{by}){why}"


def action_sentence(event: Event, config: CampaignConfig) -> str:
    """What an operator did, for people."""
    where = f" in {event.region}" if event.region else ""
    done = f"{event.body['user']} {_past_tense(event, config)}{where}"
    return f"{event.at:%Y-%m-%d %H:%M} UTC: {done}: {event.body['reason']}"


def _past_tense(event: Event, config: CampaignConfig) -> str:
    body = event.body
    if event.kind == "import refused":
        return "sent a file that was refused"
    if event.kind == "file form":
        return f"set how files are read ({FileForm.from_json(body.get('form', {}))})"
    named = "name" in body or "option" not in body
    goes_on = " (the pin went on)" if body.get("pin_goes_on") else ""
    past_tense = ACTIONS[event.kind].past_tense + goes_on
    return past_tense.format(
        option=body.get("name", "") if named else config.options[body["option"]],
        before=body.get("before"),
        buckets=counted(body.get("buckets", 1), "bucket"),
        changes=_changes_text(body["changes"], body["before"]) if event.kind == "change" else "",
    )


def _changes_text(changes: dict[str, Any], before: dict[str, Any]) -> str:
    """What was changed, from what to what; of the parameters only those that differ."""
    said = []
    for name, value in changes.items():
        if name == "parameters":
            for key in {**before[name], **value}:
                old, new = before[name].get(key), value.get(key)
                if old != new:
                    said.append(f"{key} from {_value_text(old)} to {_value_text(new)}")
        else:
            said.append(f"{name} from {_value_text(before[name])} to {_value_text(value)}")
    return ", ".join(said)


def _value_text(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return "none" if value is None else str(value)
