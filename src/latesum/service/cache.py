"""What the service keeps in memory of each campaign.

Nothing here is the truth; that is the log in the store. What is cached can be thrown away at any
moment, and several processes have a cache each.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as StoreBusy

from latesum._checks import InvalidInput
from latesum.campaigns.buckets import When
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.state import Decision
from latesum.campaigns.store import Store, Stored
from latesum.campaigns.view import Status
from latesum.errors import UnknownCampaign
from latesum.service.configuration import Configuration
from latesum.service.errors import Refused
from latesum.service.jobs import Answer, Jobs
from latesum.service.logs import LOGGER
from latesum.service.summaries import CampaignSummary, make_summary, unreadable_summary
from latesum.service.uploads import Upload, is_small, take_in
from latesum.service.workers import Workers

T = TypeVar("T")
#: How long a status may be shown while nothing is written to the log.
_LONGEST_KEPT = timedelta(minutes=1)


class KeptAnswer(NamedTuple):
    """The option for a bucket, ready to be sent, and how long it holds."""

    body: bytes
    tag: str
    begins: datetime | None
    ends: datetime | None
    #: The newest event of the log when it was read; of numbered buckets a newer one may end it.
    head: int = 0


class KeptStatus(NamedTuple):
    """A status, the newest event of the log that it was made of, and until when it holds."""

    status: Status
    head: int
    since: datetime
    until: datetime
    made: float

    def holds(self, now: datetime) -> bool:
        """Whether it still says what is, if the log has not grown."""
        return self.since <= now < self.until


class CachedCampaign:
    """One campaign, opened twice: slow reading must never hold up a decision or a record."""

    def __init__(
        self,
        store: Store,
        stored: Stored,
        configuration: Configuration,
        workers: Workers,
        jobs: Jobs,
    ) -> None:
        clock = configuration.clock
        self.store = store
        self.configuration = configuration
        self.campaign = Campaign(store, stored, clock, owns_store=False)
        self.reader = Campaign(store, stored, clock, owns_store=False)
        self.workers = workers
        self._jobs = jobs
        self._answer: KeptAnswer | None = None
        self._deciding = asyncio.Lock()
        self._status: KeptStatus | None = None
        self._summary: CampaignSummary | None = None
        self._summary_until = datetime.max.replace(tzinfo=UTC)
        self._watching = asyncio.Lock()

    async def write(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that may write, away from the loop that answers requests."""
        return await self.workers.run(self.workers.writers, work, *arguments, **more)

    async def read(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that only reads."""
        return await self.workers.run(self.workers.readers, work, *arguments, **more)

    async def upload(self, body: bytes, sent: Upload, owner: str) -> Answer:
        """Take in many rows: a few in a thread, many by a process of their own."""
        if is_small(body):
            run, threads = self.workers.run, self.workers.uploads
            status, content = await run(threads, take_in, self.campaign, body, sent)
            return Answer(status, json.dumps(content, ensure_ascii=False, allow_nan=False))
        given = {
            "store": self.store.url.render_as_string(hide_password=False),
            "campaign": self.campaign.name,
            "now": self.configuration.clock().isoformat(),
            "sent": sent._asdict(),
        }
        return await self._jobs.run("totals", given, body, owner=owner)

    async def option_now(self) -> KeptAnswer:
        """The option for the present bucket.

        A decision is never changed once it is taken, so a timed bucket's stands until its end,
        whatever other processes do. A numbered bucket ends by a record: the log has to be read.
        """
        answer = self._answer
        if answer is not None and await self._holds(answer):
            return answer
        async with self._deciding:
            answer = self._answer
            if answer is None or not await self._holds(answer):
                head = await self.write(self.store.head, self.campaign.stored.id)
                (answer,) = await self.write(self.decide)
                answer = self._answer = answer._replace(head=head)
                self.workers.metrics.decisions.inc()
            return answer

    async def _holds(self, answer: KeptAnswer) -> bool:
        if answer.begins is None or answer.ends is None:
            return answer.head == await self.write(self.store.head, self.campaign.stored.id)
        return answer.begins <= self.configuration.clock() < answer.ends

    def decide(self, bucket: When | None = None, region: str = "") -> list[KeptAnswer]:
        """The decision for a bucket of a region, with the winner that can be kept, as it is sent."""
        decision = self.campaign.decide(bucket, region=region)
        return self._answers([decision])

    def decide_all(self, bucket: When | None = None) -> list[KeptAnswer]:
        """The decision for a bucket in every region, as they are sent."""
        return self._answers(self.campaign.decide_all(bucket).values())

    def _answers(self, decisions: Iterable[Decision]) -> list[KeptAnswer]:
        finished = self.campaign.state().finished is not None
        winner = None if finished else self.campaign.winner()
        return [self._answer_of(each, winner) for each in decisions]

    def _answer_of(self, decision: Decision, winner: str | None) -> KeptAnswer:
        buckets = self.campaign.config.buckets  # these never change
        begins, ends = None, None
        if buckets.timed:
            begins, ends = buckets.begin(decision.bucket), buckets.end(decision.bucket)
        named = ("bucket", "label", "option", "purpose", "number", "source", "rounds", "reason")
        content = {
            "campaign": self.campaign.name,
            **{name: getattr(decision, name) for name in named},
            **({"region": decision.region} if decision.region else {}),
            "winner": winner,
            "decided_at": decision.at.isoformat(),
            "begins": None if begins is None else begins.isoformat(),
            "ends": None if ends is None else ends.isoformat(),
        }
        body = json.dumps(content, ensure_ascii=False).encode()
        which = decision.sequence or f"end{zlib.crc32(decision.region.encode()):x}"
        won = "" if winner is None else f"-{zlib.crc32(winner.encode()):x}"
        tag = f'"{self.campaign.stored.id}-{decision.bucket}-{which}{won}"'
        return KeptAnswer(body, tag, begins, ends)

    def seconds_left(self, answer: KeptAnswer) -> int:
        """The whole seconds for which an answer may still be used."""
        if answer.ends is None:
            return 0
        left = (answer.ends - self.configuration.clock()).total_seconds()
        return max(0, int(left / self.configuration.speed))

    async def status(self, level: float = 0.95) -> Status:
        """What a page shows; requests that come at once share one status.

        It is made anew when the log has another event, when the present bucket ends, and after a minute:
        to make it takes as long as the campaign has buckets.
        """
        if level != 0.95:
            return await self.read(self.reader.status, level)
        kept = self._status
        if kept is not None and time.monotonic() - kept.made < self.configuration.status_kept:
            return kept.status
        async with self._watching:
            kept = self._status
            if kept is None or not kept.holds(self.configuration.clock()) or (
                kept.head != await self.read(self.store.head, self.campaign.stored.id)
            ):  # fmt: skip
                kept = await self.read(self._make_status)
            self._status = kept._replace(made=time.monotonic())
            return kept.status

    def _make_status(self) -> KeptStatus:
        head = self.store.head(self.campaign.stored.id)
        status = self.reader.status()
        until = status.now + _LONGEST_KEPT
        buckets = self.reader.config.buckets
        if buckets.timed:
            until = min(until, buckets.end(buckets.number(status.now)))
        return KeptStatus(status, head, status.now, until, time.monotonic())

    async def summary(self, head: int) -> CampaignSummary:
        """What a list shows of the campaign whose log ends with this event."""
        kept = self._summary
        if kept is None or kept.head != head or self.configuration.clock() >= self._summary_until:
            kept = await self.renew_summary(head)
        return kept

    async def renew_summary(self, head: int) -> CampaignSummary:
        """The summary as it is at this moment: health changes with time, too, unless it is over."""
        kept = self._summary
        if kept is not None and kept.head == head and kept.state == "finished":
            return kept
        status, config = await self.status(), self.reader.config
        self._summary = make_summary(status, config, head)
        if config.buckets.timed:
            self._summary_until = config.buckets.end(config.buckets.number(status.now))
        return self._summary

    def forget_status(self) -> None:
        """Make the status anew next time, because something has changed."""
        self._status = None


class CampaignCache:
    """The campaigns that were asked for since the service started."""

    def __init__(
        self, store: Store, configuration: Configuration, workers: Workers, jobs: Jobs
    ) -> None:
        self.store = store
        self.configuration = configuration
        self.workers = workers
        self.jobs = jobs
        self._opened: dict[str, CachedCampaign] = {}
        #: What was last logged of campaigns that cannot be read.
        self._unreadable: dict[str, str] = {}

    async def of(self, name: str) -> CachedCampaign:
        """The campaign of this name."""
        found = self._opened.get(name)
        if found is None:
            stored = await self.workers.run(self.workers.writers, self.store.find, name)
            found = self._opened.setdefault(
                name,
                CachedCampaign(self.store, stored, self.configuration, self.workers, self.jobs),
            )
        return found

    async def summaries(self, *, archived: bool = False) -> list[CampaignSummary]:
        """What a list shows of every campaign that was not moved away, oldest first."""
        heads = await self.workers.run(self.workers.readers, self.store.campaigns)
        here = [each for each in heads if not each.moved_to and (archived or not each.archived)]
        found = [await self._summary(each) for each in here]
        return [each for each in found if each is not None]

    async def renew_summaries(self, pause: float) -> list[CampaignSummary]:
        """Make every summary anew, with pauses, so that those who wait for something come first."""
        heads = await self.workers.run(self.workers.readers, self.store.campaigns)
        found = []
        for each in heads:
            if not each.moved_to and not each.archived:
                summary = await self._summary(each, renew=True)
                if summary is not None:
                    found.append(summary)
                await asyncio.sleep(pause)
        return found

    async def _summary(self, head: Stored, *, renew: bool = False) -> CampaignSummary | None:
        """The summary of a campaign, of one that cannot be read too; None if it was deleted meanwhile."""
        try:
            cached = await self.of(head.name)
            found = await (cached.renew_summary if renew else cached.summary)(head.head)
        except UnknownCampaign:
            return None
        except (DBAPIError, StoreBusy, Refused):
            raise  # the store fails or the service is busy; that is no matter of one campaign
        except Exception as error:
            found = unreadable_summary(head.name, head.head, error)
            if self._unreadable.get(head.name) != found.headline:
                self._unreadable[head.name] = found.headline
                fields = {"campaign": head.name, "problem": found.headline}
                expected = isinstance(error, InvalidInput)
                LOGGER.error(
                    "campaign cannot be read", exc_info=None if expected else error,
                    extra={"fields": fields},
                )  # fmt: skip
        else:
            self._unreadable.pop(head.name, None)
        return found

    async def all(self) -> list[CachedCampaign]:
        """All campaigns of the store that were neither moved away nor put into the archive."""
        stored = await self.workers.run(self.workers.readers, self.store.campaigns)
        here = [each for each in stored if each.moved_to is None and not each.archived]
        return [await self.of(each.name) for each in here]

    def forget(self, name: str) -> None:
        """Open a campaign anew next time, because it was deleted."""
        self._opened.pop(name, None)
