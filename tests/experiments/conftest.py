"""Lets these tests import `sweep_to_kill`, the sweep that is stopped in other processes, by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
