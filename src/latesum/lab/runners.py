"""Where chunks of runs are made: in this process, or in several on this machine.

A runner takes chunks and yields each with its result as soon as it is there, in any order. It
keeps nothing: whoever called it writes results down one by one.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from latesum._checks import InvalidInput
from latesum.lab.cells import Cell
from latesum.lab.replication import replicate
from latesum.lab.simulation import AnyPolicy
from latesum.lab.store import RunRows
from latesum.world import Problem


class Chunk(NamedTuple):
    """Runs `first` to `end` - 1 of a cell."""

    cell: Cell
    first: int
    end: int


Runner = Callable[[Sequence[Chunk]], Iterator[tuple[Chunk, RunRows]]]


def run_chunk(chunk: Chunk) -> RunRows:
    """Make the runs of a chunk: a pure function, the same wherever and however often it is run."""
    problem, policy = _built(chunk.cell)
    cell = chunk.cell
    checkpoints = np.array(cell.checkpoints, dtype=np.int64)
    runs = [
        replicate(
            problem, policy, cell.horizon, seed=(cell.seed, number), checkpoints=checkpoints,
            bucket=cell.bucket, report_lag=cell.report_lag,
        )
        for number in range(chunk.first, chunk.end)
    ]  # fmt: skip
    return RunRows(
        np.array([run.regrets for run in runs], dtype=np.float64),
        np.array([run.ended_on_best for run in runs], dtype=bool),
        np.array([run.switches for run in runs], dtype=np.int64),
    )


@functools.lru_cache(maxsize=64)
def _built(cell: Cell) -> tuple[Problem, AnyPolicy]:
    return cell.build()


def in_this_process(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, RunRows]]:
    """One chunk after the other."""
    for chunk in chunks:
        yield chunk, run_chunk(chunk)


def in_processes(workers: int) -> Runner:
    """A runner with so many processes on this machine."""

    def run(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, RunRows]]:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from concurrent.futures.process import BrokenProcessPool

        if not chunks:
            return
        method = "fork" if sys.platform == "linux" else "spawn"
        pool = ProcessPoolExecutor(
            min(workers, len(chunks)),
            multiprocessing.get_context(method),
            initializer=_prepare_worker,
            initargs=(os.getpid(),),
        )
        try:
            waiting = {pool.submit(run_chunk, chunk): chunk for chunk in chunks}
            for future in as_completed(waiting):
                yield waiting.pop(future), future.result()
        except BrokenProcessPool:
            raise InvalidInput(
                "a worker process was ended from outside (out of memory?); what is done is kept: "
                "run the same command again, with fewer --workers if memory is short."
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    return run


def _prepare_worker(parent: int) -> None:
    """An interrupt is for the parent to handle, and nobody works for a parent that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def leave_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()
