"""Reports of real tools: read by forms that the campaign remembers, and given out again."""

import csv
import io
import itertools
import json
from datetime import datetime
from pathlib import Path

import narwhals
import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from latesum import InvalidInput
from latesum.campaigns import Campaign, Row, Store
from latesum.campaigns.actions import describe_event
from latesum.campaigns.importing import import_totals
from latesum.campaigns.moving import export_campaigns, read_export, replay_log, restore_campaigns
from latesum.errors import BadFile
from latesum.files import FileForm

EXAMPLES = Path(__file__).parents[2] / "examples" / "files"


@pytest.fixture
def campaign(new_campaign, clock):
    """Four days decided, from 2026-03-02 on."""
    return started(new_campaign, clock)


def started(new_campaign, clock, **changed):
    made = new_campaign(**{"options": ("red", "blue"), "expected_rounds": 4000, **changed})
    for _ in range(4):
        made.decide()
        clock.pass_by(days=1)
    return made


def recorded(campaign):
    state = campaign.state()
    return {
        decision.label: (state.value(bucket).rounds, state.value(bucket).total)
        for bucket, decision in state.decisions.items()
        if state.value(bucket).recorded
    }


BY_ARRIVAL = {"2026-03-02": (4210, 118.5), "2026-03-03": (3987, 124.0), "2026-03-04": (4102, 126.5)}
GOOGLE = FileForm(columns={"total": "Conversions (by conv. time)"})


def test_a_report_with_two_columns_of_totals(campaign):
    with pytest.raises(
        BadFile,
        match=r"row 3: the columns conversions and conversions \(by conv. time\) can all be the total",
    ):
        import_totals(campaign, EXAMPLES / "google-ads.csv")
    result = import_totals(campaign, EXAMPLES / "google-ads.csv", GOOGLE)
    assert recorded(campaign) == BY_ARRIVAL
    assert result.notes == (
        "Left out as totals of other rows: 7 (Total: Campaigns), 8 (Total: Account).",
    )
    assert "Conversions" in result.ignored


def test_rows_of_one_bucket_are_added_up_if_that_is_said(campaign):
    parts = b"date,rounds,total\n2026-03-02,10,3\n2026-03-02,20,7\n"
    with pytest.raises(
        BadFile, match=r"row 3, column date: 2026-03-02 is in row 2 already.*add-up"
    ):
        import_totals(campaign, parts)
    assert (
        import_totals(campaign, parts, FileForm(add_up=True), dry_run=True).rows[0][1].total == 10
    )
    half = b"date,rounds,total\n2026-03-02,10,\n2026-03-02,20,7\n"
    with pytest.raises(BadFile, match="cannot be added up"):
        import_totals(campaign, half, FileForm(add_up=True))


def test_a_german_export_says_what_it_needs(campaign):
    file = EXAMPLES / "german.csv"
    with pytest.raises(BadFile, match=r"row 4: .*The columns are: Datum, Besucher, Bestellungen"):
        import_totals(campaign, file)
    names = FileForm(columns={"bucket": "Datum", "rounds": "Besucher", "total": "Bestellungen"})
    both = FileForm(columns=names.columns, decimal=",")
    assert import_totals(campaign, file, both).written
    assert recorded(campaign) == BY_ARRIVAL


def test_an_excel_file_of_the_same(campaign):
    made = openpyxl.Workbook()
    for row in csv.reader((EXAMPLES / "german.csv").open(encoding="cp1252"), delimiter=";"):
        made.active.append(row)
    for row, (label, (rounds, total)) in enumerate(BY_ARRIVAL.items(), start=5):
        made.active.cell(row, 1, datetime.fromisoformat(label))
        made.active.cell(row, 2, rounds)
        made.active.cell(row, 3, total)
    file = io.BytesIO()
    made.save(file)
    form = FileForm(columns={"bucket": "Datum", "rounds": "Besucher", "total": "Bestellungen"})
    assert import_totals(campaign, file.getvalue(), form).written
    assert recorded(campaign) == BY_ARRIVAL


