"""When campaigns will be decided, in the words of a page: simulated in the background, kept until the log grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from latesum._render import counted
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.view import Status
from latesum.service.cache import CachedCampaign
from latesum.service.errors import Refused
from latesum.service.forecasting import MOST_BUCKETS, Question, question_of
from latesum.service.jobs import Jobs, Kind
from latesum.service.market_forecasting import MOST_REGIONS, MarketQuestion, market_question_of


class Decided(NamedTuple):
    """When it is decided: a figure, and the words for it."""

    figure: str
    words: str


class _Kept(NamedTuple):
    key: (
        tuple[int, int] | None
    )  # the newest decision, and how many totals are known; None: try again
    at: float
    found: Decided


_WORKING = Decided("being worked out", "The rest of the campaign is being simulated.")
_LATER = Decided("not known yet", "To simulate it took too long; it is tried again later.")
_UNKNOWN = Decided("not known yet", "Once totals of the options are in.")


class Forecasts:
    """The forecasts of campaigns that were looked at.

    Args:
        jobs: Where it is simulated.
        every: The seconds between two forecasts of a campaign.
    """

    def __init__(self, jobs: Jobs, every: float) -> None:
        self._jobs = jobs
        self._every = every
        self._kept: dict[str, _Kept] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def of(self, cached: CachedCampaign, status: Status) -> Decided | None:
        """When a campaign is decided, as far as it is known; to find it out is begun, and not waited for."""
        if status.state in ("finished", "archived", "not begun"):
            return None
        if status.winner is not None:
            return Decided("now", f"{status.winner} is the winner; finish the campaign to keep it.")
        if status.state == "paused":
            return Decided(
                "not while it is paused", "It learns nothing of other options meanwhile."
            )
        if len(status.regions) > MOST_REGIONS:
            return Decided(
                "not simulated", f"With more than {MOST_REGIONS} regions there is no forecast."
            )
        name = cached.campaign.name
        kept = self._kept.get(name)
        last = 0 if status.current is None else status.current.bucket
        key = (last, sum(row.state == "known" for row in status.timeline))
        fresh = kept is not None and (kept.key == key or time.monotonic() - kept.at < self._every)
        if not fresh and name not in self._tasks:
            task = asyncio.create_task(self._find(cached, status, key))
            self._tasks[name] = task
            task.add_done_callback(lambda _: self._tasks.pop(name, None))
        return _WORKING if kept is None else kept.found

    async def close(self) -> None:
        """Give up what is being worked out."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, cached: CachedCampaign, status: Status, key: tuple[int, int]) -> None:
        is_market = status.model is not None
        ask_for: Callable[..., MarketQuestion | Question | None] = (
            market_question_of if is_market else question_of
        )
        question = await cached.read(lambda: ask_for(cached.reader.state(), status))
        kept: tuple[int, int] | None = key
        found = _UNKNOWN
        if question is not None:
            kind: Kind = "market forecast" if is_market else "forecast"
            try:
                answer = await self._jobs.run(kind, question._asdict(), owner="forecasts")
                found = in_words(answer.found(), cached.reader.config, key[0])
            except Refused:  # it took too long, or too many wait: another time it may be found
                kept, found = None, _LATER
        self._kept[cached.campaign.name] = _Kept(kept, time.monotonic(), found)


def in_words(answer: dict[str, Any], config: CampaignConfig, last: int) -> Decided:
    """A forecast as a date with its range; of numbered buckets, as their number."""
    low, middle, high = answer["buckets"]
    simulated = f"in {answer['replications']} simulations of the rest of the campaign"
    if middle is None:
        share = f"{answer['decided']:.0%}"
        unit = "buckets" if config.buckets.every == "number" else config.buckets.every + "s"
        return Decided(
            "not soon",
            f"Within {MOST_BUCKETS} more {unit} it is decided only {share} of the time, {simulated}.",
        )
    if not config.buckets.timed:
        most = "much later" if high is None else f"{high}"
        return Decided(
            f"about {counted(middle, 'more bucket')}", f"Between {low} and {most}, {simulated}."
        )
    zone = ZoneInfo(config.buckets.zone_name)
    dates = [
        None if each is None else config.buckets.begin(last + each).astimezone(zone).date()
        for each in (low, middle, high)
    ]
    today = config.buckets.begin(last).astimezone(zone).date()
    first, middle_day, latest = (
        "much later" if each is None else _day(each, today) for each in dates
    )
    return Decided(f"about {middle_day}", f"Between {first} and {latest}, {simulated}.")


def _day(day: date, today: date) -> str:
    """A day in words, with its year where that is not this one."""
    return f"{day.day} {day:%B}" + ("" if day.year == today.year else f" {day.year}")
