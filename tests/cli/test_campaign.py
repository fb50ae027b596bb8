"""`latesum campaign`: what a person types, and what is answered."""

import json
import re
import shutil

import pytest

NEW = [
    "new", "banner", "--options", "red,blue", "--policy", "odaaf", "--parameter", "horizon=90 days",
    "--parameter", "mean_delay=12 hours", "--expected-rounds", "5000", "--time-basis", "arrival",
    "--start", "2026-03-02",
]  # fmt: skip


@pytest.fixture
def run(campaign):
    """Run a campaign command at a given day and return its exit code, output and errors."""
    return campaign


def test_a_campaign_from_the_first_day_to_the_last(run, tmp_path):
    shutil.rmtree(tmp_path / "data")  # the first command makes the store
    code, out, _ = run(*NEW)
    assert code == 0
    assert "horizon=450,000, mean_delay=2,500" in out
    code, out, _ = run("next")
    assert out.startswith("2026-03-02: red\n")
    assert run("next", "--json")[1].count('"option": "red"') == 1
    assert run("record", "2026-03-02", "--rounds", "5000", "--total", "1500", day="2026-03-03")[
        1
    ].startswith("2026-03-02: new")
    (tmp_path / "totals.csv").write_text("date,rounds,total\n2026-03-02,5000,1512\n")
    code, out, _ = run("import", "totals.csv", "--dry-run", day="2026-03-03")
    assert code == 0
    assert "revised" in out
    assert "dry run" in out
    code, out, _ = run("import", "totals.csv", day="2026-03-03")
    assert "All rows were imported" in out
    code, out, _ = run("import", "totals.csv", "--json", day="2026-03-03")
    assert json.loads(out)["rows"][0]["verdict"] == "same"

    for command in (
        ["pause", "--reason", "a holiday"], ["resume", "--reason", "it is over"],
        ["pin", "blue", "--buckets", "2", "--reason", "a trade fair"],
    ):  # fmt: skip
        assert run(*command, "--user", "an operator", day="2026-03-03")[0] == 0
    assert run("next", day="2026-03-03")[1].startswith("2026-03-03: blue\nblue is pinned")
    code, out, _ = run("status", day="2026-03-03")
    assert code == 0
    for words in ("banner (pinned)", "red", "█", "an operator pinned blue", "one period only"):
        assert words in out
    code, out, _ = run("status", "--html", "page.html", day="2026-03-03")
    page = (tmp_path / "page.html").read_text()
    assert 'id="timeline-chart"' in page
    assert not re.search(r'<script|<(link|img)[^>]*(src|href)="(?!data:)', page)
    assert json.loads(run("status", "--json", day="2026-03-03")[1])["state"] == "pinned"
    assert run("remove-option", "red", "--reason", "sold out", day="2026-03-03")[0] == 0
    assert "blue" in run("explain", day="2026-03-03")[1]
    assert "Finished with blue" in run("finish", "--reason", "done", day="2026-03-04")[1]
    out = run("history", day="2026-03-04")[1]
    for words in ("decided 2026-03-02: red", "(new, by", "(revised", "removed red: sold out"):
        assert words in out
    assert "2 of 2 decisions come out the same" in run("replay")[1]
    assert "finished" in run("list")[1]


def test_a_campaign_that_learns_nothing_says_so_everywhere(run, tmp_path):
    run(*NEW)
    for day in (2, 3, 4):
        assert "ALARM" not in run("next", day=f"2026-03-0{day}")[1]
    out = run("next", day="2026-03-05")[1]
    assert "because nothing is known yet" in out
    assert "ALARM: Nothing is being learned: no total has become usable yet, after 3 days" in out
    assert "latesum campaign import FILE" in out
    for command in (["next", "--json"], ["status", "--json"]):
        said = json.loads(run(*command, day="2026-03-05")[1])
        assert said["alarm"].startswith("Nothing is being learned")
    assert "ALARM: Nothing is being learned" in run("status", day="2026-03-05")[1]
    run("status", "--html", "page.html", day="2026-03-05")
    assert '<p class="alarm">Nothing is being learned' in (tmp_path / "page.html").read_text()
    out = run("list", day="2026-03-05")[1]
    assert "running, learns nothing" in out
    assert "banner: ALARM: Nothing is being learned" in out
    assert json.loads(run("list", "--json", day="2026-03-05")[1])[0]["alarm"]
    run("record", "2026-03-04", "--rounds", "5000", "--total", "1500", day="2026-03-05")
    for command in ("next", "status", "list"):
        assert "learn" not in run(command, day="2026-03-05")[1].replace("to learn", "")


