"""Files of other tools: reading tables as they come, and writing tables that any tool reads."""

from latesum.errors import BadCell
from latesum.files.form import FileForm
from latesum.files.presets import PRESETS
from latesum.files.sources import check_library
from latesum.files.table import FileTable, Layout, open_table

__all__ = ["PRESETS", "BadCell", "FileForm", "FileTable", "Layout", "check_library", "open_table"]
