"""One line of the log, in words."""

from __future__ import annotations

from latesum.live.entries import Entry
from latesum.live.ledger import shown_of
from latesum.live.settings import Settings
from latesum.live.status import act_sentence, shown_text


def describe_entry(entry: Entry, settings: Settings) -> str:
    """What happened, for people."""
    if entry.kind == "decision":
        body = entry.body
        label = f"{body['label']} {entry.region}".rstrip()
        what = f"decided {label}: {settings.options[body['option']]}. {body['reason']}"
        if "rules_before" in body:
            what += (
                f" (From here on the log is read by version {body['rules']} of the rules, not "
                f"{body['rules_before']}; decisions before it stand.)"
            )
    elif entry.kind == "record":
        what = _record(entry, settings)
    else:
        return act_sentence(entry, settings)
    return f"{entry.at:%Y-%m-%d %H:%M} UTC: {what}"


def _record(entry: Entry, settings: Settings) -> str:
    body = entry.body
    assert entry.bucket is not None
    said = []
    if "rounds" in body:
        said.append(f"{body['rounds']:,} rounds")
    if "total" in body:
        said.append(f"total {body['total']:,g}" + (" (negative)" if body["total"] < 0 else ""))
    if "shown" in body:
        said.append(f"shown was {shown_text(shown_of(body['shown']), settings)}")
    if "status" in body:
        said.append(body["status"])
    buckets = settings.buckets
    if "total" in body and buckets.timed and entry.at < buckets.end(entry.bucket):
        said.append("early: the bucket had not ended")
    by = f", by {body['by']}" if "by" in body else ""
    label = f"{buckets.label(entry.bucket)} {entry.region}".rstrip()
    return f"recorded {label}: {', '.join(said)} ({body['verdict']}{by})"