def test_export_and_restore(run, tmp_path):
    run(*NEW)
    run("next")
    assert run("export", "banner.json")[0] == 0
    assert run("restore", "banner.json", "--name", "copy")[0] == 0
    assert run("replay", "--file", "banner.json")[0] == 0
    code, _, err = run("next")
    assert code == 2
    assert "say which campaign" in err
    assert run("next", "-c", "copy")[1].startswith("2026-03-02: red")
    # Options of the whole group may stand after the command, too.
    assert run("restore", "banner.json", "--store", "other.db")[0] == 0
    assert run("next", "--store=other.db", "--now", "2026-03-04")[1].startswith("2026-03-04: ")


def test_bad_input_ends_with_a_sentence_and_code_2(run, tmp_path):
    code, _, err = run("next")
    assert code == 2
    assert "`latesum campaign new` makes one" in err
    code, _, err = run(*NEW[:-4])
    assert code == 2
    assert "arrival" in err
    run(*NEW)
    code, _, err = run(*NEW)
    assert code == 2
    assert "already" in err
    (tmp_path / "bad.csv").write_text("date,rounds\n2026-03-02,-1\n")
    code, _, err = run("import", "bad.csv")
    assert code == 2
    assert "row 2, column rounds" in err
    (tmp_path / "wide.csv").write_text("date,total" + ",c" * 20_000 + "\n")
    code, _, err = run("import", "wide.csv")
    assert code == 2
    assert "at most 100 columns" in " ".join(err.split())
    (tmp_path / "early.csv").write_text("date,total\n2026-03-01,1\n")
    code, out, _ = run("import", "early.csv")
    assert code == 2
    assert "Nothing was imported" in out
    code, _, err = run("list", "--store", "postgresql://me:secret@host/db")
    assert code == 2
    assert "password" in err
    assert "secret" not in err


def test_a_dry_run_of_a_file_that_would_be_refused(run, tmp_path):
    run(*NEW)
    run("next")
    (tmp_path / "totals.csv").write_text("date,rounds,totl\n2026-03-02,5000,7\n2026-05-02,5,7\n")
    code, out, _ = run("import", "totals.csv", "--dry-run", day="2026-03-03")
    assert code == 2
    assert "Nothing would be imported" in out
    assert "Not used, because of their names: totl." in out


def test_a_plan_by_day_is_not_for_a_campaign_by_hour(run, tmp_path):
    plan = {"policy": "odaaf", "parameters": {"horizon": 1000, "mean_delay": 5}, "bucket": 100}
    (tmp_path / "plan.json").write_text(json.dumps({"recommendation": {**plan, "every": "day"}}))
    new = ["new", "planned", "--options", "a,b", "--plan", "plan.json", "--time-basis", "arrival"]
    code, _, err = run(*new, "--every", "hour")
    assert code == 2
    assert "plan.json is by day, and this campaign is by hour" in err
    assert run(*new)[0] == 0
    code, _, err = run("new", "x", "--options", "a,b", "--plan", "none.json")
    assert code == 2
    assert "none.json cannot be read" in err


def test_a_plan_hands_over_the_policy(run, tmp_path):
    plan = {"policy": "odaaf-b", "parameters": {"horizon": 1000, "mean_delay": 5, "delay_bound": 9}}
    (tmp_path / "plan.json").write_text(json.dumps({"recommendation": plan}))
    code, out, _ = run(
        "new", "planned", "--options", "a,b", "--plan", "plan.json", "--expected-rounds", "100",
        "--time-basis", "decision",
    )  # fmt: skip
    assert code == 0
    assert "odaaf-b with horizon=1,000" in out
    assert "Warning" in out


def test_what_ran_before_is_asked_for_and_what_is_not_used_is_said(run, tmp_path):
    assert "Note: odaaf takes it that nothing ran before the start" in run(*NEW)[1]
    again = [*NEW[:1], "other", *NEW[2:]]
    assert "Note:" not in run(*again, "--status-quo", "none")[1]
    (tmp_path / "past.csv").write_text("date,rounds,total\n2026-03-01,5000,1512\n")
    third = [*NEW[:1], "third", *NEW[2:], "--status-quo", "red", "--history"]
    code, _, err = run(*third, "past.csv")
    assert code == 2
    assert "odaaf cannot use what was played before the start" in " ".join(err.split())
    (tmp_path / "bad.csv").write_text("date,rounds,total\n2026-03-01,5000,many\n")
    code, _, err = run(*third, "bad.csv")
    assert code == 2
    assert "row 2, column total" in err


