"""Compiled once per machine, and never stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import latesum

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
WHOLE = """
import numpy as np
from latesum.attributed import QPMD, run
from latesum.attributed.loop_kernels import play_rounds as run_rounds
from latesum.simulation import Problem

problem = Problem([0.5, 0.6], "uniform(0, 100)")
made = run(problem, QPMD("ucb1", 2), 20_000, seed_sequence=np.random.SeedSequence(1))
played = made.plays[0, 0]
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


@pytest.mark.slow
def test_the_same_holds_for_the_loop_of_the_baselines(package):
    plays, hits, misses = result_of(package, WHOLE)
    assert (hits, misses) == (0, 1)
    assert result_of(package, WHOLE) == [plays, 1, 0]
    change(
        package / "attributed/index_kernels.py",
        "policy.exploration *",
        "0.1 * policy.exploration *",
    )
    fewer_plays, hits, misses = result_of(package, WHOLE)
    assert (hits, misses) == (0, 1)
    assert fewer_plays < plays / 2


#: Two processes keep the first version of a kernel for other types each, in the order that mixes them up most:
#: both have seen an empty index, the index of floats is written last, and the code for whole numbers is written last.
RACING = """
import multiprocessing, sys
from latesum.halving_kernels import half

context = multiprocessing.get_context("fork")
both_have_read, whole_index, float_all = context.Barrier(2), context.Event(), context.Event()
files = half._cache._cache_file
read, write_index, write_code = files._load_index, files._save_index, files._save_data

def of_whole_numbers():
    files._save_index = lambda found: (both_have_read.wait(), write_index(found), whole_index.set())
    files._save_data = lambda *code: (float_all.wait(), write_code(*code))
    assert half(3) == 1.5

def of_floats():
    files._save_index = lambda found: (both_have_read.wait(), whole_index.wait(), write_index(found))
    files._save_data = lambda *code: (write_code(*code), float_all.set())
    assert half(2.5) == 1.25

racers = [context.Process(target=each) for each in (of_whole_numbers, of_floats)]
for each in racers:
    each.start()
for each in racers:
    each.join()
sys.exit(any(each.exitcode for each in racers))
"""
HALVING = """
from latesum._compile import compiled

@compiled
def half(number):
    return number / 2
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_what_two_processes_compile_at_once_for_other_types_is_not_mixed_up(package):
    (package / "halving_kernels.py").write_text(HALVING)
    run_script(package, RACING)
    said = run_script(
        package, "from latesum.halving_kernels import half; print(half(2.5), half(3), half(2.5))"
    )
    assert said.split() == ["1.25", "1.5", "1.25"]
