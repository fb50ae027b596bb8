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
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_LOGGER = logging.getLogger("latesum")


@functools.cache
def sources_digest() -> str:
    """A digest of this file and of every kernel file of the package: those named `*kernels.py`."""
    digest = hashlib.sha256()
    for path in [Path(__file__), *sorted(_PACKAGE.rglob("*kernels.py"))]:
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder() -> Path | None:
    """The folder for compiled kernels, or None where nothing can be written.

    Says what it means for the one who waits if kernels will have to be compiled.
    """
    folder = _cache_base() / "latesum" / f"kernels-{sources_digest()}"
    try:
        new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        _LOGGER.warning(
            "compiled kernels cannot be kept in %s (%s), so every process compiles them again; name "
            "a folder that can be written with LATESUM_CACHE_DIR.", folder, problem.strerror
        )  # fmt: skip
        return None
    if new:
        _LOGGER.warning(
            "compiling kernels at their first use, once per machine; `latesum warm-up` compiles all of "
            "them at once."
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
    """Compile `function` with Numba, without the GIL and without fastmath, cached on disk."""
    return _compiled(function, counts_references=True)


def _compiled(function: Function, counts_references: bool) -> Function:
    import numba
    from numba.core import config
    from numba.core.options import DefaultOptions

    _compile_timer()
    folder = cache_folder()
    before = config.CACHE_DIR
    if folder is not None:
        config.CACHE_DIR = str(folder)  # read at decoration time only, so it is put back at once
    try:
        # No C function is ever made of a kernel: what would wrap one takes time to compile.
        jit = numba.njit(
            cache=folder is not None, error_model="numpy", nogil=True, no_cfunc_wrapper=True
        )
        result: Function = jit(function)
    finally:
        config.CACHE_DIR = before
    if hasattr(DefaultOptions, "_nrt"):  # an option that Numba does not document
        # Said to both kinds: what says nothing is compiled as the first that calls it.
        result.targetoptions["_nrt"] = counts_references  # type: ignore[attr-defined]
    _take_constants_as_numbers(result)
    if folder is not None:
        _keep_each_version_by_itself(result)
    return result


def _keep_each_version_by_itself(kernel: Any) -> None:
    """Let every version of a kernel that the cache holds, one per combination of argument types, have a file name of its own.

    Numba numbers the files. Two processes that keep their first version at once both take number 1, and then the index
    of one may name the code of the other, which would run with arguments of other types and give wrong numbers.
    """
    files = getattr(kernel._cache, "_cache_file", None)
    pattern = getattr(files, "_data_name_pattern", None)
    if files is not None and pattern is not None:  # neither is documented
        # A name is made when a version is kept: processes that are forked share what was made before.
        files._data_name = lambda number: pattern.format(number=number).replace(
            ".nbc", f".{uuid.uuid4().hex[:16]}.nbc"
        )


def _take_constants_as_numbers(kernel: Any) -> None:
    """Let a constant that another kernel hands over be like any other number.

    Numba compiles a version for it otherwise, and one more for numbers, and all that is called from there twice.
    """
    from numba.core.types.misc import unliteral

    resolve = kernel.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return resolve(
            tuple(map(unliteral, args)), {name: unliteral(each) for name, each in kws.items()}
        )

    kernel.get_call_template = get_call_template


def inlined(function: Function) -> Function:
    """Compile `function` as a part of each compiled function that calls it.

    Numba counts references to an array wherever one is handed to a function, and a call with a
    dozen of them costs more than the arithmetic of a round. What is inlined hands over nothing.
    """
    import numba

    result: Function = numba.njit(inline="always", error_model="numpy")(function)
    return result


def allocation_free(function: Function) -> Function:
    """Compile `function`, which creates no array, without counting references to its arrays.

    Together with `inlined` this made the loop of the attributed baselines thirteen times as fast.
    """
    return _compiled(function, counts_references=False)
