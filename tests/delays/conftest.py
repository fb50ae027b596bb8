"""Lets these tests import `delay_samples`, the data that fits are tried on."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
