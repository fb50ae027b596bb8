"""Libraries that are extras: imported when needed, and named when missing."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtra(ImportError):
    """A library that is not part of the light core is needed; the message says what to install."""


def require(module: str, extra: str) -> Any:
    """Import `module`, or say which extra brings it.

    >>> require("no_such_library", "plots")
    Traceback (most recent call last):
    ...
    latesum._extras.MissingExtra: this needs no_such_library; install it with: pip install 'latesum[plots]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtra(
            f"this needs {library}; install it with: pip install 'latesum[{extra}]'"
        ) from error
