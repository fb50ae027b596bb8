"""What the routes answer."""

import csv
import io

import pyarrow.parquet as pq
import pytest
from service_settings import SETTINGS
from sqlalchemy.exc import OperationalError

from latesum import InvalidInput
from latesum.campaigns.config import CampaignConfig


def test_a_campaign_is_made_once_by_its_name(operator, campaign, clock):
    again = operator.put(campaign, json=SETTINGS)
    assert (again.status_code, again.json()) == (200, operator.get(campaign).json())
    other = operator.put(campaign, json={**SETTINGS, "expected_rounds": 7})
    assert (other.status_code, "already" in other.json()["error"]) == (409, True)
    (line,) = operator.get("/v1/campaigns").json()["campaigns"]
    assert line["name"] == "banner"
    config = {key: value for key, value in SETTINGS.items() if key not in ("seed", "start")}
    assert operator.put("/v1/campaigns/c", json=config).status_code == 201
    clock.pass_by(days=3)
    assert operator.put("/v1/campaigns/c", json=config).status_code == 200


def test_the_option_stands_until_the_day_ends(operator, daily, campaign, clock):
    first = operator.get(f"{daily}/option")
    assert first.json()["option"] == "red"
    assert first.headers["cache-control"] == f"private, max-age={16 * 3600}"
    operator.act(daily, "pin", option="blue")
    assert operator.get(f"{daily}/option").content == first.content  # taken is taken
    clock.pass_by(hours=16)
    after = operator.get(f"{daily}/option")
    assert (after.json()["option"], after.json()["source"]) == ("blue", "pinned")
    ended = operator.get(f"{campaign}/option?bucket=1")
    assert (ended.json()["bucket"], ended.headers["cache-control"]) == (1, "private, no-cache")


def test_a_campaign_that_learns_nothing_says_so_everywhere(operator, daily, clock):
    def looks():
        line = operator.get("/v1/campaigns").json()["campaigns"][0]
        status = operator.get(f"{daily}/status").json()
        pages = [operator.get("/").text, operator.get("/campaigns/daily").text]
        said = [each["sentence"] for each in status["health"]]
        return line["alarm"], status["alarm"], said, pages

    for _ in range(4):
        operator.get(f"{daily}/option")
        clock.pass_by(days=1)
    in_list, in_status, warnings, pages = looks()
    assert in_list == in_status == warnings[0]
    figures = operator.get("/metrics").text
    assert 'health{campaign="daily",code="learns nothing",level="alarm"} 1.0' in figures
    assert "latesum_store_up 1.0" in figures
    assert "no total has become usable yet, after 4 days" in in_list
    for page in pages:
        assert '<p class="alarm">Nothing is being learned' in page
        assert "learns nothing</span>" in page
        assert "promising" not in page
    operator.put(f"{daily}/buckets/2026-03-05", json={"rounds": 1000, "total": 300})
    in_list, in_status, warnings, pages = looks()
    assert (in_list, in_status) == (None, None)
    assert not any("being learned" in text for text in [*warnings, *pages])


@pytest.mark.parametrize(
    ("bucket", "body", "status", "says"),
    [
        ("99", {"total": 3}, 404, "2026-05-10 is in the future"),
        ("1", {"rounds": -1}, 422, "rounds"),
        ("1", {}, 422, "nothing to record"),
        ("1", {"totl": 3}, 422, "totl"),
        ("99999999999999999999", {"total": 3}, 422, ""),
    ],
)
def test_bad_records_are_refused_in_a_sentence(operator, campaign, bucket, body, status, says):
    operator.get(f"{campaign}/option?bucket=1")
    answer = operator.put(f"{campaign}/buckets/{bucket}", json=body)
    assert answer.status_code == status
    assert says in answer.json()["error"]
    assert set(answer.json()) == {"error", "details"}


