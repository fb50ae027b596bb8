"""Arrow tables as the frames of other libraries, by Narwhals."""

from __future__ import annotations

import importlib.util
from typing import Any

from latesum._checks import known_name
from latesum._extras import MissingExtra, require

#: The frames that can be had.
BACKENDS = ("pyarrow", "pandas", "polars")


def as_frame(table: Any, backend: str = "pyarrow") -> Any:
    """An Arrow table, or the same as a frame of another library.

    Args:
        table: A pyarrow table.
        backend: "pyarrow", "pandas" or "polars"; the last two must be installed.

    >>> import pyarrow
    >>> as_frame(pyarrow.table({"arm": [0, 1]}), "pandas").shape
    (2, 1)
    """
    known_name(backend, BACKENDS, "kind of frame")
    if backend == "pyarrow":
        return table
    if importlib.util.find_spec(backend) is None:
        raise MissingExtra(f"this needs {backend}; install it with: pip install {backend}")
    return require("narwhals", "parquet").from_arrow(table, backend=backend).to_native()
