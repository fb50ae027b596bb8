"""Looking after all campaigns from time to time, so that a list is ready and changes are noticed.

Health changes with time alone: a day without a total is a finding that no request brings about.
"""

from __future__ import annotations

import asyncio
import contextlib

from sqlalchemy.exc import DBAPIError, TimeoutError

from latesum._checks import InvalidInput
from latesum.service.alerts import Outbox
from latesum.service.cache import CampaignCache
from latesum.service.errors import Refused
from latesum.service.logs import LOGGER

#: Seconds between two campaigns: those who wait for an answer come first.
_PAUSE = 0.02


class Watch:
    """Makes the summaries of all campaigns anew, again and again, until it is stopped.

    Args:
        campaigns: The campaigns of the service.
        outbox: Where alerts about changes are put.
        every: The seconds between two rounds.
    """

    def __init__(self, campaigns: CampaignCache, outbox: Outbox, every: float) -> None:
        self._campaigns = campaigns
        self._outbox = outbox
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the loop that answers requests."""
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """End, wherever it is."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except (DBAPIError, TimeoutError, InvalidInput, Refused) as error:
                # The store fails or the service is busy; those who ask for something hear of it.
                LOGGER.debug("campaigns cannot be looked after just now", exc_info=error)
            except Exception as error:
                LOGGER.error("campaigns cannot be looked after", exc_info=error)
            await asyncio.sleep(self._every)

    async def look(self) -> None:
        """Look after every campaign once, and put alerts about what has changed into the outbox."""
        summaries = await self._campaigns.renew_summaries(_PAUSE)
        workers = self._campaigns.workers
        heads = await workers.run(workers.readers, self._campaigns.store.heads)
        if not self._campaigns.store.read_only:
            ids = {each.name: each.id for each in heads}
            await workers.run(workers.background, self._outbox.notice, ids, summaries)
