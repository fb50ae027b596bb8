"""Files of all kinds as tables: where the names are, which lines are no rows, and what it costs."""

import contextlib
import datetime
import io
import random
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from latesum import InvalidInput
from latesum.errors import BadFile
from latesum.files import FileForm
from latesum.files.totals import Row, open_table, read_history, read_totals

FIELDS = {"day": ("day", "date"), "sales": ("sales",)}
ENOUGH = [("day", "sales")]


def book(*sheets, **more):
    """An Excel file of sheets, each a title and rows."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets:
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    for title, state in more.items():
        made[title].sheet_state = state
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def rows(source, form=None):
    table = open_table(source, FIELDS, ENOUGH, form or FileForm())
    found = [
        (line, [cells[table.places[name]] for name in ("day", "sales")])
        for line, cells in table.cells()
    ]
    return found, table


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_of_every_kind(separator, end, encoding):
    lines = [
        "Umsätze",
        "",
        "Sales;x;Date".replace(";", separator),
        "7;ä;1.2.2026".replace(";", separator),
    ]
    found, table = rows((end.join(lines) + end).encode(encoding))
    assert found == [(4, ["1.2.2026", "7"])]
    assert (table.line, table.ignored) == (3, ("x",))


def test_lines_that_add_up_others_are_left_out_and_named():
    data = (
        b"shop,day,sales\nA,2026-03-01,5\nTotal: Account, --,5\nSumme,,5\nB,Gesamt,5\n"
        b"Total\nTotal shop,2026-03-02,7\n"
    )
    found, table = rows(data)
    assert [line for line, _ in found] == [2, 7]  # a shop may be called so; its row has a day
    assert table.left_out_sentence == (
        "Left out as totals of other rows: 3 (Total: Account), 4 (Summe), 5 (Gesamt), 6 (Total)."
    )


def test_of_many_lines_that_were_left_out_the_first_are_named_and_all_are_counted():
    _, table = rows(b"day,sales\n1,1\n" + b"Total,9\n" * 30)
    assert table.left_out_sentence.endswith("6 (Total), 7 (Total), and 25 more.")


def test_a_column_that_is_there_twice_is_refused_if_it_is_used():
    assert rows(b"day,sales,note,note\n1,2,a,b\n")[0] == [(2, ["1", "2"])]
    with pytest.raises(InvalidInput, match="row 1: the column sales is there twice"):
        rows(b"Sales,day,sales\n1,2,3\n")
    with pytest.raises(InvalidInput, match="row 1: the column note is there twice"):
        rows(b"sales,day,note,Note\n1,2,3,4\n", FileForm(columns={"day": "note"}))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"day,sales\n1,2\n , \n,,\n0,0\n", [(2, ["1", "2"]), (5, ["0", "0"])]),
        (
            book(("One", [["day", "sales"], [1, 2], [" ", None], [0, 0]])),
            [(2, [1, 2]), (4, [0, 0])],
        ),
        (b"sep=;\r\nday;sales\r\n1;2\r\n", [(3, ["1", "2"])]),  # Excel's own first line
        (b"day,sales\n1,2,,\n", [(2, ["1", "2"])]),
    ],
    ids=["blanks", "blanks in Excel", "sep=", "trailing separators"],
)
def test_what_is_no_row_and_no_column(source, expected):
    assert rows(source)[0] == expected


def test_an_excel_file_has_values():
    day = datetime.datetime(2026, 3, 1)
    data = book(
        (
            "Report",
            [
                ["A report"],
                [],
                ["Sales", "x", "Day"],
                [7.5, None, day],
                [None, None, None],
                ["Total", 1, None],
            ],
        )
    )
    found, table = rows(data)
    assert found == [(4, [day, 7.5])]
    assert table.left_out == ["6 (Total)"]


def test_sheets_that_both_fit_must_be_chosen():
    good = [["day", "sales"], [1, 2]]
    data = book(("About", [["words"]]), ("One", good), ("Two", good))
    with pytest.raises(
        InvalidInput, match=r"several sheets.*'One', 'Two'; name one of them as the sheet"
    ):
        rows(data)
    assert rows(data, FileForm(sheet="two"))[0] == [(2, [1, 2])]
    assert rows(book(("About", [["words"]]), ("One", good)))[0] == [(2, [1, 2])]
    assert rows(book(("One", good), ("Two", good), Two="hidden"))[0] == [(2, [1, 2])]
    with pytest.raises(InvalidInput, match="there is no sheet 'Three'; there are: About, One, Two"):
        rows(data, FileForm(sheet="Three"))


def test_a_parquet_file_has_values(tmp_path):
    day = datetime.date(2026, 3, 1)
    data = parquet(day=[day, None], Sales=[5, 7])
    assert rows(data)[0] == [(2, [day, 5]), (3, [None, 7])]
    (tmp_path / "t.parquet").write_bytes(data)
    assert rows(tmp_path / "t.parquet")[0] == rows(data)[0]


def archive(**parts):
    """A packed file; an Excel file is one of those."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(f"xl/{name}.xml", content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\xd0\xcf\x11\xe0rest", "old kind"),
        (b"\x1f\x8brest", "unpack it"),
        (b"PK\x03\x04broken", "cannot be read"),
        (b"PAR1broken", "cannot be read"),
        (b"a\x00b", "not a text file"),
        (b"x" * 500_000, "row 1: it has a cell of more than 131,072 characters"),
        (b"day,sales\n" + b"x" * 2_000_000, "row 2: it has a cell of more than 131,072 characters"),
        (archive(content="x"), "not an Excel file"),
        (archive(workbook="x", sharedStrings=b"\0" * 50_000_000), "unpacks to 50,000,001 bytes"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(data, says):
    with pytest.raises(InvalidInput, match=says):
        list(rows(data)[0])


def test_a_row_far_below_is_refused():
    made = openpyxl.Workbook()
    made.active.append(["day", "sales"])
    made.active.append([1, 2])
    made.active.cell(1_000_000, 1, "x")
    file = io.BytesIO()
    made.save(file)
    with pytest.raises(InvalidInput, match="more than 10,000 blank rows after row 2"):
        rows(file.getvalue())


def test_folders_and_missing_files_are_refused(tmp_path):
    for path, says in (("", "is a folder"), ("no.csv", "no file"), ("no.xlsx", "no file")):
        with pytest.raises(InvalidInput, match=says):
            rows(tmp_path / path)


@pytest.mark.parametrize(
    "names",
    [
        "day,visitors,sales",
        "Date,Sessions,Orders",
        "date,users,purchases",
        "bucket,visits,transactions",
        "date,rounds,revenue",
        "date,Link clicks,conversions",
        "date,clicks,Conversions (by conv. time)",
    ],
)
@pytest.mark.parametrize("read", [read_totals, read_history])
def test_usual_names_of_columns_are_understood(names, read):
    found = read(f"{names}\n2026-03-02,5000,120\n".encode())
    assert found.rows == [Row("2026-03-02", 5000, 120.0, line=2)]
    assert found.ignored == ()


def test_a_history_without_any_total_is_refused_with_the_columns_that_were_seen():
    with pytest.raises(
        BadFile,
        match=r"no row has a total.*date, visitors, Bestellungen.*set columns to total=NAME",
    ):
        read_history(b"date,visitors,Bestellungen\n2026-02-28,5000,118\n")


def test_rounds_are_whole_numbers_so_a_mark_in_them_separates_thousands():
    read = read_totals(b"date;visitors;orders\n02.03.2026;4.210;101\n03.03.2026;4,300;99\n")
    assert [row.rounds for row in read.rows] == [4210, 4300]


def test_formulas_that_were_never_calculated_are_no_empty_totals():
    sheet = [["date", "orders"], ["2026-03-02", 120], ["2026-03-03", "=B2+1"]]
    ((line, problem),) = read_totals(book(("One", sheet))).problems
    assert (line, "column orders: '=B2+1' is a formula that was never" in problem) == (3, True)


def test_one_date_that_can_be_read_in_one_way_settles_the_file():
    with pytest.raises(BadFile, match="row 3 has the day first and row 2 the month"):
        read_totals(b"date,orders\n10/30/2026,120\n31/10/2026,121\n11/01/2026,122\n")
    read = read_totals(b"date,orders\n11/01/2026,122\n10/31/2026,121\n")
    assert [row.bucket for row in read.rows] == ["2026-11-01", "2026-10-31"]
    assert read.form == FileForm(date_format="month-first")


#: Bytes with the marks of all kinds, and with what tables are made of.
BYTES = st.one_of(
    st.binary(max_size=300),
    st.builds(
        bytes.__add__,
        st.sampled_from(
            [b"PK\x03\x04", b"PAR1", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"day,total\n"]
        ),
        st.binary(max_size=300),
    ),
    st.text("day,total;rounds\n\t|\"'1234567890.-=/ \r", max_size=200).map(str.encode),
)


@settings(max_examples=400, deadline=None)
@given(BYTES)
@example(b'day,total\n"')
@example(b"day,total\n\x1f,\r")
def test_no_bytes_raise_anything_but_a_refusal(data):
    for form in (None, FileForm(decimal=",", sheet="x")):
        with contextlib.suppress(InvalidInput):
            read_totals(data, form, most_rows=100)


@pytest.mark.parametrize(
    "whole",
    [
        book(("One", [["day", "total", "shown"], *[[day, 3.5, "A"] for day in range(1, 30)]])),
        parquet(day=[str(day) for day in range(1, 30)], total=[3.5] * 29, shown=["A"] * 29),
    ],
    ids=["xlsx", "parquet"],
)
def test_a_damaged_file_raises_nothing_but_a_refusal(whole):
    """300 damages with a fixed seed: cut off, bytes changed, bytes taken out."""
    rng = random.Random(1)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            place = rng.randrange(8, max(len(data), 9)) - 8
            match rng.randrange(3):
                case 0:
                    data[place : place + 1] = [rng.randrange(256)]
                case 1:
                    del data[place : place + rng.randint(1, 50)]
                case _:
                    data = data[: place + 8]
        try:
            read_totals(bytes(data), most_rows=100)
        except InvalidInput:
            refused += 1
    assert refused > 100
