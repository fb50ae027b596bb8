"""The benchmark: frozen problems, tracks by prior knowledge, and results that can be verified."""

from latesum.benchmark.entries import Entry
from latesum.benchmark.report import archive, card, verify, write
from latesum.benchmark.running import Outcome, run_entry
from latesum.benchmark.suites import Cell, Suite, suite

__all__ = [
    "Cell",
    "Entry",
    "Outcome",
    "Suite",
    "archive",
    "card",
    "run_entry",
    "suite",
    "verify",
    "write",
]
