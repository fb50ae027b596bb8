"""Files on the command line: histories of plans, what the preview shows, and what is remembered."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

NEW = shlex.split(
    "new offers --options gift,ship --policy unmix --parameter 'horizon=60 days' --parameter "
    "'mean_delay=1 day' --expected-rounds 5000 --time-basis arrival --start 2026-03-02 "
    "--unit orders"
)
PLAN = shlex.split("plan --options 2 --lift 10% --late '1 day' --run-for '5 weeks'")
QUICK = ["--replications", "2", "--workers", "1"]
DAYS = [f"2026-03-{day:02d}" for day in range(2, 7)]


@pytest.fixture
def run(campaign):
    """Run a command of a campaign that decided five days."""

    def command(*arguments, day="2026-03-07"):
        return campaign(*arguments, day=day)

    assert command(*NEW, day=DAYS[0])[0] == 0
    for day in DAYS:
        assert command("next", day=day)[0] == 0
    return command


def write(name, *lines):
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def buckets(run, **how):
    return json.loads(run("status", "--json", **how)[1])["timeline"]


def test_the_history_of_a_plan_is_that_of_a_campaign(latesum, run):
    rng = np.random.default_rng(1)
    rows = [
        f"2026-02-{day:02d},{store},9000,{rng.poisson(300)}"
        for day in range(1, 29)
        for store in ("north", "south")
    ]
    past = write("past.csv", "date,store,sessions,orders", *rows)
    latesum(*PLAN, *QUICK, "--regions", "2", "--history", past).done()
    quo = ["--history", past, "--status-quo", "gift"]
    new = (
        "new market --options gift,ship --run-for '60 days' --late '1 day' --regions north,south "
        "--policy switchback --expected-rounds 9000 --time-basis arrival --start 2026-03-02"
    )
    run(*shlex.split(new), *quo).done()
    out = run("new", "whole", *NEW[2:], *quo, "--seed", "1").done()
    assert "The history has 2 regions; their rows were added up." in out


def test_a_plan_is_told_how_its_history_is_written(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = [f"{day:02d}/02/2026;9000;{rng.poisson(300)},0" for day in range(1, 13)]
    rows += [f"{day:02d}/01/2026;9000;{rng.poisson(300)},0" for day in range(1, 13)]
    past = write("past.csv", "date;visitors;Bestellungen", *rows)
    asked = [*PLAN, *QUICK, "--quick", "--history", past]
    latesum(*asked).refused("--date-format")
    said = ["--date-format", "day-first", "--columns", "total=Bestellungen"]
    assert "The history: 24 days" in latesum(*asked, *said).done()
    without = [*PLAN, "--traffic", "5000 per day", "--rate", "3%", *said]
    latesum(*without).refused("a history: a file of past days")


def test_refused_imports_are_in_the_log_and_named_by_the_alarm(run):
    good = ["date,visitors,orders", "2026-03-02,5000,120", "2026-03-03,5000,121"]
    assert run("import", write("good.csv", *good))[0] == 0
    bad = write("bad.csv", "date,visitors,orders", "2026-03-05,5000,many")
    for day in ("2026-03-08", "2026-03-09", "2026-03-10"):
        assert run("next", day=day)[0] == 0
        assert run("import", bad, "--dry-run", day=day)[0] == 2
    assert "refused" not in run("history", day="2026-03-10")[1]
    assert "refused" not in " ".join(run("check", day="2026-03-10")[1].split())
    for day, words in (("2026-03-09", "many"), ("2026-03-10", "more")):
        again = write("bad.csv", "date,visitors,orders", f"2026-03-05,5000,{words}")
        assert run("import", again, day=day)[0] == 2
    code, out, _ = run("check", day="2026-03-10")
    said = " ".join(out.split())
    assert code == 1
    assert "Imports were tried and refused 2 times since then, last on 2026-03-10" in said
    assert "row 2, column orders: 'more' is not a number" in said
    assert "'many' is not a number" in run("history", day="2026-03-10")[1]
    assert run("import", write("good.csv", *good, "2026-03-09,5000,9"), day="2026-03-10")[0] == 0
    assert "refused" not in run("check", day="2026-03-10")[1]
    assert "the same" in run("replay", day="2026-03-10")[1]


def test_the_preview_shows_what_was_read_what_it_is_credited_to_and_what_it_replaces(run):
    assert run("import", write("t.csv", "date,visitors,orders", "2026-03-02,4210,96"))[0] == 0
    shown = buckets(run)[0]["shown"]
    rows = ["date,visitors,orders,shown", "2026-03-02,4210,101,", "2026-03-03,4300,99,ship"]
    out = run("import", write("t.csv", *rows), "--dry-run").done()
    first, second = (" ".join(line.split()) for line in out.splitlines() if "2026-03" in line)
    assert all(words in first for words in ("4,210", "101", shown, "was 96"))
    assert "ship" in second
    found = json.loads(run("import", "t.csv", "--dry-run", "--json")[1])["rows"]
    read = [found[0][key] for key in ("rounds", "total", "shown", "was_total")]
    assert read == [4210, 101, shown, 96]
    assert found[1]["was_total"] is None
    assert buckets(run)[0]["total"] == 96


def test_a_total_that_is_here_and_not_complete_is_not_awaited(campaign):
    assert campaign(*NEW, "--completeness", "1 day: 0.1, 3 days: 1", day=DAYS[0])[0] == 0
    for day in DAYS:
        assert campaign("next", day=day)[0] == 0
    rows = [f"{day},5000,120" for day in DAYS[:4]]
    file = write("t.csv", "date,visitors,orders", *rows)
    assert campaign("import", file, day="2026-03-06", hour="07:30")[0] == 0
    said = " ".join(campaign("status", day="2026-03-06", hour="09:00")[1].split())
    assert "none is awaited, 1 is here and not complete yet" in said
