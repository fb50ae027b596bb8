"""Kernels are compiled when asked and kept where one says, and the first use says that it compiles."""

import sys

import pytest

from latesum import _compile, compare, plan
from latesum.experiments.warm_up import warm_up
from latesum.policies import registry
from latesum.simulation import Problem


@pytest.fixture
def folder_of(monkeypatch):
    """The folder for kernels with these variables set and no others."""

    def ask(**variables):
        for name in ("LATESUM_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        return _compile.cache_folder.__wrapped__()

    return ask


def test_the_folder_is_where_the_variables_say(folder_of, tmp_path):
    ours, numbas, usual = (tmp_path / name for name in ("ours", "numbas", "usual"))
    given = {"LATESUM_CACHE_DIR": ours, "NUMBA_CACHE_DIR": numbas, "XDG_CACHE_HOME": usual}
    for name, expected in (
        ("LATESUM_CACHE_DIR", ours), ("NUMBA_CACHE_DIR", numbas), ("XDG_CACHE_HOME", usual)
    ):  # fmt: skip
        assert folder_of(**given).parent.parent == expected
        del given[name]


def test_the_first_use_says_that_it_compiles(folder_of, tmp_path, caplog):
    folder_of(NUMBA_CACHE_DIR=tmp_path)
    assert "compiling kernels" in caplog.text
    caplog.clear()
    folder_of(NUMBA_CACHE_DIR=tmp_path)
    assert caplog.text == ""


def test_a_folder_that_cannot_be_written_is_named(folder_of, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    assert folder_of(LATESUM_CACHE_DIR=tmp_path / "file") is None
    assert str(tmp_path / "file") in caplog.text
    assert "LATESUM_CACHE_DIR" in caplog.text


def compiled_versions():
    """How many versions, by types of arguments, there are of each kernel."""
    return {
        f"{name}.{called}": len(value.nopython_signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("latesum.") and name.endswith("kernels")
        for called, value in vars(module).items()
        if hasattr(value, "nopython_signatures")
    }


def test_nothing_is_left_to_compile(latesum):
    out = latesum("warm-up").done()
    assert "kernels compiled in" in out or "All kernels were there already" in out
    compiled, found = warm_up()  # what the workers of the command have compiled is found here
    assert compiled == 0
    assert found > 5  # those that Python calls; others are part of them
    before = compiled_versions()
    problem = Problem([0.4, 0.6], "uniform(0, 30)")
    attributed = [name for name in registry.available("attributed") if name != "improved-ucb"]
    for how, names in (
        ({}, registry.available("totals") + attributed),
        ({"bucket": 50, "report_lag": 100}, registry.available("totals")),
    ):
        roster = {name: name for name in names}
        compare(problem, roster, 500, replications=1, seed=1, **how)
    plan(
        options=3, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours", run_for="6 weeks",
        replications=20, workers=1, sensitivity=False,
    )  # fmt: skip
    assert compiled_versions() == before
