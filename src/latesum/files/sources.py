"""The rows of a file as lists of cells: text with separators, Excel, or Parquet.

Whatever a file holds, only `InvalidInput` is raised (and `MissingExtra`, where a library is not
installed).
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from latesum._checks import InvalidInput, shortened
from latesum._extras import need, require
from latesum.errors import BadFile
from latesum.files.cells import Cell

#: Of a file; a report has some columns more than the few that are used.
MAX_COLUMNS = 100
#: Lines among which the names of the columns are looked for.
_MAX_BEFORE_NAMES = 50
_SEPARATORS = (",", ";", "\t", "|")
#: A character that no text has.
_NO_SEPARATOR = "\x1f"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: An Excel file is packed; it may be unpacked to this many times its size, and some more.
_MAX_UNPACKED, _AND_MORE = 50, 5_000_000
#: Rows without anything between two with something.
_MAX_BLANK_ROWS = 10_000
#: Sheets of an Excel file that are looked at.
_MAX_SHEETS = 20

#: A row: its number as spreadsheets count, from 1, and its cells.
NumberedRow = tuple[int, list[Cell]]
#: Whether these cells, without capitals and blanks around them, name the columns that are
#: looked for.
IsNames = Callable[[list[str]], bool]


def open_rows(
    source: Path | bytes,
    is_names: IsNames,
    sheet: str | None = None,
    *,
    decimal_commas: bool = False,
) -> tuple[str | None, Iterator[NumberedRow]]:
    """The separator of a text file, None of others, and the rows from the names of columns on.

    Args:
        source: The file, or its content.
        is_names: Knows the line that names the columns; without one it is the widest.
        sheet: Of an Excel file.
        decimal_commas: A comma is no separator in a text file that has one column.

    >>> separator, rows = open_rows(b"A report\\nday;sales\\n1;2\\n", lambda row: "sales" in row)
    >>> separator, list(rows)
    (';', [(2, ['day', 'sales']), (3, ['1', '2'])])
    """
    content = source if isinstance(source, bytes) else _read_bytes(source)
    kind = _kind(content)
    if kind == "Excel":
        return None, _excel_rows(content, is_names, sheet)
    if kind == "Parquet":
        return None, _parquet_rows(content)
    return _text_rows(_decoded(content), is_names, decimal_commas)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder, not a file.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None


def _kind(content: bytes) -> str:
    """CSV, Excel or Parquet; a library that is missing is named."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise InvalidInput("this is an Excel file of the old kind (.xls); save it as .xlsx or CSV.")
    if content.startswith(b"\x1f\x8b"):
        raise InvalidInput("the file is packed (gzip); unpack it first.")
    for mark, kind in ((b"PK\x03\x04", "Excel"), (b"PAR1", "Parquet")):
        if content.startswith(mark):
            need(kind.lower())
            return kind
    return "CSV"


# Text.


