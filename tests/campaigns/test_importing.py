"""Files of totals: what is unambiguous is taken in, the rest refused with row, column and remedy."""

from datetime import UTC, datetime

import pytest

from latesum.campaigns.importing import import_totals
from latesum.errors import BadFile
from latesum.files.totals import read_totals


@pytest.fixture
def campaign(new_campaign, clock):
    """Four days decided; it is the morning of the fifth."""
    made = new_campaign(options=("Größe A", "B"), zone="Europe/Berlin")
    for _ in range(4):
        made.decide()
        clock.pass_by(days=1)
    return made


GOOD = "date,rounds,total\n2026-03-02,5000,1500\n2026-03-03,4800,1390.5\n"


def verdicts(result):
    return [row.verdict for _, row in result.rows]


def nothing_but_a_refusal(campaign, before):
    """Whether the log says that an import was refused, and else what it said before."""
    *others, newest = campaign.history()
    return others == before and newest.kind == "import refused"


def test_a_file_is_taken_in_with_a_verdict_for_each_row(campaign, clock):
    assert verdicts(import_totals(campaign, GOOD.encode())) == ["new", "new"]
    assert verdicts(import_totals(campaign, GOOD.encode())) == ["same", "same"]
    again = "date,rounds,total,status\n2026-03-02,5000,1510,final\n2026-03-04,,,missing\n"
    assert verdicts(import_totals(campaign, again.encode())) == ["revised", "new"]
    assert campaign.state().value(1).total == 1510
    assert campaign.state().value(3).status == "missing"


def test_the_words_of_the_page_name_columns_where_the_usual_names_are_missing():
    (read,) = read_totals(b"date,Visitors,Sales\n2026-03-02,5000,120\n").rows
    assert (read.rounds, read.total) == (5000, 120)
    usual = read_totals(b"date,sales,total,visitors,rounds\n2026-03-02,1,2,3,4\n")
    assert (usual.rows[0].rounds, usual.rows[0].total) == (4, 2)
    assert usual.ignored == ("sales", "visitors")


def test_a_dry_run_writes_nothing(campaign):
    before = campaign.history()
    result = import_totals(campaign, GOOD.encode(), dry_run=True)
    assert verdicts(result) == ["new", "new"]
    assert not result.written
    assert campaign.history() == before


def test_all_or_nothing(campaign):
    import_totals(campaign, b"date,total,status\n2026-03-02,1500,final\n")
    before = campaign.history()
    mixed = "date,total\n2026-03-01,7\n2026-03-02,1501\n2026-03-03,1390\n"
    result = import_totals(campaign, mixed.encode())
    assert verdicts(result) == ["unknown bucket", "conflicting", "new"]
    assert not result.written
    assert nothing_but_a_refusal(campaign, before)
    forced = import_totals(campaign, mixed.encode(), overwrite_final=True, skip_unknown=True)
    assert verdicts(forced) == ["unknown bucket", "revised", "new"]
    assert forced.written


@pytest.mark.parametrize(
    ("data", "total"),
    [
        ("day,shown,total\n2026-03-02,Größe A,1500.5\n".encode("cp1252"), 1500.5),
        ("day,shown,total\n2026-03-02,Größe A,1500.5\n".encode(), 1500.5),
        (b'"date","rounds","total"\n"2026-03-02","5000.0","-3e2"\n\n', -300.0),
        (b"date,rounds,total,remark\n2026-03-02 00:00:00,5000,12,fine\n", 12.0),
        (b"bucket,total\n1,12\n", 12.0),
    ],
)
def test_other_separators_and_encodings_where_unambiguous(campaign, data, total):
    assert import_totals(campaign, data).written
    assert campaign.state().value(1).total == total


