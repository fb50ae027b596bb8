"""The list of mutants still applies to the sources; `make mutants` makes them."""

import importlib.util
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