def test_an_upload_has_a_verdict_for_every_row(operator, campaign):
    for bucket in (1, 2):
        operator.get(f"{campaign}/option", params={"bucket": bucket})
    file = "bucket,rounds,total\n1,1000,300\n2,990,290\n"
    dry = operator.upload(campaign, file, dry_run=True).json()
    assert (dry["written"], [row["verdict"] for row in dry["rows"]]) == (False, ["new", "new"])
    assert operator.upload(campaign, file).json()["written"]
    rows = {"rows": [{"bucket": 1, "total": 301}, {"bucket": 77, "total": 1}]}
    refused = operator.post(f"{campaign}/totals", json=rows)
    assert refused.status_code == 409
    assert [row["verdict"] for row in refused.json()["rows"]] == ["revised", "unknown bucket"]
    skipped = operator.post(f"{campaign}/totals", json=rows, params={"skip_unknown": True})
    assert skipped.json()["written"]
    timeline = operator.get(f"{campaign}/status").json()["timeline"]
    assert [row["total"] for row in timeline] == [301, 290]
    # The table of buckets, for other tools, is a file of totals too.
    path = f"{campaign}/buckets"
    records = operator.get(path, params={"format": "json"}).json()
    table = pq.read_table(io.BytesIO(operator.get(path, params={"format": "parquet"}).content))
    buckets = operator.get(path)
    assert buckets.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.DictReader(buckets.text.splitlines()))
    assert len(records) == table.num_rows == len(lines) == 2
    assert list(records[0]) == table.column_names == list(lines[0])
    again = operator.upload(campaign, buckets.content)
    assert [row["verdict"] for row in again.json()["rows"]] == ["same", "same"]


