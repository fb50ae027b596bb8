"""The threads that do what would hold up the loop that answers requests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.types import Receive

from latesum.live.batches import CheckWanted
from latesum.service.errors import ClientLeft, Refused
from latesum.service.metrics import Metrics

T = TypeVar("T")
#: Each may hold a body in memory, so there are not any number of them.
MOST_AT_ONCE = 32
#: What may be under way or wait for a thread that reads or writes.
MOST_WAITING = 512


class Uploads:
    """Long work, kept apart from decisions and ended when its client leaves.

    One thread works on all uploads, one after the other. More would not be faster, because Python
    runs one at a time, and each would slow down the loop that answers everything else.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "upload")
        self._under_way = 0

    async def run(self, receive: Receive, work: Callable[[CheckWanted], T]) -> T:
        """Do the work of an upload whose body was read, when those before it are done.

        Args:
            receive: Tells when the client of the request leaves.
            work: What is to be done. It is given a check that raises `ClientLeft` once no one
                waits for the answer, and should call it between batches of rows.
        """
        if self._under_way >= MOST_AT_ONCE:
            busy = Refused(429, f"{MOST_AT_ONCE} uploads are under way; try again in a second.")
            busy.headers["retry-after"] = "1"
            raise busy
        left = threading.Event()

        def check_wanted() -> None:
            if left.is_set():
                raise ClientLeft

        def work_if_wanted() -> T:
            check_wanted()  # it may have waited for long
            return work(check_wanted)

        self._under_way += 1
        watching = asyncio.create_task(until_gone(receive))
        watching.add_done_callback(lambda _: left.set())
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work_if_wanted)
        finally:
            left.set()  # also where the service stops and does not wait any longer
            self._under_way -= 1
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching

    def close(self) -> None:
        """Let what was begun come to its end."""
        self._thread.shutdown(wait=True)


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
