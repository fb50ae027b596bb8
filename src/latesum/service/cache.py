"""What the service keeps in memory of each campaign, and the threads that work on it.

Nothing here is the truth; that is the log in the store. What is kept can be thrown away at any
moment, and several processes keep something each: it holds as long as the log has the same newest
event and the present bucket has not ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar, get_args

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as StoreBusy

from latesum._checks import InvalidInput
from latesum.campaigns.buckets import When
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.state import Decision
from latesum.campaigns.store import Store, Stored
from latesum.campaigns.view import CampaignStatus, Status, unreadable_status
from latesum.errors import UnknownCampaign
from latesum.service.configuration import Configuration
from latesum.service.errors import Refused
from latesum.service.jobs import Jobs
from latesum.service.logs import LOGGER, Metrics

T = TypeVar("T")
#: How long a status may be shown while nothing is written to the log, in seconds.
_MAX_AGE = 60.0
#: How a campaign is, for a list: its worst finding, where notes are nothing to worry about.
Severity = Literal["alarm", "warning", "healthy"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
#: What is sent of a decision, beside its region and time.
_FIELDS = ("bucket", "label", "option", "purpose", "number", "source", "rounds", "reason")


class Workers:
    """Threads for what would hold up the loop that answers requests."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.writers = ThreadPoolExecutor(4, "writer")
        self.readers = ThreadPoolExecutor(2, "reader")
        self.uploads = ThreadPoolExecutor(1, "upload")
        #: For what no one waits for.
        self.background = ThreadPoolExecutor(2, "background")
        #: For who holds a token: no request waits for another one's status to be let in.
        self.tokens = ThreadPoolExecutor(1, "tokens")

    async def run(
        self, threads: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any, **more: Any
    ) -> T:
        """Do it in a thread, away from the loop that answers requests."""
        do = functools.partial(work, *arguments, **more)
        return await asyncio.get_running_loop().run_in_executor(threads, do)

    async def write(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that may write."""
        return await self.run(self.writers, work, *arguments, **more)

    async def read(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that only reads."""
        return await self.run(self.readers, work, *arguments, **more)

    def close(self) -> None:
        """Let everything that was begun come to its end."""
        for each in (self.writers, self.readers, self.uploads, self.background, self.tokens):
            each.shutdown(wait=True)


class CachedCampaign:
    """One campaign, opened twice: slow reading must never hold up a decision or a record."""

    def __init__(self, campaigns: CampaignCache, stored: Stored) -> None:
        self.campaigns = campaigns
        self.clock = clock = campaigns.configuration.clock
        self.read, self.write = campaigns.read, campaigns.write
        self.campaign = Campaign(campaigns.store, stored, clock, owns_store=False)
        self.reader = Campaign(campaigns.store, stored, clock, owns_store=False)
        #: The newest status, with the event of the log and the bucket for which it holds.
        self._status: tuple[tuple[int, int], Status] | None = None
        self._made = -_MAX_AGE
        self._deciding, self._looking = asyncio.Lock(), asyncio.Lock()

    def _key(self, head: int) -> tuple[int, int]:
        """What is kept holds for this event of the log and this bucket."""
        buckets = self.campaign.config.buckets  # these never change
        return head, buckets.number(self.clock())

    async def options(self, bucket: When | None = None, *, ahead: bool) -> list[dict[str, Any]]:
        """The option for a bucket, or now, in every region, as it is sent.

        Unless `ahead`, a bucket that has not begun is not decided. One request at a time: the first
        decides, the others are answered from the log.
        """
        async with self._deciding:
            return await self.write(self._decide, bucket, ahead=ahead)

    def _decide(self, bucket: When | None, *, ahead: bool) -> list[dict[str, Any]]:
        if bucket is not None and not ahead:
            self._check_begun(bucket)
        return [self._sent(each) for each in self.campaign.decide_all(bucket).values()]

    def _check_begun(self, bucket: When) -> None:
        """Refuse to decide a bucket before all is known that will be known when it begins."""
        state = self.campaign.state()
        buckets = state.config.buckets
        asked = buckets.number(bucket)
        if asked > buckets.number(self.clock()) and asked not in state.decisions:
            raise Refused(
                403, f"{buckets.label(asked)} has not begun; to decide it takes the scope operate."
            )

    def _sent(self, decision: Decision) -> dict[str, Any]:
        buckets = self.campaign.config.buckets
        return {
            "campaign": self.campaign.name,
            **{name: getattr(decision, name) for name in _FIELDS},
            **({"region": decision.region} if decision.region else {}),
            "decided_at": decision.at,
            "begins": buckets.begin(decision.bucket),
            "ends": buckets.end(decision.bucket),
        }

    async def status(self, head: int | None = None, *, of_any_age: bool = False) -> Status:
        """What a page shows; requests that come at once share one status.

        To make one takes as long as the campaign has buckets. It is made again when the log has
        another event, when the present bucket ends and, where that matters, after a minute.
        """
        kept, age = self._status, time.monotonic() - self._made
        if kept is not None and age < self.campaigns.configuration.status_kept:
            return kept[1]
        async with self._looking:
            if head is None:
                head = await self.read(self.campaigns.store.head, self.campaign.stored.id)
            kept, age = self._status, time.monotonic() - self._made
            if kept is not None and kept[0][0] == head:
                same = kept[0] == self._key(head) and (of_any_age or age < _MAX_AGE)
                if same or kept[1].state == "finished":
                    return kept[1]
            status = await self.read(self.reader.status)
            self._status, self._made = (self._key(head), status), time.monotonic()
            return status

    def forget_status(self) -> None:
        """Make the status again next time, because something has changed."""
        self._status = None


class CampaignCache:
    """The campaigns that were asked for since the service started."""

    def __init__(
        self, store: Store, configuration: Configuration, workers: Workers, jobs: Jobs
    ) -> None:
        self.store, self.configuration = store, configuration
        self.workers, self.jobs, self.metrics = workers, jobs, workers.metrics
        self.read, self.write = workers.read, workers.write
        self._opened: dict[str, CachedCampaign] = {}
        #: What was last logged of campaigns that cannot be read.
        self._unreadable: dict[str, str] = {}

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

    async def statuses(self, *, of_any_age: bool = True, pause: float = 0.0) -> list[Status]:
        """The status of every campaign, oldest first."""
        found = []
        for stored in await self.read(self.store.campaigns):
            with contextlib.suppress(UnknownCampaign):  # it was deleted meanwhile
                found.append(await self._status(stored, of_any_age=of_any_age))
            await asyncio.sleep(pause)
        return found

    async def _status(self, stored: Stored, *, of_any_age: bool) -> Status:
        """The status of a campaign, also of one that cannot be read."""
        try:
            cached = await self.of(stored.name)
            found = await cached.status(stored.head, of_any_age=of_any_age)
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


def severity_of(status: Status) -> Severity:
    """How a campaign is, in a word."""
    levels = {each.level for each in status.health}
    return "alarm" if "alarm" in levels else "warning" if "warning" in levels else "healthy"


def select(
    statuses: Iterable[Status], search: str, state: CampaignStatus | None, severity: Severity | None
) -> list[Status]:
    """The campaigns of a list that are looked for: those that run before those that are finished,
    of each the worst first and then the newest first."""
    text = search.strip().casefold()
    found = [
        each
        for each in reversed(list(statuses))
        if any(text in name.casefold() for name in (each.name, *(o.name for o in each.options)))
        and state in (None, each.state)
        and severity in (None, severity_of(each))
    ]
    return sorted(
        found, key=lambda each: (each.state == "finished", SEVERITIES.index(severity_of(each)))
    )