def test_a_form_is_remembered_by_every_process_and_in_the_history(campaign, clock):
    other = Campaign.open("banner", store=campaign.store, clock=clock)
    form = FileForm(columns={"rounds": "visits", "total": "orders"})
    file = b"day,visits,orders\n2026-03-02,4000,7\n"
    import_totals(campaign, file, form, by="anna", dry_run=True)
    assert other.state().file_form == FileForm()
    import_totals(campaign, file, form, by="anna")
    assert other.state().file_form == form
    again = import_totals(other, b"day,visits,orders\n2026-03-03,4000,8\n", by="ben")
    assert [row.verdict for _, row in again.rows] == ["new"]
    events = [event for event in other.history() if event.kind == "file form"]
    assert len(events) == 1
    assert describe_event(events[0], other.config).endswith(
        "anna set how files are read (columns rounds=visits,total=orders): a file was imported so"
    )
    assert "set how files are read" in campaign.status().actions[-1]
    import_totals(other, b"day,total\n2026-03-04,9\n", FileForm())
    assert campaign.state().file_form == FileForm()
    assert replay_log(campaign.config, campaign.history()) == []


def test_a_file_that_stops_is_not_remembered(campaign):
    form = FileForm(columns={"total": "orders"})
    result = import_totals(campaign, b"day,orders\n2026-01-01,7\n", form)
    assert result.stopped
    assert campaign.state().file_form == FileForm()


def test_a_column_that_is_not_there_and_a_field_that_there_is_not(campaign):
    with pytest.raises(
        BadFile, match=r"there is no column 'clicks' for rounds. The columns are: day"
    ):
        import_totals(campaign, b"day,total\n1,2\n", FileForm(columns={"rounds": "Clicks"}))
    with pytest.raises(InvalidInput, match="there is no field of such a file 'clicks'"):
        import_totals(campaign, b"day,total\n1,2\n", FileForm(columns={"clicks": "Clicks"}))


def test_rows_that_are_for_more_than_a_bucket_are_refused(campaign, new_campaign, clock):
    weeks = b"Week,Clicks,Conversions\n2026-03-02,900,7\n"
    with pytest.raises(
        BadFile, match="the rows are for weeks, and this campaign's buckets are days"
    ):
        import_totals(campaign, weeks)
    weekly = new_campaign("weekly", every="week", start="2026-03-02", options=("red", "blue"))
    weekly.decide()
    assert import_totals(weekly, weeks).written


def test_the_table_in_every_format(campaign, tmp_path):
    import_totals(campaign, EXAMPLES / "google-ads.csv", GOOGLE)
    table = campaign.table()
    frame = narwhals.from_native(table.to_frame())
    assert frame.columns == list(table.columns)
    assert frame.shape == (len(table.rows), len(table.columns))
    for ending in ("csv", "json", "parquet"):
        table.write(tmp_path / f"buckets.{ending}")
    assert pq.read_table(tmp_path / "buckets.parquet").equals(table.to_frame())
    records = json.loads((tmp_path / "buckets.json").read_text(encoding="utf-8"))
    assert records == table.to_records()
    with (tmp_path / "buckets.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    for row, record in zip(cells, records, strict=True):
        for column, value in record.items():
            if isinstance(value, float):
                assert float(row[column]) == value
            elif value is None:
                assert row[column] == ""
    assert table.to_frame()["total"].to_pylist() == [118.5, 124.0, 126.5, None]


def test_a_campaign_without_decisions_has_empty_tables_with_types(new_campaign):
    frame = new_campaign().table().to_frame()
    assert frame.num_rows == 0
    assert str(frame.schema.field("total").type) == "double"


NAMES = st.text(
    # Names with characters that cannot be shown are refused.
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")),
    min_size=1,
    max_size=20,
)
VALUES = st.tuples(
    st.none() | st.integers(0, 10**9),
    st.none() | st.floats(-1e15, 1e15, allow_nan=False),
    st.sampled_from([None, "provisional", "final", "missing"]),
    st.none() | st.integers(0, 1),
)


@pytest.fixture(scope="module")
def stored_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    with Store(folder / "own.db") as store:
        yield store, folder, itertools.count()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    names=st.lists(
        NAMES.map(str.strip).filter(bool), min_size=2, max_size=2, unique_by=str.casefold
    ),
    rows=st.lists(VALUES, min_size=1, max_size=6),
    ending=st.sampled_from(["csv", "parquet"]),
)
def test_what_is_given_out_can_be_taken_in_and_says_the_same(
    stored_once, clock, names, rows, ending
):
    store, folder, number = stored_once
    count = next(number)
    one, other = (
        Campaign.create(
            name=f"{name}{count}",
            options=names,
            start="2026-02-01",
            expected_rounds=100,
            policy="round-robin",
            parameters={"block": 100},
            time_basis="arrival",
            status_quo="none",
            seed=1,
            store=store,
            clock=clock,
        )
        for name in ("one", "other")
    )
    for bucket in range(1, len(rows) + 1):
        one.decide(bucket)
        other.decide(bucket)
    for bucket, (rounds, total, status, shown) in enumerate(rows, start=1):
        if status == "missing":
            total = None
        if (rounds, total, status, shown) != (None,) * 4:
            name = None if shown is None else one.config.options[shown]
            one.record(
                bucket,
                rounds=rounds,
                total=total,
                status=status,
                shown=name,
                allow_out_of_range=True,
            )
    given_out = folder / f"buckets.{ending}"
    one.table().write(given_out)
    same = import_totals(one, given_out)
    assert {row.verdict for _, row in same.rows} == {"same"}
    import_totals(other, given_out, allow_out_of_range=True)
    kept = ("bucket", "shown", "decided", "rounds", "total", "status", "state")
    tables = [campaign.table().to_records() for campaign in (one, other)]
    first, second = ([{key: row[key] for key in kept} for row in table] for table in tables)
    assert first == second


