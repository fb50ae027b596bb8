"""How late rewards come: distributions on 0, 1, 2, ... rounds.

>>> from latesum import delays
>>> delays.uniform(0, 100).mean
50.0
>>> round(delays.exponential(50).mean, 3)           # rounded up to whole rounds
50.502
>>> delays.parse("exponential(50).clipped(75)").bound
75
"""

from latesum.delays.base import Delay
from latesum.delays.composite import empirical, mixture, tabulated
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
from latesum.delays.fitting import FittedDelay, fit
from latesum.delays.parsing import available, parse, register

__all__ = [
    "Delay",
    "FittedDelay",
    "available",
    "check",
    "constant",
    "empirical",
    "exponential",
    "fit",
    "geometric",
    "half_normal",
    "mixture",
    "negative_binomial",
    "pareto",
    "parse",
    "poisson",
    "register",
    "tabulated",
    "truncated_normal",
    "uniform",
]