def _decoded(content: bytes) -> str:
    """A text by its mark; without one it is UTF-8 where all of it is, else Windows' encoding."""
    encoding = next((each for mark, each in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            name = encoding.removesuffix("-sig").upper()
            raise InvalidInput(
                f"the file begins as {name} and does not go on so; save it as CSV in UTF-8."
            ) from None
        # Only names can hold other letters, and a name read wrongly matches none.
        text = content.decode("cp1252", "replace")
    if "\x00" in text:
        raise InvalidInput(
            "this is not a text file (or UTF-16 without its mark); save it as CSV in UTF-8."
        )
    return text


def _text_rows(
    text: str, is_names: IsNames, decimal_commas: bool
) -> tuple[str, Iterator[NumberedRow]]:
    lines = io.StringIO(text, newline="")
    head = list(itertools.islice(lines, _MAX_BEFORE_NAMES))
    if not any(line.strip() for line in head):
        raise InvalidInput("the file is empty; its first line must name the columns.")
    choices = list(itertools.product(range(len(head)), _SEPARATORS))
    fitting = (each for each in choices if is_names(_split(head[each[0]], each[1])))
    # Without the names that are looked for, the first of the widest lines names the columns.
    place, separator = next(fitting, None) or max(
        choices, key=lambda each: sum(map(bool, _split(head[each[0]], each[1])))
    )
    if decimal_commas and separator not in head[place]:
        separator = _NO_SEPARATOR
    return separator, _parsed(itertools.chain(head[place:], lines), separator, place)


def _split(line: str, separator: str) -> list[str]:
    try:
        cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []
    return [cell.strip().lower() for cell in cells[: MAX_COLUMNS + 1]]


def _parsed(lines: Iterator[str], separator: str, before: int) -> Iterator[NumberedRow]:
    number = before
    try:
        for cells in csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True):
            number += 1
            yield number, cells
    except csv.Error as error:
        what = 'a quotation mark " is without its second one, or inside its cell; write it twice.'
        if "limit" in str(error):
            what = (
                f"it has a cell of more than {csv.field_size_limit():,} characters; is there a "
                'quotation mark " without its second one?'
            )
        raise BadFile([f"row {number + 1}: {what}"]) from None


# Excel and Parquet.


@contextlib.contextmanager
def _reading(kind: str) -> Iterator[None]:
    """Whatever a library says of a broken file, it is refused."""
    try:
        yield
    except InvalidInput:
        raise
    except Exception:
        remedy = "save it again as .xlsx or CSV" if kind == "Excel" else "write it again"
        raise InvalidInput(f"the {kind} file cannot be read; {remedy}.") from None


def _excel_rows(content: bytes, is_names: IsNames, sheet: str | None) -> Iterator[NumberedRow]:
    openpyxl = require("openpyxl", "excel")
    with _reading("Excel"):
        _check_packed(content)
        books = []
        for values in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about styles and the like, which are not read
                file = io.BytesIO(content)
                books.append(openpyxl.load_workbook(file, read_only=True, data_only=values))
        chosen, first = _chosen_sheet(books[0], is_names, sheet)
        written = _sheet_rows(books[1][chosen.title], first)
        for (line, cells), (_, formulas) in zip(_sheet_rows(chosen, first), written, strict=False):
            # In place of a value that was never calculated, its formula.
            yield line, [b if a is None else a for a, b in zip(cells, formulas, strict=True)]


def _check_packed(content: bytes) -> None:
    """Refuse what would unpack to far more than a table of its size."""
    parts = zipfile.ZipFile(io.BytesIO(content)).infolist()
    unpacked = sum(part.file_size for part in parts)
    if not any(part.filename.lower().endswith("workbook.xml") for part in parts):
        raise InvalidInput("this is not an Excel file (.xlsx); save it as .xlsx or CSV.")
    if unpacked > _MAX_UNPACKED * len(content) + _AND_MORE:
        raise InvalidInput(
            f"the Excel file unpacks to {unpacked:,} bytes, far more than a table; save it as CSV."
        )


def _chosen_sheet(book: Any, is_names: IsNames, name: str | None) -> tuple[Any, int]:
    """The sheet with the table, and the line with its names."""
    sheets = [each for each in book.worksheets if each.sheet_state == "visible"][:_MAX_SHEETS]
    if name is not None:
        there = ", ".join(shortened(each.title) for each in sheets)
        sheets = [each for each in sheets if each.title.casefold() == name.casefold()]
        if not sheets:
            raise InvalidInput(f"there is no sheet {shortened(name)!r}; there are: {there}.")
    filled, fitting = list[tuple[Any, int]](), list[tuple[Any, int]]()
    for sheet in sheets:
        head = itertools.islice(_sheet_rows(sheet, 1), _MAX_BEFORE_NAMES)
        rows = [(line, cells) for line, cells in head if any(cell is not None for cell in cells)]
        filled += [(sheet, line) for line, _ in rows]
        texts = ((n, [str(cell or "").strip().lower() for cell in cells]) for n, cells in rows)
        fitting += [(sheet, n) for n, cells in texts if is_names(cells[:MAX_COLUMNS])][:1]
    if not filled:
        raise InvalidInput("the file is empty; its first line must name the columns.")
    if len(fitting) > 1:
        titles = ", ".join(repr(shortened(sheet.title)) for sheet, _ in fitting)
        raise InvalidInput(
            f"several sheets hold such a table: {titles}; name one of them as the sheet."
        )
    return (fitting or filled)[0]


def _sheet_rows(sheet: Any, first: int) -> Iterator[NumberedRow]:
    blank = 0
    rows = sheet.iter_rows(min_row=first, max_col=MAX_COLUMNS + 1, values_only=True)
    for line, cells in enumerate(rows, start=first):
        blank = 0 if any(cell is not None for cell in cells) else blank + 1
        if blank > _MAX_BLANK_ROWS:
            raise InvalidInput(
                f"the sheet has more than {_MAX_BLANK_ROWS:,} blank rows after row "
                f"{line - blank}; delete them."
            )
        yield line, list(cells)


def _parquet_rows(content: bytes) -> Iterator[NumberedRow]:
    parquet = require("pyarrow.parquet", "parquet")
    with _reading("Parquet"):
        file, line = parquet.ParquetFile(io.BytesIO(content)), 1
        yield line, list(file.schema_arrow.names)
        for batch in file.iter_batches(batch_size=1_000):
            for cells in zip(*[column.to_pylist() for column in batch.columns], strict=True):
                line += 1
                yield line, list(cells)
