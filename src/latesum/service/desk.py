"""The desk of one campaign: what the service keeps at hand of it.

Nothing here is the truth; that is the log in the store. A desk can be thrown away at any moment,
and several processes have one each.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import select
from starlette.types import Receive

from latesum.live import schema
from latesum.live.batches import CheckWanted
from latesum.live.ledger import Decision
from latesum.live.status import Status
from latesum.live.store import Store, Stored
from latesum.service.configuration import Configuration
from latesum.service.group_commit import GroupCommit
from latesum.service.metrics import Metrics
from latesum.service.served import Served
from latesum.service.uploads import Uploads

T = TypeVar("T")


class Answer(NamedTuple):
    """The option for a bucket, ready to be sent, and how long it holds."""

    body: bytes
    tag: str
    begins: datetime | None
    ends: datetime | None
    #: The newest entry of the log when it was read; of numbered buckets a newer one may end it.
    head: int


class Desk:
    """One campaign, opened twice: a slow look must never hold up a decision or a record."""

    def __init__(
        self, store: Store, stored: Stored, configuration: Configuration, staff: Staff
    ) -> None:
        clock = configuration.clock
        self.store = store
        self.configuration = configuration
        self.campaign = Served(store, stored, clock, owns_store=False)
        self.looking = Served(store, stored, clock, owns_store=False)
        self.records = GroupCommit(self.campaign, staff.writers, staff.metrics)
        self._staff = staff
        self._answer: Answer | None = None
        self._deciding = asyncio.Lock()
        self._status: tuple[float, Status] | None = None
        self._watching = asyncio.Lock()

    async def write(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that may write, away from the loop that answers requests."""
        return await self._staff.run(self._staff.writers, work, *arguments, **more)

    async def look(self, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Do something that only reads."""
        return await self._staff.run(self._staff.readers, work, *arguments, **more)

    async def upload(self, receive: Receive, work: Callable[[CheckWanted], T]) -> T:
        """Do something long that may write, for as long as its client waits; see `Uploads`."""
        return await self._staff.uploads.run(receive, work)

    async def option_now(self) -> Answer:
        """The option for the present bucket.

        A decision is never changed once it is taken, so a timed bucket's stands until its end,
        whatever other processes do. A numbered bucket ends by a record: the log has to be looked at.
        """
        answer = self._answer
        if answer is not None and await self._holds(answer):
            return answer
        async with self._deciding:
            answer = self._answer
            if answer is None or not await self._holds(answer):
                head = await self.write(self._head)
                answer = self._answer = self.answer(await self.write(self.campaign.decide), head)
                self._staff.metrics.decisions.inc()
            return answer

    async def _holds(self, answer: Answer) -> bool:
        if answer.begins is None or answer.ends is None:
            return answer.head == await self.write(self._head)
        return answer.begins <= self.configuration.clock() < answer.ends

    def _head(self) -> int:
        table = schema.campaigns
        with self.store.engine.connect() as connection:
            query = select(table.c.head).where(table.c.id == self.campaign.stored.id)
            return int(connection.execute(query).scalar_one())

    def answer(self, decision: Decision, head: int = 0) -> Answer:
        """A decision as it is sent."""
        buckets = self.campaign.settings.buckets
        begins, ends = None, None
        if buckets.timed:
            begins, ends = buckets.begin(decision.bucket), buckets.end(decision.bucket)
        content = {
            "campaign": self.campaign.name,
            "bucket": decision.bucket,
            "label": decision.label,
            "option": decision.option,
            "purpose": decision.purpose,
            "number": decision.number,
            "source": decision.source,
            "rounds": decision.rounds,
            "reason": decision.reason,
            "decided_at": decision.at.isoformat(),
            "begins": None if begins is None else begins.isoformat(),
            "ends": None if ends is None else ends.isoformat(),
        }
        body = json.dumps(content, ensure_ascii=False).encode()
        tag = f'"{self.campaign.stored.id}-{decision.bucket}-{decision.sequence or "end"}"'
        return Answer(body, tag, begins, ends, head)

    def seconds_left(self, answer: Answer) -> int:
        """The whole seconds for which anybody may go on using an answer."""
        if answer.ends is None:
            return 0
        left = (answer.ends - self.configuration.clock()).total_seconds()
        return max(0, int(left / self.configuration.speed))

    async def status(self, level: float = 0.95) -> Status:
        """What a page shows; many who look at once share one look."""
        if level != 0.95:
            return await self.look(self.looking.status, level)
        kept = self._status
        if kept is not None and time.monotonic() - kept[0] < self.configuration.looks_kept:
            return kept[1]
        async with self._watching:
            kept = self._status
            if kept is None or time.monotonic() - kept[0] >= self.configuration.looks_kept:
                kept = self._status = (time.monotonic(), await self.look(self.looking.status))
            return kept[1]

    def forget_look(self) -> None:
        """Look anew next time, because somebody has just done something."""
        self._status = None


class Staff:
    """The threads that do what would hold up the loop, and the figures."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.writers = ThreadPoolExecutor(4, "writer")
        self.readers = ThreadPoolExecutor(2, "reader")
        self.uploads = Uploads()

    async def run(
        self, threads: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any, **more: Any
    ) -> T:
        """Do it in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, lambda: work(*arguments, **more))

    def close(self) -> None:
        """Let everything that was begun come to its end."""
        self.uploads.close()
        self.writers.shutdown(wait=True)
        self.readers.shutdown(wait=True)


class Desks:
    """A desk for every campaign that somebody asked for."""

    def __init__(self, store: Store, configuration: Configuration, staff: Staff) -> None:
        self.store = store
        self.configuration = configuration
        self.staff = staff
        self._desks: dict[str, Desk] = {}

    async def of(self, name: str) -> Desk:
        """The desk of the campaign of this name."""
        desk = self._desks.get(name)
        if desk is None:
            stored = await self.staff.run(self.staff.writers, self.store.find, name)
            desk = self._desks.setdefault(
                name, Desk(self.store, stored, self.configuration, self.staff)
            )
        return desk

    async def all(self) -> list[Desk]:
        """The desks of all campaigns of the store that were not moved away."""
        stored = await self.staff.run(self.staff.readers, self.store.campaigns)
        return [await self.of(each.name) for each in stored if each.moved_to is None]
