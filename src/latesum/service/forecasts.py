"""When campaigns will be decided, in the words of a page: simulated in the background."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.view import Status
from latesum.planning.forecast import MAX_BUCKETS, MAX_REGIONS
from latesum.service.cache import CachedCampaign
from latesum.service.errors import Refused
from latesum.service.jobs import Jobs


class Decided(NamedTuple):
    """When it is decided: a figure, and the words for it."""

    figure: str
    words: str


_WORKING = Decided("being worked out", "The rest of the campaign is being simulated.")
_LATER = Decided("not known yet", "To simulate it took too long; it is tried again later.")
_UNKNOWN = Decided("not known yet", "Once totals of the options are in.")
_PAUSED = Decided("not while it is paused", "It learns nothing of other options meanwhile.")


class Forecasts:
    """The forecasts of campaigns that were looked at."""

    def __init__(self, jobs: Jobs, every: float) -> None:
        self._jobs, self._every = jobs, every
        #: The newest decision and how many totals are known, if it need not be found again; when
        #: it was found; and what.
        self._kept: dict[str, tuple[tuple[int, int] | None, float, Decided]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def of(self, cached: CachedCampaign, status: Status) -> Decided | None:
        """When a campaign is decided, as far as it is known; finding it out is not waited for."""
        if status.state in ("finished", "not begun"):
            return None
        if status.winner is not None:
            return Decided("now", f"{status.winner} is the winner; finish the campaign to keep it.")
        if status.state == "paused":
            return _PAUSED
        if len(status.regions) > MAX_REGIONS:
            words = f"With more than {MAX_REGIONS} regions there is no forecast."
            return Decided("not simulated", words)
        known = sum(row.state == "known" for row in status.timeline)
        if not known:
            return _UNKNOWN
        name = cached.campaign.name
        key = (0 if status.current is None else status.current.bucket, known)
        kept, found_at, found = self._kept.get(name, (None, 0.0, _WORKING))
        recent = name in self._kept and time.monotonic() - found_at < self._every
        if kept != key and not recent and name not in self._tasks:
            task = asyncio.create_task(self._find(cached, key))
            self._tasks[name] = task
            task.add_done_callback(lambda _: self._tasks.pop(name, None))
        return found

    async def close(self) -> None:
        """Give up what is being worked out."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, cached: CachedCampaign, key: tuple[int, int]) -> None:
        kept: tuple[int, int] | None = None
        found = _LATER  # if it takes too long, or too many wait
        with contextlib.suppress(Refused):
            answer = await self._jobs.run("forecast", cached.job(), owner="forecasts")
            if answer.status_code == 200:
                kept = key
                found = in_words(json.loads(bytes(answer.body)), cached.reader.config, key[0])
        self._kept[cached.campaign.name] = (kept, time.monotonic(), found)


def in_words(answer: dict[str, Any], config: CampaignConfig, last: int) -> Decided:
    """A forecast as a date with its range."""
    low, middle, high = answer["buckets"]
    simulated = f"in {answer['replications']} simulations of the rest of the campaign"
    buckets = config.buckets
    if middle is None:
        share = f"it is decided {answer['decided']:.0%} of the time"
        return Decided(
            "not soon", f"Within {MAX_BUCKETS} more {buckets.every}s {share}, {simulated}."
        )
    zone = ZoneInfo(buckets.zone_name)

    def day(more: int | None) -> str:
        """A day in words, with its year where that is not this one."""
        if more is None:
            return "much later"
        today, then = (buckets.begin(each).astimezone(zone) for each in (last, last + more))
        return f"{then.day} {then:%B}" + ("" if then.year == today.year else f" {then.year}")

    return Decided(f"about {day(middle)}", f"Between {day(low)} and {day(high)}, {simulated}.")
