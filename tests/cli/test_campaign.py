"""`latesum campaign`: what a person types, and what is answered."""

import json
import re
import shutil

from .conftest import NEW


def test_a_campaign_from_the_first_day_to_the_last(campaign, tmp_path):
    shutil.rmtree(tmp_path / "data")  # the first command makes the store
    assert "horizon=450,000, mean_delay=2,500" in campaign(*NEW).done()
    out = campaign("next").done()
    assert out.startswith("2026-03-02: red\n")
    assert campaign("next", "--json")[1].count('"option": "red"') == 1
    assert campaign(
        "record", "2026-03-02", "--rounds", "5000", "--total", "1500", day="2026-03-03"
    )[1].startswith("2026-03-02: new")
    (tmp_path / "totals.csv").write_text("date,rounds,total\n2026-03-02,5000,1512\n")
    out = campaign("import", "totals.csv", "--dry-run", day="2026-03-03").done()
    assert "revised" in out
    assert "dry run" in out
    assert "All rows were imported" in campaign("import", "totals.csv", day="2026-03-03").done()
    out = campaign("import", "totals.csv", "--json", day="2026-03-03").done()
    assert json.loads(out)["rows"][0]["verdict"] == "same"

    for command in (
        ["pause", "--reason", "a holiday"],
        ["resume", "--reason", "it is over"],
        ["pin", "blue", "--buckets", "2", "--reason", "a trade fair"],
    ):
        assert campaign(*command, "--user", "an operator", day="2026-03-03")[0] == 0
    assert campaign("next", day="2026-03-03")[1].startswith("2026-03-03: blue\nblue is pinned")
    out = campaign("status", day="2026-03-03").done()
    for words in ("banner (pinned)", "red", "an operator pinned blue", "on different days"):
        assert words in out
    out = campaign("status", "--html", "page.html", day="2026-03-03").done()
    page = (tmp_path / "page.html").read_text()
    assert 'id="timeline-chart"' in page
    assert not re.search(r'<script|<(link|img)[^>]*(src|href)="(?!data:)', page)
    assert json.loads(campaign("status", "--json", day="2026-03-03")[1])["state"] == "pinned"
    assert campaign("remove-option", "red", "--reason", "sold out", day="2026-03-03")[0] == 0
    assert "blue" in campaign("explain", day="2026-03-03")[1]
    assert "Finished with blue" in campaign("finish", "--reason", "done", day="2026-03-04")[1]
    out = campaign("history", day="2026-03-04")[1]
    for words in ("decided 2026-03-02: red", "(new, by", "(revised", "removed red: sold out"):
        assert words in out
    assert "2 of 2 decisions come out the same" in campaign("replay")[1]
    assert "finished" in campaign("list")[1]


def test_a_campaign_that_learns_nothing_says_so_everywhere(campaign, tmp_path):
    campaign(*NEW)
    for day in (2, 3, 4):
        assert "ALARM" not in campaign("next", day=f"2026-03-0{day}")[1]
    out = campaign("next", day="2026-03-05")[1]
    assert "because nothing is known yet" in out
    assert "ALARM: Nothing is being learned: no total has become usable yet, after 3 days" in out
    assert "latesum campaign import FILE" in out
    for command in (["next", "--json"], ["status", "--json"]):
        said = json.loads(campaign(*command, day="2026-03-05")[1])
        assert said["alarm"].startswith("Nothing is being learned")
    assert "ALARM: Nothing is being learned" in campaign("status", day="2026-03-05")[1]
    campaign("status", "--html", "page.html", day="2026-03-05")
    assert '<p class="alarm">Nothing is being learned' in (tmp_path / "page.html").read_text()
    out = campaign("list", day="2026-03-05")[1]
    assert "running, learns nothing" in out
    assert "banner: ALARM: Nothing is being learned" in out
    assert json.loads(campaign("list", "--json", day="2026-03-05")[1])[0]["alarm"]
    campaign("record", "2026-03-04", "--rounds", "5000", "--total", "1500", day="2026-03-05")
    for command in ("next", "status", "list"):
        assert "learn" not in campaign(command, day="2026-03-05")[1].replace("to learn", "")


