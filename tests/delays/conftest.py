"""Lets these tests import `delay_samples`, the data that fits are tried on, and keep what they have measured."""

import os
import sys
from pathlib import Path

import pytest

from latesum.experiments.summaries import write_summary

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def keep():
    """Writes rows into the folder $LATESUM_RESULTS, from which docs/tables.py takes them; nowhere without it."""

    def write(name, rows, same):
        if folder := os.environ.get("LATESUM_RESULTS"):
            write_summary(Path(folder) / name, rows, same=same)

    return write
