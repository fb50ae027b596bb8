"""Delays from files as they come: separators, decimal commas, lines before the names, dates, Excel."""

import datetime

import numpy as np
import openpyxl
import pyarrow
import pytest
from pyarrow import parquet

from latesum import InvalidInput, delays
from latesum.files import FileForm

GERMAN = (
    "Bericht;;\r\n\r\nVerzug;Zensiert;Kunde\r\n1.234,5;nein;A\r\n12,25;nein;B\r\n"
    "0,5;nein;C\r\nSumme;;\r\n"
)


def test_a_german_file_is_read_like_any_other(tmp_path):
    file = tmp_path / "verzug.csv"
    file.write_bytes(GERMAN.encode("utf-8-sig"))
    form = FileForm(columns={"delay": "Verzug", "censored": "Zensiert"})
    fitted = delays.fit(file, form=form)
    assert fitted.mean == delays.fit([1234.5, 12.25, 0.5]).mean
    assert fitted.warnings[-1] == "Left out as totals of other rows: 7 (Summe)."
    with pytest.raises(InvalidInput, match="leave add_up out"):
        delays.fit(file, form=FileForm(add_up=True))


@pytest.mark.parametrize("marks", [("WAHR", "FALSCH"), ("Vrai", "Faux"), ("sí", "no")])
def test_marks_are_read_as_spreadsheets_of_other_languages_write_them(tmp_path, marks):
    file = tmp_path / "delays.csv"
    file.write_text("delay,censored\n1,{1}\n2,{1}\n5,{1}\n4,{0}\n".format(*marks), encoding="utf-8")
    data = {"delay": [1, 2, 5, 4], "censored": [False, False, False, True]}
    assert delays.fit(file).mean == delays.fit(data).mean


def test_a_delay_that_can_be_read_in_two_ways_is_refused(tmp_path):
    file = tmp_path / "late.csv"
    file.write_text("delay;x\n1.234;a\n2.5;b\n", encoding="utf-8")
    with pytest.raises(
        InvalidInput, match=r"line 2 of .*'1.234' can be read in two ways.*decimal mark"
    ):
        delays.fit(file)
    assert delays.fit(file, form=FileForm(decimal=".")).mean == delays.fit([1.234, 2.5]).mean
    with pytest.raises(InvalidInput, match="there is no file; leave the form out"):
        delays.fit([1, 2], form=FileForm(decimal="."))


def dated_triangle(tmp_path, write):
    """40 days, each looked at for 20 days; the file with dates, and the fit with numbers."""
    cells = [(bucket, bucket + lag) for bucket in range(40) for lag in range(min(20, 40 - bucket))]
    totals = [1000 * (1 - np.exp(-(seen - bucket + 1) / 3)) for bucket, seen in cells]
    first = datetime.date(2025, 3, 1)
    lines = [
        ",".join(
            [*(write(first + datetime.timedelta(days=each)) for each in cell), repr(float(total))]
        )
        for cell, total in zip(cells, totals, strict=True)
    ]
    file = tmp_path / "triangle.csv"
    file.write_text("\n".join(["Date,as_of,total", *lines]), encoding="utf-8")
    buckets, seen = zip(*cells, strict=True)
    return file, delays.fit({"bucket": buckets, "as_of": seen, "total": totals})


def test_a_triangle_with_dates_as_they_come(tmp_path):
    """One date that can be read in one way settles the file."""
    file, expected = dated_triangle(tmp_path, lambda day: day.strftime("%d/%m/%Y"))
    assert delays.fit(file).mean == expected.mean


def test_dates_that_can_all_be_read_in_two_ways_are_refused(tmp_path):
    file, _ = dated_triangle(tmp_path, lambda day: f"{1 + day.day % 12:02}/{day:%m/%Y}")
    with pytest.raises(InvalidInput, match=r"'02/03/2025' can be read in two ways.*date format"):
        delays.fit(file)


def test_a_unit_that_the_dates_contradict_is_refused(tmp_path):
    """It was taken at its word: delays of days were called hours, 24 times too short."""
    file, expected = dated_triangle(tmp_path, str)
    with pytest.raises(InvalidInput, match=r"the buckets are days.* not in 'hour'"):
        delays.fit(file, unit="hour")
    for unit in (None, "day", "days", "Day", "d"):
        fitted = delays.fit(file, unit=unit)
        assert (fitted.unit, fitted.mean) == ("day", expected.mean)


def test_excel_and_parquet_files_of_delays(tmp_path):
    made = openpyxl.Workbook()
    for row in (["Report"], ["Delay", "Censored"], [1.5, False], [2.25, False], ["Total", None]):
        made.active.append(row)
    made.save(tmp_path / "late.xlsx")
    parquet.write_table(pyarrow.table({"delay": [1.5, 2.25]}), tmp_path / "late.parquet")
    for name in ("late.xlsx", "late.parquet"):
        assert delays.fit(tmp_path / name).mean == delays.fit([1.5, 2.25]).mean
