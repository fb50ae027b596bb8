"""A table in plain text looks as Rich prints it, and no text in it is taken for a style."""

import io

import pytest
from rich.console import Console

from latesum._render import new_table


def _printed_by_rich(table, width=110):
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).strip("\n")


def _with_everything():
    title = "A title that is longer than the table, so that it wraps\nand a second line"
    table = new_table(title, ["policy", "mean", "± s.e."])
    table.add_row("flow *", "1,234", "5.0")
    table.add_row("odaaf †", "1", "12,345.0")
    table.caption = "* attributed feedback: a reference\n† a note"
    return table


def _without_title():
    table = new_table(None, ["row", "verdict", "made"], texts=["row", "verdict"])
    table.add_row("1", "new", "today")
    table.add_row("20", "unchanged", "")
    return table


def _without_rows():
    return new_table("Nothing yet", ["a", "b"])


def _with_other_scripts():
    table = new_table("日本語", ["policy", "mean"])
    table.add_row("日本語", "1")
    table.add_row("Ménard", "12")
    return table


@pytest.mark.parametrize(
    "table", [_with_everything(), _without_title(), _without_rows(), _with_other_scripts()]
)
def test_plain_text_is_what_rich_prints(table):
    assert str(table) == _printed_by_rich(table)


def test_brackets_are_text_and_not_a_style():
    table = new_table("[bold]", ["[red]policy"])
    table.add_row("mine [blue]")
    assert str(table) == _printed_by_rich(table)
    assert "mine [blue]" in str(table)


def test_long_names_are_cut_off_by_no_file_but_fitted_by_a_terminal():
    table = new_table(None, ["policy", "mean"])
    table.add_row("x" * 120, "1")
    assert "x" * 120 in str(table)
    assert "x" * 120 not in _printed_by_rich(table, width=60)


def test_a_narrow_terminal_shows_what_each_row_is_of():
    table = new_table(None, ["policy", *(f"column {number}" for number in range(9))])
    table.add_row("switchback", *["1,234,567"] * 9)
    assert " swit" in _printed_by_rich(table, width=60)
