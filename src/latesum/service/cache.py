"""What the service keeps in memory of each campaign, and the threads that work on it.

Nothing here is the truth; that is the log in the store. What is kept can be thrown away at any
moment, and several processes keep something each: it holds as long as the log has the same newest
event and the present bucket has not ended.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as StoreBusy

from latesum._checks import InvalidInput
from latesum.campaigns.buckets import When
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.deciding import bucket_to_decide
from latesum.campaigns.state import Decision
from latesum.campaigns.store import Store, Stored
from latesum.campaigns.view import CampaignStatus, Status, unreadable_status
from latesum.errors import UnknownCampaign
from latesum.service.configuration import Configuration
from latesum.service.errors import Refused
from latesum.service.jobs import Jobs
from latesum.service.logs import LOGGER
from latesum.service.metrics import Metrics

T = TypeVar("T")
#: What may be under way or wait for a thread that reads or writes.
MAX_WAITING = 512
#: How long a status may be shown while nothing is written to the log, in seconds.
_MAX_AGE = 60.0
#: Seconds between two looks at the log for the option of a timed bucket: thousands may ask for it.
_HEAD_KEPT = 0.1
#: How a campaign is, for a list: its worst finding, where notes are nothing to worry about.
Glance = Literal["alarm", "warning", "healthy"]
GLANCES: tuple[Glance, ...] = get_args(Glance)


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
        threads = (self.writers, self.readers, self.uploads, self.background, self.tokens)
        self._under_way = dict.fromkeys(threads, 0)

    async def run(
        self, threads: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any, **more: Any
    ) -> T:
        """Do it in a thread, unless too much waits for one already."""
        if self._under_way[threads] >= MAX_WAITING:
            raise Refused(429, "too much is under way; try again in a second.", retry_after="1")
        loop = asyncio.get_running_loop()
        self._under_way[threads] += 1
        try:
            return await loop.run_in_executor(threads, lambda: work(*arguments, **more))
        finally:
            self._under_way[threads] -= 1

    def close(self) -> None:
        """Let everything that was begun come to its end."""
        for threads in self._under_way:
            threads.shutdown(wait=True)


class OptionAnswer(NamedTuple):
    """The option for a bucket, as it is sent, and until when it holds."""

    content: dict[str, Any]
    tag: str
    ends: datetime | None


class CachedCampaign:
    """One campaign, opened twice: slow reading must never hold up a decision or a record."""

    def __init__(self, cache: CampaignCache, stored: Stored) -> None:
        self.store, self.workers = cache.store, cache.workers
        self.configuration, self.jobs = cache.configuration, cache.jobs
        clock = cache.configuration.clock
        self.campaign = Campaign(cache.store, stored, clock, owns_store=False)
        self.reader = Campaign(cache.store, stored, clock, owns_store=False)
        self._answer: tuple[tuple[int, int | None], OptionAnswer] | None = None
        #: The newest event of the log when it was last read for an option, and when that was.
        self._head = (0, -_HEAD_KEPT)
        self._deciding = asyncio.Lock()
        self._status: tuple[tuple[int, int | None], Status] | None = None
        self._made = -_MAX_AGE
        self._looking = asyncio.Lock()

    async def write(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that may write, away from the loop that answers requests."""
        return await self.workers.run(self.workers.writers, work, *arguments, **more)

    async def read(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that only reads."""
        return await self.workers.run(self.workers.readers, work, *arguments, **more)

    def _key(self, head: int) -> tuple[int, int | None]:
        """What is kept holds for this event of the log and this bucket."""
        buckets = self.campaign.config.buckets  # these never change
        return head, buckets.number(self.configuration.clock()) if buckets.timed else None

    async def option_now(self) -> OptionAnswer:
        """The option for the present bucket; requests that come at once share one decision."""
        # A decision for a timed bucket stays: the log of a moment ago will do.
        timed, (head, seen) = self.campaign.config.buckets.timed, self._head
        if not timed or time.monotonic() - seen > _HEAD_KEPT:
            head = await self.write(self.store.head, self.campaign.stored.id)
            self._head = (head, time.monotonic())
        if self._answer is None or self._answer[0] != self._key(head):
            async with self._deciding:
                if self._answer is None or self._answer[0] != self._key(head):
                    (answer,), head = await self.write(self.decide)
                    self._answer = (self._key(head), answer)
                    self._head = (head, time.monotonic())
                    self.workers.metrics.decisions.inc()
        return self._answer[1]

    def decide(
        self, bucket: When | None = None, region: str | None = "", *, ahead: bool = True
    ) -> tuple[list[OptionAnswer], int]:
        """The decisions for a bucket, or now, in a region or (None) in all; and the newest event.

        Unless `ahead`, a bucket that has not begun is not decided.
        """
        if bucket is not None and not ahead:
            self._check_begun(bucket)
        if region is None:
            decisions = list(self.campaign.decide_all(bucket).values())
        else:
            decisions = [self.campaign.decide(bucket, region=region)]
        state = self.campaign.state()
        winner = None if state.finished is not None else self.campaign.winner()
        head = 0 if state.newest is None else state.newest.sequence
        return [self._answer_of(each, winner) for each in decisions], head

    def _check_begun(self, bucket: When) -> None:
        """Refuse to decide a bucket before all is known that will be known when it begins."""
        state, now = self.campaign.state(), self.configuration.clock()
        buckets = state.config.buckets
        present = buckets.number(now) if buckets.timed else bucket_to_decide(state, None, now)
        asked = buckets.number(bucket)
        if asked > present and asked not in state.decisions:
            raise Refused(
                403, f"{buckets.label(asked)} has not begun; to decide it takes the scope operate."
            )

    def _answer_of(self, decision: Decision, winner: str | None) -> OptionAnswer:
        buckets = self.campaign.config.buckets
        begins, ends = None, None
        if buckets.timed:
            begins, ends = buckets.begin(decision.bucket), buckets.end(decision.bucket)
        content = {
            "campaign": self.campaign.name,
            **{name: getattr(decision, name) for name in DECISION_FIELDS},
            **({"region": decision.region} if decision.region else {}),
            "winner": winner,
            "decided_at": decision.at,
            "begins": begins,
            "ends": ends,
        }
        said = json.dumps([content, decision.sequence], default=str)
        return OptionAnswer(content, f'"{zlib.crc32(said.encode()):08x}"', ends)

    def seconds_left(self, answer: OptionAnswer) -> int:
        """The whole seconds for which an answer may still be used."""
        if answer.ends is None:
            return 0
        return max(0, int((answer.ends - self.configuration.clock()).total_seconds()))

    async def status(self, head: int | None = None, *, of_any_age: bool = False) -> Status:
        """What a page shows; requests that come at once share one status.

        To make one takes as long as the campaign has buckets. It is made anew when the log has
        another event, when the present bucket ends and, where that matters, after a minute.
        """
        kept = self._status
        if kept is not None and time.monotonic() - self._made < self.configuration.status_kept:
            return kept[1]
        async with self._looking:
            if head is None:
                head = await self.read(self.store.head, self.campaign.stored.id)
            kept = self._status
            if kept is not None and kept[0][0] == head:
                young = time.monotonic() - self._made < _MAX_AGE
                if kept[1].state in ("finished", "archived"):
                    return kept[1]
                if kept[0] == self._key(head) and (young or of_any_age):
                    return kept[1]
            status = await self.read(self.reader.status)
            self._status, self._made = (self._key(head), status), time.monotonic()
            return status

    def forget_status(self) -> None:
        """Make the status anew next time, because something has changed."""
        self._status = None


#: What is sent of a decision, beside its region and time.
DECISION_FIELDS = ("bucket", "label", "option", "purpose", "number", "source", "rounds", "reason")


class CampaignCache:
    """The campaigns that were asked for since the service started."""

    def __init__(
        self, store: Store, configuration: Configuration, workers: Workers, jobs: Jobs
    ) -> None:
        self.store, self.configuration = store, configuration
        self.workers, self.jobs = workers, jobs
        self._opened: dict[str, CachedCampaign] = {}
        #: What was last logged of campaigns that cannot be read.
        self._unreadable: dict[str, str] = {}

    async def of(self, name: str) -> CachedCampaign:
        """The campaign of this name."""
        found = self._opened.get(name)
        if found is None:
            stored = await self.workers.run(self.workers.writers, self.store.find, name)
            found = self._opened.setdefault(name, CachedCampaign(self, stored))
        return found

    def forget(self, name: str) -> None:
        """Open a campaign anew next time, because it was deleted."""
        self._opened.pop(name, None)

    async def statuses(
        self, *, archived: bool = False, of_any_age: bool = True, pause: float = 0.0
    ) -> list[Status]:
        """The status of every campaign, oldest first."""
        heads = await self.workers.run(self.workers.readers, self.store.campaigns)
        found = []
        for each in heads:
            if archived or not each.archived:
                status = await self._status(each, of_any_age=of_any_age)
                found += [] if status is None else [status]
                if pause:
                    await asyncio.sleep(pause)
        return found

    async def _status(self, head: Stored, *, of_any_age: bool) -> Status | None:
        """A campaign, also one that cannot be read; None if it was deleted meanwhile."""
        try:
            found = await (await self.of(head.name)).status(head.head, of_any_age=of_any_age)
        except UnknownCampaign:
            return None
        except (DBAPIError, StoreBusy, Refused):
            raise  # the store fails or the service is busy; that is no matter of one campaign
        except Exception as error:
            found = unreadable_status(head.name, self.configuration.clock(), error)
            if self._unreadable.get(head.name) != found.headline:
                self._unreadable[head.name] = found.headline
                LOGGER.error(
                    "campaign cannot be read",
                    exc_info=None if isinstance(error, InvalidInput) else error,
                    extra={"fields": {"campaign": head.name, "problem": found.headline}},
                )
        else:
            self._unreadable.pop(head.name, None)
        return found


def glance_at(status: Status) -> Glance:
    """How a campaign is, in a word."""
    levels = {each.level for each in status.health}
    return "alarm" if "alarm" in levels else "warning" if "warning" in levels else "healthy"


def select(
    statuses: Iterable[Status], search: str, state: CampaignStatus | None, glance: Glance | None
) -> list[Status]:
    """The campaigns of a list that are looked for, the worst first and then the newest first."""
    text = search.strip().casefold()
    found = [
        each
        for each in reversed(list(statuses))
        if any(text in name.casefold() for name in (each.name, *(o.name for o in each.options)))
        and state in (None, each.state)
        and glance in (None, glance_at(each))
    ]
    return sorted(found, key=lambda each: GLANCES.index(glance_at(each)))
