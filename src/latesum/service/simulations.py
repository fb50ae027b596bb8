"""Plans and forecasts, made by a process of their own (`simulating.py`), one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from latesum._checks import InvalidInput
from latesum._json_values import finite
from latesum.service.errors import Refused
from latesum.service.logs import LOGGER

#: In seconds: how long a question may take, and how long the process waits for the next one.
LONGEST = 120.0
_IDLE = 300.0
#: Questions that may wait.
MOST_WAITING = 8
_LONGEST_LINE = 16 * 1024 * 1024


class Simulations:
    """Asks a process that simulates. It is begun with the first question and ends when none comes."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._ending: asyncio.TimerHandle | None = None

    async def ask(self, about: str, given: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question; it is given up when the one who waits for it leaves.

        Args:
            about: "plan" or "forecast".
            given: What is asked, as JSON values.
        """
        if self._waiting >= MOST_WAITING:
            busy = Refused(429, f"{MOST_WAITING} simulations are under way; try again in a minute.")
            busy.headers["retry-after"] = "30"
            raise busy
        self._waiting += 1
        try:
            async with self._turn:
                said = await self._ask(about, given)
        finally:
            self._waiting -= 1
        if "refused" in said:
            raise InvalidInput(said["refused"])
        if "failed" in said:
            LOGGER.error("a simulation failed: %s", said["failed"])
            raise Refused(422, "this cannot be simulated; try other values.")
        found: dict[str, Any] = said["found"]
        return found

    async def _ask(self, about: str, given: dict[str, Any]) -> dict[str, Any]:
        if self._ending is not None:
            self._ending.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "latesum.service.simulating", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, limit=_LONGEST_LINE,
            )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(LONGEST):
                question = {"about": about, "given": finite(given)}
                process.stdin.write(json.dumps(question).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            said: dict[str, Any] = json.loads(line)
        except BaseException as error:  # also where the one who waits has left
            await self.close()
            if isinstance(error, TimeoutError):
                raise Refused(422, f"the simulation took more than {LONGEST:g} s.") from None
            if isinstance(error, ValueError | OSError):
                return {"failed": "the process has ended"}
            raise
        self._ending = asyncio.get_running_loop().call_later(_IDLE, self._end)
        return said

    def _end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """End the process, whatever it does."""
        if self._ending is not None:
            self._ending.cancel()
        self._end()
        if self._process is not None:
            await self._process.wait()
            self._process = None
