"""Follow the shop's campaign from its plan to its winner, with the commands that the shop types.

    python examples/campaign/follow.py some-folder

Every Monday the shop imports its report and asks what to show in the week.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
from datetime import date, timedelta
from pathlib import Path

import shop

from latesum.cli import main as latesum

WEEKS = 12


def _run(arguments: list[str]) -> str:
    """Run a command of latesum, as from a terminal, and return what it printed."""
    output = io.StringIO()
    before, sys.argv = sys.argv, ["latesum", *arguments]
    try:
        with contextlib.redirect_stdout(output):
            latesum()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.argv = before
    return output.getvalue()


class Shop:
    """Types commands on given days, in a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.today = shop.FIRST_DAY

    def plan(self) -> None:
        """Let latesum say which policy suits the shop, by simulating it."""
        file = shlex.quote(str(self.folder / "plan.json"))
        command = (
            'plan --options 3 --rate 0.22 --lift 10% --traffic "5000 per day" --late "18 hours" '
            f'--run-for "12 weeks" --policies unmix,flow --replications 30 --quick --out {file}'
        )
        print(f"[{self.today}] $ latesum {command}\n{_run(shlex.split(command))}")

    def type(self, command: str, *, quiet: bool = False) -> str:
        """Run `latesum campaign ...` on this morning and return what it printed."""
        front = ["--store", str(self.folder / "shop.db"), "--now", f"{self.today} 07:00"]
        output = _run(["campaign", *front, *shlex.split(command)])
        if not quiet:
            print(f"[{self.today}] $ latesum campaign {command}\n{output}")
        return output

    def import_report(self) -> None:
        """Have the shop's system write this morning's report, and import it."""
        timeline = json.loads(self.type("status --json", quiet=True))["timeline"]
        last = timeline[-1]["option"]
        shown = {row["label"]: row["option"] for row in timeline}
        day = date.fromisoformat(timeline[-1]["label"])
        while (day := day + timedelta(days=1)) < self.today:
            shown[day.isoformat()] = last  # the option of Monday stayed on
        with (self.folder / "totals.csv").open("w", encoding="utf-8", newline="") as file:
            writer = shop.csv.DictWriter(file, ["date", "rounds", "total", "status"])
            writer.writeheader()
            writer.writerows(shop.report(self.today, shown))
        self.type(f"import {shlex.quote(str(self.folder / 'totals.csv'))}")


def follow(folder: Path) -> dict[str, object]:
    """The whole campaign; the last status, as JSON."""
    trader = Shop(folder)
    options = ",".join(shop.ORDERS)
    trader.plan()
    trader.type(
        f"new offers --options '{options}' --plan '{folder / 'plan.json'}' --every day "
        "--zone Europe/Berlin --start 2026-03-02 --time-basis arrival --align week "
        "--unit orders --seed 3"
    )
    trader.type("next")
    for week in range(1, WEEKS + 1):
        trader.today = shop.FIRST_DAY + timedelta(weeks=week)
        trader.import_report()
        if week == 6:
            trader.type(
                "pin 'free shipping' --buckets 7 --user 'the shop' --reason 'Easter leaflet'"
            )
        if week < WEEKS:
            trader.type("next")
    trader.type("status")
    trader.type(f"status --html '{folder / 'offers.html'}'")
    trader.type("replay")
    status: dict[str, object] = json.loads(trader.type("status --json", quiet=True))
    trader.type("finish --user 'the shop' --reason 'the winner stands'")
    trader.type("next")
    return status


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    follow(target)