def test_export_and_restore(campaign, tmp_path):
    campaign(*NEW)
    campaign("next")
    assert campaign("export", "banner.json")[0] == 0
    assert campaign("restore", "banner.json", "--name", "copy")[0] == 0
    assert campaign("replay", "-c", "banner")[0] == 0
    campaign("next").refused("say which campaign")
    assert campaign("next", "-c", "copy")[1].startswith("2026-03-02: red")
    # Options of the whole group may stand after the command, too.
    assert campaign("restore", "banner.json", "--store", "other.db")[0] == 0
    assert campaign("next", "--store=other.db", "--now", "2026-03-04")[1].startswith("2026-03-04: ")


def test_bad_input_ends_with_a_sentence_and_code_2(campaign, tmp_path):
    campaign("next").refused("`latesum campaign new` makes one")
    campaign(*NEW[:-4]).refused("arrival")
    campaign(*NEW)
    campaign(*NEW).refused("already")
    (tmp_path / "bad.csv").write_text("date,rounds\n2026-03-02,-1\n")
    campaign("import", "bad.csv").refused("row 2, column rounds")
    (tmp_path / "wide.csv").write_text("date,total" + ",c" * 20_000 + "\n")
    campaign("import", "wide.csv").refused("at most 100 columns")
    (tmp_path / "early.csv").write_text("date,total\n2026-03-01,1\n")
    code, out, _ = campaign("import", "early.csv")
    assert code == 2
    assert "Nothing was imported" in out
    answer = campaign("list", "--store", "postgresql://me:secret@host/db")
    answer.refused("password")
    assert "secret" not in answer.err


def test_a_dry_run_of_a_file_that_would_be_refused(campaign, tmp_path):
    campaign(*NEW)
    campaign("next")
    (tmp_path / "totals.csv").write_text("date,rounds,totl\n2026-03-02,5000,7\n2026-05-02,5,7\n")
    code, out, _ = campaign("import", "totals.csv", "--dry-run", day="2026-03-03")
    assert code == 2
    assert "Nothing would be imported" in out
    assert "Not used, because of their names: totl." in out


def test_a_plan_hands_over_the_policy(campaign, tmp_path):
    parameters = {"horizon": 1000, "mean_delay": 5, "delay_bound": 9}
    plan = {"policy": "odaaf-b", "parameters": parameters, "every": "day"}
    (tmp_path / "plan.json").write_text(json.dumps({"recommendation": plan}))
    new = ["new", "planned", "--options", "a,b", "--time-basis", "decision", "--plan"]
    by_hour = campaign(*new, "plan.json", "--every", "hour")
    by_hour.refused("plan.json is by day, and this campaign is by hour")
    campaign(*new, "none.json").refused("none.json cannot be read")
    out = campaign(*new, "plan.json", "--expected-rounds", "100").done()
    assert "odaaf-b with horizon=1,000" in out
    assert "Warning" in out


def test_what_ran_before_is_asked_for_and_what_is_not_used_is_said(campaign, tmp_path):
    assert "Note: odaaf takes it that nothing ran before the start" in campaign(*NEW)[1]
    again = [*NEW[:1], "other", *NEW[2:]]
    assert "Note:" not in campaign(*again, "--status-quo", "none")[1]
    (tmp_path / "past.csv").write_text("date,rounds,total\n2026-03-01,5000,1512\n")
    third = [*NEW[:1], "third", *NEW[2:], "--status-quo", "red", "--history"]
    campaign(*third, "past.csv").refused("odaaf cannot use what was played before the start")
    (tmp_path / "bad.csv").write_text("date,rounds,total\n2026-03-01,5000,many\n")
    campaign(*third, "bad.csv").refused("row 2, column total")


FLOW = ["--policy", "flow", "--parameter", "horizon=90 days", "--parameter", "mean_delay=12 hours"]
WHY = ["--reason", "a test", "--user", "ada"]


