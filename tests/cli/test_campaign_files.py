"""`latesum campaign import`, `buckets`, `export --all`: files in and out."""

import csv
import json
from pathlib import Path

import openpyxl
import pytest

from . import conftest

EXAMPLES = Path(__file__).parents[2] / "examples" / "files"
GERMAN = str(EXAMPLES / "german.csv")
NEW = ["=red,blue" if each == "red,blue" else each for each in conftest.NEW]


@pytest.fixture
def run(campaign):
    """Run a command of a campaign that decided three days."""

    def command(*arguments, day="2026-03-06"):
        return campaign(*arguments, day=day)

    assert command(*NEW, day="2026-03-02")[0] == 0
    for day in ("2026-03-02", "2026-03-03", "2026-03-04"):
        assert command("next", day=day)[0] == 0
    return command


BY_TIME = ["--columns", "total=Conversions (by conv. time)"]


def test_how_a_report_is_read_is_said_once(run):
    report = str(EXAMPLES / "google-ads.csv")
    run("import", report).refused("can all be the total")
    out = run("import", report, *BY_TIME).done()
    assert "Left out as totals of other rows: 7 (Total: Campaigns), 8 (Total: Account)." in out
    so = "columns total=Conversions (by conv. time)."
    assert f"From now on files of this campaign are read so: {so}" in out
    assert f"The file was read as remembered: {so}" in run("import", report).done()
    said = json.loads(run("import", report, "--json")[1])
    assert said["form"] == {"columns": {"total": "Conversions (by conv. time)"}}
    assert [row["verdict"] for row in said["rows"]] == ["same"] * 3


def test_a_campaign_may_be_set_up_with_how_its_files_are_written(run):
    """The past is read the same way, and the first import needs nothing to be said."""
    form = ["--columns", "bucket=Datum,rounds=Besucher,total=Bestellungen", "--decimal", ","]
    assert run("import", GERMAN, *form).done().count("new") == 3
    past = [
        *NEW[2:-1],
        "2026-03-05",
        "--policy",
        "flow",
        "--history",
        GERMAN,
        "--status-quo",
        "blue",
    ]
    run("new", "later", *past).refused("set columns to bucket=NAME")
    out = run("new", "later", *past, *form).done()
    assert "Left out as totals of other rows: 8 (Summe)." in out
    assert run("next", "-c", "later", day="2026-03-05")[0] == 0
    report = "Datum;Besucher;Bestellungen\n05.03.2026;4.000;99,5\n"
    Path("report.csv").write_text(report, encoding="utf-8")
    out = run("import", "report.csv", "-c", "later").done()
    assert "read as remembered: columns bucket=Datum" in out
    assert "the campaign was set up so" in run("history", "-c", "later")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["import", GERMAN, "--decimal", "x"], "the decimal mark is"),
        (["import", GERMAN, "--columns", "rounds"], "rounds=Clicks,total=Conversions"),
        (["import", GERMAN, "--date-format", "%d"], "a pattern with year, month and day"),
        (["buckets", "--out", "b.xyz"], "end it with .csv, .json, .parquet or .xlsx"),
        (["buckets", "--out", "no/such/b.csv"], "cannot be written"),
        (["buckets", "--out", "no/such/b.parquet"], "cannot be written"),
        (["export", "one.json", "--all", "-c", "banner"], "leave --campaign out"),
    ],
)
def test_options_that_cannot_be_are_refused(run, arguments, says):
    run(*arguments).refused(says)


def test_tables_out_and_in_again(run, tmp_path):
    run("import", str(EXAMPLES / "google-ads.csv"), *BY_TIME)
    out = run("buckets").done()
    table = list(csv.DictReader(out.splitlines()))
    assert [row["total"] for row in table] == ["118.5", "124.0", "126.5"]
    assert table[0]["shown"] == "'=red"
    (tmp_path / "again.csv").write_text(out, encoding="utf-8")
    out = run("import", "again.csv", "--columns", "", "--json").done()
    assert [row["verdict"] for row in json.loads(out)["rows"]] == ["same"] * 3
    assert run("buckets", "--out", "buckets.xlsx")[0] == 0
    rows = list(openpyxl.load_workbook(tmp_path / "buckets.xlsx").active.values)
    assert rows[0] == tuple(table[0])
    assert len(rows) == len(table) + 1


def test_all_campaigns_in_one_file(run, tmp_path):
    assert run("new", "second", *NEW[2:], day="2026-03-02")[0] == 0
    assert run("export", "all.json", "--all")[1].startswith("2 campaigns")
    out = run("--store", "other.db", "restore", "all.json").done()
    assert "banner, second" in out
    assert "3 of 3" in run("--store", "other.db", "replay", "-c", "banner")[1]
