"""Running many small tasks on several processes, with results in the order of the tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

#: So many chunks a worker: few enough to cost nothing, enough for a progress bar.
_CHUNKS_PER_WORKER = 16

_job: Callable[[Any], Any] | None = None


def in_chunks(
    job: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """`[job(task) for task in tasks]`, on `workers` processes.

    >>> in_chunks(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    size = max(1, len(tasks) // (workers * _CHUNKS_PER_WORKER))
    chunks = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    results: list[list[Result]] = [[] for _ in chunks]
    done = 0
    if workers == 1 or len(chunks) == 1:
        for index, chunk in enumerate(chunks):
            results[index] = [job(task) for task in chunk]
            done += len(chunk)
            if progress:
                progress(done, len(tasks))
        return [result for chunk_results in results for result in chunk_results]
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

    # A forked process has the job already, so that it need not be picklable.
    method = "fork" if sys.platform == "linux" else "spawn"
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context(method), initializer=_take_job, initargs=(job,)
    )
    try:
        waiting = {pool.submit(_run_chunk, chunk): index for index, chunk in enumerate(chunks)}
        while waiting:
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                index = waiting.pop(future)
                results[index] = future.result()
                done += len(chunks[index])
            if progress:
                progress(done, len(tasks))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()  # waited for: a pool that is closing while Python exits prints an error
    return [result for chunk_results in results for result in chunk_results]


def _take_job(job: Callable[[Any], Any]) -> None:
    global _job
    _job = job


def _run_chunk(chunk: Sequence[Any]) -> list[Any]:
    assert _job is not None, "the pool's initializer has set the job"
    return [_job(task) for task in chunk]
