"""What several commands read, say and show in the same way."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import ArgumentInfo

from latesum._checks import InvalidInput
from latesum._extras import need
from latesum._progress import progress_bar
from latesum.files.form import SAID

if TYPE_CHECKING:
    from latesum.experiments.engine import RunOptions
    from latesum.files import FileForm

Workers = Annotated[
    int | None, typer.Option(min=1, help="The number of processes; one per core without.")
]


def _with_cluster(dask: str | None) -> str | None:
    """Refuse `--dask` without its extra before anything else is done."""
    if dask is not None:
        need("cluster")
    return dask


Dask = Annotated[
    str | None,
    typer.Option(
        help="Run on the Dask scheduler at this address, or on 'local'.", callback=_with_cluster
    ),
]
Again = Annotated[bool, typer.Option("--again", help="Run again what is there already.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


#: How a file is written: the options of every command that reads one.
FILE_OPTIONS = {
    name: Annotated[
        kind | None,
        typer.Option(
            *(["--add-up/--no-add-up"] if kind is bool else []),
            help=help,
            rich_help_panel="How the file is written, where that cannot be seen",
        ),
    ]
    for name, (kind, help) in SAID.items()
}


def with_options(command: Callable[..., None], more: Mapping[str, Any]) -> Callable[..., None]:
    """The command with further arguments and options, in place of its `**given`."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in own if each.name != "given"]
    for name, annotation in more.items():
        needed = isinstance(annotation.__metadata__[0], ArgumentInfo)
        default = inspect.Parameter.empty if needed else None
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def take_form(given: dict[str, Any]) -> FileForm | None:
    """How a file is written, taken out of what was given; None if nothing was said of it."""
    from latesum.files import FileForm

    return FileForm.read(**{name: given.pop(name) for name in FILE_OPTIONS if name in given})


def worker_count(workers: int | None) -> int:
    """The number of processes asked for, or one per core."""
    return workers or os.cpu_count() or 1


def check_folder(path: Path | None) -> None:
    """Refuse before an hour of work what could not be written after it."""
    if path is not None and not path.absolute().parent.is_dir():
        raise InvalidInput(f"the folder of {path} does not exist; make it first.")


def say(text: str) -> None:
    """A remark that is not a result."""
    print(text, file=sys.stderr, flush=True)


def announce_runs(missing: int, runs: int) -> None:
    """Say how much there is to do before it starts."""
    if not missing:
        say(f"All {runs:,} runs are there already; --again runs them again.")
        return
    kept = f", {runs - missing:,} of them there already" if missing < runs else ""
    say(f"{runs:,} runs{kept}.")


@contextlib.contextmanager
def working(
    workers: int, dask: str | None, folder: Path | None = None, again: bool = False
) -> Iterator[RunOptions]:
    """Where and how a command makes its runs; `folder` is where they are kept, if they are.

    An interrupt ends with a sentence that says how to go on from there.
    """
    from latesum.experiments.runners import chosen_runner

    try:
        with chosen_runner(workers, dask) as runner:
            yield {
                "workers": workers,
                "runner": runner,
                "store": folder,
                "again": again,
                "progress": progress_bar(log=True),
                "announce": None if folder is None else announce_runs,
            }
    except KeyboardInterrupt:
        if folder is None:
            raise
        say(
            f"\nlatesum: interrupted. What is done is kept in {folder}: run the same command again "
            "and it goes on from there."
        )
        os._exit(130)  # at once: chunks in progress are not worth waiting for
    except OSError as error:
        if folder is None:
            raise
        what = f"cannot write in {folder}" if error.errno else "the work was broken off"
        raise InvalidInput(
            f"{what}: {error.strerror or error}; what is done is kept, run the same command again "
            "when that is fixed."
        ) from None
