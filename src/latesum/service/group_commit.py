"""Many records, one transaction: what waits while one is written is written together by the next.

A synchronised write costs the same for one record as for a hundred, so under load this is what
makes the service fast; a record that comes alone is written at once. Each has its own verdict, and
none is acknowledged before the transaction that holds it is on the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from latesum.campaigns.campaign import Campaign
from latesum.campaigns.verdicts import Recorded, Row
from latesum.service.metrics import Metrics

_MOST = 256
#: In seconds; about what a synchronised write takes.
_LONGEST_WAIT = 0.004


class _Job(NamedTuple):
    row: Row
    done: asyncio.Future[Recorded]


class GroupCommit:
    """Records for one campaign."""

    def __init__(self, campaign: Campaign, threads: Executor, metrics: Metrics) -> None:
        self._campaign = campaign
        self._threads = threads
        self._metrics = metrics
        self._waiting: list[_Job] = []
        self._together = 1
        self._writer: asyncio.Task[None] | None = None

    async def record(self, row: Row) -> Recorded:
        """Set what is known of a bucket; when this returns, it is durable."""
        job = _Job(row, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_all())
        return await job.done

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await self._let_others_come()
            jobs, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            self._together = len(jobs)
            results = await loop.run_in_executor(self._threads, self._commit, jobs)
            for job, result in zip(jobs, results, strict=True):
                if job.done.done():
                    continue  # the client has left
                if isinstance(result, Recorded):
                    self._metrics.records.labels(result.verdict).inc()
                    job.done.set_result(result)
                else:
                    job.done.set_exception(result)

    async def _let_others_come(self) -> None:
        """Clients that were written together last time have just been answered, and will be back.

        Without this the first of them would be written alone and make all others wait for it. A
        client that comes alone does not wait.
        """
        end = time.monotonic() + _LONGEST_WAIT
        while len(self._waiting) < min(self._together, _MOST) and time.monotonic() < end:
            await asyncio.sleep(0)

    def _commit(self, jobs: list[_Job]) -> Sequence[Recorded | Exception]:
        try:
            results = self._campaign.record_many([job.row for job in jobs], each_alone=True)
        except Exception as error:  # all who wait must hear of it, whatever it is
            return [error] * len(jobs)
        self._metrics.commits.inc()
        return results
