"""Experiments: simulate one run, compare policies over many, keep and show the results."""

from latesum.lab.comparison import Comparison, Summary, compare
from latesum.lab.replication import Replication, replicate
from latesum.lab.run import PlayedStretch, Run
from latesum.lab.simulation import simulate

__all__ = [
    "Comparison",
    "PlayedStretch",
    "Replication",
    "Run",
    "Summary",
    "compare",
    "replicate",
    "simulate",
]
