"""Campaigns recorded with version 1.0: every later version must read them, as a file and a store.

They are never recorded again. How they were made:

    python tests/campaigns/test_recorded.py
"""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from latesum.campaigns import Campaign, Store
from latesum.campaigns.moving import export_campaigns, read_export, restore_campaigns

FOLDER = Path(__file__).parent / "recorded-1.0"
EXPORT, DATABASE, EXPECTED = (
    FOLDER / name for name in ("campaigns.json", "campaigns.db", "expected.json")
)
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
END = START + timedelta(days=24)
BY = {"user": "ann", "reason": "recorded for later versions"}
FIELDS = ["label", "region", "shown", "decided", "source", "rounds", "total", "status", "revisions"]


def what_users_see(store):
    """What must never change: decisions, totals, actions, and the options with their names."""
    found = {}
    for stored in store.campaigns():
        campaign = Campaign.open(stored.name, store=store, clock=lambda: END)
        status = campaign.status().to_json()
        found[stored.name] = {
            "timeline": [[row[field] for field in FIELDS] for row in status["timeline"]],
            "options": [option["name"] for option in status["options"]],
            "history": [[event.at.isoformat(), event.kind] for event in campaign.history()],
        }
    return found


@pytest.fixture
def copied(tmp_path):
    return Path(shutil.copy(DATABASE, tmp_path))


def test_the_store_is_read_and_goes_on(copied):
    with Store(copied) as store:
        assert what_users_see(store) == json.loads(EXPECTED.read_text())
        campaign = Campaign.open("banner", store=store, clock=lambda: END)
        assert campaign.decide().option in campaign.config.options
        assert campaign.record(START.date() + timedelta(days=20), total=1500).verdict == "revised"


def test_the_store_has_what_the_file_has(copied):
    with Store(copied) as store:
        assert export_campaigns(store) == json.loads(EXPORT.read_text())


def test_the_file_is_restored(tmp_path):
    with Store(tmp_path / "other.db") as store:
        restore_campaigns(store, read_export(EXPORT.read_text()))
        assert export_campaigns(store) == json.loads(EXPORT.read_text())
        assert what_users_see(store) == json.loads(EXPECTED.read_text())


def record():
    """Play two campaigns with every kind of event, and keep them."""
    FOLDER.mkdir()
    now = START
    with Store(DATABASE) as store:
        common = {"store": store, "clock": lambda: now, "time_basis": "arrival", "seed": 7}
        banner = Campaign.create(
            name="banner",
            options=["red", "blue", "green"],
            expected_rounds=5000,
            policy="flow",
            parameters={"horizon": "60 days", "mean_delay": "12 hours"},
            completeness={"1 day": 0.8, "3 days": 1.0},
            status_quo="red",
            **common,
        )
        shops = Campaign.create(
            name="shops",
            options=["flyer", "gift"],
            regions=["north", "south"],
            expected_rounds=800,
            range=[0, 20],
            unit="euros",
            status_quo="flyer",
            **common,
        )
        actions = {
            3: [("pin", {"option": "blue", "buckets": 2})],
            6: [("pause", {})],
            8: [("resume", {})],
            9: [("remove-option", {"option": "green"})],
            11: [("restore-option", {"option": "green"})],
            12: [("add-option", {"option": "violet"})],
            14: [("rename-option", {"option": "violet", "name": "purple"})],
            15: [("change", {"config": {"expected_rounds": 5200}})],
            20: [("finish", {"option": "blue"}), ("reopen", {})],
            21: [("pin", {"option": "red", "buckets": 5}), ("unpin", {})],
        }
        regional = {5: [("pause", {"region": "north"})], 7: [("resume", {"region": "north"})]}
        for day in range(24):
            now = START + timedelta(days=day)
            for action, given in actions.get(day, []):
                banner.act(action, **BY, **given)
            for action, given in regional.get(day, []):
                shops.act(action, **BY, **given)
            banner.decide()
            shops.decide_all()
            if day == 0:
                continue
            before = now.date() - timedelta(days=1)
            if day != 12:
                banner.record(before, rounds=4900 + 10 * day, total=1400 + 17 * (day % 5))
            if day % 4 == 0:
                banner.record(before - timedelta(days=2), total=1500 + day, status="final")
            if day == 13:
                banner.record(before - timedelta(days=1), status="missing")
                banner.record(before - timedelta(days=2), shown="red")
                shops.record(before, region="north", rounds=800, shown="flyer:0.7 gift:0.3")
            shops.record(before, region="north", rounds=790 + day, total=3100.5 + day)
            shops.record(before, region="south", rounds=810 - day, total=3300.25 - day)
        banner.log_refused_import("the file had no column 'total'", user="ann")
        EXPORT.write_text(json.dumps(export_campaigns(store), indent=1) + "\n")
        EXPECTED.write_text(json.dumps(what_users_see(store), indent=1) + "\n")


if __name__ == "__main__":
    record()
