"""Plans and forecasts, made by a process of their own (`simulating.py`), one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from latesum._checks import InvalidInput
from latesum.service.errors import Refused
from latesum.service.helper_process import HelperProcess, Message, ProcessEnded
from latesum.service.logs import LOGGER

#: In seconds: how long a question may take, and how long the process waits for the next one.
LONGEST = 120.0
_IDLE = 300.0
OnNews = Callable[[dict[str, Any]], None]
#: Questions that may wait.
MOST_WAITING = 8


class Simulations:
    """Asks a process that simulates. It is begun with the first question and ends when none comes."""

    def __init__(self) -> None:
        self._process = HelperProcess("latesum.service.simulating", _IDLE)
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ask(
        self, about: str, given: dict[str, Any], on_news: OnNews | None = None
    ) -> dict[str, Any]:
        """The answer to a question; it is given up when the one who waits for it leaves.

        Args:
            about: "plan", "region plan", "forecast" or "market forecast".
            given: What is asked, as JSON values.
            on_news: Called with what is known of the answer before it is complete; a plan's present answer.
        """
        if self._waiting >= MOST_WAITING:
            busy = Refused(429, f"{MOST_WAITING} simulations are under way; try again in a minute.")
            busy.headers["retry-after"] = "30"
            raise busy
        self._waiting += 1
        try:
            async with self._turn:
                said = await self._ask(about, given, on_news)
        finally:
            self._waiting -= 1
        if "refused" in said:
            raise InvalidInput(said["refused"])
        if "failed" in said:
            LOGGER.error("a simulation failed: %s", said["failed"])
            raise Refused(422, "this cannot be simulated; try other values.")
        found: dict[str, Any] = said["found"]
        return found

    async def _ask(
        self, about: str, given: dict[str, Any], on_news: OnNews | None
    ) -> dict[str, Any]:
        question = Message({"about": about, "given": given})
        try:
            return (await self._process.ask(question, LONGEST, on_news)).head
        except TimeoutError:
            raise Refused(422, f"the simulation took more than {LONGEST:g} s.") from None
        except ProcessEnded:
            return {"failed": "the process has ended"}

    async def close(self) -> None:
        """End the process, whatever it does."""
        await self._process.close()