@pytest.mark.parametrize(
    ("text", "where", "remedy"),
    [
        ("rounds,total\n5000,1\n", "row 1", "name one of them 'bucket' or 'date'"),
        ("date,cost\n2026-03-02,1\n", "row 1", "The columns are: date, cost"),
        (
            "date,day,total\n2026-03-02,2026-03-02,2\n",
            "row 1",
            "date and day can all be the bucket",
        ),
        ("date,total\n30.02.2026,1\n", "row 2, column date", "write year-month-day"),
        ("date,total\n03/02/2026,1\n", "row 2, column date", "date format to day-first"),
        ("date,total\nsoon,1\n", "row 2, column date", "year-month-day"),
        ("date,total\n,1\n", "row 2, column date", "say which bucket"),
        ("date,rounds\n2026-03-02,-5\n", "row 2, column rounds", "at least 0"),
        ("date,rounds\n2026-03-02,12.5\n", "row 2, column rounds", "whole number"),
        ("date;total\n2026-03-02;5.000\n", "row 2, column total", "as 5000 and as 5.000"),
        ('date,total\n2026-03-02,"1,234"\n', "row 2, column total", "decimal mark to '.' or ','"),
        ("date,total\n2026-03-02,many\n", "row 2, column total", "not a number"),
        ("date,total\n2026-03-02,nan\n", "row 2, column total", "nothing to record"),
        ('date,total\n2026-03-02,"1\n', "row 2", "quotation mark"),
        ('date,total,x\n2026-03-02,1,"a\n2026-03-03,2,b\n', "row 2", "quotation mark"),
        ("date,rounds,total\n2026-03-02,5000,5001\n", "row 2, column total", "beyond the range"),
        ("date,total,status\n2026-03-02,1,done\n", "row 2, column status", "Known: final"),
        ("date,total,status\n2026-03-02,1,missing\n", "row 2, column total", "leave it empty"),
        ("date,total,shown\n2026-03-02,1,Grösse\n", "row 2, column shown", "did you mean"),
        ("date,total\n2026-03-02,1\n2026-03-02,2\n", "row 3, column date", "row 2 already"),
        ("date,total\n2026-03-02,1,2\n", "row 2", "quotes"),
    ],
)
def test_bad_files_are_refused_with_row_column_and_remedy(campaign, text, where, remedy):
    before = campaign.history()
    with pytest.raises(BadFile) as refusal:
        import_totals(campaign, text.encode())
    assert f"{where}:" in str(refusal.value)
    assert remedy in str(refusal.value)
    assert nothing_but_a_refusal(campaign, before)


def test_every_bad_row_is_named(campaign):
    text = "date,rounds,total\n2026-03-02,5000,1500\n2026-3-3,1,1\n2026-03-04,-1,1\n"
    with pytest.raises(BadFile) as refusal:
        import_totals(campaign, text.encode())
    assert [problem.split(":")[0] for problem in refusal.value.problems] == [
        "row 3, column date",
        "row 4, column rounds",
    ]


def test_what_the_dates_of_a_file_showed_is_remembered(campaign):
    march = b"date,total\n03/04/2026,122\n"
    with pytest.raises(BadFile, match="'03/04/2026' can be read in two ways"):
        import_totals(campaign, march)
    known = b"date,total\n03/03/2026,120\n03/13/2026,120\n"
    assert import_totals(campaign, known, skip_unknown=True).form.date_format == "month-first"
    assert import_totals(campaign, march).written
    assert campaign.state().value(3).total == 122
    assert import_totals(campaign, b"date;total\n05.03.2026;130\n").written
    with pytest.raises(BadFile, match="date format to day-first"):
        import_totals(campaign, b"date,total\n30/03/2026,130\n")


def test_a_total_that_may_be_a_rate_is_noted_and_taken_in(campaign):
    data = b"date,rounds,total\n2026-03-02,5000,200\n2026-03-03,5000,0.024\n"
    (_, first), (_, second) = import_totals(campaign, data).rows
    assert (first.note, second.verdict) == ("", "new")
    assert "is it a rate, and not a count?" in second.note


def hours(new_campaign, clock, start):
    clock.now = datetime.fromisoformat(start).replace(tzinfo=UTC)
    campaign = new_campaign(every="hour", zone="Europe/Berlin")
    campaign.decide()
    clock.pass_by(days=2)
    return campaign


def test_an_hour_that_the_clock_skips_is_refused(new_campaign, clock):
    campaign = hours(new_campaign, clock, "2026-03-28 20:00")
    with pytest.raises(BadFile, match="row 2, column hour: 2026-03-29 02:00 does not exist"):
        import_totals(campaign, b"hour,total\n2026-03-29 02:00,5\n")
    good = b"hour,total\n2026-03-29 01:00,5\n2026-03-29 03:00,6\n"
    first, second = (row.bucket for _, row in import_totals(campaign, good).rows)
    assert second == first + 1


def test_an_hour_that_happens_twice_needs_its_offset(new_campaign, clock):
    campaign = hours(new_campaign, clock, "2026-10-24 20:00")
    with pytest.raises(BadFile, match=r"happens twice.*\+02:00 or 2026-10-25 02:00\+01:00"):
        import_totals(campaign, b"hour,total\n2026-10-25 02:00,5\n")
    good = b"hour,total\n2026-10-25 02:00+02:00,5\n2026-10-25 02:00+01:00,6\n"
    first, second = (row.bucket for _, row in import_totals(campaign, good).rows)
    assert second == first + 1
    with pytest.raises(BadFile, match="write an hour"):
        import_totals(campaign, b"hour,total\n2026-10-25,5\n")


def test_days_have_23_or_25_hours(new_campaign, clock):
    buckets = new_campaign(every="day", zone="Europe/Berlin", start="2026-03-28").config.buckets
    lengths = [(buckets.end(day) - buckets.begin(day)).total_seconds() / 3600 for day in (1, 2, 3)]
    assert lengths == [24, 23, 24]
    weeks = new_campaign("w", every="week", zone="Europe/Berlin", start="2026-W10").config.buckets
    assert weeks.label(1) == "2026-03-02"
    assert weeks.number("2026-W11") == 2
    assert weeks.number("2026-03-15") == 2
