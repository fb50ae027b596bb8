"""Looking after all campaigns from time to time: lists are ready, and webhooks hear of changes.

Health changes with time alone: a day without a total is a finding that no request brings about.
What was last delivered of each campaign is kept with the webhook; while that differs from how a
campaign is, it is sent again. So nothing is lost when a receiver is down or a service ends,
and nothing is queued.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy.exc import DBAPIError, TimeoutError

from latesum.campaigns.view import Status, plain
from latesum.service.cache import CampaignCache, severity_of
from latesum.service.errors import Refused
from latesum.service.logs import LOGGER
from latesum.service.webhooks import Poster, Webhook, Webhooks

#: Seconds between two campaigns: those who wait for an answer come first.
_PAUSE = 0.02
#: A finding about the store and not about a campaign: said of the first campaign only.
_OF_STORE = "store nearly full"


class Delivered(NamedTuple):
    """What is delivered to a webhook: the codes of the findings, the winner, whether it is over."""

    findings: list[str]
    winner: str | None
    over: bool


def present(status: Status) -> Delivered:
    """What is to be delivered of a campaign now."""
    codes = sorted(each.code for each in status.health if each.level in ("alarm", "warning"))
    return Delivered(codes, status.winner, status.state in ("finished", "archived"))


def message(before: Delivered | None, status: Status, site: str | None) -> dict[str, Any] | None:
    """What is sent of a campaign after what was last delivered; None if there is nothing to say.

    The first time only what is wrong is said: the campaign may be over for long.
    """
    now = present(status)
    known = Delivered([], now.winner, now.over) if before is None else before
    codes = set(now.findings) - set(known.findings)
    new = [each for each in status.health if each.code in codes]
    said = [each.sentence for each in new]
    if known.findings and not now.findings:
        said.append("All is well again.")
    if now.over and not known.over:
        said.append(status.headline)
    elif now.winner is not None and now.winner != known.winner:
        said.append(f"{now.winner} is the winner.")
    if not said:
        return None
    return {
        "campaign": status.name,
        "state": status.state,
        "health": severity_of(status),
        "winner": status.winner,
        "new": plain(new),
        "text": " ".join(said),
        "link": None if site is None else f"{site}/campaigns/{status.name}",
    }


class Monitor:
    """Makes the statuses of all campaigns again and again, and tells webhooks of changes."""

    def __init__(
        self, campaigns: CampaignCache, webhooks: Webhooks, poster: Poster, thread: Executor
    ) -> None:
        self._campaigns, self._webhooks = campaigns, webhooks
        self._poster, self._thread = poster, thread

    async def watch(self) -> None:
        """Look after every campaign, and tell every webhook what has changed, until canceled."""
        while True:
            try:
                statuses = await self._campaigns.statuses(of_any_age=False, pause=_PAUSE)
                if not self._campaigns.store.read_only:
                    await self.tell(statuses)
            except (DBAPIError, TimeoutError, Refused) as error:
                # The store fails or the service is busy; those who ask for something hear of it.
                LOGGER.debug("campaigns cannot be looked after just now", exc_info=error)
            except Exception as error:
                LOGGER.error("campaigns cannot be looked after", exc_info=error)
            await asyncio.sleep(self._campaigns.configuration.watch_every)

    async def tell(self, statuses: Sequence[Status]) -> None:
        """Tell every webhook what has changed since it last took a message."""
        loop = asyncio.get_running_loop()
        webhooks = await loop.run_in_executor(self._thread, self._webhooks.all)
        others = [
            replace(each, health=[finding for finding in each.health if finding.code != _OF_STORE])
            for each in statuses[1:]
        ]
        shown = [*statuses[:1], *others]
        await asyncio.gather(*(self._tell(webhook, shown) for webhook in webhooks))

    async def _tell(self, webhook: Webhook, statuses: Sequence[Status]) -> None:
        before = {name: Delivered(*each) for name, each in json.loads(webhook.delivered).items()}
        delivered = {each.name: before[each.name] for each in statuses if each.name in before}
        for status in statuses:
            last, now = before.get(status.name), present(status)
            body = message(last, status, self._campaigns.configuration.site)
            if last != now and body is not None:
                # The id is the same when a message is sent again.
                which = json.dumps([webhook.id, webhook.delivered, body], sort_keys=True)
                id = hashlib.sha256(which.encode()).hexdigest()[:32]
                at = datetime.now(UTC).isoformat(timespec="seconds")
                if await self._poster.post(webhook, {"id": id, "at": at, **body}) is not None:
                    break  # the receiver is down: what is left is delivered next time
            delivered[status.name] = now
        if delivered != before:
            loop, keep = asyncio.get_running_loop(), self._webhooks.keep_delivered
            await loop.run_in_executor(self._thread, keep, webhook, json.dumps(delivered))
