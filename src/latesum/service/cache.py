"""What the service keeps in memory of each campaign, and the threads that work on it.

Nothing here is the truth; that is the log in the store. What is kept can be thrown away at any
moment, and several processes keep something each: it holds as long as the log has the same newest
event and the present bucket has not ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal, TypeVar, get_args

from fastapi import Depends, Path, Request
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as StoreBusy

from latesum._checks import InvalidInput
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import NAME_PATTERN
from latesum.campaigns.store import Store, Stored
from latesum.campaigns.view import Status, unreadable_status
from latesum.errors import UnknownCampaign
from latesum.service.errors import Refused
from latesum.service.jobs import Jobs
from latesum.service.logs import LOGGER, Metrics
from latesum.service.server import Configuration

T = TypeVar("T")
#: How long a status may be shown while nothing is written to the log, in seconds.
MAX_AGE = 60.0
#: How a campaign is, for a list: its worst finding, where notes are nothing to worry about.
Severity = Literal["alarm", "warning", "healthy"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class CachedCampaign:
    """One campaign, opened twice: slow reading must never hold up a decision or a record."""

    def __init__(self, campaigns: CampaignCache, stored: Stored) -> None:
        self.campaigns = campaigns
        self.clock = clock = campaigns.configuration.clock
        self.read, self.write = campaigns.read, campaigns.write
        self.campaign = Campaign(campaigns.store, stored, clock, owns_store=False)
        self.reader = Campaign(campaigns.store, stored, clock, owns_store=False)
        #: One decision at a time: the first request decides, others are answered from the log.
        self.deciding = asyncio.Lock()
        #: The newest status, the event of the log and the bucket for which it holds, and its time.
        self._status: tuple[Status, tuple[int, int], float] | None = None
        self._looking = asyncio.Lock()

    def job(self) -> dict[str, Any]:
        """What a process needs to open the campaign as it is now."""
        url = self.campaigns.store.url.render_as_string(hide_password=False)
        return {"store": url, "campaign": self.campaign.name, "now": self.clock().isoformat()}

    async def status(self, head: int | None = None, *, max_age: float = MAX_AGE) -> Status:
        """What a page shows; requests that come at once share one status.

        To make one takes as long as the campaign has buckets. It is made again when the log has
        another event, when the present bucket ends and, where that matters, after a minute.
        """
        async with self._looking:
            if head is None:
                head = await self.read(self.campaigns.store.head, self.campaign.stored.id)
            key = head, self.campaign.config.buckets.number(self.clock())
            if self._status is not None:
                status, made_for, made_at = self._status
                fresh = made_for == key and time.monotonic() - made_at < max_age
                if fresh or (status.state == "finished" and made_for[0] == head):
                    return status
            status = await self.read(self.reader.status)
            self._status = status, key, time.monotonic()
            return status


class CampaignCache:
    """The campaigns that were asked for since the service started."""

    def __init__(self, store: Store, configuration: Configuration, metrics: Metrics) -> None:
        self.store, self.configuration, self.metrics = store, configuration, metrics
        self.jobs = Jobs()
        self._writers = ThreadPoolExecutor(4, "writer")
        #: For what takes longer, which no decision and no record waits for.
        self._readers = ThreadPoolExecutor(2, "reader")
        self._opened: dict[str, CachedCampaign] = {}
        #: What was last logged of campaigns that cannot be read.
        self._unreadable: dict[str, str] = {}

    async def write(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something quick, away from the loop that answers requests."""
        do = functools.partial(work, *arguments, **more)
        return await asyncio.get_running_loop().run_in_executor(self._writers, do)

    async def read(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that takes longer, such as to look at all buckets."""
        do = functools.partial(work, *arguments, **more)
        return await asyncio.get_running_loop().run_in_executor(self._readers, do)

    def close(self) -> None:
        """Let everything that was begun come to its end."""
        for threads in (self._writers, self._readers, self.jobs.thread):
            threads.shutdown()
        self.store.close()

    async def of(self, name: str) -> CachedCampaign:
        """The campaign of this name."""
        found = self._opened.get(name)
        if found is None:
            stored = await self.write(self.store.find, name)
            found = self._opened.setdefault(name, CachedCampaign(self, stored))
        return found

    def forget(self, name: str) -> None:
        """Open a campaign again next time, because it was deleted."""
        self._opened.pop(name, None)

    async def statuses(self, *, max_age: float = math.inf, pause: float = 0.0) -> list[Status]:
        """The status of every campaign, oldest first."""
        found = []
        for stored in await self.read(self.store.campaigns):
            with contextlib.suppress(UnknownCampaign):  # it was deleted meanwhile
                found.append(await self._status(stored, max_age))
            await asyncio.sleep(pause)
        return found

    async def _status(self, stored: Stored, max_age: float) -> Status:
        """The status of a campaign, also of one that cannot be read."""
        try:
            cached = await self.of(stored.name)
            found = await cached.status(stored.head, max_age=max_age)
        except (DBAPIError, StoreBusy, Refused, UnknownCampaign):
            raise  # the store fails or the service is busy; that is no matter of one campaign
        except Exception as error:
            found = unreadable_status(stored.name, self.configuration.clock(), error)
            if self._unreadable.get(stored.name) != found.headline:
                self._unreadable[stored.name] = found.headline
                LOGGER.error(
                    "campaign cannot be read",
                    exc_info=None if isinstance(error, InvalidInput) else error,
                    extra={"fields": {"campaign": stored.name, "problem": found.headline}},
                )
        else:
            self._unreadable.pop(stored.name, None)
        return found


# What routes ask for; async, because FastAPI would hand anything else over to a thread.


async def _campaigns(request: Request) -> CampaignCache:
    campaigns: CampaignCache = request.app.state.campaigns
    return campaigns


AllCampaigns = Annotated[CampaignCache, Depends(_campaigns)]


async def _campaign(
    request: Request, campaign: Annotated[str, Path(pattern=NAME_PATTERN)]
) -> CachedCampaign:
    """The campaign that is named in the address."""
    campaigns: CampaignCache = request.app.state.campaigns
    return await campaigns.of(campaign)


NamedCampaign = Annotated[CachedCampaign, Depends(_campaign)]


def severity_of(status: Status) -> Severity:
    """How a campaign is, in a word."""
    levels = {each.level for each in status.health}
    return "alarm" if "alarm" in levels else "warning" if "warning" in levels else "healthy"


def select(statuses: Iterable[Status], search: str) -> list[Status]:
    """The campaigns of a list that have a text in their name or an option's: those that run before
    those that are finished, of each the worst first and then the newest first."""
    text = search.strip().casefold()
    found = [
        each
        for each in reversed(list(statuses))
        if any(text in name.casefold() for name in (each.name, *(o.name for o in each.options)))
    ]
    return sorted(
        found, key=lambda each: (each.state == "finished", SEVERITIES.index(severity_of(each)))
    )
