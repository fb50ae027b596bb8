"""Where work is done: in this process, in several on this machine, or on a Dask cluster.

A runner takes a function and tasks for it, and yields the number of a task and its result as soon
as it is there, in any order. It keeps nothing: the caller writes results down one by one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

from latesum._checks import InvalidInput, whole_number
from latesum._extras import require
from latesum._version import __version__

Job = Callable[[Any], Any]
#: A task may lose its worker this many times before it is taken for the cause.
_ALLOWED_FAILURES = 10
_CONNECT_SECONDS = 10


class InProcesses:
    """`workers` processes on this machine; with one, it is this process.

    >>> list(InProcesses(1)(abs, [-1, 2]))
    [(0, 1), (1, 2)]
    """

    def __init__(self, workers: int) -> None:
        self.workers = whole_number(workers, "the number of workers", at_least=1)

    def __call__(self, job: Job, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        if self.workers == 1 or len(tasks) <= 1:
            for number, task in enumerate(tasks):
                yield number, job(task)
            return
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from concurrent.futures.process import BrokenProcessPool

        # A forked process has the job and the tasks already, so that they need not be picklable.
        method = "fork" if sys.platform == "linux" else "spawn"
        pool = ProcessPoolExecutor(
            min(self.workers, len(tasks)),
            multiprocessing.get_context(method),
            initializer=_prepare_worker,
            initargs=(os.getpid(), job, tasks),
        )
        try:
            with _interrupts_put_off():
                waiting = {pool.submit(_do_task, number): number for number in range(len(tasks))}
            for future in as_completed(waiting):
                yield waiting.pop(future), future.result()
        except BrokenProcessPool:
            raise InvalidInput(
                "a worker process was ended from outside (out of memory?); what is kept in a "
                "folder stays: run the same command again, with fewer --workers if memory is short."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()  # waited for: a pool that is closing while Python exits prints an error


@contextlib.contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Raise an interrupt at the end of the block: Python drops exceptions around a fork."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield  # interrupts are not for this thread, or not for Python
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


_work: tuple[Job, Sequence[Any]]


def _prepare_worker(parent: int, job: Job, tasks: Sequence[Any]) -> None:
    """An interrupt is for the parent to handle, and a worker ends with its parent."""
    global _work
    _work = job, tasks
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def leave_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()


def _do_task(number: int) -> Any:
    job, tasks = _work
    return job(tasks[number])


class OnDask:
    """The cluster of a `distributed.Client`. Dask is the extra `cluster`.

    The tasks of a worker that is lost are given to others; a task is a pure function, so that the
    result is the same.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.workers = max(sum(client.nthreads().values()), 1)
        try:
            there = set(client.run(version, "latesum").values())
        except Exception as error:  # whatever a worker says that has no latesum
            raise InvalidInput(
                f"the workers of the cluster cannot load latesum ({error}); install latesum "
                f"{__version__} there."
            ) from None
        if there - {__version__}:  # they might make other runs of the same numbers
            raise InvalidInput(
                f"the workers of the cluster have latesum {', '.join(sorted(there))} and this is "
                f"{__version__}; install the same version everywhere."
            )

    def __call__(self, job: Job, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        import asyncio
        from concurrent.futures import CancelledError

        distributed = require("distributed", "cluster")
        lost = (CancelledError, asyncio.CancelledError, OSError, distributed.KilledWorker)
        waiting = {
            self._client.submit(job, task, pure=False, retries=_ALLOWED_FAILURES): number
            for number, task in enumerate(tasks)
        }
        try:
            for future in distributed.as_completed(list(waiting)):
                try:
                    result = future.result()  # waits again if the worker was lost meanwhile
                except lost as error:
                    raise InvalidInput(
                        f"the Dask cluster was lost ({error}); what is kept in a folder stays: run "
                        "the same command again and it goes on from there."
                    ) from None
                yield waiting.pop(future), result
                future.release()
        finally:
            for future in waiting:
                future.cancel()


Runner = InProcesses | OnDask


@contextlib.contextmanager
def chosen_runner(workers: int = 1, dask: str | None = None) -> Iterator[Runner]:
    """This process, several, or a Dask cluster: "local", or the address of its scheduler.

    "local" starts a cluster of `workers` processes for the time being; an address is such as
    "tcp://host:8786".
    """
    if dask is None:
        yield InProcesses(workers)
        return
    distributed = require("distributed", "cluster")
    import dask as dask_library

    with contextlib.ExitStack() as stack:
        if dask == "local":
            failures = {"distributed.scheduler.allowed-failures": _ALLOWED_FAILURES}
            stack.enter_context(dask_library.config.set(failures))
            # Without a dashboard: nothing of ours listens beyond this machine.
            quiet = {"host": "127.0.0.1", "dashboard_address": None, "threads_per_worker": 1}
            cluster = distributed.LocalCluster(n_workers=workers, processes=True, **quiet)
            client = stack.enter_context(distributed.Client(stack.enter_context(cluster)))
        else:
            try:
                client = distributed.Client(dask, timeout=_CONNECT_SECONDS)
            except (OSError, ValueError, TypeError) as error:
                raise InvalidInput(
                    f"there is no Dask scheduler at {dask!r} ({error}); write the address that "
                    "`dask scheduler` printed, or --dask local."
                ) from None
            stack.enter_context(client)
        yield OnDask(client)
