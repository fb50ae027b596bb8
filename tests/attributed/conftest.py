"""Lets these tests import `plain_policies`, the independent versions, by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
