"""Campaigns with regions over HTTP."""

import json
import re
from datetime import date, timedelta

import pytest

from latesum import InvalidInput
from latesum.service.jobs import KINDS

SETTINGS = {
    "options": ["red", "blue", "green"],
    "regions": ["north", "south"],
    "every": "day",
    "zone": "UTC",
    "expected_rounds": 1000,
    "time_basis": "arrival",
    "seed": 3,
    "start": "2026-03-01",
    "parameters": {"horizon": "8 weeks", "late": "about 2 days"},
    "status_quo": "red",
}


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
    one = operator.put(f"{regional}/buckets/{label}?region=north", json=body)
    assert (one.status_code, one.json()["verdict"], one.json()["region"]) == (200, "new", "north")
    assert operator.put(f"{regional}/buckets/{label}", json=body).status_code == 422
    assert operator.put(f"{regional}/buckets/{label}?region=east", json=body).status_code == 404
    rows = {"rows": [{"bucket": label, "region": "south", "rounds": 900, "total": 30}]}
    assert operator.post(f"{regional}/totals", json=rows).json()["written"]
    text = f"date,region,rounds,total\n{label},south,900,33\n"
    sent = operator.upload(regional, text)
    assert [each["verdict"] for each in sent.json()["rows"]] == ["revised"]
    table = operator.get(f"{regional}/buckets").text
    assert f"{label},2,red:0.4 blue:0.6," in table


def test_acts_are_for_a_region(operator, regional, clock):
    def shown():
        answers = operator.get(f"{regional}/options").json()["options"]
        return {each["region"]: each["option"] for each in answers}

    before = shown()
    other = next(name for name in SETTINGS["options"] if name not in before.values())
    assert operator.act(regional, "pin", option=other, region="south").status_code == 200
    assert operator.act(regional, "pause", region="east").status_code == 422
    clock.pass_by(days=1)
    assert shown() == {"north": before["north"], "south": other}
    status = operator.get(f"{regional}/status").json()
    assert list(status["regions"]) == ["north", "south"]
    assert {each["name"] for each in status["options"]} == set(SETTINGS["options"])
    assert operator.get(f"{regional}/explanation").status_code == 200
    events = operator.get(f"{regional}/history").json()["events"]
    assert {event["region"] for event in events} == {"north", "south"}


def test_the_page_of_a_campaign_with_regions_can_be_made(service, operator, regional, clock):
    for _ in range(3):
        operator.get(f"{regional}/options")
        clock.pass_by(days=1)
    reader = service.by_session(service.log_in("read"))
    front = reader.get("/").text
    assert "offers" in front
    assert re.search(r"<b>\w+</b> in [12] region", front)
    assert "3 days so far" in front
    line = operator.get("/v1/campaigns").json()["campaigns"][0]
    assert (line["policy"], line["state"]) == ("switchback", "running")
    page = reader.get("/campaigns/offers")
    assert page.status_code == 200
    assert "north shows" in page.text
    assert '<th scope="col">Region</th>' in page.text
    assert "about 2 days was given at the start" in page.text


HISTORY = "date,region,rounds,total\n" + "".join(
    f"2026-02-{day:02d},{region},{rounds},{rounds // 30 + day % 4}\n"
    for day in range(2, 29)
    for region, rounds in (("north", 4000), ("south", 2000))
)


def read(client, text=HISTORY, **parameters):
    kind = {"Content-Type": "text/csv"}
    return client.post("/v1/histories", content=text, headers=kind, params=parameters)


def test_a_file_of_past_days_is_read_for_a_campaign_and_a_plan(operator, service):
    found = read(operator)
    assert found.status_code == 200
    told = found.json()
    assert told["regions"] == ["north", "south"]
    assert read(operator, HISTORY + "\n" * 20_000).json() == told  # by a process of its own
    assert (told["first"], told["last"], len(told["rows"])) == ("2026-02-02", "2026-02-28", 54)
    made = operator.put("/v1/campaigns/told", json={**SETTINGS, "history": told["rows"]})
    assert made.status_code == 201, made.text
    assert len(made.json()["config"]["history"]) == 54
    stream = read(operator, "date,total\n2026-02-01,5\n").json()
    assert (stream["regions"], "region" in stream["rows"][0]) == ([], False)
    assert read(operator, "date,total\n2026-02-01,many\n").status_code == 422
    assert read(operator, columns="total=Orders").status_code == 422
    assert operator.post("/v1/histories", json={}).status_code == 415
    assert read(service.as_("record")).status_code == 403


