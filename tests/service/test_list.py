"""The list of many campaigns, and the page of a long one: what they cost and what they show."""

from datetime import UTC, datetime, timedelta

import pytest
from service_settings import SETTINGS

from latesum.campaigns import Campaign
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.health import Finding
from latesum.campaigns.knowledge import OptionView
from latesum.campaigns.state import Event
from latesum.campaigns.view import Status
from latesum.service.cache import select


def line(name, options=("red", "blue"), state="running", health=()):
    shown = [
        OptionView(each, arm, 0, 0, 0, None, 0.0, 1.0, "candidate")
        for arm, each in enumerate(options)
    ]
    return Status(name, state, "", datetime.now(UTC), options=shown, health=list(health))


ALARM = Finding("learns nothing", "alarm", "No total has become usable for 6 days.")
WARNING = Finding("paused long", "warning", "It has been paused for long.")
NOTE = Finding("weekdays", "note", "Options are compared on different days.")


def test_the_worst_come_first_and_campaigns_are_found_by_name_and_option():
    every = [
        line("Banner"),
        line("prices", ["9.99", "Blue"], health=[NOTE]),
        line("over", state="finished", health=[NOTE, WARNING]),
        line("ill", ["green"], health=[ALARM]),
    ]

    def names(search=""):
        return [each.name for each in select(every, search)]

    assert names() == ["ill", "prices", "Banner", "over"]
    assert names("bann") == ["Banner"]
    assert names("BLUE") == ["prices", "Banner", "over"]
    assert names("x") == []


@pytest.fixture
def counted(make_service, monkeypatch):
    """A service of 30 campaigns of days, and how often a status was made."""
    service = make_service(watch_every=3600.0)
    made = []
    whole = Campaign.status

    def counting(self, *arguments):
        made.append(self.name)
        return whole(self, *arguments)

    monkeypatch.setattr(Campaign, "status", counting)
    config = {**SETTINGS, "start": "2026-03-02"}
    for number in range(30):
        Campaign.create(
            name=f"many-{number}", **config, store=service.store, clock=service.clock
        ).decide()
    return service, made


def test_a_list_looks_only_at_campaigns_whose_log_has_grown(counted):
    """So that 200 campaigns of 60 days cost milliseconds: nothing of them is worked out again."""
    service, made = counted
    reader = service.as_("read")
    assert len(reader.get("/v1/campaigns").json()["campaigns"]) == 30
    made.clear()
    for path in ("/v1/campaigns", "/live", "/metrics", "/v1/campaigns?search=many-7"):
        assert reader.get(path).status_code == 200
    assert made == []
    service.as_("operate").post("/v1/campaigns/many-7/actions/pause", json={"reason": "a look"})
    made.clear()
    line = reader.get("/v1/campaigns?search=many-7").json()["campaigns"][0]
    assert line["state"] == "paused"
    assert set(made) <= {"many-7"}


def test_time_alone_changes_the_health_in_a_list(counted, clock):
    service, _ = counted
    reader = service.as_("read")
    assert "not asked for" not in reader.get("/v1/campaigns").text
    clock.pass_by(days=5)
    assert "not asked for" in reader.get("/v1/campaigns").text
    assert "30</b> need attention now" in reader.get("/live").text


@pytest.mark.parametrize("buckets", [2_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_page_of_very_many_buckets_is_small_and_shows_all_of_them(make_service, clock, buckets):
    service = make_service(watch_every=3600.0)
    start = datetime(2025, 1, 1, tzinfo=UTC)
    config = CampaignConfig.read(
        {**SETTINGS, "name": "long", "every": "hour", "start": "2025-01-01 00:00"}
    )
    events = []
    for bucket in range(1, buckets + 1):
        arm = bucket // 37 % 2
        begin = start + timedelta(hours=bucket - 1)
        body = {
            "label": config.buckets.label(bucket),
            "option": arm,
            "purpose": "learn",
            "source": "policy",
            "rounds": 1000,
            "number": bucket,
            "reason": f"{config.options[arm]} for 1,000 rounds, to learn more about it.",
        }
        events.append(Event(0, begin, "decision", bucket, body))
        record = {"rounds": 1000, "total": 300 + bucket % 50, "verdict": "new", "by": "shop"}
        events.append(Event(0, begin + timedelta(hours=1), "record", bucket, record))
    service.store.create("long", config.to_json(), start, events)
    clock.now = start + timedelta(hours=buckets, minutes=5)
    reader = service.as_("read")
    for span in ("", "?span=all", "?span=30", "?span=nonsense", "?span=²"):
        page = reader.get(f"/campaigns/long{span}")
        assert page.status_code == 200
        assert len(page.content) < 300_000
    whole = reader.get("/campaigns/long?span=all").text
    assert f"all {buckets:,}" in whole
    label = config.buckets.label
    assert f"{label(1)} to {label(-(-buckets // 300))}" in whole  # a column of several buckets
    assert label(buckets) in whole
