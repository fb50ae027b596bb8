"""Cells: what can be read in one way is read, what can be read in two is refused with the option."""

import contextlib
import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latesum import InvalidInput
from latesum.files import FileForm
from latesum.files.cells import day_text, guarded, is_empty, moment, number, unguarded
from latesum.files.form import read_columns

PLAIN = FileForm()


@pytest.mark.parametrize(
    ("cell", "form", "separator", "expected"),
    [
        ("4210", PLAIN, ";", 4210),
        ("1.5", PLAIN, ";", 1.5),
        ("1.234", PLAIN, ",", 1.234),
        ("0.234", PLAIN, ";", 0.234),
        ("0,234", PLAIN, ";", 0.234),
        ("12,5", PLAIN, ",", 12.5),
        ("1234,567", PLAIN, ";", 1234.567),
        ("1.234,5", PLAIN, ";", 1234.5),
        ("1,234.5", PLAIN, ";", 1234.5),
        ("1.234.567", PLAIN, ";", 1234567),
        ("1,234,567", PLAIN, ",", 1234567),
        ("1 234", PLAIN, ";", 1234),
        ("1\u202f234,5", PLAIN, ";", 1234.5),
        ("1'234.50", PLAIN, ";", 1234.5),
        ("-3e2", PLAIN, ",", -300),
        ("\u221212", PLAIN, ",", -12),
        ("€ 1.234,50", PLAIN, ";", 1234.5),
        ("1,234.50 $", PLAIN, ";", 1234.5),
        ("-$12.5", PLAIN, ",", -12.5),
        ("1.234", FileForm(decimal=","), ";", 1234),
        ("1.234", FileForm(decimal="."), ";", 1.234),
        ("1,234", FileForm(decimal=","), ";", 1.234),
        ("1,234", FileForm(decimal="."), ",", 1234),
        ("1'234", FileForm(), ";", 1234),
        (7, PLAIN, None, 7),
        (Decimal("1.5"), PLAIN, None, 1.5),
    ],
)
def test_numbers(cell, form, separator, expected):
    assert number(cell, form, separator) == expected


@pytest.mark.parametrize("cell", ["1.234", "1,234", "-12.345", "999,000", "€1.234"])
@pytest.mark.parametrize("separator", [";", "\t", "|", None])
def test_what_can_be_read_in_two_ways_names_the_option(cell, separator):
    with pytest.raises(InvalidInput, match=r"two ways.*set the decimal mark"):
        number(cell, PLAIN, separator)


@pytest.mark.parametrize(
    "cell",
    [
        "many",
        "",
        "1,23,456",
        "1.2.3",
        "12..5",
        "inf",
        "1e999",
        "0x10",
        "1_000",
        "٣",
        True,
        b"1",
        float("inf"),
        10**400,
        datetime.date(2026, 1, 1),
        "(12)",
        "1 2",
    ],
)
def test_what_is_no_number_is_refused(cell):
    with pytest.raises(InvalidInput):
        number(cell, PLAIN, ",")


def test_a_number_against_the_mark_that_was_said_is_refused():
    with pytest.raises(InvalidInput, match="the decimal mark of this file is ','"):
        number("12.5", FileForm(decimal=","), ";")
    with pytest.raises(InvalidInput, match="a share"):
        number("2.4%", PLAIN, ",")


