"""Campaigns with regions over HTTP."""

import pytest

SETTINGS = {
    "options": ["red", "blue", "green"], "regions": ["north", "south"], "every": "day", "zone": "UTC",
    "expected_rounds": 1000, "time_basis": "arrival", "seed": 3, "start": "2026-03-01",
    "parameters": {"horizon": "8 weeks", "late": "about 2 days"}, "status_quo": "red",
}  # fmt: skip


@pytest.fixture
def regional(operator):
    assert operator.put("/v1/campaigns/offers", json=SETTINGS).status_code == 201
    assert operator.put("/v1/campaigns/offers", json=SETTINGS).status_code == 200
    return "/v1/campaigns/offers"


def test_every_region_is_asked_for_alone_or_with_the_others(operator, regional):
    all_of_them = operator.get(f"{regional}/options")
    assert all_of_them.status_code == 200
    answers = {each["region"]: each for each in all_of_them.json()["options"]}
    assert list(answers) == ["north", "south"]
    for region in answers:
        alone = operator.get(f"{regional}/option", params={"region": region})
        assert alone.json() == answers[region]
    tag = all_of_them.headers["etag"]
    again = operator.get(f"{regional}/options", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    for parameters, says in (
        ({}, "say which region"),
        ({"region": "nort"}, "did you mean 'north'"),
    ):
        refused = operator.get(f"{regional}/option", params=parameters)
        assert refused.status_code == 422
        assert says in refused.json()["error"]


def test_a_campaign_without_regions_has_one_answer(operator, daily):
    found = operator.get(f"{daily}/options").json()["options"]
    assert found == [operator.get(f"{daily}/option").json()]
    assert operator.get(f"{daily}/option?region=north").status_code == 422


def test_totals_are_of_a_region(operator, regional, clock):
    operator.get(f"{regional}/options")
    label = operator.get(f"{regional}/options").json()["label"]
    clock.pass_by(days=1)
    body = {"rounds": 1000, "total": 31, "shown": "red:0.4 blue:0.6"}
    one = operator.put(f"{regional}/regions/north/buckets/{label}", json=body)
    assert (one.status_code, one.json()["verdict"], one.json()["region"]) == (200, "new", "north")
    assert operator.put(f"{regional}/buckets/{label}", json=body).status_code == 422
    assert operator.put(f"{regional}/regions/east/buckets/{label}", json=body).status_code == 404
    rows = {"rows": [{"bucket": label, "region": "south", "rounds": 900, "total": 30}]}
    assert operator.post(f"{regional}/totals", json=rows).json()["written"]
    text = f"date,region,rounds,total\n{label},south,900,33\n"
    sent = operator.post(f"{regional}/totals", content=text, headers={"Content-Type": "text/csv"})
    assert [each["verdict"] for each in sent.json()["rows"]] == ["revised"]
    table = operator.get(f"{regional}/tables/buckets").text
    assert f"{label},2,red:0.4 blue:0.6," in table


def test_acts_are_for_a_region(operator, regional, clock):
    before = {
        each["region"]: each["option"]
        for each in operator.get(f"{regional}/options").json()["options"]
    }
    other = next(name for name in SETTINGS["options"] if name not in before.values())
    order = {"option": other, "why": "a fair", "region": "south"}
    assert operator.post(f"{regional}/override", json=order).status_code == 200
    assert operator.post(f"{regional}/hold", json={"why": "x", "region": "east"}).status_code == 422
    clock.pass_by(days=1)
    after = {
        each["region"]: each["option"]
        for each in operator.get(f"{regional}/options").json()["options"]
    }
    assert after == {"north": before["north"], "south": other}
    status = operator.get(f"{regional}/status").json()
    assert list(status["regions"]) == ["north", "south"]
    assert {each["option"] for each in status["market"]["effects"]} == set(SETTINGS["options"])
    assert operator.get(f"{regional}/estimates").status_code == 200
    assert operator.get(f"{regional}/explanation").status_code == 200
    entries = operator.get(f"{regional}/history").json()["entries"]
    assert {entry["region"] for entry in entries} == {"north", "south"}


def test_the_page_of_a_campaign_with_regions_can_be_made(service, operator, regional, clock):
    for _ in range(3):
        operator.get(f"{regional}/options")
        clock.pass_by(days=1)
    reader = service.by_session(service.log_in("read"))
    assert "offers" in reader.get("/").text
    line = operator.get("/v1/campaigns").json()["campaigns"][0]
    assert (line["policy"], line["state"]) == ("switchback", "running")
    page = reader.get("/campaigns/offers")
    assert page.status_code == 200
    assert "north shows" in page.text
    assert "against red; best with" in page.text
