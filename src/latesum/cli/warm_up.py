"""`latesum warm-up`: compile now what would otherwise be compiled at its first use."""

from __future__ import annotations

import time

from latesum._compile import cache_folder
from latesum.cli.options import Workers, worker_count
from latesum.experiments import warm_up


def compile_kernels(workers: Workers = None) -> None:
    """Compile all kernels now, so that nothing waits for it later."""
    started = time.perf_counter()
    compiled, _ = warm_up.warm_up(worker_count(workers))
    seconds = time.perf_counter() - started
    where = cache_folder() or "nowhere, since no folder can be written"
    if compiled:
        print(f"{compiled} kernels compiled in {seconds:.0f} s and kept in {where}.")
    else:
        print(f"All kernels were there already, in {where}.")
