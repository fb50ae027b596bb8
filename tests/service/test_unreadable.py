"""One campaign that cannot be read is a line with an alarm, and harms nobody else."""

import json
from datetime import UTC, datetime

from service_settings import SETTINGS

from latesum.campaigns.config import CampaignConfig


def add_unreadable(store):
    """A campaign as it is kept of one who has a policy of their own, which is not there for us."""
    config = CampaignConfig.read({"name": "byown", **SETTINGS}).to_json()
    store.create("byown", {**config, "policy": "minepol:Mine"}, datetime.now(UTC))


def test_others_are_listed_beside_it(service, campaign, lines, latesum):
    add_unreadable(service.store)
    reader = service.as_("read")
    listed = {each["name"]: each for each in reader.get("/v1/campaigns").json()["campaigns"]}
    assert listed["banner"]["state"] == "not begun"
    assert listed["byown"]["state"] == "unreadable"
    assert "minepol" in listed["byown"]["alarm"]
    page = reader.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "cannot be read here" in page.text
    metrics = reader.get("/metrics")
    assert 'campaign="byown",code="unreadable",level="alarm"' in metrics.text
    errors = [json.loads(line) for line in lines if '"level": "error"' in line]
    assert [each["campaign"] for each in errors] == ["byown"]  # once, however often it is looked at
    assert reader.get("/v1/campaigns/byown").status_code == 422
    place = ("campaign", "--store", service.store.url.database)
    code, said, _ = latesum(*place, "list")
    assert code == 0
    assert "banner" in said
    assert "byown: ALARM: This campaign cannot be read here" in said
    code, said, _ = latesum(*place, "check")
    assert code == 1
    assert said.startswith("byown: ALARM: This campaign cannot be read")
    assert latesum(*place, "check", "banner")[0] == 0


def test_alerts_are_sent_for_it_and_for_others(make_service, clock, receiver):
    service = make_service(webhook_networks=("127.0.0.0/8",), watch_every=0.05)
    admin = service.as_("admin")
    body = {"name": "own", "address": f"http://127.0.0.1:{receiver.port}/hook"}
    assert admin.post("/v1/webhooks", json=body).status_code == 201
    add_unreadable(service.store)
    config = {**SETTINGS, "start": "2026-03-02"}
    assert admin.put("/v1/campaigns/daily", json=config).status_code == 201
    admin.get("/v1/campaigns/daily/option")
    clock.pass_by(days=5)
    said = set()
    for _ in range(3000):
        said = {json.loads(taken[1])["campaign"] for taken in receiver.taken}
        if said == {"byown", "daily"}:
            break
        receiver.wait.wait(0.02)
    assert said == {"byown", "daily"}
