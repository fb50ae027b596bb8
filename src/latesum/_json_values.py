"""Numbers as JSON has them."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """The same values with null in place of numbers that are not finite, also in lists and objects.

    Args:
        value: A number, a text, None, or a list, a tuple or a dictionary of such values.

    >>> finite({"low": float("-inf"), "means": (0.5, float("nan"))})
    {'low': None, 'means': [0.5, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value
