"""Files as people have them: names of columns, dates, what the preview shows, and totals that look wrong."""

import json
import shlex
from pathlib import Path

import numpy as np
import openpyxl
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


@pytest.mark.parametrize(
    "names",
    [
        "day,visitors,sales",
        "Date,Sessions,Orders",
        "date,users,purchases",
        "bucket,visits,transactions",
        "date,rounds,revenue",
        "date,visitors,conversions",
        "date,clicks,orders",
    ],
)
def test_usual_names_of_columns_are_understood_by_imports_and_histories(run, names):
    out = run("import", write("t.csv", names, "2026-03-02,5000,120")).done()
    assert "Not used" not in out
    assert [buckets(run)[0][key] for key in ("rounds", "total")] == [5000, 120]
    past = write("past.csv", names, "2026-02-28,5000,118", "2026-03-01,5100,121")
    usual = write("usual.csv", "date,rounds,total", *Path(past).read_text().splitlines()[1:])
    found = []
    for file in (past, usual):
        run("new", file, *NEW[2:], "--history", file, "--status-quo", "gift", "--seed", "1").done()
        run("export", "one.json", "-c", file)
        found.append(Path("one.json").read_text().replace(file, "same"))
    assert "118" in found[0]
    assert found[0] == found[1]


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


def test_a_history_without_any_total_is_refused_with_the_columns_that_were_seen(run):
    past = write("past.csv", "date,visitors,Bestellungen", "2026-02-28,5000,118")
    run("new", "other", *NEW[2:], "--history", past, "--status-quo", "gift", "--seed", "1").refused(
        "no row has a total", "date, visitors, Bestellungen", "set columns to total=NAME"
    )
    assert "other" not in run("list")[1]


def test_two_columns_that_can_both_be_the_total_are_refused(run):
    file = write("t.csv", "date,sessions,orders,revenue", "2026-03-02,5000,120,3600")
    run("import", file).refused("the columns orders and revenue can all be the total")
    assert run("import", file, "--columns", "total=orders")[0] == 0
    assert buckets(run)[0]["total"] == 120


def american(first, last):
    days = [f"2026-{day}" for day in ("10-30", "10-31", "11-01", "11-02")]
    rows = [f"{day[5:7]}/{day[8:]}/{day[:4]},5000,{120 + n}" for n, day in enumerate(days)]
    return ["date,visitors,orders", *rows[first:last]]


@pytest.fixture
def autumn(campaign):
    """A campaign that decided the last days of October and the first of November."""
    new = [*NEW[:-4], "--start", "2026-10-30"]
    assert campaign(*new, day="2026-10-30")[0] == 0
    for day in ("2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02"):
        assert campaign("next", day=day)[0] == 0
    return lambda *arguments, day="2026-11-03": campaign(*arguments, day=day)


def test_one_date_that_can_be_read_in_one_way_settles_the_file(autumn):
    file = write("t.csv", "date,orders", "10/30/2026,120", "31/10/2026,121", "11/01/2026,122")
    autumn("import", file).refused("row 3 has the day first and row 2 the month")
    assert "date format month-first" in autumn("import", write("us.csv", *american(0, 4))).done()
    found = {row["label"]: row["total"] for row in buckets(autumn)}
    assert (found["2026-11-01"], found["2026-11-02"]) == (122, 123)


def test_what_the_dates_of_a_file_showed_is_remembered(autumn):
    first = write("us.csv", *american(2, 4))
    autumn("import", first).refused("'11/01/2026' can be read in two ways")
    assert autumn("import", write("october.csv", *american(0, 2)))[0] == 0
    assert "read as remembered: date format month-first" in autumn("import", first).done()
    assert {row["label"]: row["total"] for row in buckets(autumn)}["2026-11-01"] == 122
    german = write("de.csv", "date;visitors;orders", "02.11.2026;5000;130")
    assert autumn("import", german)[0] == 0
    assert {row["label"]: row["total"] for row in buckets(autumn)}["2026-11-02"] == 130
    british = write("uk.csv", "date,orders", "30/10/2026,130")
    autumn("import", british).refused("date format to day-first")


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


def test_rounds_are_whole_numbers_so_a_mark_in_them_separates_thousands(run):
    file = write("t.csv", "date;visitors;orders", "02.03.2026;4.210;101", "03.03.2026;4,300;99")
    run("import", file).done()
    assert [row["rounds"] for row in buckets(run)[:2]] == [4210, 4300]
    total = write("t.csv", "date;orders", "02.03.2026;4.210")
    run("import", total).refused("can be read in two ways, as 4210 and as 4.210")


def test_formulas_that_were_never_calculated_are_no_empty_totals(run):
    book = openpyxl.Workbook()
    book.active.append(["date", "visitors", "orders"])
    book.active.append(["2026-03-02", 5000, 120])
    book.active.append(["2026-03-03", 5000, "=C2+1"])
    book.save("t.xlsx")
    run("import", "t.xlsx").refused(
        "row 3, column orders: '=C2+1' is a formula that was never calculated"
    )
    assert buckets(run)[0]["total"] is None


@pytest.mark.parametrize("traffic", ["8.000 per day", "800.000 a week"])
def test_traffic_that_can_be_read_in_two_ways_is_refused_with_both_spellings(latesum, traffic):
    both = f"write {traffic.split()[0].replace('.', '')} or {traffic.split('.')[0]} per"
    latesum(*PLAN, "--rate", "3%", "--traffic", traffic).refused("can be read in two ways", both)


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


def test_a_total_that_may_be_a_rate_is_noted_and_taken_in(run):
    file = write("t.csv", "date,visitors,orders", f"{DAYS[0]},5000,200", f"{DAYS[1]},5000,0.024")
    first, second = json.loads(run("import", file, "--json")[1])["rows"]
    assert first["note"] == ""
    assert second["verdict"] == "new"
    assert "is it a rate, and not a count?" in second["note"]


def test_a_file_may_be_read_otherwise_without_changing_how_later_ones_are(run):
    german = ["Datum;Besucher;Bestellungen", "02.03.2026;4.210;101,5"]
    said = ["--columns", "bucket=Datum,rounds=Besucher,total=Bestellungen", "--decimal", ","]
    assert run("import", write("de.csv", *german), *said)[0] == 0
    odd = write("odd.csv", "date,visitors,orders", "03/13/2026,4300,99", "03/03/2026,4300,99")
    out = run("import", odd, "--columns", "", "--only-this-file", "--skip-unknown").done()
    assert "The next file is read as before: columns bucket=Datum" in out
    assert buckets(run)[1]["total"] == 99
    run("import", write("de.csv", *german, "04.03.2026;4.310;102,5")).done()
    assert buckets(run)[2]["total"] == 102.5


def test_a_total_that_is_here_and_not_complete_is_not_awaited(campaign):
    assert campaign(*NEW, "--completeness", "1 day: 0.1, 3 days: 1", day=DAYS[0])[0] == 0
    for day in DAYS:
        assert campaign("next", day=day)[0] == 0
    rows = [f"{day},5000,120" for day in DAYS[:4]]
    file = write("t.csv", "date,visitors,orders", *rows)
    assert campaign("import", file, day="2026-03-06", hour="07:30")[0] == 0
    said = " ".join(campaign("status", day="2026-03-06", hour="09:00")[1].split())
    assert "none is awaited, 1 is here and not complete yet" in said