def test_bad_uploads_are_refused(operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")
    bad = operator.upload(campaign, "bucket,total\n1,x\n")
    assert bad.status_code == 422
    assert "row 2, column total" in bad.json()["details"][0]
    for body, kind, status in (
        ("x", "text/plain", 415),
        ('{"rows": []}', "application/json", 422),
        ("{", "application/json", 422),
    ):
        assert operator.upload(campaign, body, kind).status_code == status


def test_acts_are_done_once_under_one_key(operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")

    def act(action, key, **body):
        return operator.act(campaign, action, {"Idempotency-Key": key}, **body)

    first, again = (act("pause", "a-key-of-mine").json() for _ in range(2))
    assert (first["repeated"], again["repeated"], again["state"]) == (False, True, "paused")
    assert operator.act(campaign, "pause").status_code == 409
    other = act("resume", "a-key-of-mine")
    assert (other.status_code, "Idempotency-Key" in other.json()["error"]) == (409, True)
    over = {"option": "blue", "buckets": 2, "reason": "for sure", "user": "the night shift"}
    for _ in range(3):
        assert act("pin", "another-key", **over).status_code == 200
    for _ in range(2):
        assert act("finish", "the-last-key").json()["state"] == "finished"
    history = operator.get(f"{campaign}/history").json()["events"]
    acts = [(event["kind"], event["body"]["user"]) for event in history if "user" in event["body"]]
    night = "the night shift (token operate)"
    assert acts == [("pause", "operate"), ("pin", night), ("finish", "operate")]


def test_looking(service, operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")
    operator.put(f"{campaign}/buckets/1", json={"rounds": 1000, "total": 300})
    operator.get(f"{campaign}/option?bucket=2")
    status = operator.get(f"{campaign}/status").json()
    assert status["state"] == "running"
    assert status["options"][0]["mean"] == pytest.approx(0.3)
    assert operator.get(f"{campaign}/explanation").json()["sentences"]
    before = operator.get(f"{campaign}/explanation", params={"bucket": "1"}).json()["sentences"]
    assert before[-1].startswith("2026-02-01: red")
    page = operator.get(f"{campaign}/history", params={"limit": 2}).json()
    assert page["more"]
    rest = operator.get(f"{campaign}/history", params={"after": 2}).json()
    assert [event["sequence"] for event in page["events"] + rest["events"]] == [1, 2, 3]
    assert rest["events"][0]["sentence"]
    assert service.stranger.get("/livez").json() == {"status": "alive"}
    assert operator.get("/readyz").json() == {"status": "ready"}
    service.stranger.request("BREW", "/livez")
    figures = operator.get("/metrics").text
    assert "BREW" not in figures
    assert 'method="other",route="none",status="401"' in figures
    route = 'route="/v1/campaigns/{campaign}/option"'
    assert f'latesum_requests_total{{method="GET",{route},status="200"}} 2.0' in figures


def test_unknown_things_are_404(operator, campaign):
    for path in ("/v1/campaigns/none/status", "/v1/nothing", "/nothing"):
        answer = operator.get(path)
        assert (answer.status_code, bool(answer.json()["error"])) == (404, True)
    refused = operator.delete(campaign)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, PUT")


def test_a_store_that_fails_is_503(service, operator, campaign, monkeypatch):
    def fail(*_):
        raise OperationalError("SELECT", {}, Exception("gone"))

    operator.get(f"{campaign}/option?bucket=1")
    monkeypatch.setattr(service.store.engine, "connect", fail)
    record = operator.put(f"{campaign}/buckets/1", json={"total": 3})
    for answer in (operator.get("/readyz"), record):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_an_error_of_ours_is_a_500_without_details(operator, campaign, monkeypatch):
    monkeypatch.setattr("latesum.campaigns.campaign.Campaign.explain", lambda *_: [][0])
    answer = operator.get(f"{campaign}/explanation")
    said = {"error": "the service made an error, which is in its log.", "details": []}
    assert (answer.status_code, answer.json()) == (500, said)


@pytest.mark.parametrize(
    "wrong",
    [
        {"options": ["A"]},
        {"policy": "odaff"},
        {"zon": "UTC"},
        {"parameters": {"horizon": 90_000}},
    ],
)
def test_settings_are_refused_in_the_words_of_the_library(operator, wrong):
    with pytest.raises(InvalidInput) as refused:
        CampaignConfig.read({"name": "other", **SETTINGS, **wrong})
    answer = operator.put("/v1/campaigns/other", json={**SETTINGS, **wrong})
    assert (answer.status_code, answer.json()["error"]) == (422, str(refused.value))


def test_the_description_shows_the_settings_and_the_vocabulary(operator):
    described = operator.get("/v1/openapi.json").json()
    assert described["security"] == [{"token": []}]
    for path, operations in described["paths"].items():
        for operation in operations.values():
            assert path == "/livez" or {"401", "403", "413", "429"} <= set(operation["responses"])
    body = described["paths"]["/v1/campaigns/{campaign}"]["put"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert "name" not in schema["properties"]
    assert schema["properties"]["every"]["enum"] == ["hour", "day", "week"]
    assert set(schema["required"]) == {"options", "expected_rounds", "time_basis"}
    option = described["components"]["schemas"]["OptionAnswer"]["properties"]
    assert option["purpose"]["enum"] == ["learn", "bridge", "commit", "override"]
    assert option["source"]["enum"][0] == "policy"


def test_a_campaign_is_changed_and_deleted_over_http(operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")

    def act(kind, **body):
        return operator.act(campaign, kind, **body)

    assert "nothing ran before the start" in operator.get(campaign).json()["note"]
    assert act("resume").status_code == 409
    assert act("pause", reason="  ").status_code == 422
    assert act("remove-option", option="?").status_code == 422
    changed = act("change", config={"policy": "flow", "parameters": {"horizon": 80_000}})
    assert changed.status_code == 200
    for wrong in ({"every": "hour"}, {}, {"align": "month"}, {"reason": "x"}, {"parameters": 3}):
        assert act("change", config=wrong).status_code == 422, wrong
    assert act("add-option", option="green").json()["note"].endswith("green.")
    assert act("rename-option", option="green", name="vert").status_code == 200
    config = operator.get(campaign).json()["config"]
    assert (config["options"][-1], config["policy"]) == ("vert", "flow")
    assert act("finish", option="vert").json()["state"] == "finished"
    assert act("reopen").json()["state"] == "running"
    assert act("delete", name="baner").status_code == 422
    assert act("delete", name="banner").json()["state"] is None
    gone = operator.get(f"{campaign}/status")
    assert (gone.status_code, "was deleted on" in gone.json()["error"]) == (404, True)
    again = operator.put(campaign, json={**SETTINGS, "expected_rounds": 7})
    assert (again.status_code, "choose another name" in again.json()["error"]) == (409, True)
