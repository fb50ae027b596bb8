"""Running an experiment into a store: what is there already is not run again."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from latesum.lab.cells import Cell, cells
from latesum.lab.experiment import Experiment
from latesum.lab.results import Results
from latesum.lab.runners import Chunk, Runner, in_processes, in_this_process, run_chunk
from latesum.lab.store import Store

#: What a chunk should take: little is lost with one, and handing it out costs nothing beside it.
_SECONDS_PER_CHUNK = 1.0
_MOST_RUNS_PER_CHUNK = 1024
#: A run that takes longer than this is measured on a tenth of its rounds.
_LONG_RUN = 0.5

Progress = Callable[[int, int], None]


class Work(NamedTuple):
    """What is left to do of a cell, and how long one run takes."""

    cell: Cell
    missing: list[tuple[int, int]]
    seconds_per_run: float

    @property
    def runs(self) -> int:
        """How many runs are left."""
        return sum(end - first for first, end in self.missing)


@dataclass(frozen=True)
class Plan:
    """What an experiment needs before it is finished."""

    experiment: Experiment
    cells: list[Cell]
    work: list[Work]

    @property
    def all_runs(self) -> int:
        """The runs of the whole experiment."""
        return sum(cell.replications for cell in self.cells)

    @property
    def runs_left(self) -> int:
        """The runs that are not in the store yet."""
        return sum(work.runs for work in self.work)

    def seconds(self, workers: int = 1) -> float:
        """About how long the rest takes with so many workers."""
        return sum(work.runs * work.seconds_per_run for work in self.work) / workers

    def chunks(self) -> list[Chunk]:
        """The rest, cut up; the slowest cells first, so that no long chunk ends alone."""
        chunks = []
        for work in sorted(self.work, key=lambda work: -work.seconds_per_run):
            size = _runs_per_chunk(work.seconds_per_run)
            for first, end in work.missing:
                edges = [first, *range((first // size + 1) * size, end, size), end]
                chunks += [
                    Chunk(work.cell, start, stop) for start, stop in itertools.pairwise(edges)
                ]
        return chunks


def plan(experiment: Experiment, store: Store, *, again: bool = False) -> Plan:
    """Find out what is missing, and measure one short run of each cell that is."""
    multiplied = cells(experiment)
    work = []
    if again:
        for cell in multiplied:
            store.forget(cell)
    for cell in {cell.digest: cell for cell in multiplied}.values():
        if missing := store.missing(cell):
            work.append(Work(cell, missing, _measure(cell)))
    return Plan(experiment, multiplied, work)


def run_sweep(
    experiment: Experiment,
    folder: str | Path,
    *,
    workers: int = 1,
    runner: Runner | None = None,
    again: bool = False,
    announce: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run what is missing of an experiment, merge its tables, and return all of it.

    The results do not depend on `workers` or `runner`, nor on how often the work was interrupted.
    `announce` is called with the plan before anything long starts, `progress(done, all)` with
    numbers of runs, those that were there already left out.

    >>> import tempfile
    >>> experiment = Experiment(
    ...     name="small", horizon=1000, replications=3,
    ...     problems=[{"arms": [0.2, 0.8], "delay": "uniform(0, 10)"}],
    ...     policies=[{"policy": "odaaf"}, {"policy": "oracle"}],
    ... )
    >>> results = run_sweep(experiment, tempfile.mkdtemp())
    >>> [summary.mean for summary in results.summary() if summary.policy == "oracle"]
    [0.0]
    """
    store = Store(folder)
    planned = plan(experiment, store, again=again)
    store.write_manifest(experiment, planned.cells)
    if announce:
        announce(planned)
    if planned.work:
        make_runs(planned, store, workers=workers, runner=runner, progress=progress)
    store.merge(experiment, planned.cells)
    return Results.read(store, experiment, planned.cells)


@contextlib.contextmanager
def chosen_runner(workers: int, dask: str | None = None) -> Iterator[Runner]:
    """This process, several processes, or a Dask cluster ("local" or an address)."""
    if dask is not None:
        from latesum.lab.dask_runner import dask_runner

        with dask_runner(dask, workers) as runner:
            yield runner
    else:
        yield in_processes(workers) if workers > 1 else in_this_process


def make_runs(
    planned: Plan,
    store: Store,
    *,
    workers: int = 1,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> None:
    """Make the runs that are left, and write every chunk as soon as it is there."""
    runner = runner or (in_processes(workers) if workers > 1 else in_this_process)
    # Another process may have been faster since the plan was made.
    left = [chunk for chunk in planned.chunks() if not store.has(*chunk)]
    done, total = 0, sum(chunk.end - chunk.first for chunk in left)
    for chunk, rows in runner(left):
        store.write_part(chunk.cell, chunk.first, rows)
        done += chunk.end - chunk.first
        if progress:
            progress(done, total)


def _runs_per_chunk(seconds_per_run: float) -> int:
    """A power of two, so that small differences in speed do not move the edges of chunks."""
    size = 1
    while size < _MOST_RUNS_PER_CHUNK and 2 * size * seconds_per_run <= _SECONDS_PER_CHUNK:
        size *= 2
    return size


@functools.lru_cache(maxsize=4096)
def _measure(cell: Cell) -> float:
    """How long one run takes, measured on one after a first that compiles what it needs."""
    tenth = max(1, cell.horizon // 10)
    short = _shortened(cell, tenth)
    run_chunk(Chunk(_shortened(cell, min(tenth, 1000)), 0, 1))
    seconds = _seconds(short)
    if 10 * seconds > _LONG_RUN:
        return 10 * seconds
    return _seconds(cell)


def _seconds(cell: Cell) -> float:
    started = time.perf_counter()
    run_chunk(Chunk(cell, 0, 1))
    return time.perf_counter() - started


def _shortened(cell: Cell, rounds: int) -> Cell:
    """The cell cut off after so many rounds, for measuring only."""
    return replace(cell, horizon=rounds, checkpoints=(rounds,))
