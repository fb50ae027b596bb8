"""Compiling kernels once per machine, and never running a stale one.

Numba keys its disk cache on the file that holds a function and does not notice when a helper in
another file changes. Here the cache folder's name is a digest of all kernel sources, so an edited
kernel starts an empty cache. Numba is imported only when the first kernel is needed.

The cache is in the folder that LATESUM_CACHE_DIR or NUMBA_CACHE_DIR names, or else where caches of
this user are. `latesum warm-up` fills it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_LOGGER = logging.getLogger("latesum")


@functools.cache
def cache_folder() -> Path | None:
    """The folder for compiled kernels, or None where nothing can be written.

    Logs a warning if kernels will have to be compiled.
    """
    digest = hashlib.sha256()
    for path in [Path(__file__), *sorted(_PACKAGE.rglob("*kernels.py"))]:
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    folder = _cache_base() / "latesum" / f"kernels-{digest.hexdigest()[:16]}"
    try:
        new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        _LOGGER.warning(
            "compiled kernels cannot be kept in %s (%s), so every process compiles them again; "
            "name a folder that can be written with LATESUM_CACHE_DIR.",
            folder,
            problem.strerror,
        )
        return None
    if new:
        _LOGGER.warning(
            "compiling kernels at their first use, once per machine; `latesum warm-up` compiles "
            "all of them at once."
        )
    return folder


def _cache_base() -> Path:
    for variable in ("LATESUM_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if named := os.environ.get(variable):
            return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir())
    return Path("~/.cache").expanduser()


@functools.cache
def _compile_timer() -> Any:
    from numba.core import event

    timer = event.TimingListener()
    event.register("numba:compile", timer)
    return timer


def compile_seconds() -> float:
    """How long this process has been compiling kernels so far."""
    if "numba" not in sys.modules:
        return 0.0
    timer = _compile_timer()
    return float(timer.duration) if timer.done else 0.0


@contextlib.contextmanager
def reported_compilation(report: Callable[[], None]) -> Iterator[None]:
    """Call `report` in this block whenever this process begins to compile a kernel."""
    from numba.core import event

    class Reporter(event.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            report()

        def on_end(self, _: Any) -> None:
            pass

    with event.install_listener("numba:compile", Reporter()):
        yield


def compiled(function: Function) -> Function:
    """`numba.njit` without the GIL and without fastmath, cached on disk in `cache_folder()`.

    A kernel is called with one combination of argument types: Numba numbers the files of a kernel's
    versions, and two processes that keep their first version at once would take the same number.
    """
    import numba

    _compile_timer()
    folder = cache_folder()
    before = numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)  # read at decoration only, so it is put back at once
    try:
        jit = numba.njit(cache=folder is not None, error_model="numpy", nogil=True)
        result: Function = jit(function)
    finally:
        numba.config.CACHE_DIR = before
    return result
