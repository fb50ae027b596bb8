"""Files of other tools: how they are written (`FileForm`), and tables that any tool reads (`TableOut`).

The rooms read files with `latesum.files.table.open_table`.
"""

from latesum.files.form import FileForm
from latesum.files.presets import PRESETS
from latesum.files.written import TableOut

__all__ = ["PRESETS", "FileForm", "TableOut"]
