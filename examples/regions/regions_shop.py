"""An invented shop that sells in four regions: what its report of a day says, by what was shown where.

Regions are of different size, weekdays have a shape, demand drifts for all of them together, and
what is sold comes in over several days.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

FIRST_DAY = date(2026, 3, 2)
HISTORY = 28
OPTIONS = ("ten off", "free shipping", "a gift")
VISITORS = {"north": 9_000, "south": 6_000, "west": 3_000, "east": 2_000}
#: The share of visitors who buy, and how much better an option is. The shop does not know this.
RATE = 0.03
WORTH = {"ten off": 1.0, "free shipping": 0.97, "a gift": 1.12}
WEEKDAYS = (0.95, 0.9, 0.95, 1.0, 1.1, 1.25, 0.85)
#: The share that comes in on the same day, the next one, and so on: 1.6 days later on average.
ARRIVES_AFTER = (0.35, 0.25, 0.15, 0.10, 0.06, 0.04, 0.03, 0.02)


class Shop:
    """Keeps what was shown in each region and what came of it."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self._level = 1.0
        self.visitors: dict[tuple[date, str], int] = {}
        self.arrived: dict[tuple[date, str], float] = {}
        for back in range(HISTORY + 14, 0, -1):  # it was open before its history begins
            day = FIRST_DAY - timedelta(days=back)
            self.open_for(day, dict.fromkeys(VISITORS, OPTIONS[0]))

    def open_for(self, day: date, shown: dict[str, str]) -> None:
        """Show an option in each region for a day; what is sold arrives on it and after it."""
        self._level *= float(np.exp(self._rng.normal(0, 0.01)))
        for region, size in VISITORS.items():
            visitors = int(self._rng.poisson(size))
            mean = visitors * RATE * WORTH[shown[region]] * WEEKDAYS[day.weekday()] * self._level
            self.visitors[day, region] = visitors
            for days, share in enumerate(ARRIVES_AFTER):
                place = day + timedelta(days=days), region
                sold = int(self._rng.poisson(share * mean))
                self.arrived[place] = self.arrived.get(place, 0) + sold

    def write(self, path: Path, first: date, last: date) -> None:
        """The report of some days, with a row for each region."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["date", "region", "rounds", "total"])
            day = first
            while day <= last:
                for region in VISITORS:
                    place = day, region
                    writer.writerow([day, region, self.visitors[place], self.arrived[place]])
                day += timedelta(days=1)
