"""`latesum warm-up`: compile now what would otherwise be compiled at its first use."""

from __future__ import annotations

import time

from latesum.cli.options import Workers, worker_count
from latesum.experiments import warm_up


def compile_kernels(workers: Workers = None) -> None:
    """Compile all kernels now, so that nothing waits for it later."""
    started = time.perf_counter()
    made = warm_up.warm_up(worker_count(workers))
    seconds = time.perf_counter() - started
    where = "nowhere, since no folder can be written" if made.folder is None else made.folder
    if made.compiled:
        print(f"{made.compiled} kernels compiled in {seconds:.0f} s and kept in {where}.")
    else:
        print(f"All kernels were there already, in {where}.")
