"""The demo of `latesum serve --demo`: the simulator plays the world, in fast motion."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Self

import numpy as np

from latesum._checks import InvalidInput, finite_number
from latesum.campaigns import Campaign, Store
from latesum.simulation import Problem

NAME = "demo"
#: The share of visitors who buy, for each banner; the simulator knows it, the campaign does not.
BANNERS = {"red": 0.25, "blue": 0.45, "green": 0.15}
_VISITORS_A_DAY = 5000
_BEGINNING = datetime(2026, 3, 2, tzinfo=UTC)
_DAY = timedelta(days=1)
_DAYS = 90
#: Days after which the total of a day is told.
_LAG = 2


class FastClock:
    """A clock that stands still until it is started, and then runs faster than others."""

    def __init__(self, seconds_per_day: float) -> None:
        self.speed = 86_400 / finite_number(seconds_per_day, "--seconds-per-day", above=0)
        self._began: float | None = None

    def start(self) -> None:
        """Begin to run."""
        self._began = time.monotonic()

    def __call__(self) -> datetime:
        """The time in the demo."""
        passed = 0.0 if self._began is None else time.monotonic() - self._began
        return _BEGINNING + timedelta(seconds=passed * self.speed)

    def seconds_until(self, moment: datetime) -> float:
        """How long to wait, in real seconds."""
        return max(0.0, (moment - self()).total_seconds() / self.speed)


class DemoCampaign:
    """A campaign of a shop, and a thread that plays its visitors until the campaign is over."""

    def __init__(self, store: Store, seconds_per_day: float) -> None:
        self.clock = FastClock(seconds_per_day)
        self._campaign = Campaign.create(
            name=NAME,
            options=list(BANNERS),
            policy="odaaf-b",
            parameters={
                "horizon": f"{_DAYS} days",
                "mean_delay": "12 hours",
                "delay_bound": "1 day",
            },
            every="day",
            expected_rounds=_VISITORS_A_DAY,
            time_basis="arrival",
            unit="sales",
            start=_BEGINNING.date(),
            seed=1,
            store=store,
            clock=self.clock,
        )
        delay = f"uniform(0, {_VISITORS_A_DAY})"
        self._world = Problem(list(BANNERS.values()), delay).start(rng=np.random.default_rng(1))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._play, name="demo", daemon=True)

    def start(self) -> None:
        """Let the first day begin."""
        self.clock.start()
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _play(self) -> None:
        untold: deque[tuple[int, int, float]] = deque()
        draws = np.random.default_rng(2)
        for day in range(1, _DAYS + 1):
            decision = self._campaign.decide(day)
            if self._stop.wait(self.clock.seconds_until(_BEGINNING + day * _DAY)):
                return
            visitors = int(draws.poisson(_VISITORS_A_DAY))
            untold.append((day, visitors, self._world.play(decision.arm, visitors)))
            while untold and untold[0][0] + _LAG <= day:
                self._tell(*untold.popleft())
            if self._campaign.state().finished is not None:
                return  # it was ended on the page
        for each in untold:
            self._tell(*each)
        with contextlib.suppress(InvalidInput):  # it was ended on the page meanwhile
            self._campaign.finish(user="the demo", reason="Its 90 days are over.")

    def _tell(self, day: int, visitors: int, sales: float) -> None:
        self._campaign.record(
            day, rounds=visitors, total=sales, by="the demo", allow_out_of_range=True
        )