FLOW = ["--policy", "flow", "--parameter", "horizon=90 days", "--parameter", "mean_delay=12 hours"]
WHY = ["--reason", "a test", "--user", "ada"]


def test_a_campaign_is_changed_on_the_command_line(run):
    run(*NEW)
    run("next")
    code, _, errors = run("add-option", "green", *WHY)
    assert code == 2
    assert "odaaf cannot take in an option while it runs; unmix, flow" in errors
    code, out, _ = run("change", *FLOW[:2], *WHY)
    assert code == 0
    assert out.splitlines()[-1] == "Changed from the next decision on: --policy flow."
    code, out, _ = run("add-option", "green", *WHY)
    assert code == 0
    assert re.match(r"Added green\. (\w+ is asked for first, and then )?green", out)
    assert run("rename-option", "green", "vert", *WHY)[1] == "Renamed green to vert.\n"
    code, out, _ = run("change", "--align", "week", "--completeness", "9 days: 1", *WHY)
    assert code == 0
    assert run("change", "--completeness", "none", *WHY)[0] == 0
    code, out, _ = run("change", "--expected-rounds", "6000", *WHY)
    assert "horizon = 450,000, mean_delay = 2,500.0 stay as they are, in rounds" in out
    code, _, errors = run("change", *WHY)
    assert code == 2
    assert "say what to change: --run-for, --late, --parameter, --expected-rounds" in errors
    out = run("change", "--run-for", "150 days", "--parameter", "mean_delay=3000", *WHY)[1]
    assert out.endswith(": --run-for 150 days, --parameter mean_delay=3000.\n")
    assert run("remove-option", "vert", *WHY)[0] == 0
    assert run("restore-option", "vert", *WHY)[1] == "Restored vert.\n"
    run("pin", "vert", "--buckets", "4", *WHY)
    out = run("pause", *WHY)[1]
    assert "The pin to vert goes on, for 4 more days" in out
    assert run("resume", *WHY)[1].startswith("Resumed the campaign. The pin to vert goes on")
    assert run("unpin", *WHY)[1] == "Ended the pin.\n"
    out = run("history")[1]
    for words in ("ada changed policy from odaaf to flow", "ada added green: a test",
                  "ada renamed green to vert", "align from none to week", "restored vert",
                  "resumed the campaign (the pin went on)", "ended the pin"):  # fmt: skip
        assert words in out
    assert run("replay")[1] == "1 of 1 decisions come out the same.\n"


def test_a_campaign_is_finished_reopened_and_deleted(run):
    run(*NEW)
    run("next")
    run("finish", "blue", *WHY)
    run("new", "later", *NEW[2:])
    listed = json.loads(run("list", "--json")[1])
    assert [(each["name"], each["state"]) for each in listed] == [
        ("later", "not begun"),
        ("banner", "finished"),
    ]
    assert run("reopen", "-c", "banner", *WHY)[0] == 0
    code, _, errors = run("delete", "banner", "--confirm", "baner", *WHY)
    assert code == 2
    assert "type its name: 'banner'" in errors
    assert run("delete", "banner", "--confirm", "banner", *WHY)[0] == 0
    assert "Campaign 'banner' was deleted on 2026-03-02 by ada: a test." in run("list", "--all")[1]
    code, _, errors = run("next", "-c", "banner")
    assert code == 2
    assert "was deleted on 2026-03-02 by ada: a test" in errors
    assert run(*NEW)[0] == 2


def test_the_campaign_begins_at_its_start_whenever_it_is_asked(run):
    run(*NEW, "--status-quo", "red")
    assert run("next", day="2026-03-20")[1].startswith("2026-03-20: ")
    out = run("record", "2026-03-02", "--rounds", "5000", "--total", "900", day="2026-03-20")[1]
    assert out.startswith("2026-03-02: new")
    out = run("record", "2026-03-10", "--rounds", "5000", "--total", "900", "--shown", "blue",
              day="2026-03-20")[1]  # fmt: skip
    assert out.startswith("2026-03-10: new")
    status = json.loads(run("status", "--json", day="2026-03-20")[1])
    assert len(status["timeline"]) == 19
