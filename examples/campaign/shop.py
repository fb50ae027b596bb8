"""An invented shop: what its reports say on a given day, knowing what was shown.

    python shop.py 2026-03-09 shown.json totals.csv

Visitors see one of three offers, the same for everybody on a day. Their orders come in over four
days. Reports are as reports are: yesterday's figure is not complete and is restated later, and on
one day the counter was broken, so that its total will never be known.
"""

from __future__ import annotations

import csv
import json
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np

FIRST_DAY = date(2026, 3, 2)
#: The share of visitors who order. The shop does not know this; the campaign is to find it out.
ORDERS = {"ten percent off": 0.22, "free shipping": 0.25, "a gift": 0.31}
#: The share of orders that come in on the same day, the next one, and so on: 0.73 days on average.
ARRIVES_AFTER = (0.55, 0.25, 0.12, 0.08)
BROKEN_COUNTER = date(2026, 3, 18)


def report(today: date, shown: dict[str, str]) -> list[dict[str, object]]:
    """The rows of the report that the shop's system writes on the morning of `today`."""
    arrived: dict[date, int] = {}
    visitors: dict[date, int] = {}
    for text, offer in sorted(shown.items()):
        day = date.fromisoformat(text)
        if day >= today:
            continue
        rng = np.random.default_rng(day.toordinal())
        weekend = day.weekday() >= 5
        visitors[day] = int(rng.integers(4_200, 5_000)) + (900 if weekend else 0)
        orders = rng.binomial(visitors[day], ORDERS[offer] * (1.06 if weekend else 0.98))
        for days, count in enumerate(rng.multinomial(orders, ARRIVES_AFTER)):
            arrival = day + timedelta(days=days)
            arrived[arrival] = arrived.get(arrival, 0) + int(count)
    rows = []
    for day, rounds in visitors.items():
        if day == BROKEN_COUNTER:
            rows.append({"date": day, "rounds": rounds, "total": "", "status": "missing"})
            continue
        age = (today - day).days
        seen = round(arrived[day] * (0.94 if age == 1 else 1.0))
        status = "final" if age > 14 else "provisional"
        rows.append({"date": day, "rounds": rounds, "total": seen, "status": status})
    return rows


def main() -> None:
    """Write the report of a day."""
    today, shown, out = date.fromisoformat(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    rows = report(today, json.loads(shown.read_text(encoding="utf-8")))
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["date", "rounds", "total", "status"])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
