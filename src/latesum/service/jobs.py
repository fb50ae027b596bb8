"""Heavy work, one process per job: large files, plans and forecasts.

A thread that computes would hold up the loop that answers requests, and could not be ended. A
process has limits of memory and time, is killed at its deadline or when its client leaves, and
harms no other one. `job.py` is what runs in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from latesum._render import finite
from latesum.service.errors import Refused

Kind = Literal["totals", "history", "plan", "forecast"]
OnNews = Callable[[dict[str, Any]], None]
#: Processes at once, and jobs that wait or run: in all and of one token.
MAX_RUNNING = 2
MAX_WAITING = 32
MAX_WAITING_OF_ONE = 8
#: The longest line of an answer, in bytes.
_MAX_LINE = 64_000_000


class Limits(NamedTuple):
    """What a job may use: seconds by the clock, seconds of CPU, and bytes of memory."""

    seconds: float
    cpu: int
    memory: int


FILES = Limits(60.0, 15, 400_000_000)
SIMULATIONS = Limits(180.0, 120, 1_000_000_000)
LIMITS: dict[Kind, Limits] = {
    "totals": FILES,
    "history": FILES,
    "plan": SIMULATIONS,
    "forecast": SIMULATIONS,
}


class Answer(NamedTuple):
    """What a job has found, or why it was refused: a status of HTTP, and JSON."""

    status: int
    content: str

    def found(self) -> dict[str, Any]:
        """The content of a success; otherwise its refusal is raised."""
        content: dict[str, Any] = json.loads(self.content)
        if self.status >= 400:
            raise Refused(self.status, content["error"], content["details"])
        return content


class Jobs:
    """The jobs of a service: one at a time for each token, and few in all."""

    def __init__(self, limits: dict[Kind, Limits] | None = None) -> None:
        self._limits = limits or LIMITS
        self._running = asyncio.Semaphore(MAX_RUNNING)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting: defaultdict[str, int] = defaultdict(int)

    async def run(
        self,
        kind: Kind,
        given: dict[str, Any],
        body: bytes = b"",
        *,
        owner: str,
        on_news: OnNews | None = None,
    ) -> Answer:
        """Do a job in a process of its own; where the one who waits is cancelled, it is killed."""
        waiting = sum(self._waiting.values())
        if waiting >= MAX_WAITING or self._waiting[owner] >= MAX_WAITING_OF_ONE:
            raise Refused(
                429,
                "too many files or simulations are under way; try again later.",
                retry_after="10",
            )
        self._waiting[owner] += 1
        try:
            async with self._turns[owner], self._running:
                return await self._run(kind, given, body, on_news)
        finally:
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner], self._turns[owner]

    async def _run(
        self, kind: Kind, given: dict[str, Any], body: bytes, on_news: OnNews | None
    ) -> Answer:
        limits = self._limits[kind]
        head = {"kind": kind, "given": finite(given), "cpu": limits.cpu, "memory": limits.memory}
        # -P: no file of the folder that the service was started in is imported.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "latesum.service.job"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MAX_LINE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(limits.seconds):
                with contextlib.suppress(ConnectionError):  # it has ended: then it says nothing
                    process.stdin.write(json.dumps(head).encode() + b"\n" + body)
                    process.stdin.write_eof()
                    await process.stdin.drain()
                async for line in process.stdout:
                    said = json.loads(line)
                    if "news" not in said:
                        return Answer(said["status"], said["content"])
                    if on_news is not None:
                        on_news(said["news"])
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        raise Refused(
            422,
            f"this takes more than {limits.seconds:g} s or {limits.memory // 10**6} MB; "
            + ("send it in parts." if body else "try smaller values."),
        )
