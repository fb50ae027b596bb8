"""A campaign with regions from the command line."""

import json
from contextlib import closing
from datetime import date, timedelta

import pytest

from latesum.campaigns import Campaign, Store

NEW = (
    "new",
    "offers",
    "--options",
    "ten off,free shipping,a gift",
    "--regions",
    "north,south",
    "--start",
    "2026-03-02",
    "--run-for",
    "12 weeks",
    "--status-quo",
    "ten off",
    "--time-basis",
    "arrival",
    "--expected-rounds",
    "3000",
    "--seed",
    "1",
)


@pytest.fixture
def campaign(latesum, tmp_path, monkeypatch):
    """Run `latesum campaign ...` on a day of March, at seven."""
    monkeypatch.chdir(tmp_path)

    def run(day, *arguments):
        front = ["campaign", "--store", str(tmp_path / "c.db"), "--now", f"2026-03-{day:02d} 07:00"]
        return latesum(*front, *map(str, arguments))

    return run


def test_from_the_history_to_the_status(campaign, tmp_path):
    before = tmp_path / "before.csv"
    rows = [
        f"2026-02-{day:02d},{region},{rounds},{rounds // 30 + day % 4}"
        for day in range(8, 29)
        for region, rounds in (("north", 4000), ("south", 2000))
    ]
    before.write_text("\n".join(["date,region,rounds,total", *rows]))
    out = campaign(2, *NEW, "--late", "about 2 days", "--history", before).done()
    assert "ten off, free shipping, a gift in north, south; switchback with horizon=84" in out
    assert "certainty=guess" in out
    out = campaign(2, "next").done()
    assert [
        line.split()[0] for line in out.splitlines() if line.startswith((" north", " south"))
    ] == [
        "north",
        "south",
    ]
    report = tmp_path / "report.csv"
    report.write_text(
        "date,region,rounds,total,shown\n2026-03-02,north,4100,140,\n"
        "2026-03-02,south,2100,70,a gift:0.7 ten off:0.3\n"
    )
    assert "2026-03-02 south" in campaign(3, "import", report).done()
    assert campaign(3, "record", "2026-03-02", "--region", "north", "--total", 141)[0] == 0
    campaign(3, "record", "2026-03-02", "--total", 141).refused(
        "which region the row is of: north, south"
    )
    out = campaign(3, "pin", "a gift", "--region", "south", "--reason", "a fair").done()
    assert out == "Pinned a gift for 1 day in south.\n"
    told = json.loads(campaign(3, "next", "--json")[1])
    assert {each["region"]: each["source"] for each in told["regions"]} == {
        "north": "policy",
        "south": "pinned",
    }
    alone = json.loads(campaign(3, "next", "--region", "south", "--json")[1])
    assert [each["option"] for each in alone["regions"]] == ["a gift"]
    out = campaign(3, "status").done()
    assert "probability" in out
    page = tmp_path / "page.html"
    assert campaign(3, "status", "--html", page)[0] == 0
    assert "Probability of being best" in page.read_text(encoding="utf-8")
    out = campaign(3, "explain", "2026-03-03").done()
    assert "2026-03-03 south: a gift is pinned: a fair" in out
    assert "south" in campaign(3, "history")[1]
    assert "region" in campaign(3, "buckets")[1].splitlines()[0]
    assert campaign(3, "replay")[1].startswith("4 of 4 decisions come out the same")


def test_how_late_sales_come_is_said_for_any_policy_that_is_told(campaign, tmp_path):
    stream = [each for each in NEW if each not in ("--regions", "north,south")]
    out = campaign(2, *stream, "--late", "about 2 days").done()
    assert "unmix with" in out
    assert "horizon=252,000, mean_delay=6,000, uncertainty=0.7" in out
    known = [*stream, "--late", "2 days", "--policy", "round-robin"]
    campaign(2, *known).refused("round-robin does not use how late sales come")
    other = [*NEW, "--policy", "flow"]
    campaign(2, *other).refused("a campaign with regions has the policy switchback")


