"""One line of the log, in words."""

from __future__ import annotations

from latesum._sentences import Sentence, joined, sentence
from latesum.campaigns.before import shown_text
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.events import Event
from latesum.campaigns.reasons import reason_of
from latesum.campaigns.state import shown_of
from latesum.campaigns.status import action_sentence


def describe_event(event: Event, settings: CampaignConfig) -> str:
    """What happened, for people."""
    if event.kind == "decision":
        body = event.body
        label = f"{body['label']} {event.region}".rstrip()
        option, reason = settings.options[body["option"]], reason_of(body)
        what: str
        if isinstance(reason, Sentence) and reason.fields.get("option") == option:
            what = sentence(
                "decided {label}: {option}. {option} for {span}, {why}.", kind="decided for",
                label=label, option=option, span=reason.fields["span"], why=reason.fields["why"],
            )  # fmt: skip
        else:
            what = sentence(
                "decided {label}: {option}. {reason}", label=label, option=option, reason=reason
            )
    elif event.kind == "record":
        what = _record(event, settings)
    else:
        return action_sentence(event, settings)
    return sentence("{at:%Y-%m-%d %H:%M} UTC: {what}", at=event.at, what=what)


def _record(event: Event, settings: CampaignConfig) -> str:
    body = event.body
    assert event.bucket is not None
    said = list[str]()
    if "rounds" in body:
        said.append(sentence("{rounds:visitors}", rounds=body["rounds"]))
    if "total" in body:
        said.append(f"total {body['total']:,g}" + (" (negative)" if body["total"] < 0 else ""))
    if "shown" in body:
        said.append(f"shown was {shown_text(shown_of(body['shown']), settings.options)}")
    if "status" in body:
        said.append(body["status"])
    buckets = settings.buckets
    if "total" in body and buckets.timed and event.at < buckets.end(event.bucket):
        said.append("early: the bucket had not ended")
    by = f", by {body['by']}" if "by" in body else ""
    label = f"{buckets.label(event.bucket)} {event.region}".rstrip()
    return sentence(
        "recorded {label}: {said} ({verdict}{by})",
        label=label, said=joined(said, ", "), verdict=body["verdict"], by=by,
    )  # fmt: skip
