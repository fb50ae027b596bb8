"""Experiments: simulate one run, compare policies over many, keep and show the results."""

from latesum._progress import progress_bar as progress_bar
from latesum.experiments.engine import compare, run, simulate
from latesum.experiments.results import Results, Summary
from latesum.experiments.run import Run, register_measure
from latesum.experiments.spec import RunSpec
from latesum.experiments.store import RunStore

__all__ = [
    "Results",
    "Run",
    "RunSpec",
    "RunStore",
    "Summary",
    "compare",
    "progress_bar",
    "register_measure",
    "run",
    "simulate",
]