SET_UP = (
    "--plan",
    "plan.json",
    "--options",
    "old,new",
    "--status-quo",
    "old",
    "--time-basis",
    "arrival",
    "--start",
    "2026-03-02",
)
PAST = "date,region,visitors,total\n" + "".join(
    f"{date(2026, 2, 2) + timedelta(days=day)},{region},{3000 - 1000 * place},{90 - 30 * place + day % 5}\n"
    for day in range(28)
    for place, region in enumerate(("north", "south"))
)


def test_a_campaign_from_a_plan_with_regions(latesum, campaign, tmp_path):
    past, plan = tmp_path / "before.csv", tmp_path / "plan.json"
    past.write_text(PAST)
    asked = [
        "plan",
        "--options",
        "2",
        "--lift",
        "20%",
        "--late",
        "about 1 day",
        "--run-for",
        "6 weeks",
        "--regions",
        "2",
        "--history",
        past,
        "--replications",
        "2",
        "--workers",
        "1",
        "--quick",
        "--json",
    ]
    made = json.loads(latesum(*asked)[1])
    handed = made["recommendation"]
    assert handed["policy"] in ("switchback", "flow")
    parameters = {"n_arms": 2, "horizon": "42 days", "late": "about 1 day"}
    made["recommendation"] = {  # two runs do not say which is best
        **handed,
        "policy": "switchback",
        "parameters": parameters,
        "n_regions": 2,
        "regions": ["north", "south"],
        "bucket": 2500,
    }
    plan.write_text(json.dumps(made))
    new = ["new", "planned", *SET_UP]
    out = campaign(2, *new, "--history", past, "--columns", "rounds=visitors").done()
    assert "north, south; switchback with horizon=42, mean_delay=1, certainty=guess" in out
    out = campaign(2, "new", "again", *SET_UP, "--regions", "east,west").done()
    assert "say --history too" in out
    three = [*new, "--regions", "north,south,west"]
    campaign(2, *three).refused("a plan for 2 regions, and here are 3")
    made["recommendation"]["regions"] = []
    plan.write_text(json.dumps(made))
    campaign(2, *new).refused("name them with --regions")


def test_a_plan_that_adds_up_the_regions_can_be_set_up_even_a_no_go(campaign, tmp_path):
    """The history of the regions becomes one of all together, and that is said, as is the no-go."""
    past, plan = tmp_path / "before.csv", tmp_path / "plan.json"
    past.write_text(PAST)
    handed = {
        "policy": "flow",
        "parameters": {"n_arms": 2, "horizon": "42 days", "mean_delay": "1 day"},
        "every": "day",
        "n_regions": 1,
        "regions": [],
        "bucket": 5000,
    }
    verdict = {"answer": "no-go", "reason": "Too few visitors."}
    plan.write_text(json.dumps({"recommendation": handed, "verdict": verdict}))
    new = ["new", "together", *SET_UP, "--history", past, "--columns", "rounds=visitors"]
    said = " ".join(campaign(2, *new).done().split())
    assert "2 regions" in said
    assert "added up" in said
    assert "is a no-go, and is set up all the same. Too few visitors." in said
    with closing(Store(tmp_path / "c.db")) as store:
        kept = Campaign.open("together", store=store).config.history
    assert len(kept) == 28
    assert (kept[0].rounds, kept[0].total) == (5000, 150)


def test_a_region_with_other_capitals_is_named_as_the_campaign_writes_it(campaign, tmp_path):
    assert campaign(2, *NEW, "--late", "about 2 days")[0] == 0
    assert campaign(2, "next")[0] == 0
    report = tmp_path / "report.csv"
    report.write_text("date,region,rounds,total\n2026-03-02,North ,4100,140\n")
    code, out, _ = campaign(3, "import", report)
    assert code == 2
    assert "'North' is written 'north'" in " ".join(out.split())