def test_regions_of_a_history_are_added_up_for_a_campaign_without_regions(operator):
    found = read(operator, add_up="true")
    assert found.status_code == 200, found.text
    told = found.json()
    assert (told["regions"], len(told["rows"])) == ([], 27)
    assert told["rows"][0] | {"bucket": "2026-02-02", "rounds": 6000} == told["rows"][0]
    assert told["rows"][0]["total"] == 4000 // 30 + 2000 // 30 + 2 * 2
    assert "their rows were added up" in told["notes"][0]
    one = {key: value for key, value in SETTINGS.items() if key != "regions"}
    made = operator.put("/v1/campaigns/one", json={**one, "history": told["rows"]})
    assert made.status_code == 201, made.text


def test_a_long_history_is_more_than_other_bodies_may_be(operator):
    rows = [
        {"bucket": f"{day}", "region": region, "rounds": 4000, "total": 100.0, "shown": "red"}
        for region in ("north", "south")
        for day in (date(2026, 2, 28) - timedelta(days=back) for back in range(700))
    ]
    made = operator.put("/v1/campaigns/long", json={**SETTINGS, "history": rows})
    assert made.status_code == 201, made.text


QUESTION = {
    "options": 2,
    "regions": 2,
    "lift": "20%",
    "late": "about 1 day",
    "run_for": "3 weeks",
}


def check_plan(plan):
    assert plan["recommendation"]["policy"] in ("switchback", "flow", "unmix")
    assert {row["label"] for row in plan["policies"]} >= {"switchback", "half-time test"}
    assert plan["verdict"]["answer"] in ("go", "conditional go", "no-go")
    assert {row["truth"] for row in plan["sensitivity"]} >= {"nothing is better"}


def test_a_plan_with_regions_is_simulated_from_a_history(operator):
    given = {**QUESTION, "replications": 2, "history": read(operator).json()["rows"]}
    check_plan(json.loads(KINDS["plan"](dict(given), b"").body))
    for change, says in (
        ({"regions": 3}, "the history has 2 regions"),
        ({"run_for": "1 week"}, "the days of the campaign"),
        ({"history": [{"bucket": "soon"}] * 9_999}, "row 1 of the history is for 'soon'"),
        ({"history": [{"total": 3}]}, "row 1 of the history is for 'no bucket'"),
        ({"late": "soon"}, "'soon' does not say how late"),
    ):
        with pytest.raises(InvalidInput, match=says):
            KINDS["plan"]({**given, **change}, b"")


def test_what_cannot_be_planned_is_refused_before_anything_is_simulated(operator, service):
    given = {**QUESTION, "history": read(operator).json()["rows"]}
    for change, says in (
        ({"late": "late.csv"}, "reads no files"),
        ({"run_for": "later"}, "later"),
        ({"run_for": "900 years"}, "the run must be"),
        ({"run_for": "900 weeks"}, "two years at most"),
        ({"history": []}, "history: "),
        ({"history": [{"total": 3}]}, "row 1 of the history is for 'no bucket'"),
        ({"regions": 0}, "regions: "),
    ):
        refused = operator.post("/v1/plans", json={**given, **change})
        assert refused.status_code == 422, refused.text
        assert says in refused.json()["error"]
    assert service.as_("record").post("/v1/plans", json=given).status_code == 403


def test_the_state_of_a_region_is_its_own(operator, regional):
    operator.get(f"{regional}/options")
    operator.act(regional, "pause", region="south")
    operator.act(regional, "remove-option", region="north", option="green")
    status = operator.get(f"{regional}/status").json()
    assert status["state"] == "running"
    assert {name: each["state"] for name, each in status["regions"].items()} == {
        "north": "running",
        "south": "paused",
    }
    green = {name: each["options"][2]["status"] for name, each in status["regions"].items()}
    assert green["north"] == "removed" != green["south"]
