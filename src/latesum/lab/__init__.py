"""Experiments: simulate one run, compare policies over many, keep and show the results."""

from latesum._progress import progress_bar as progress_bar
from latesum.lab.comparison import Comparison, compare, simulate
from latesum.lab.engine import run
from latesum.lab.measures import register_measure
from latesum.lab.results import Results, Runs, Summary
from latesum.lab.run import PlayedStretch, Run
from latesum.lab.setting import Setting
from latesum.lab.store import RunStore

__all__ = [
    "Comparison",
    "PlayedStretch",
    "Results",
    "Run",
    "RunStore",
    "Runs",
    "Setting",
    "Summary",
    "compare",
    "progress_bar",
    "register_measure",
    "run",
    "simulate",
]
