"""Sixty days of a shop's campaign, with everything that daily life brings.

    python examples/rehearsal/rehearse.py some-folder

Every morning the shop imports its report of the last seven days, which restates them, and asks what to
show; every evening it records what its counter says. On Mondays the report is an Excel file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from german_shop import FIRST_DAY, Shop

from latesum import delays
from latesum.campaigns import Campaign
from latesum.campaigns.importing import import_totals
from latesum.files import FileForm

DAYS = 60
ZONE = ZoneInfo("Europe/Berlin")
GERMAN = FileForm(columns={"bucket": "Datum", "rounds": "Besucher", "total": "Umsatz"}, decimal=",")
OFFICE = {"user": "the office"}


class Clock:
    """The time of the rehearsal."""

    def __init__(self) -> None:
        self.now = _moment(FIRST_DAY, 7)

    def __call__(self) -> datetime:
        return self.now


def rehearse(folder: Path) -> Iterator[Campaign]:
    """The campaign after each morning of the 60 days, and once more after the last of its reports."""
    clock, shop = Clock(), Shop()
    campaign = Campaign.create(
        name="offers",
        options=["ten percent off", "free shipping", "a gift"],
        parameters={"horizon": "45 days", "mean_delay": "2 days"},  # the delay is a guess
        every="day",
        zone=ZONE.key,
        start=FIRST_DAY.isoformat(),
        expected_rounds=4_600,
        time_basis="arrival",
        range=(0, 20),
        unit="euro",
        status_quo="ten percent off",
        completeness="6 hours: 0.9, 31 hours: 0.97, 55 hours: 0.99, 79 hours: 1",
        seed=7,
        store=folder / "shop.db",
        clock=clock,
    )
    with campaign:
        for number in range(1, DAYS + 1):
            day = FIRST_DAY + timedelta(days=number - 1)
            clock.now = _moment(day, 7)
            _import_report(campaign, shop, folder, day)
            _change(campaign, shop, folder, number)
            shop.open_for(day, campaign.decide().option)
            yield campaign
            clock.now = _moment(day, 21)
            visitors, euro = shop.counter(day)
            campaign.record(day.isoformat(), rounds=visitors, total=euro, by="the counter")
        clock.now = _moment(FIRST_DAY + timedelta(days=DAYS), 7)
        _import_report(campaign, shop, folder, FIRST_DAY + timedelta(days=DAYS))
        yield campaign


def _import_report(campaign: Campaign, shop: Shop, folder: Path, morning: date) -> None:
    """Take in the report of the last seven days: an Excel file on Mondays, otherwise a text file."""
    if morning == FIRST_DAY:
        return
    path = folder / f"bericht.{'xlsx' if morning.weekday() == 0 else 'csv'}"
    (shop.write_excel if path.suffix == ".xlsx" else shop.write_csv)(path, morning)
    # How the files are written is said once; the campaign remembers it.
    form = GERMAN if campaign.state().file_form == FileForm() else None
    assert import_totals(campaign, path, form, by="the office").written


def _change(campaign: Campaign, shop: Shop, folder: Path, number: int) -> None:
    """What the office does on some mornings; each action is in the history, with user and reason."""
    if number == 20:
        campaign.add_option("a voucher", reason="new in spring", **OFFICE)
    if number == 30:
        campaign.remove_option("free shipping", reason="the carrier is on strike", **OFFICE)
    if number == 35:
        campaign.restore_option("free shipping", reason="the strike is over", **OFFICE)
    if number == 38:
        campaign.change(parameters={"horizon": f"{DAYS} days"}, reason="it is worth it", **OFFICE)
    if number == 42:
        shop.write_orders(folder / "verzug.csv")
        form = FileForm(columns={"delay": "Verzug"}, decimal=",")
        fitted = delays.fit(folder / "verzug.csv", form=form, unit="day")
        mean = f"{fitted.mean.value:.2f} days"
        campaign.change(parameters={"mean_delay": mean}, reason="fitted to 400 orders", **OFFICE)


def _moment(day: date, hour: int) -> datetime:
    return datetime.combine(day, time(hour), ZONE)


def main() -> None:
    """Rehearse, and print what a user would see."""
    from latesum.campaigns.actions import describe_event

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for campaign in rehearse(folder):
        worries = [each.sentence for each in campaign.health() if each.level != "note"]
        last = next(reversed(campaign.state().decisions.values()))
        print(f"{last.label}: {last.option}. {last.reason}", *worries, sep="\n    ! ")
    with Campaign.open("offers", store=folder / "shop.db") as campaign:
        for event in campaign.history():
            if event.kind not in ("decision", "record"):
                print(describe_event(event, campaign.state().config))
        print(campaign.status().headline)


if __name__ == "__main__":
    main()
