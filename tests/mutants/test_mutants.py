"""The list of mutants fits the source: each change has a place, and tests that must notice it."""

import importlib.util
from pathlib import Path

HERE = Path(__file__).parent


def test_every_mutant_can_be_made():
    found = importlib.util.spec_from_file_location("mutants", HERE / "run.py")
    mutants = importlib.util.module_from_spec(found)
    found.loader.exec_module(mutants)
    listed = mutants.load()
    assert len(listed) >= 80
    assert 3 * sum("campaigns" in mutant.where for mutant in listed) >= len(listed)
    for mutant in listed:
        plain = (mutants.ROOT / "src" / mutant.path).read_text(encoding="utf-8")
        assert mutant.source() != mutants.ast.unparse(mutants.ast.parse(plain)), mutant.what
        for test in mutant.tests:
            assert (mutants.ROOT / test.partition("::")[0]).exists(), mutant.what
