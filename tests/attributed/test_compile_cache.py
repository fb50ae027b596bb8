"""Compiled once per machine, and never stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import latesum

SCRIPT = """
import numpy as np
from latesum.attributed import QPMD, loop_kernels, run
from latesum.world import Problem

problem = Problem([0.5, 0.6], "uniform(0, 100)")
played = run(problem, QPMD("ucb1", 2), 20_000, seed_sequence=np.random.SeedSequence(1))
stats = loop_kernels.run_rounds.stats
print(played.plays[0, 0], sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def result_of(folder):
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "LATESUM_CACHE_DIR": str(folder / "cache"),
        "NUMBA_OPT": "1",  # compiles faster, and caches alike
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    return [int(number) for number in done.stdout.split()]


def test_a_second_process_compiles_nothing_and_a_changed_kernel_is_compiled_anew(tmp_path):
    package = tmp_path / "latesum"
    shutil.copytree(
        Path(latesum.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    plays, hits, misses = result_of(tmp_path)
    assert (hits, misses) == (0, 1)
    assert result_of(tmp_path) == [plays, 1, 0]
    # A helper in another file than the loop: the cache of the loop's own file would not notice.
    helper = package / "attributed" / "index_kernels.py"
    text = helper.read_text()
    changed = text.replace("settings[layout.EXPLORATION] *", "0.1 * settings[layout.EXPLORATION] *")
    assert changed != text
    helper.write_text(changed)
    fewer_plays, hits, misses = result_of(tmp_path)
    assert (hits, misses) == (0, 1)
    assert fewer_plays < plays / 2
