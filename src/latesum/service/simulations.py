"""Plans and forecasts, made by a process of their own (`simulating.py`), one after the other."""

from __future__ import annotations

import asyncio
from typing import Any

from latesum._checks import InvalidInput
from latesum.service.errors import Refused
from latesum.service.helper_process import HelperProcess, Message, ProcessEnded
from latesum.service.logs import LOGGER

#: In seconds: how long a question may take, and how long the process waits for the next one.
LONGEST = 120.0
_IDLE = 300.0
#: Questions that may wait.
MOST_WAITING = 8


class Simulations:
    """Asks a process that simulates. It is begun with the first question and ends when none comes."""

    def __init__(self) -> None:
        self._process = HelperProcess("latesum.service.simulating", _IDLE)
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ask(self, about: str, given: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question; it is given up when the one who waits for it leaves.

        Args:
            about: "plan", "region plan", "forecast" or "market forecast".
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
        try:
            return (
                await self._process.ask(Message({"about": about, "given": given}), LONGEST)
            ).head
        except TimeoutError:
            raise Refused(422, f"the simulation took more than {LONGEST:g} s.") from None
        except ProcessEnded:
            return {"failed": "the process has ended"}

    async def close(self) -> None:
        """End the process, whatever it does."""
        await self._process.close()
