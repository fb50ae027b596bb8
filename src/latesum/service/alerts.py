"""Alerts: what people should hear of, noticed from summaries and put into an outbox of the store.

An alert is a change: a campaign's health, a winner, an end. What was last said of each campaign is in the
store, and is changed in the same transaction that puts alerts into the outbox; so of several services
one says it, and none is lost when a service ends in between.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from latesum.campaigns import schema
from latesum.campaigns.store import Store
from latesum.service.summaries import CampaignSummary
from latesum.service.webhooks import Shape, Webhook, webhook_of_row

Event = Literal["health", "winner", "finished", "test"]
_states, _outbox, _webhooks = schema.alert_states, schema.outbox, schema.webhooks
#: Alerts that have ended are kept for this many days.
_KEPT_DAYS = 30
#: Findings about the store and not about a campaign: said once, and not for each.
_OF_ALL = ("store nearly full",)


class Alert(NamedTuple):
    """Something that people should hear of; `code` is that of the finding, if it is one."""

    event: Event
    campaign: str
    level: str
    code: str | None
    text: str


class State(NamedTuple):
    """What alerts are made of: the codes of alarms and warnings, the winner, and whether it is over."""

    alarms: list[str]
    warnings: list[str]
    winner: str | None
    over: bool


def state_of(summary: CampaignSummary) -> State:
    """What is to be said of a campaign now."""
    by_level = {level: [f.code for f in summary.health if f.level == level] for level in _LEVELS}
    over = summary.state in ("finished", "archived")
    return State(sorted(by_level["alarm"]), sorted(by_level["warning"]), summary.winner, over)


_LEVELS = ("alarm", "warning")


def changes(before: State | None, summary: CampaignSummary) -> list[Alert]:
    """The alerts that a campaign's present state makes, after what was last said of it.

    Of a campaign that is seen for the first time only what is wrong is said: it may be over for long.

    Args:
        before: What was last said; None if nothing was.
        summary: The campaign now.
    """
    now, found = state_of(summary), list[Alert]()
    known = State([], [], now.winner, now.over) if before is None else before
    new = [
        finding
        for finding in summary.health
        if finding.level in _LEVELS and finding.code not in (*known.alarms, *known.warnings)
    ]
    for finding in new:
        found.append(Alert("health", summary.name, finding.level, finding.code, finding.sentence))
    was_ill = known.alarms or known.warnings
    if was_ill and not now.alarms and not now.warnings:
        found.append(Alert("health", summary.name, "healthy", None, "All is well again."))
    if now.winner is not None and now.winner != known.winner and not now.over:
        text = f"{now.winner} is the winner."
        found.append(Alert("winner", summary.name, "note", None, text))
    if now.over and not known.over:
        found.append(Alert("finished", summary.name, "note", None, summary.headline))
    return found


class Outbox:
    """The alerts of a store that are to be sent.

    Args:
        store: Where they are kept.
        site: The address of the page, for links in messages; none without.
    """

    def __init__(self, store: Store, site: str | None = None) -> None:
        self._engine = store.engine
        self._site = site
        self._said: dict[str, State] = {}

    def notice(self, ids: dict[str, int], summaries: Sequence[CampaignSummary]) -> int:
        """Put alerts about all that has changed into the outbox; how many there were.

        Args:
            ids: The numbers of the campaigns in the store, by their names.
            summaries: The campaigns now.
        """
        changed = [
            each
            for each in summaries
            if each.name in ids and self._said.get(each.name) != state_of(each)
        ]
        if not changed:
            return 0
        alerts = list[Alert]()
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            for summary in changed:
                alerts += self._notice(connection, ids[summary.name], summary)
            of_all = {each.code: each for each in alerts if each.code in _OF_ALL}
            alerts = [each for each in alerts if each.code not in _OF_ALL] + list(of_all.values())
            webhooks = _living(connection)
            for alert in alerts:
                for webhook in webhooks:
                    self._put(connection, webhook, alert)
            if alerts:
                _forget_old(connection)
            connection.commit()
        self._said |= {each.name: state_of(each) for each in changed}
        return len(alerts)

    def _notice(
        self, connection: Connection, campaign: int, summary: CampaignSummary
    ) -> list[Alert]:
        query = select(_states.c.state).where(_states.c.campaign == campaign).with_for_update()
        row = connection.execute(query).one_or_none()
        before = None if row is None else State(**json.loads(row.state))
        alerts = changes(before, summary)
        state = json.dumps(state_of(summary)._asdict())
        if row is None:
            connection.execute(insert(_states).values(campaign=campaign, state=state))
        elif before != state_of(summary):
            connection.execute(
                update(_states).where(_states.c.campaign == campaign).values(state=state)
            )
        return alerts

    def put_test(self, webhook: Webhook) -> None:
        """Send something to a webhook, to see whether it arrives.

        Args:
            webhook: Where to.
        """
        alert = Alert("test", "", "note", None, "This is a test of latesum's alerts.")
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            self._put(connection, webhook, alert)
            connection.commit()

    def _put(self, connection: Connection, webhook: Webhook, alert: Alert) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        id = secrets.token_hex(16)
        body = message(webhook.shape, id, alert, now, self._site)
        row = {
            "id": id, "webhook": webhook.id, "body": json.dumps(body, ensure_ascii=False),
            "created_at": now, "next_at": now, "attempts": 0, "delivered": 0,
        }  # fmt: skip
        connection.execute(insert(_outbox).values(**row))


def _forget_old(connection: Connection) -> None:
    """Delete what was delivered or given up long ago."""
    edge = datetime.now(UTC) - timedelta(days=_KEPT_DAYS)
    old = _outbox.c.ended_at < edge.isoformat(timespec="microseconds")
    connection.execute(delete(_outbox).where(old))


def _living(connection: Connection) -> list[Webhook]:
    rows = connection.execute(select(_webhooks).where(_webhooks.c.removed_at.is_(None)))
    return [webhook_of_row(row) for row in rows]


def message(shape: Shape, id: str, alert: Alert, at: str, site: str | None) -> dict[str, Any]:
    """What is sent of an alert.

    Args:
        shape: What a message looks like.
        id: The same however often it is sent.
        alert: What is said.
        at: When it was noticed.
        site: The address of the page; no link without.

    >>> message("slack", "1", Alert("winner", "banner", "note", None, "blue & <red>"), "", None)
    {'text': 'banner: blue &amp; &lt;red&gt;'}
    """
    link = None if site is None or not alert.campaign else f"{site}/campaigns/{alert.campaign}"
    text = f"{alert.campaign}: {alert.text}" if alert.campaign else alert.text
    if shape == "slack":
        for plain, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(plain, safe)
        return {"text": text + (f"\n{link}" if link else "")}
    if shape == "teams":
        blocks = [{"type": "TextBlock", "text": text, "wrap": True}]
        if link:
            blocks.append({"type": "TextBlock", "text": link, "wrap": True})
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": blocks,
        }
        kind = "application/vnd.microsoft.card.adaptive"
        return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
    return {"id": id, "at": at, **alert._asdict(), "link": link}
