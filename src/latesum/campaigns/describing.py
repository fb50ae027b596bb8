"""One line of the log, in words."""

from __future__ import annotations

from latesum._render import counted
from latesum.campaigns.before import shown_text
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.events import Event
from latesum.campaigns.state import shown_of
from latesum.campaigns.status import action_sentence


def describe_event(event: Event, settings: CampaignConfig) -> str:
    """What happened, for people."""
    if event.kind == "decision":
        body = event.body
        label = f"{body['label']} {event.region}".rstrip()
        option = settings.options[body["option"]]
        reason: str = body["reason"]
        shown = reason if reason.startswith(f"{option} ") else f"{option}. {reason}"
        what = f"decided {label}: {shown}"
    elif event.kind == "record":
        what = _record(event, settings)
    else:
        return action_sentence(event, settings)
    return f"{event.at:%Y-%m-%d %H:%M} UTC: {what}"


def _record(event: Event, settings: CampaignConfig) -> str:
    body = event.body
    assert event.bucket is not None
    said = list[str]()
    if "rounds" in body:
        said.append(counted(body["rounds"], "visitor"))
    if "total" in body:
        said.append(f"total {body['total']:,g}" + (" (negative)" if body["total"] < 0 else ""))
    if "shown" in body:
        said.append(f"shown was {shown_text(shown_of(body['shown']), settings.options)}")
    if "status" in body:
        said.append(body["status"])
    buckets = settings.buckets
    if "total" in body and buckets.timed and event.at < buckets.end(event.bucket):
        said.append(f"early: the {buckets.every} had not ended")
    by = f", by {body['by']}" if "by" in body else ""
    label = f"{buckets.label(event.bucket)} {event.region}".rstrip()
    return f"recorded {label}: {', '.join(said)} ({body['verdict']}{by})"
