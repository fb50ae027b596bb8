"""Follow a campaign in four regions from its history to its winner, with the commands that are typed.

    python examples/regions/follow.py some-folder

Every morning the shop imports its report and asks what to show in each region.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from regions_shop import FIRST_DAY, HISTORY, OPTIONS, VISITORS, Shop

from latesum.cli import main as latesum

DAYS = 42


def follow(folder: Path, days: int = DAYS) -> dict[str, Any]:
    """The campaign of some days; its last status, as JSON."""
    shop = Shop()
    shop.write(
        folder / "before.csv", FIRST_DAY - timedelta(days=HISTORY), FIRST_DAY - timedelta(days=1)
    )
    _type(
        folder,
        FIRST_DAY,
        f"new offers --options '{','.join(OPTIONS)}' --regions {','.join(VISITORS)} --every day "
        "--zone Europe/Berlin --start 2026-03-02 --run-for '12 weeks' --late 'about 2 days' "
        "--status-quo 'ten off' --expected-rounds 5000 --time-basis arrival --unit orders --seed 4 "
        f"--history '{folder / 'before.csv'}'",
    )
    for number in range(days):
        day = FIRST_DAY + timedelta(days=number)
        if number:
            _import_yesterday(folder, shop, day, quiet=number > 1)
        if number % 7 == 0:
            _type(folder, day, "next")
        answer = json.loads(_type(folder, day, "next --json", quiet=True))
        shown = {each["region"]: each["option"] for each in answer["regions"]}
        if number == 10:
            _type(
                folder,
                day,
                "pin 'free shipping' --region east --buckets 4 --reason 'a fair in the east'",
            )
        shop.open_for(day, shown)
    end = FIRST_DAY + timedelta(days=days)
    _import_yesterday(folder, shop, end, quiet=True)
    _type(folder, end, "status")
    _type(folder, end, "replay")
    status: dict[str, Any] = json.loads(_type(folder, end, "status --json", quiet=True))
    return status


def _import_yesterday(folder: Path, shop: Shop, day: date, *, quiet: bool) -> None:
    yesterday = day - timedelta(days=1)
    shop.write(folder / "report.csv", yesterday, yesterday)
    _type(folder, day, f"import '{folder / 'report.csv'}'", quiet=quiet)


def _type(folder: Path, day: date, command: str, *, quiet: bool = False) -> str:
    """Run `latesum campaign ...` on the morning of a day and return what it printed."""
    front = ["campaign", "--store", str(folder / "shop.db"), "--now", f"{day} 07:00"]
    output = io.StringIO()
    before, sys.argv = sys.argv, ["latesum", *front, *shlex.split(command)]
    try:
        with contextlib.redirect_stdout(output):
            latesum()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.argv = before
    if not quiet:
        print(f"[{day}] $ latesum campaign {command}\n{output.getvalue()}")
    return output.getvalue()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    follow(target)
