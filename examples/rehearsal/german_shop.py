"""An invented German shop: what its counter, its reports and its list of orders say at a moment.

Visitors see one offer, the same for all on a day. What they buy is booked over several days, and the
bookings of a day are corrected for three mornings: the report of yesterday is never complete.
Reports are German ones: dates with dots, decimal commas, a title above and a sum below the table.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import openpyxl

FIRST_DAY = date(2026, 3, 2)
#: Euro per visitor. The shop does not know this; the campaign is to find it out.
EURO = {"ten percent off": 2.9, "free shipping": 3.0, "a gift": 3.3, "a voucher": 3.9}
#: The share that is booked on the same day, the next one, and so on: 0.85 days later on average.
BOOKED_AFTER = (0.50, 0.27, 0.13, 0.08, 0.02)
#: The share of a day's bookings that its report has after one morning, two and three.
REPORTED = (0.90, 0.97, 0.99)
#: The share of a day's bookings that the counter shows at nine in the evening.
BY_THE_EVENING = 0.86


class Shop:
    """Keeps what was shown and what came of it."""

    def __init__(self) -> None:
        self.visitors: dict[date, int] = {}
        self.booked: dict[date, float] = {}

    def open_for(self, day: date, offer: str) -> None:
        """Show an offer for a day; what is bought is booked on it and on the days after it."""
        rng = np.random.default_rng(day.toordinal())
        self.visitors[day] = int(rng.integers(4_200, 5_000))
        bought = EURO[offer] * self.visitors[day] * rng.normal(1, 0.02)
        for days, share in enumerate(BOOKED_AFTER):
            later = day + timedelta(days=days)
            self.booked[later] = self.booked.get(later, 0.0) + share * bought

    def counter(self, day: date) -> tuple[int, float]:
        """Visitors and euro of a day as its counter shows them at nine in the evening."""
        return round(self.visitors[day] * 0.9), round(self.booked[day] * BY_THE_EVENING, 2)

    def rows(self, morning: date, days: int = 7) -> list[list[str]]:
        """The last days as the report of a morning has them, in German."""
        found = []
        for age in range(days, 0, -1):
            day = morning - timedelta(days=age)
            if day in self.visitors:
                share = REPORTED[age - 1] if age <= len(REPORTED) else 1.0
                found.append(_german(day, self.visitors[day], self.booked[day] * share))
        return found

    def write_csv(self, path: Path, morning: date) -> None:
        """The report of a morning as a text file with semicolons."""
        rows = [["Tagesbericht"], [], ["Datum", "Besucher", "Umsatz"], *self.rows(morning)]
        rows.append(["Summe", "", ""])
        path.write_text("".join(";".join(row) + "\n" for row in rows), encoding="cp1252")

    def write_excel(self, path: Path, morning: date) -> None:
        """The same as an Excel file, with texts in its cells, as many programs export them."""
        book = openpyxl.Workbook()
        sheet = book.active
        for row in [["Wochenbericht"], [], ["Datum", "Besucher", "Umsatz"], *self.rows(morning)]:
            sheet.append(row)
        book.save(path)

    def write_orders(self, path: Path, seed: int = 1) -> None:
        """A sample of orders: the days between the visit and the booking."""
        rng = np.random.default_rng(seed)
        days = rng.choice(len(BOOKED_AFTER), size=400, p=BOOKED_AFTER) + rng.random(400) * 0.3
        lines = [f"{value:.2f}".replace(".", ",") for value in days]
        path.write_text("\n".join(["Verzug", *lines]) + "\n", encoding="cp1252")


def _german(day: date, visitors: int, euro: float) -> list[str]:
    """A row of a report: `02.03.2026`, `4.210`, `12.345,60`."""
    swapped = str.maketrans(",.", ".,")
    return [
        f"{day:%d.%m.%Y}",
        f"{visitors:,}".translate(swapped),
        f"{euro:,.2f}".translate(swapped),
    ]
