# mypy: ignore-errors
"""How likely a longer delay is, compiled, for the laws that compiled code knows.

A law is its kind and two numbers, or a table: any delay with a bound that is not too large has one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from latesum._compile import compiled

# The kinds.
TABLE = 0  # P(delay > k) for k from 0 on; 0 beyond the table
UNIFORM = 1  # from a to b
EXPONENTIAL = 2  # with mean a, rounded up
GEOMETRIC = 3  # failures before a success, each with the chance a
PARETO = 4  # with scale a and shape b, rounded up


class Law(NamedTuple):
    """The law of a delay."""

    kind: int
    a: float
    b: float
    table: Any


@compiled
def longer_than(law, k):
    """P(delay > k) for a whole number k; 1 for a negative one."""
    if k < 0:
        return 1.0
    if law.kind == TABLE:
        return law.table[k] if k < len(law.table) else 0.0
    if law.kind == UNIFORM:
        return min(max((law.b - k) / (law.b - law.a + 1.0), 0.0), 1.0)
    if law.kind == EXPONENTIAL:
        return math.exp(-k / law.a)
    if law.kind == GEOMETRIC:
        return math.pow(law.a, k + 1.0)
    return math.pow(1.0 + k / law.a, -law.b)
