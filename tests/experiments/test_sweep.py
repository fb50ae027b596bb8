"""Sweeps that are killed, interrupted or run twice at once end with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import sweep_to_kill
from experiments.sweep_to_kill import tables
from latesum.experiments import RunStore, engine
from latesum.experiments.sweep import expand, run_sweep

SCRIPT = Path(sweep_to_kill.__file__)


def start(folder: Path, workers: int = 2) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), str(workers)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    output, _ = process.communicate(timeout=600)
    assert output == "done\n"
    assert process.returncode == 0


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], float]:
    """The tables of a run that was not disturbed, and how long it took."""
    folder = tmp_path_factory.mktemp("never-stopped")
    started = time.monotonic()
    run_sweep(sweep_to_kill.EXPERIMENT, folder, workers=1)
    return tables(folder), time.monotonic() - started


def test_killed_at_a_random_moment_and_resumed(
    tmp_path: Path, never_stopped: tuple[list[bytes], float]
) -> None:
    expected, seconds = never_stopped
    process = start(tmp_path)
    time.sleep(random.Random(1).uniform(0, seconds))
    process.kill()
    process.wait()
    finish(start(tmp_path))
    assert tables(tmp_path) == expected


def test_two_processes_on_one_store(
    tmp_path: Path, never_stopped: tuple[list[bytes], float]
) -> None:
    one, other = start(tmp_path), start(tmp_path)
    finish(one)
    finish(other)
    assert tables(tmp_path) == never_stopped[0]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_worker_outlives_a_killed_parent(tmp_path: Path) -> None:
    process = start(tmp_path)
    deadline = time.monotonic() + 300
    while not (children := _children(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert children
    while any(_runs(child) for child in children):
        assert time.monotonic() < deadline, "a worker still runs"
        time.sleep(0.1)


def _children(pid: int) -> list[int]:
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _runs(pid: int) -> bool:
    """Whether a process has not ended; no one may have asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _hears_interrupts() -> None:
    """In the child: a shell that starts tests in the background has them ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_with_how_to_resume(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(
        """
horizon = 250_000
replications = 5000
problems = [{ arms = [0.5, 0.6], delay = "uniform(0, 100)" }]
policies = [{ policy = "qpm-d(base='ucb1')" }]
"""
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "latesum.cli", "sweep", str(file), "--workers", "2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_hears_interrupts,
    )
    parts = tmp_path / "long-results/parts"
    deadline = time.monotonic() + 300
    while not list(parts.rglob("0*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to parent and workers
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "5,000 runs." in said
    assert "run the same command again" in said
    assert "Traceback" not in said
    assert list(parts.rglob("0*.parquet"))


#: Interrupted while it starts its workers: Python drops exceptions in what runs around a fork.
INTERRUPTED_FORK = """
import os, signal
from latesum.experiments.runners import InProcesses

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    print(sorted(InProcesses(2)(abs, [1, 2, 3])))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_an_interrupt_while_workers_start_is_not_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_FORK],
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=_hears_interrupts,
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_chunks_cover_what_is_missing_after_a_first_run_alone(tmp_path: Path) -> None:
    policies = sweep_to_kill.EXPERIMENT.policies[:1]
    small = {"horizon": 100, "replications": 100, "policies": policies}
    experiment = sweep_to_kill.EXPERIMENT.model_copy(update=small)
    specs, counts = expand(experiment)
    store = RunStore(tmp_path)
    for first, end in ((0, 3), (40, 60)):
        store.write_part(specs[0], first, engine.run_chunk(engine.Chunk(specs[0], first, end)))
    chunks = engine.missing_chunks(specs, counts, store)
    covered = [run for chunk in chunks for run in range(chunk.first, chunk.end)]
    assert covered == [*range(3, 40), *range(60, 100)]
    assert chunks[0][1:] == (3, 4)
    assert max(chunk.end - chunk.first for chunk in chunks) == 77 // 8
