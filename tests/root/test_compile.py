"""Kernels are compiled once per machine, are never stale, and have one version each."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import latesum
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.policies import available
from latesum.simulation import Beta
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
    source = Path(latesum.__file__).parent
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
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
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


def test_a_kernel_has_one_version():
    """Two processes that compile at once can then only write the same code into one file."""
    problem = latesum.Problem([0.5, 0.6, 0.4], "uniform(0, 100)")
    rewards = latesum.Problem([Beta(1, 3), 0.5], "exponential(9).clipped(200)")
    long = latesum.Problem([0.5, 0.6, 0.4], "uniform(0, 9000)")
    undelayed = latesum.Problem([0.5, 0.6, 0.4], "constant(0)")
    for policy in available("totals"):
        for where in (problem, rewards, long):
            latesum.simulate(where, policy, 5_000, seed=1, bucket=50, report_lag=100)
            made = latesum.simulate(where, policy, 20_000, seed=1)
            made.policy.estimates()
    for policy in available("attributed"):
        where = (undelayed,) if policy == "improved-ucb" else (undelayed, problem, rewards, long)
        for each in where:
            latesum.simulate(each, policy, 2_000, seed=1)
    for regions in (1, 2):
        MarketRunSpec(Market(regions=regions, buckets=8), "switchback").run(0)
    assert len(versions()) > 5
    assert {name: found for name, found in versions().items() if len(found) > 1} == {}


def test_without_a_folder_that_can_be_written_kernels_work_and_are_not_kept(package):
    for name, text in KERNELS.items():
        (package / name).write_text(text)
    (package.parent / "cache").write_text("a file, not a folder")
    assert result_of(package, SMALL)[0] == 2000
    assert result_of(package, SMALL) == [2000, 0, 1]
