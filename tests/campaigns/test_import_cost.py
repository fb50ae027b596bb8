"""What a file costs: linear in its length, whatever is in it.

Work is counted as calls of functions, Python's and C's, and not timed.
"""

import sys

import pytest
from sqlalchemy import event

from latesum import InvalidInput
from latesum.campaigns import Row
from latesum.campaigns.importing import import_totals
from latesum.errors import BadFile
from latesum.files import FileForm
from latesum.files.totals import read_totals


def calls(work, *arguments, **more):
    """How many functions a piece of work calls, and what came of it."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        result = work(*arguments, **more)
    except InvalidInput as refusal:
        result = refusal
    finally:
        sys.setprofile(before)
    return count, result


def table(columns, rows=1):
    names = ["date", "rounds", "total", *(f"c{number}" for number in range(columns - 3))]
    cells = ["2026-03-02", "5000", "1500", *["7"] * (columns - 3)]
    return "\n".join([",".join(names), *[",".join(cells)] * rows, ""]).encode()


@pytest.mark.parametrize("columns", [101, 1_000, 5_000, 40_000, 130_000])
def test_many_columns_cost_no_more_than_40(columns):
    usual, read = calls(read_totals, table(40))
    assert len(read.ignored) == 37
    assert len(read_totals(table(100)).ignored) == 97
    count, refusal = calls(read_totals, table(columns))
    assert isinstance(refusal, BadFile)
    assert "at most 100 columns; keep those of the bucket, rounds" in str(refusal)
    assert len(str(refusal)) < 500
    assert count <= 1.5 * usual


@pytest.mark.parametrize("filler", ["", "x", " "])
def test_a_row_of_40000_columns_costs_no_more_than_one_of_40(filler):
    good = b"date,total\n2026-03-02,1\n"
    usual, _ = calls(read_totals, good + b"," * 39 + b"x\n")
    count, read = calls(read_totals, good + ",".join([filler] * 40_000).encode() + b"\n")
    assert count <= 1.5 * usual
    found = [problem for _, problem in read.problems]
    assert len(found) == (1 if filler.strip() else 0)  # a row without anything is no row
    assert all("it has 40,000 columns, and the first line names 2" in each for each in found)


def test_only_what_is_used_of_a_row_is_looked_at():
    few, _ = calls(read_totals, table(4, rows=200))
    many, _ = calls(read_totals, table(100, rows=200))
    assert many <= 1.5 * few


@pytest.mark.parametrize("form", [FileForm(), FileForm(decimal=","), FileForm(add_up=True)])
def test_a_file_costs_as_much_as_its_rows(form):
    row = "31.10.2026;1 234;1.234,5;Total\n"
    few, _ = calls(read_totals, ("A report\ndate;rounds;total;x\n" + row * 100).encode(), form)
    many, _ = calls(read_totals, ("A report\ndate;rounds;total;x\n" + row * 1000).encode(), form)
    assert many <= 10.5 * few
    assert many / 1000 < 130


@pytest.mark.parametrize(
    "bad", ["x,1,A", "2026-03-02,x,A", "2026-03-02,1,Bb", "2026-03-02,1", "2026-03-02,1,A,A"]
)
def test_of_a_bad_file_the_first_problems_are_looked_for(new_campaign, bad):
    campaign = new_campaign()
    campaign.decide()

    def file(rows):
        return ("date,total,shown\n" + f"{bad}\n" * rows).encode()

    few, _ = calls(import_totals, campaign, file(20))
    many, refusal = calls(import_totals, campaign, file(400))
    # What is wrong with a bucket is seen after all was read, so reading it is all that is added.
    assert many - few <= calls(read_totals, b"date,total,shown\n" + b"1,1,A\n" * 380)[0]
    assert [problem.split(",")[0].split(":")[0] for problem in refusal.problems[:-1]] == [
        f"row {line}" for line in range(2, 22)
    ]
    assert refusal.problems[-1] == "These are the first 20; there may be more."


def test_totals_out_of_range_are_found_in_one_pass(new_campaign, clock):
    campaign = new_campaign(every="hour")
    campaign.decide()
    clock.pass_by(days=60)

    def file(rows):
        return ("bucket,rounds,total\n" + "".join(f"{n},5,7\n" for n in range(1, rows))).encode()

    few, _ = calls(import_totals, campaign, file(19))
    many, refusal = calls(import_totals, campaign, file(19 * 8))
    assert "row 2, column total: a total of 7 is more" in refusal.problems[0]
    assert many <= 8 * few


def test_buckets_that_were_not_asked_for_are_looked_up_once(new_campaign, clock):
    campaign = new_campaign(every="hour")
    campaign.decide()
    clock.pass_by(days=60)

    def statements(rows):
        seen = []
        engine = campaign.store.engine

        def count(*_):
            seen.append(1)

        event.listen(engine, "before_cursor_execute", count)
        given = [Row(number, 5, 1.0) for number in range(2, rows + 2)]
        assert {each.verdict for each in campaign.record_many(given, dry_run=True)} == {"new"}
        event.remove(engine, "before_cursor_execute", count)
        return len(seen)

    assert statements(300) == statements(30)


def test_buckets_after_the_end_are_looked_up_once(new_campaign, clock):
    campaign = new_campaign(every="hour")
    campaign.decide()
    campaign.finish("A", user="op", reason="enough")
    clock.pass_by(days=60)
    rows = [Row(number, 5, 1.0) for number in range(2, 102)]
    before, results = calls(campaign.record_many, rows, dry_run=True)
    assert {each.verdict for each in results} == {"unknown bucket"}
    for total in range(50):  # a long log after the last decision
        campaign.record(1, total=total)
    after, _ = calls(campaign.record_many, rows, dry_run=True)
    assert after <= 1.5 * before


def test_no_more_buckets_are_filled_in_than_a_campaign_can_have_missed(new_campaign, clock):
    campaign = new_campaign(every="hour", start="2014-01-01 00:00")
    campaign.decide(1)
    with pytest.raises(InvalidInput, match="is the clock right"):
        campaign.record("2026-03-01 08:00", total=1)
    assert len(campaign.history()) == 1


def test_long_cells_are_refused_in_short(new_campaign):
    campaign = new_campaign()
    campaign.decide()
    for cell in ("9" * 2_000, "a" * 100_000, "a" * 200_000, '"' + "a\n" * 100_000):
        for column in ("date", "total", "shown", "status", "remark"):
            row = {"date": "2026-03-02", "total": "5", column: cell}
            text = ",".join(row) + "\n" + ",".join(row.values()) + "\n"
            if column == "remark" and len(cell) <= 100_000:
                found = import_totals(campaign, text.encode(), dry_run=True)
                assert [row.verdict for _, row in found.rows] == ["new"]
                continue
            with pytest.raises(BadFile) as refusal:
                import_totals(campaign, text.encode())
            assert "row 2" in str(refusal.value)
            assert "characters" in str(refusal.value)
            assert len(str(refusal.value)) < 500


def test_a_wrong_name_is_named_in_short(new_campaign):
    campaign = new_campaign()
    with pytest.raises(InvalidInput) as refusal:
        campaign.record_many([Row(1, total=1, shown="A" * 900)])
    assert len(str(refusal.value)) < 200


def test_a_file_may_be_refused_for_its_rows():
    assert len(read_totals(table(3, rows=7) + b"\n,,\n", most_rows=7).rows) == 7
    with pytest.raises(InvalidInput, match="more than 6 rows; send it in parts"):
        read_totals(table(3, rows=7), most_rows=6)


@pytest.mark.parametrize("data", [b"\xff\xfed\x00a", b"\xef\xbb\xbfdate,total\n1,\xff\n"])
def test_a_file_that_breaks_its_own_mark_is_refused(data):
    with pytest.raises(InvalidInput, match="save it as CSV in UTF-8"):
        read_totals(data)
