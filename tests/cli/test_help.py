"""`latesum --help` is quick: it imports no command, and says the same as the commands themselves."""

import subprocess
import sys

import pytest

from latesum.cli.app import COMMANDS, load


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name):
    said = " ".join(load(name).help.split("\n\n")[0].split())
    assert COMMANDS[name] == said


def test_help_imports_neither_numpy_nor_a_command():
    code = """
import sys
sys.argv = ["latesum", "--help"]
from latesum.cli import main
try:
    main()
finally:
    heavy = {"numpy", "scipy", "numba", "pyarrow", "sqlalchemy", "latesum.cli.compare", "latesum.experiments"}
    print("heavy:", sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"
    shown = done.stdout.splitlines()[:-1]
    assert len(shown) <= 23  # one screen
    assert max(map(len, shown)) <= 80
    for group, first in (("Decide", "plan"), ("Research", "policies"), ("Administration", "token")):
        assert shown[shown.index(f"{group}:") + 1].split()[0] == first
