"""Kernels are compiled once per machine, are never stale, and have one version each."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from latesum import Beta, Problem, _compile, plan, simulate
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.warm_up import warm_up
from latesum.policies import available
from latesum.simulation.market import Market

#: Two small kernels in files of their own, as the package has them, and one that calls the other.
KERNELS = {
    "helping_kernels.py": """
from latesum._compile import compiled

@compiled
def plays(rounds):
    return 100 * rounds
""",
    "looping_kernels.py": """
from latesum._compile import compiled
from latesum.helping_kernels import plays

@compiled
def run_rounds(rounds):
    return plays(rounds)
""",
}
SMALL = """
from latesum.looping_kernels import run_rounds
played = run_rounds(20)
"""
COUNTED = """
stats = run_rounds.stats
print(played, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, whose kernels may be changed."""
    source = Path(_compile.__file__).parent
    shutil.copytree(source, tmp_path / "latesum", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "latesum"


def run_script(package, script):
    """What a process of its own prints that uses the copy."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "LATESUM_CACHE_DIR": str(package.parent / "cache"),
        "NUMBA_OPT": "1",  # compiles faster, and caches alike
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def result_of(package, script):
    """What was played, and how often the loop was found compiled or had to be compiled."""
    return [int(number) for number in run_script(package, script + COUNTED).split()]


def change(file, before, after):
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_a_second_process_compiles_nothing_and_a_changed_helper_is_compiled_anew(package):
    """The helper is in another file than the loop: the cache of the loop's own would not notice."""
    for name, text in KERNELS.items():
        (package / name).write_text(text)
    assert result_of(package, SMALL) == [2000, 0, 1]
    assert result_of(package, SMALL) == [2000, 1, 0]
    change(package / "helping_kernels.py", "100 * rounds", "10 * rounds")
    assert result_of(package, SMALL) == [200, 0, 1]


def versions():
    """The signatures of each kernel that this process has used."""
    return {
        f"{name}.{called}": kernel.signatures
        for name, module in list(sys.modules.items())
        if name.startswith("latesum.") and name.endswith("kernels")
        for called, kernel in vars(module).items()
        if hasattr(kernel, "signatures") and kernel.__module__ == name
    }


def test_nothing_is_left_to_compile_and_a_kernel_has_one_version(latesum):
    """Two processes that compile at once can then only write the same code into one file."""
    out = latesum("warm-up").done()
    assert "kernels compiled in" in out or "All kernels were there already" in out
    compiled, found = warm_up()  # what the workers of the command have compiled is found here
    assert compiled == 0
    assert found > 5  # those that Python calls; others are part of them
    before = versions()
    problem = Problem([0.5, 0.6, 0.4], "uniform(0, 100)")
    rewards = Problem([Beta(1, 3), 0.5], "exponential(9).clipped(200)")
    long = Problem([0.5, 0.6, 0.4], "uniform(0, 9000)")
    undelayed = Problem([0.5, 0.6, 0.4], "constant(0)")
    for policy in available("totals"):
        for where in (problem, rewards, long):
            simulate(where, policy, 5_000, seed=1, bucket=50, report_lag=100)
            simulate(where, policy, 20_000, seed=1).policy.estimates()
    for policy in available("attributed"):
        where = (undelayed,) if policy == "improved-ucb" else (undelayed, problem, rewards, long)
        for each in where:
            simulate(each, policy, 2_000, seed=1)
    for regions in (1, 2):
        MarketRunSpec(Market(regions=regions, buckets=8), "switchback").run(0)
    plan(
        options=3,
        rate=0.1,
        lift="50%",
        traffic="1000 per day",
        late="4 hours",
        run_for="6 weeks",
        replications=2,
        workers=1,
        sensitivity=False,
    )
    assert versions() == before
    assert {name: found for name, found in before.items() if len(found) > 1} == {}


def test_without_a_folder_that_can_be_written_kernels_work_and_are_not_kept(package):
    for name, text in KERNELS.items():
        (package / name).write_text(text)
    (package.parent / "cache").write_text("a file, not a folder")
    assert result_of(package, SMALL)[0] == 2000
    assert result_of(package, SMALL) == [2000, 0, 1]


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
        ("LATESUM_CACHE_DIR", ours),
        ("NUMBA_CACHE_DIR", numbas),
        ("XDG_CACHE_HOME", usual),
    ):
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
