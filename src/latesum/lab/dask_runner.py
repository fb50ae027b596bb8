"""Chunks of runs on a Dask cluster. Dask is the extra `cluster`.

Results come back to this process, which writes them down as they complete. A worker that is lost
takes only the chunks with it that it was working on or had not handed over; the scheduler gives
those to the others, and since a chunk is a pure function, the result is the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum.lab.runners import Chunk, Runner, run_chunk
from latesum.lab.store import RunRows

#: So many times may a chunk lose its worker before it is taken for the cause.
_ALLOWED_FAILURES = 10
_CONNECT_SECONDS = 10


@contextlib.contextmanager
def dask_runner(address: str, workers: int = 1) -> Iterator[Runner]:
    """A runner on the cluster at `address`, or on one of `workers` processes started for it.

    `address` is that of a scheduler, such as "tcp://host:8786", or "local".
    """
    distributed = require("distributed", "cluster")
    import dask

    with contextlib.ExitStack() as stack:
        if address == "local":
            stack.enter_context(
                dask.config.set({"distributed.scheduler.allowed-failures": _ALLOWED_FAILURES})
            )
            # Without a dashboard: nothing of ours listens beyond this machine.
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
            )
            client = stack.enter_context(distributed.Client(stack.enter_context(cluster)))
        else:
            try:
                client = distributed.Client(address, timeout=_CONNECT_SECONDS)
            except (OSError, ValueError, TypeError) as error:
                raise InvalidInput(
                    f"there is no Dask scheduler at {address!r} ({error}); write the address that "
                    "`dask scheduler` printed, or --dask local."
                ) from None
            stack.enter_context(client)
        yield on_client(client)


def on_client(client: Any) -> Runner:
    """A runner on the cluster of a `distributed.Client`."""
    _refuse_other_versions(client)

    def run(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, RunRows]]:
        distributed = require("distributed", "cluster")
        lost = (CancelledError, asyncio.CancelledError, OSError, distributed.KilledWorker)
        waiting = {
            client.submit(run_chunk, chunk, pure=False, retries=_ALLOWED_FAILURES): chunk
            for chunk in chunks
        }
        try:
            for future in distributed.as_completed(list(waiting)):
                try:
                    rows = future.result()  # waits again if the worker was lost meanwhile
                except lost as error:
                    raise InvalidInput(
                        f"the Dask cluster was lost ({error}); what is done is kept: run the same "
                        "command again and it goes on from there."
                    ) from None
                yield waiting.pop(future), rows
                future.release()
        finally:
            for future in waiting:
                future.cancel()

    return run


def _refuse_other_versions(client: Any) -> None:
    """Workers with another latesum might make other runs of the same numbers."""
    here = _installed_version()
    try:
        there = set(client.run(_installed_version).values())
    except Exception as error:  # whatever a worker says that cannot load a function of ours
        raise InvalidInput(
            f"the workers of the cluster cannot load latesum ({error}); install latesum {here} there."
        ) from None
    if there - {here}:
        raise InvalidInput(
            f"the workers of the cluster have latesum {', '.join(sorted(there))} and this is {here}; "
            "install the same version everywhere."
        )


def _installed_version() -> str:
    from latesum._version import __version__

    return __version__
