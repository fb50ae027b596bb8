"""Libraries that are extras: imported when needed, and named when missing."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latesum._checks import InvalidInput, known_name
from latesum.errors import MissingExtra as MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The modules that each extra brings; pyproject.toml says in which versions.
EXTRAS = {
    "cli": ("typer", "rich"),
    "cluster": ("dask", "distributed"),
    "excel": ("openpyxl",),
    "gymnasium": ("gymnasium",),
    "experiments": ("pyarrow", "narwhals", "pydantic", "jinja2", "markdown_it"),
    "campaigns": ("sqlalchemy", "jinja2", "pydantic"),
    "parquet": ("pyarrow", "narwhals"),
    "plots": ("matplotlib",),
    "postgres": ("psycopg",),
    "server": ("fastapi", "granian", "httpx", "prometheus_client"),
}

#: The frames that can be had.
BACKENDS = ("pyarrow", "pandas", "polars")


def need(*extras: str) -> None:
    """Refuse before any work is done what would fail later because an extra is missing.

    Nothing is imported: it costs a look into the folder of installed packages.

    >>> need("experiments", "campaigns")
    """
    missing = {extra: _missing(extra) for extra in extras}
    lacking = [extra for extra, modules in missing.items() if modules]
    if lacking:
        modules = dict.fromkeys(module for extra in lacking for module in missing[extra])
        raise MissingExtra(_sentence(", ".join(modules), ",".join(lacking)))


def has(extra: str) -> bool:
    """Whether an extra is installed, for what is worth having without it too.

    >>> has("experiments")
    True
    """
    return not _missing(extra)


def require(module: str, extra: str) -> Any:
    """Import `module`, or say which extra brings it.

    >>> require("no_such_library", "plots")
    Traceback (most recent call last):
    ...
    latesum.errors.MissingExtra: this needs no_such_library; install it with: pip install
    'latesum[plots]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(_sentence(module.partition(".")[0], extra)) from error


def _missing(extra: str) -> list[str]:
    missing = []
    for module in EXTRAS[extra]:
        found = None
        with contextlib.suppress(ImportError, ValueError):
            found = importlib.util.find_spec(module)
        missing += [] if found else [module]
    return missing


def _sentence(libraries: str, extras: str) -> str:
    return f"this needs {libraries}; install it with: pip install 'latesum[{extras}]'"


def as_frame(table: Any, backend: str = "pyarrow") -> Any:
    """An Arrow table, or the same as a frame of another library.

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


def figure_class() -> type[Figure]:
    """Matplotlib's figure, which a notebook shows as an image also where pyplot was never loaded.

    >>> figure_class()(figsize=(2, 1))._repr_png_()[1:4]
    b'PNG'
    """
    require("matplotlib", "plots")  # at every call: it may say that the extra is missing
    return _shown_figure()


def save(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure where a path is given; the ending of its name says in which format.

    >>> save(figure_class()(), "mine.txt")    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    latesum.errors.InvalidInput: cannot write the figure mine.txt: Format 'txt' is not supported ...
    """
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot write the figure {path}: {error}.") from error
    return figure


@functools.cache
def _shown_figure() -> type[Figure]:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that is its own image."""

        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=100)
            return file.getvalue()

    return ShownFigure
