"""A table to be read by other tools: as CSV, JSON, Parquet, or a frame in memory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from latesum._checks import InvalidInput
from latesum._extras import as_frame, need, require
from latesum.files.cells import guarded

#: What a column holds. Numbers are never texts, so that no tool must guess.
ColumnType = Literal["text", "whole", "number", "truth"]
FORMATS = ("csv", "json", "parquet", "xlsx")


@dataclass(frozen=True)
class TableOut:
    """Rows under named and typed columns; a value that there is not is None.

    >>> table = TableOut({"option": "text", "mean": "number"}, [("=red", 0.25), ("blue", None)])
    >>> print(table.to_csv(), end="")
    option,mean
    '=red,0.25
    blue,
    >>> table.to_frame().column_names
    ['option', 'mean']
    """

    columns: dict[str, ColumnType]
    rows: Sequence[tuple[Any, ...]]

    def to_csv(self) -> str:
        """As CSV. A text that a spreadsheet would take for a formula has an apostrophe in front."""
        kinds = tuple(self.columns.values())
        lines = [_line(self.columns)]
        for row in self.rows:
            lines.append(_line([_cell(*pair) for pair in zip(row, kinds, strict=True)]))
        return "".join(lines)

    def to_records(self) -> list[dict[str, Any]]:
        """As JSON has it: an object for each row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """As a frame of "pyarrow", "pandas" or "polars"; that of pyarrow is taken in by DuckDB and
        all that know Narwhals too."""
        pyarrow = require("pyarrow", "parquet")
        types = {
            "text": pyarrow.string(),
            "whole": pyarrow.int64(),
            "number": pyarrow.float64(),
            "truth": pyarrow.bool_(),
        }
        schema = pyarrow.schema([(name, types[kind]) for name, kind in self.columns.items()])
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.columns)
        arrays = [
            pyarrow.array(list(each), type=kind.type)
            for each, kind in zip(columns, schema, strict=True)
        ]
        return as_frame(pyarrow.Table.from_arrays(arrays, schema=schema), backend)

    def to_bytes(self, kind: str) -> bytes:
        """The content of a file.

        Args:
            kind: One of the `FORMATS`.
        """
        if kind == "parquet":
            file = io.BytesIO()
            require("pyarrow.parquet", "parquet").write_table(self.to_frame(), file)
            return file.getvalue()
        if kind == "xlsx":
            return self._to_excel()
        if kind == "json":
            return (json.dumps(self.to_records(), indent=1, ensure_ascii=False) + "\n").encode()
        return self.to_csv().encode()

    def _to_excel(self) -> bytes:
        book = require("openpyxl", "excel").Workbook(write_only=True)
        sheet, kinds = book.create_sheet("latesum"), tuple(self.columns.values())
        sheet.append(list(self.columns))
        for row in self.rows:
            cells = zip(row, kinds, strict=True)
            # A text that looks like a formula must stay one.
            sheet.append([_cell(v, k) if k == "text" else v for v, k in cells])
        file = io.BytesIO()
        book.save(file)
        return file.getvalue()

    def write(self, path: Path) -> None:
        """Write a file, in the format of the path's ending."""
        content = self.to_bytes(format_of(path))
        try:
            path.write_bytes(content)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from None


def format_of(path: Path) -> str:
    """The format that a file's name asks for, checked before any work is done for it.

    >>> format_of(Path("buckets.parquet"))
    'parquet'
    """
    ending = path.suffix.lower().removeprefix(".")
    kind = {"pq": "parquet", "": "csv"}.get(ending, ending)
    if kind not in FORMATS:
        raise InvalidInput(
            f"{path} does not say the format; end it with .csv, .json, .parquet or .xlsx."
        )
    if kind in ("parquet", "xlsx"):
        need("parquet" if kind == "parquet" else "excel")
    return kind


def _line(cells: Iterable[str]) -> str:
    # With an ending of its own, the writer would leave a lone carriage return in a cell unquoted.
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def _cell(value: Any, kind: ColumnType) -> str:
    if value is None:
        return ""
    if kind == "text":
        return guarded(str(value))
    if kind == "truth":
        return "true" if value else "false"
    return str(int(value)) if kind == "whole" else repr(float(value))
