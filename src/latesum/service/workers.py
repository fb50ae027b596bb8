"""The threads that do what would hold up the loop that answers requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.types import Receive

from latesum.service.errors import Refused
from latesum.service.metrics import Metrics

T = TypeVar("T")
#: What may be under way or wait for a thread that reads or writes.
MOST_WAITING = 512


async def until_gone(receive: Receive) -> None:
    """Wait until the client of a request, whose body was read, has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Workers:
    """Threads for what writes, what reads and small uploads, and the metrics of it all."""

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
        for threads in self._under_way:
            threads.shutdown(wait=True)