def test_a_campaign_is_changed_on_the_command_line(campaign):
    campaign(*NEW)
    campaign("next")
    refusal = "odaaf cannot take in an option while it runs; unmix, flow"
    campaign("add-option", "green", *WHY).refused(refusal)
    out = campaign("change", *FLOW[:2], *WHY).done()
    assert out.splitlines()[-1] == "Changed from the next decision on: --policy flow."
    out = campaign("add-option", "green", *WHY).done()
    assert re.match(r"Added green\. (\w+ is asked for first, and then )?green", out)
    assert campaign("rename-option", "green", "vert", *WHY)[1] == "Renamed green to vert.\n"
    out = campaign("change", "--align", "week", "--completeness", "9 days: 1", *WHY).done()
    assert campaign("change", "--completeness", "none", *WHY)[0] == 0
    out = campaign("change", "--expected-rounds", "6000", *WHY).done()
    assert "The horizon (450,000 rounds) and mean delay (2,500 rounds) stay as they are" in out
    campaign("change", *WHY).refused(
        "say what to change: --run-for, --late, --parameter, --expected-rounds"
    )
    out = campaign("change", "--run-for", "150 days", "--parameter", "mean_delay=3000", *WHY)[1]
    assert out.endswith(": --run-for 150 days, --parameter mean_delay=3000.\n")
    assert campaign("remove-option", "vert", *WHY)[0] == 0
    assert campaign("restore-option", "vert", *WHY)[1] == "Restored vert.\n"
    campaign("pin", "vert", "--buckets", "4", *WHY)
    out = campaign("pause", *WHY)[1]
    assert "The pin to vert goes on, for 4 more days" in out
    assert campaign("resume", *WHY)[1].startswith("Resumed the campaign. The pin to vert goes on")
    assert campaign("unpin", *WHY)[1] == "Ended the pin.\n"
    out = campaign("history")[1]
    for words in (
        "ada changed policy from odaaf to flow",
        "ada added green: a test",
        "ada renamed green to vert",
        "align from none to week",
        "restored vert",
        "resumed the campaign (the pin went on)",
        "ended the pin",
    ):
        assert words in out
    assert campaign("replay")[1] == "1 of 1 decisions come out the same.\n"


def test_a_campaign_is_finished_reopened_and_deleted(campaign):
    campaign(*NEW)
    campaign("next")
    campaign("finish", "blue", *WHY)
    campaign("new", "later", *NEW[2:])
    listed = json.loads(campaign("list", "--json")[1])
    assert [(each["name"], each["state"]) for each in listed] == [
        ("later", "not begun"),
        ("banner", "finished"),
    ]
    assert campaign("reopen", "-c", "banner", *WHY)[0] == 0
    campaign("delete", "banner", "--confirm", "baner", *WHY).refused("type its name: 'banner'")
    assert campaign("delete", "banner", "--confirm", "banner", *WHY)[0] == 0
    assert (
        "Campaign 'banner' was deleted on 2026-03-02 by ada: a test."
        in campaign("list", "--all")[1]
    )
    campaign("next", "-c", "banner").refused("was deleted on 2026-03-02 by ada: a test")
    assert campaign(*NEW)[0] == 2


def test_the_campaign_begins_at_its_start_whenever_it_is_asked(campaign):
    campaign(*NEW, "--status-quo", "red")
    assert campaign("next", day="2026-03-20")[1].startswith("2026-03-20: ")
    out = campaign("record", "2026-03-02", "--rounds", "5000", "--total", "900", day="2026-03-20")[
        1
    ]
    assert out.startswith("2026-03-02: new")
    out = campaign(
        "record",
        "2026-03-10",
        "--rounds",
        "5000",
        "--total",
        "900",
        "--shown",
        "blue",
        day="2026-03-20",
    )[1]
    assert out.startswith("2026-03-10: new")
    status = json.loads(campaign("status", "--json", day="2026-03-20")[1])
    assert len(status["timeline"]) == 19
