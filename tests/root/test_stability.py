"""What a release promises: campaigns and databases of 1.0 are read, and the HTTP API only grows."""

import json
import shutil

import pytest

from latesum.campaigns import Campaign, Store
from latesum.campaigns.moving import read_export, restore_campaigns
from record_stable import FOLDER, description, facts


def recorded(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["an export", "a database"])
def store(request, tmp_path):
    path = tmp_path / "campaigns.db"
    if request.param == "a database":
        shutil.copy(FOLDER / "campaigns.db", path)
        return path
    made = Store(path)
    restore_campaigns(made, read_export((FOLDER / "campaigns.json").read_text(encoding="utf-8")))
    made.close()
    return path


def test_recorded_campaigns_are_read_as_they_were(store):
    assert facts(store) == recorded("facts")


def test_recorded_campaigns_go_on(store):
    with Campaign.open("offers", store=store) as campaign:
        assert campaign.decide().option == "blue"
        campaign.reopen(user="ada", reason="a later version")
        campaign.decide(25)
    with Campaign.open("regions", store=store) as campaign:
        assert set(campaign.decide_all(9)) == {"north", "south"}


def test_the_http_api_has_all_that_it_had():
    before, now = recorded("openapi"), description()
    for route, parts in before["routes"].items():
        assert route in now["routes"]
        for part, names in parts.items():
            assert set(names) <= set(now["routes"][route][part]), route
    for model, fields in before["models"].items():
        assert set(fields) <= set(now["models"].get(model, ())), model
