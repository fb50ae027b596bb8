"""Libraries that are extras: imported when needed, and named when missing."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from latesum.errors import MissingExtra as MissingExtra

#: The modules that each extra brings; pyproject.toml says in which versions.
EXTRAS = {
    "cli": ("typer", "rich"),
    "cluster": ("dask", "distributed"),
    "excel": ("openpyxl",),
    "gymnasium": ("gymnasium",),
    "experiments": ("pyarrow", "narwhals", "pydantic", "yaml", "jinja2", "markdown_it"),
    "campaigns": ("sqlalchemy", "alembic", "jinja2", "pydantic", "chartkick"),
    "parquet": ("pyarrow", "narwhals"),
    "plots": ("matplotlib",),
    "postgres": ("psycopg",),
    "server": ("fastapi", "uvicorn", "httpx", "prometheus_client"),
}


def need(*extras: str) -> None:
    """Refuse before any work is done what would fail later because an extra is missing.

    Nothing is imported: it costs a look into the folder of installed packages.

    Args:
        *extras: Names of extras, such as "experiments".

    >>> need("experiments", "campaigns")
    """
    missing = {extra: _missing(extra) for extra in extras}
    lacking = [extra for extra, modules in missing.items() if modules]
    if lacking:
        modules = dict.fromkeys(module for extra in lacking for module in missing[extra])
        raise MissingExtra(_sentence(", ".join(modules), ",".join(lacking)))


def has(extra: str) -> bool:
    """Whether an extra is installed, for what is worth having without it too.

    Args:
        extra: The name of an extra, such as "plots".

    >>> has("experiments")
    True
    """
    return not _missing(extra)


def require(module: str, extra: str) -> Any:
    """Import `module`, or say which extra brings it.

    Args:
        module: The module to import.
        extra: The extra that brings it.

    >>> require("no_such_library", "plots")
    Traceback (most recent call last):
    ...
    latesum.errors.MissingExtra: this needs no_such_library; install it with: pip install 'latesum[plots]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(_sentence(module.partition(".")[0], extra)) from error


def _missing(extra: str) -> list[str]:
    return [module for module in EXTRAS[extra] if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _sentence(libraries: str, extras: str) -> str:
    return f"this needs {libraries}; install it with: pip install 'latesum[{extras}]'"
