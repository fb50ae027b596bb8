"""The rows of a file as lists of cells: text with separators, Excel, or Parquet.

Whatever a file holds, only `InvalidInput` is raised (and `MissingExtra`, where a library is not
installed). Rows are read one by one, so that memory does not grow with their number.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from latesum._checks import InvalidInput, shortened
from latesum._extras import need, require
from latesum.errors import BadFile
from latesum.files.cells import Cell

#: Of a file; a report has some columns more than the few that are used.
MAX_COLUMNS = 100
#: In characters: room for as many long names.
MAX_FIRST_LINE = 10_000
#: In characters; a file of one endless line is not a table.
MAX_LINE = 1_000_000
#: Lines among which the names of the columns are looked for.
MAX_BEFORE_NAMES = 50
_SEPARATORS = (",", ";", "\t", "|")
#: A character that no text has.
_NO_SEPARATOR = "\x1f"
_QUOTED = re.compile(r'"[^"]*"')
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_ENDINGS = {".xlsx": "Excel", ".xlsm": "Excel", ".parquet": "Parquet", ".pq": "Parquet"}
_BLOCK = 1 << 14
#: An Excel file is packed; it may be unpacked to this many times its size, and some more.
_MAX_UNPACKED, _AND_MORE = 50, 5_000_000
#: Rows without anything between two with something.
_MAX_BLANK_ROWS = 10_000
#: Sheets of an Excel file that are looked at.
_MAX_SHEETS = 20
_BATCH = 1_000

#: A row: its number as spreadsheets count, from 1, and its cells.
NumberedRow = tuple[int, list[Cell]]
#: Whether these cells, without capitals and blanks around them, name the columns that are
#: looked for.
IsNames = Callable[[list[str]], bool]


class Rows(NamedTuple):
    """A file that was opened: the line with the names of its columns, and what follows.

    The separator is that between the cells of a text file.
    """

    line: int
    names: list[str]
    rows: Iterator[NumberedRow]
    separator: str | None = None


def open_rows(
    source: Path | bytes,
    is_names: IsNames,
    sheet: str | None = None,
    *,
    decimal_commas: bool = False,
) -> Rows:
    """The rows of a file of any of the kinds.

    Args:
        source: The file, or its content.
        is_names: Knows the line that names the columns; without one it is the first line.
        sheet: Of an Excel file.
        decimal_commas: A comma is no separator in a text file that has one column.

    >>> found = open_rows(b"A report\\nday;sales\\n1;2\\n", lambda names: "sales" in names)
    >>> found.line, found.names, list(found.rows)
    (2, ['day', 'sales'], [(3, ['1', '2'])])
    """
    kind = check_library(source)
    if sheet is not None and kind != "Excel":
        raise InvalidInput(
            f"only an Excel file has sheets, and this is {kind}; leave the sheet out."
        )
    if kind == "Excel":
        return _open_excel(source, is_names, sheet)
    if kind == "Parquet":
        return _open_parquet(source)
    return _open_text(source, is_names, decimal_commas)


def check_library(source: Path | bytes) -> str:
    """The kind of a file, CSV, Excel or Parquet; a library that is missing is named.

    >>> check_library(b"day,sales")
    'CSV'
    """
    if isinstance(source, Path) and source.is_dir():
        raise InvalidInput(f"{source} is a folder, not a file.")
    kind = _ENDINGS.get(source.suffix.lower()) if isinstance(source, Path) else None
    if kind is None:
        with _opened(source) as file:
            start = file.read(8)
        if start.startswith(b"\xd0\xcf\x11\xe0"):
            raise InvalidInput(
                "this is an Excel file of the old kind (.xls); save it as .xlsx or CSV."
            )
        if start.startswith(b"\x1f\x8b"):
            raise InvalidInput("the file is packed (gzip); unpack it first.")
        excel, parquet = start.startswith(b"PK\x03\x04"), start.startswith(b"PAR1")
        kind = "Excel" if excel else "Parquet" if parquet else "CSV"
    if kind != "CSV":
        need(kind.lower())
    return kind


def _opened(source: Path | bytes) -> IO[bytes]:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    try:
        return source.open("rb")
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {source}.") from None
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}.") from None


# Text.


def _open_text(source: Path | bytes, is_names: IsNames, decimal_commas: bool) -> Rows:
    lines = _lines(source, _encoding(source))
    head = list[str]()
    found: str | None = None
    for line in itertools.islice(lines, MAX_BEFORE_NAMES):
        head.append(line)
        if len(line) > MAX_FIRST_LINE:
            break
        if found := next((each for each in _SEPARATORS if _names(line, each, is_names)), None):
            break
    place, separator = (len(head) - 1, found) if found else _widest(head)
    if decimal_commas and separator not in head[place]:
        separator = _NO_SEPARATOR
    rows = _text_rows(itertools.chain(head[place:], lines), separator, place)
    _, names = next(rows)
    return Rows(place + 1, [str(name) for name in names], rows, separator)


def _names(line: str, separator: str, is_names: IsNames) -> bool:
    parts = line.split(separator, MAX_COLUMNS)
    alone = len(parts) == 1 and separator != ","
    return not alone and is_names([part.strip().strip('"').strip().lower() for part in parts])


def _widest(head: list[str]) -> tuple[int, str]:
    """The place and the separator of the first of the widest lines: it names the columns."""
    first = next((place for place, line in enumerate(head) if line.strip()), None)
    if first is None:
        raise InvalidInput("the file is empty; its first line must name the columns.")
    if len(head[first]) > MAX_FIRST_LINE:
        raise too_wide(f"it has more than {MAX_FIRST_LINE:,} characters", first + 1)
    found, most = (first, ","), 1
    for place, line in enumerate(head):
        bare = _QUOTED.sub("q", line[:MAX_FIRST_LINE])
        for separator in _SEPARATORS:
            filled = sum(1 for part in bare.split(separator, MAX_COLUMNS) if part.strip())
            if filled > most:
                found, most = (place, separator), filled
    return found


def _text_rows(lines: Iterator[str], separator: str, before: int) -> Iterator[NumberedRow]:
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


def _lines(source: Path | bytes, encoding: str) -> Iterator[str]:
    errors = "replace" if encoding == "cp1252" else "strict"
    with io.TextIOWrapper(_opened(source), encoding, errors, newline="") as file:
        for count in itertools.count(1):
            try:
                line = file.readline(MAX_LINE + 1)
            except (UnicodeError, OSError):
                name = encoding.removesuffix("-sig").upper()
                raise InvalidInput(
                    f"the file begins as {name} and does not go on so; save it as CSV in UTF-8."
                ) from None
            if not line:
                return
            if len(line) > MAX_LINE:
                what = f"it has more than {MAX_LINE:,} characters; is it a table?"
                raise BadFile([f"row {count}: {what}"])
            yield line


def _encoding(source: Path | bytes) -> str:
    """How a text is encoded, by its mark; without one it is UTF-8 where all of it is."""
    with _opened(source) as file:
        try:
            start = file.read(4)
            for mark, encoding in _MARKS.items():
                if start.startswith(mark):
                    return encoding
            file.seek(0)
            text = io.TextIOWrapper(file, "utf-8", newline="")
            while block := text.read(_BLOCK):
                if "\x00" in block:
                    raise InvalidInput(
                        "this is not a text file (or UTF-16 without its mark); save it as CSV "
                        "in UTF-8."
                    )
        except UnicodeDecodeError:
            # Only names can hold other letters, and a name read wrongly matches none.
            return "cp1252"
        except OSError as error:
            raise InvalidInput(f"{source!s} cannot be read: {error.strerror}.") from None
    return "utf-8"


def too_wide(why: str, line: int) -> BadFile:
    """The refusal of a table with too many columns."""
    return BadFile(
        [
            f"row {line}: {why}, and a file of totals has at most {MAX_COLUMNS} columns; keep "
            "those of the bucket, rounds, total, status and shown."
        ]
    )


# Excel and Parquet.


def _open_excel(source: Path | bytes, is_names: IsNames, sheet: str | None) -> Rows:
    openpyxl = require("openpyxl", "excel")
    _check_packed(source)
    with contextlib.ExitStack() as stack:
        books = []
        for values in (True, False):
            file = stack.enter_context(_opened(source))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about styles and the like, which are not read
                load = openpyxl.load_workbook
                books.append(_guarded("Excel", load, file, read_only=True, data_only=values))
        chosen, line = _chosen_sheet(books[0], is_names, sheet)
        formulas = _guarded("Excel", books[1].__getitem__, chosen.title)
        rows = _with_formulas(_excel_rows(chosen, line), _excel_rows(formulas, line))
        _, cells = next(rows)
        # The file stays open for its rows, and is closed after the last of them.
        rows = _closing(rows, stack.pop_all())
    while cells and cells[-1] is None:
        cells.pop()
    return Rows(line, ["" if cell is None else str(cell) for cell in cells], rows)


def _chosen_sheet(book: Any, is_names: IsNames, sheet: str | None) -> tuple[Any, int]:
    """The sheet with the table, and the line with its names."""
    every = _guarded("Excel", lambda: list(book.worksheets))
    sheets = [each for each in every if each.sheet_state == "visible"]
    if sheet is not None:
        there = ", ".join(shortened(each.title) for each in sheets[:_MAX_SHEETS])
        sheets = [each for each in sheets if each.title.casefold() == sheet.casefold()]
        if not sheets:
            raise InvalidInput(f"there is no sheet {shortened(sheet)!r}; there are: {there}.")
    found = [(each, _excel_head(each, is_names)) for each in sheets[:_MAX_SHEETS]]
    filled = [(each, *head) for each, head in found if head is not None]
    if not filled:
        raise InvalidInput("the file is empty; its first line must name the columns.")
    fitting = [(each, line) for each, line, fits in filled if fits]
    if len(fitting) > 1:
        titles = ", ".join(repr(shortened(each.title)) for each, _ in fitting)
        raise InvalidInput(
            f"several sheets hold such a table: {titles}; name one of them as the sheet."
        )
    return fitting[0] if fitting else filled[0][:2]


def _excel_head(sheet: Any, is_names: IsNames) -> tuple[int, bool] | None:
    """The line of the names in a sheet, and whether they are those that are looked for."""
    first = None
    for line, cells in itertools.islice(_excel_rows(sheet, 1), MAX_BEFORE_NAMES):
        if not any(cell is not None for cell in cells):
            continue
        first = first or line
        if is_names([str(cell or "").strip().lower() for cell in cells[:MAX_COLUMNS]]):
            return line, True
    return None if first is None else (first, False)


def _excel_rows(sheet: Any, first: int) -> Iterator[NumberedRow]:
    width, blank = MAX_COLUMNS + 1, 0
    rows = _guarded("Excel", sheet.iter_rows, min_row=first, max_col=width, values_only=True)
    for line in itertools.count(first):
        cells = _guarded("Excel", next, rows, None)
        if cells is None:
            return
        blank = 0 if any(cell is not None for cell in cells) else blank + 1
        if blank > _MAX_BLANK_ROWS:
            raise InvalidInput(
                f"the sheet has more than {_MAX_BLANK_ROWS:,} blank rows after row "
                f"{line - blank}; delete them."
            )
        yield line, list(cells)


def _with_formulas(
    values: Iterator[NumberedRow], formulas: Iterator[NumberedRow]
) -> Iterator[NumberedRow]:
    """The values; in place of one that was never calculated, its formula."""
    for (line, cells), (_, written) in zip(values, formulas, strict=False):
        yield line, [a if a is not None else b for a, b in zip(cells, written, strict=True)]


def _closing(rows: Iterator[NumberedRow], stack: contextlib.ExitStack) -> Iterator[NumberedRow]:
    with stack:
        yield from rows


def _check_packed(source: Path | bytes) -> None:
    """Refuse what would unpack to far more than a table of its size."""
    with _opened(source) as file:
        parts = _guarded("Excel", lambda: zipfile.ZipFile(file).infolist())
        size = file.seek(0, io.SEEK_END)
    unpacked = sum(part.file_size for part in parts)
    if not any(part.filename.lower().endswith("workbook.xml") for part in parts):
        raise InvalidInput("this is not an Excel file (.xlsx); save it as .xlsx or CSV.")
    if unpacked > _MAX_UNPACKED * size + _AND_MORE:
        raise InvalidInput(
            f"the Excel file unpacks to {unpacked:,} bytes, far more than a table; save it as CSV."
        )


def _guarded(kind: str, act: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """What a library makes of a file; a broken one shows itself in any exception."""
    try:
        return act(*arguments, **more)
    except Exception:
        remedy = "save it again as .xlsx or CSV" if kind == "Excel" else "write it again"
        raise InvalidInput(f"the {kind} file cannot be read; {remedy}.") from None


def _open_parquet(source: Path | bytes) -> Rows:
    parquet = require("pyarrow.parquet", "parquet")
    with contextlib.ExitStack() as stack:
        file = _guarded("Parquet", parquet.ParquetFile, stack.enter_context(_opened(source)))
        names = [str(name) for name in file.schema_arrow.names]
        if len(names) > MAX_COLUMNS:
            raise too_wide(f"it names {len(names):,} columns", 1)
        return Rows(1, names, _closing(_parquet_rows(file), stack.pop_all()))


def _parquet_rows(file: Any) -> Iterator[NumberedRow]:
    batches = _guarded("Parquet", file.iter_batches, batch_size=_BATCH)
    line = 1
    while (batch := _guarded("Parquet", next, batches, None)) is not None:
        columns = [_guarded("Parquet", column.to_pylist) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            line += 1
            yield line, list(cells)
