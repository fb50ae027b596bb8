"""Files of other tools: reading tables as they come, and writing tables that any tool reads."""

from latesum.files.cells import CellRefused
from latesum.files.form import FileForm
from latesum.files.presets import PRESETS
from latesum.files.sources import check_library
from latesum.files.table import Layout, Table, open_table

__all__ = ["PRESETS", "CellRefused", "FileForm", "Layout", "Table", "check_library", "open_table"]
