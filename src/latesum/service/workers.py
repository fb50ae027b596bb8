"""The threads that do what would hold up the loop that answers requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.types import Receive

from latesum.campaigns.campaign import Campaign
from latesum.files.batches import CheckWanted
from latesum.service.errors import ClientLeft, Refused
from latesum.service.helper_process import HelperProcess, Message, ProcessEnded
from latesum.service.metrics import Metrics
from latesum.service.taking_in import Taken, Upload, take_history, take_in

T = TypeVar("T")
#: In bytes: a file of up to this is small, and one that is packed.
_SMALL, _SMALL_PACKED = 20_000, 200
#: In seconds: how long a file may take, and how long its process waits for the next one.
_LONGEST, _IDLE = 60.0, 300.0
#: Each may hold a body in memory, so there are not any number of them.
MOST_AT_ONCE = 32
#: What may be under way or wait for a thread that reads or writes.
MOST_WAITING = 512


class Uploads:
    """Long work, kept apart from decisions and ended when its client leaves.

    Large files are read by a process of their own, one after the other: in a thread they would hold up the loop
    that answers everything else, because Python runs one thread at a time, and one that computes lets go of its turn
    only every five milliseconds. Small ones are done by a thread before such a process could begin.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "upload")
        self._process = HelperProcess("latesum.service.reading_files", _IDLE)
        self._turn = asyncio.Lock()
        self._under_way = 0

    async def take_in(
        self, receive: Receive, campaign: Campaign, body: bytes, sent: Upload
    ) -> Taken:
        """Record an upload, or say what would become of it.

        Args:
            receive: Tells when the client of the request leaves.
            campaign: Whose totals they are.
            body: The rows.
            sent: How they were sent.
        """
        if _is_small(body):
            return await self.run(receive, lambda check: take_in(campaign, body, sent, check))
        head = {
            "store": campaign.store.url.render_as_string(hide_password=False),
            "campaign": campaign.name, "now": campaign.clock().isoformat(), "sent": sent._asdict(),
        }  # fmt: skip
        return await self._ask(receive, Message(head, body))

    async def take_history(self, receive: Receive, body: bytes, sent: Upload) -> Taken:
        """Read a file of rows before the start.

        Args:
            receive: Tells when the client of the request leaves.
            body: The file.
            sent: How it was sent.
        """
        if _is_small(body):
            return await self.run(receive, lambda check: take_history(body, sent, check))
        return await self._ask(receive, Message({"campaign": None, "sent": sent._asdict()}, body))

    async def run(self, receive: Receive, work: Callable[[CheckWanted], T]) -> T:
        """Do the work of an upload whose body was read in a thread, when those before it are done.

        Args:
            receive: Tells when the client of the request leaves.
            work: What is to be done. It is given a check that raises `ClientLeft` once no one
                waits for the answer, and should call it between batches of rows.
        """
        left = threading.Event()

        def check_wanted() -> None:
            if left.is_set():
                raise ClientLeft

        def work_if_wanted() -> T:
            check_wanted()  # it may have waited for long
            return work(check_wanted)

        async with self._counted(receive, left.set):
            try:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._thread, work_if_wanted)
            finally:
                left.set()  # also where the service stops and does not wait any longer

    async def _ask(self, receive: Receive, question: Message) -> Taken:
        left = asyncio.Event()
        begun = False

        def leave() -> None:
            left.set()
            if begun:
                self._process.give_up()

        async with self._counted(receive, leave), self._turn:
            if left.is_set():
                raise ClientLeft
            begun = True
            try:
                answer = await self._process.ask(question, _LONGEST)
            except TimeoutError:
                raise Refused(
                    422, f"the file took more than {_LONGEST:g} s; send it in parts."
                ) from None
            except ProcessEnded:
                raise Refused(503, "the process that reads files has ended; try again.") from None
            finally:
                begun = False
            if left.is_set():
                raise ClientLeft
        if answer.head["status"] >= 400 and answer.head["headers"]:
            refused = Refused(answer.head["status"], json.loads(answer.body)["error"])
            refused.headers.update(answer.head["headers"])
            raise refused
        return Taken(answer.head["status"], answer.body)

    @contextlib.asynccontextmanager
    async def _counted(self, receive: Receive, leave: Callable[[], None]) -> AsyncIterator[None]:
        """While an upload is under way; `leave` is called once its client has left."""
        if self._under_way >= MOST_AT_ONCE:
            busy = Refused(429, f"{MOST_AT_ONCE} uploads are under way; try again in a second.")
            busy.headers["retry-after"] = "1"
            raise busy
        self._under_way += 1
        watching = asyncio.create_task(until_gone(receive))
        watching.add_done_callback(lambda task: None if task.cancelled() else leave())
        try:
            yield
        finally:
            self._under_way -= 1
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching

    async def end_process(self) -> None:
        """End the process that reads files."""
        await self._process.close()

    def close(self) -> None:
        """Let what was begun come to its end."""
        self._thread.shutdown(wait=True)


def _is_small(body: bytes) -> bool:
    """Whether a file is read in some milliseconds; a packed one may have any number of rows."""
    packed = body.startswith((b"PK", b"PAR1"))
    return len(body) <= (_SMALL_PACKED if packed else _SMALL)


async def until_gone(receive: Receive) -> None:
    """Wait until the client of a request, whose body was read, has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Workers:
    """Threads for what writes, what reads and uploads, and the metrics of it all."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.writers = ThreadPoolExecutor(4, "writer")
        self.readers = ThreadPoolExecutor(2, "reader")
        #: For what no one waits for.
        self.background = ThreadPoolExecutor(2, "background")
        #: For who holds a token: no request waits for another one's status to be let in.
        self.tokens = ThreadPoolExecutor(1, "tokens")
        self.uploads = Uploads()
        self._under_way = {self.writers: 0, self.readers: 0, self.background: 0}

    async def run(
        self, threads: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any, **more: Any
    ) -> T:
        """Do it in a thread, unless too much waits for one already."""
        if self._under_way[threads] >= MOST_WAITING:
            busy = Refused(429, "too much is under way; try again in a second.")
            busy.headers["retry-after"] = "1"
            raise busy
        loop = asyncio.get_running_loop()
        self._under_way[threads] += 1
        try:
            return await loop.run_in_executor(threads, lambda: work(*arguments, **more))
        finally:
            self._under_way[threads] -= 1

    def close(self) -> None:
        """Let everything that was begun come to its end."""
        self.uploads.close()
        self.writers.shutdown(wait=True)
        self.readers.shutdown(wait=True)
        self.background.shutdown(wait=True)
        self.tokens.shutdown(wait=True)
