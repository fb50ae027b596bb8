"""The list of mutants still applies to the sources; `make mutants` makes them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def runner():
    spec = importlib.util.spec_from_file_location("mutants_run", HERE / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_mutant_can_be_made(runner):
    mutants = runner.read_mutants()
    assert len(mutants) >= 60
    rooms = {mutant["file"].split("/")[0] for mutant in mutants}
    assert {"policies", "world", "live", "planning", "delays"} <= rooms
    for mutant in mutants:
        source = (runner.SOURCES / mutant["file"]).read_text(encoding="utf-8")
        changed = source.replace(mutant["old"], mutant["new"])
        compile(changed, mutant["file"], "exec")


def test_a_mutant_whose_text_is_gone_is_an_error(runner):
    mutant = {
        "name": "gone",
        "file": "live/ledger.py",
        "old": "no such text",
        "new": "",
        "tests": [],
    }
    assert "its old text is 0 times" in runner.problems_of(mutant)[0]
    assert "there is no file" in runner.problems_of({**mutant, "file": "none.py"})[0]


def test_survivors_that_are_left_have_their_reason_in_the_docs(runner):
    docs = (HERE.parents[1] / "docs" / "testing.md").read_text(encoding="utf-8")
    for mutant in runner.read_mutants():
        if "survives" in mutant:
            assert mutant["name"] in docs


@pytest.mark.slow
def test_the_runner_tells_killed_from_survived_and_from_tests_that_fail_anyway(tmp_path):
    """The runner itself, in a project of three lines with two copies; what was tried is not tried again."""
    files = {
        "src/latesum/__init__.py": "",
        "src/latesum/room/__init__.py": "",
        "src/latesum/room/rules.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
        "tests/test_one.py": "from latesum.room.rules import one\n\ndef test_one():\n    assert one() == 1\n",
        "tests/test_wrong.py": "from latesum.room.rules import two\n\ndef test_wrong():\n    assert two() == 3\n",
        "tests/mutants/run.py": (HERE / "run.py").read_text(encoding="utf-8"),
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n",
        "examples/none": "", "docs/none": "", "README.md": "", "CONTRIBUTING.md": "",
    }  # fmt: skip
    mutants = [
        ("noticed", "return 1", "return 5", "tests/test_one.py"),
        ("cannot be imported", "def one", "def gone", "tests/test_one.py"),
        ("not noticed", "return 2", "return 4", "tests/test_one.py"),
        ("fails anyway", "return 2", "return 5", "tests/test_wrong.py"),
    ]
    files["tests/mutants/mutants.toml"] = "".join(
        f'[[mutant]]\nname = "{name}"\nfile = "room/rules.py"\nold = "{old}"\nnew = "{new}"\ntests = ["{test}"]\n'
        for name, old, new, test in mutants
    )
    for name, text in files.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def run():
        command = [sys.executable, tmp_path / "tests" / "mutants" / "run.py", "--workers", "2"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 mutants: 2 killed, 1 survived, 1 not tried." in done.stdout
    assert "- not noticed (room/rules.py): NO REASON" in done.stdout
    assert "- fails anyway: a test of it fails without any change" in done.stdout
    counted = (tmp_path / ".mutants" / "mutants.csv").read_text()
    assert counted == "room,mutants,killed,survived,not tried\nroom,4,2,1,1\n"
    assert "3 of 4 were tried before." in run().stdout
    source = (tmp_path / "src" / "latesum" / "room" / "rules.py").read_text()
    assert source == files["src/latesum/room/rules.py"]
