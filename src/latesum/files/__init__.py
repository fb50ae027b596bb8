"""Files of other tools: how they are written (`FileForm`), and tables for them (`TableOut`)."""

from latesum.files.form import FileForm
from latesum.files.written import TableOut

__all__ = ["FileForm", "TableOut"]