@pytest.mark.parametrize(
    ("cell", "form", "expected"),
    [
        ("2026-10-31", PLAIN, "2026-10-31"),
        ("2026-10-31 14:00", PLAIN, "2026-10-31 14:00"),
        ("31.10.2026", PLAIN, "2026-10-31"),
        ("01.02.2026", PLAIN, "2026-02-01"),
        ("1.2.2026 9:00", PLAIN, "2026-02-01 9:00"),
        ("31/10/2026", PLAIN, "2026-10-31"),
        ("10/31/2026", PLAIN, "2026-10-31"),
        ("02/02/2026", PLAIN, "2026-02-02"),
        ("2026/10/31", PLAIN, "2026-10-31"),
        ("20261031", PLAIN, "2026-10-31"),
        ("Oct 31, 2026", PLAIN, "2026-10-31"),
        ("October 31, 2026", PLAIN, "2026-10-31"),
        ("31 Oct 2026", PLAIN, "2026-10-31"),
        ("31-Oct-2026", PLAIN, "2026-10-31"),
        ("Sept 1, 2026", PLAIN, "2026-09-01"),
        ("01/02/2026", FileForm(date_format="day-first"), "2026-02-01"),
        ("01/02/2026", FileForm(date_format="month-first"), "2026-01-02"),
        ("31.10.26", FileForm(date_format="%d.%m.%y"), "2026-10-31"),
        ("2026103114", FileForm(date_format="%Y%m%d%H"), "2026-10-31 14:00:00"),
        (datetime.date(2026, 10, 31), PLAIN, "2026-10-31"),
        (datetime.datetime(2026, 10, 31, 14), PLAIN, "2026-10-31 14:00:00"),
        (12, PLAIN, "12"),
        (12.0, PLAIN, "12"),
        ("2026-W44", PLAIN, "2026-W44"),
        ("12", PLAIN, "12"),
        ("202611", PLAIN, "202611"),
        ("31.02.2026", PLAIN, "31.02.2026"),
        ("soon", PLAIN, "soon"),
    ],
)
def test_days(cell, form, expected):
    assert day_text(cell, form) == expected


@pytest.mark.parametrize("cell", ["01/02/2026", "1-2-2026", "12/11/2026 14:00"])
def test_a_day_that_may_be_a_month_names_the_option(cell):
    with pytest.raises(
        InvalidInput, match=r"two ways.*set the date format to day-first or .*month-first"
    ):
        day_text(cell, PLAIN)


@pytest.mark.parametrize(
    ("cell", "form", "says"),
    [
        ("31.10.26", PLAIN, "two digits"),
        ("31.10.2026", FileForm(date_format="%Y-%m-%d"), "is not written as"),
        ("31/10/2026", FileForm(date_format="month-first"), "no day of the calendar"),
        (datetime.time(14), PLAIN, "neither a date nor a number"),
        (True, PLAIN, "neither a date nor a number"),
    ],
)
def test_days_that_are_none_are_refused(cell, form, says):
    with pytest.raises(InvalidInput, match=says):
        day_text(cell, form)


@pytest.mark.parametrize(
    "given_",
    [
        {"decimal": ";"},
        {"sheet": ""},
        {"date_format": "%d.%m"},
        {"date_format": "day"},
        {"date_format": "%d.%m.%Y" * 20},
        {"columns": "rounds=a"},
        {"columns": {"rounds": 1}},
    ],
)
def test_a_form_that_cannot_be_is_refused(given_):
    with pytest.raises(InvalidInput):
        FileForm(**given_)


@pytest.mark.parametrize("text", ["rounds", "rounds=", "=a", '"rounds=a', "rounds=a,rounds=b"])
def test_texts_that_name_no_columns_are_refused(text):
    with pytest.raises(InvalidInput):
        read_columns(text)


def test_a_form_is_plain_values_and_back():
    form = FileForm(
        columns={"total": "Sales, all"},
        decimal=",",
        add_up=True,
        date_format="day-first",
    )
    assert FileForm(**form.to_json()) == form
    assert read_columns(form.columns_text) == form.columns
    assert FileForm.read(columns=None, decimal=None, add_up=None) is None
    assert FileForm.read(columns="", decimal="", add_up=False) == FileForm()


@given(st.text())
def test_guarded_texts_begin_no_formula_and_come_back(text):
    kept = guarded(text)
    assert unguarded(kept) == text
    assert not kept.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text() | st.integers() | st.floats() | st.booleans() | st.dates() | st.binary())
def test_no_cell_raises_anything_else(cell):
    for form in (PLAIN, FileForm(decimal=","), FileForm(date_format="%d.%m.%y")):
        if is_empty(cell):
            continue
        for read in (lambda c, f: number(c, f, ";"), day_text, moment):
            with contextlib.suppress(InvalidInput):
                read(cell, form)
