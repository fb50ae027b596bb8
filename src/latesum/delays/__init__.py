"""How late rewards come: distributions on 0, 1, 2, ... rounds.

>>> from latesum import delays
>>> delays.uniform(0, 100).mean
50.0
>>> round(delays.exponential(50).mean, 3)           # rounded up to whole rounds
50.502
>>> delays.parse("exponential(50).clipped(75)").bound
75
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from latesum.delays.base import Delay
from latesum.delays.composite import mixture, tabulated
from latesum.delays.conformance import check
from latesum.delays.families import (
    constant,
    exponential,
    geometric,
    half_normal,
    negative_binomial,
    pareto,
    poisson,
    truncated_normal,
    uniform,
)
from latesum.delays.parsing import parse

if _TYPE_CHECKING:
    from latesum.delays.fitting import FittedDelay, fit

__all__ = [
    "Delay",
    "FittedDelay",
    "check",
    "constant",
    "exponential",
    "fit",
    "geometric",
    "half_normal",
    "mixture",
    "negative_binomial",
    "pareto",
    "parse",
    "poisson",
    "tabulated",
    "truncated_normal",
    "uniform",
]


def __getattr__(name: str) -> object:
    """What fits delays to data reads files, which a simulation and a campaign need not wait for."""
    if name not in ("FittedDelay", "fit"):
        raise AttributeError(f"module 'latesum.delays' has no attribute {name!r}")
    from latesum.delays import fitting

    return getattr(fitting, name)
