"""How the kernels of this room are compiled: as one loop, without reference counts.

A policy is a dozen arrays. Numba counts references to an array wherever one is handed to a
function, and a call with a dozen of them costs more than all the arithmetic of a round. So the
functions are inlined into the loop that calls them, and as none of them allocates anything, the
counting is switched off: together that made the loop thirteen times as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.options import DefaultOptions

from latesum._compile import compiled

Function = TypeVar("Function", bound=Callable[..., Any])


def inlined(function: Function) -> Function:
    """Compile `function` as a part of each compiled function that calls it."""
    result: Function = numba.njit(inline="always", error_model="numpy")(function)
    return result


def allocation_free(function: Function) -> Function:
    """Compile `function`, which creates no array, without counting references to its arrays."""
    result = compiled(function)
    if hasattr(DefaultOptions, "_nrt"):  # an option that Numba does not document
        result.targetoptions["_nrt"] = False  # type: ignore[attr-defined]
    return result