def test_all_campaigns_in_one_file_and_back(tmp_path, clock, new_campaign):
    one = started(new_campaign, clock)
    started(new_campaign, clock, name="second")
    one.record("2026-03-02", total=5)
    whole = export_campaigns(one.store)
    both = read_export(json.dumps(whole))
    with Store(tmp_path / "other.db") as other:
        assert restore_campaigns(other, both) == ["banner", "second"]
        assert other.log(other.find("banner").id) == one.history()
        with pytest.raises(InvalidInput, match="nothing was restored: banner, second"):
            restore_campaigns(other, both)
        with pytest.raises(InvalidInput, match="2 campaigns, so leave --name out"):
            restore_campaigns(other, both, "third")
        assert restore_campaigns(other, both[:1], "third") == ["third"]
    for wrong in ('{"latesum_campaigns": 1, "campaigns": [7]}', "[]", '{"latesum_campaigns": 2}'):
        with pytest.raises(InvalidInput, match="not an export of a version"):
            read_export(wrong)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda found: found["config"].pop("options"), "damaged, and nothing was restored"),
        (lambda found: found["log"][-1].__setitem__(3, {}), "damaged, and nothing was restored"),
        (lambda found: found["log"].append(found["log"][-1][:1]), "damaged"),
        (lambda found: found["config"].update(name="../x"), "cannot be called"),
    ],
)
def test_a_damaged_export_is_refused_as_a_whole(new_campaign, clock, tmp_path, damage, says):
    one = started(new_campaign, clock)
    started(new_campaign, clock, name="second")
    exported = read_export(json.dumps(export_campaigns(one.store)))
    damage(exported[1])
    with Store(tmp_path / "other.db") as other:
        with pytest.raises(InvalidInput, match=says):
            restore_campaigns(other, exported)
        assert other.campaigns() == []


def test_long_texts_are_refused_without_a_long_search(campaign):
    for shown in ("A" + 900 * " " + "B", 900 * "A ", 5000 * " "):
        with pytest.raises(InvalidInput, match=r"no option|up to 1,000"):
            campaign.record("2026-03-02", total=5, shown=shown)


def test_rows_in_python_and_files_say_the_same(campaign):
    import_totals(campaign, b"day;rounds;total\n02.03.2026;4000;7,5\n")
    assert campaign.record_many([Row("2026-03-02", 4000, 7.5)])[0].verdict == "same"
