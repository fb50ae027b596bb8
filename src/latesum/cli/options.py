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

from latesum._checks import InvalidInput, whole_number
from latesum._durations import rough_text
from latesum._extras import need
from latesum._plugins import split_list
from latesum._progress import progress_bar
from latesum.simulation import Problem

if TYPE_CHECKING:
    from latesum._progress import Progress
    from latesum.experiments.engine import RunOptions, Todo
    from latesum.files import FileForm

Workers = Annotated[int | None, typer.Option(help="The number of processes; one per core without.")]


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
Kept = Annotated[
    Path | None, typer.Option(help="Keep the runs in this folder, and go on from those there.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


def _of_file(kind: Any, help: str, *names: str) -> Any:
    panel = "How the file is written, where that cannot be seen"
    return Annotated[kind, typer.Option(*names, help=help, rich_help_panel=panel)]


#: How a file is written: the options of every command that reads one.
FILE_OPTIONS = {
    "preset": _of_file(str | None, "google-ads or meta-ads; none ends one."),
    "columns": _of_file(str | None, "Names of columns: rounds=Clicks,total=Conversions."),
    "date_format": _of_file(str | None, "day-first, month-first, or a pattern such as %d.%m.%y."),
    "decimal": _of_file(str | None, "The decimal mark: . or ,"),
    "thousands": _of_file(str | None, "What stands between thousands: . or , or ' or a blank."),
    "skip_lines": _of_file(int | None, "How many lines stand before the names of the columns."),
    "sheet": _of_file(str | None, "The sheet of an Excel file."),
    "add_up": _of_file(bool | None, "Rows of one bucket are parts of it.", "--add-up/--no-add-up"),
}


def set_options(command: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Give a command these parameters in place of those that it is written with."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}


def with_options(command: Callable[..., None], more: Mapping[str, Any]) -> Callable[..., None]:
    """The command with further options, all None by default, in place of its `**given`."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [each.replace(kind=each.KEYWORD_ONLY) for each in own if each.name != "given"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in more.items()
    ]
    set_options(command, [*kept, *added])
    return command


def take_form(given: dict[str, Any]) -> FileForm:
    """How a file is written, taken out of what was given."""
    from latesum.files import FileForm
    from latesum.files.form import read_columns

    said = {name: given.pop(name) for name in FILE_OPTIONS if name in given}
    return FileForm(**{**said, "columns": read_columns(said.get("columns"))})


def read_problem(arms: str, delay: str) -> Problem:
    """The problem written as a list of means and a delay, or one delay for each arm by ';'."""
    means: list[float | str] = []
    for text in split_list(arms):
        try:
            means.append(float(text))
        except ValueError:
            if "(" not in text:
                raise InvalidInput(
                    f'--arms takes means between 0 and 1, or rewards such as "beta(6, 4)", '
                    f"not {text!r}."
                ) from None
            means.append(text)
    delays = [part.strip() for part in delay.split(";")]
    return Problem(means, delays[0] if len(delays) == 1 else delays)


def read_status_quo(text: str | None) -> int | float | str | None:
    """The status quo: the number of an arm, or the mean or the law of another reward.

    >>> read_status_quo("1"), read_status_quo("0.3"), read_status_quo("beta(6, 4)")
    (1, 0.3, 'beta(6, 4)')
    """
    if text is None:
        return None
    for read in (int, float):
        with contextlib.suppress(ValueError):
            return read(text)
    if "(" not in text:
        raise InvalidInput(
            "--status-quo takes the number of an arm (0, 1, ...), or the mean or the law of a "
            f'reward that is no arm, such as 0.3 or "beta(6, 4)", not {text!r}.'
        )
    return text


def worker_count(workers: int | None) -> int:
    """The number of processes asked for, or one per core."""
    if workers is None:
        return os.cpu_count() or 1
    return whole_number(workers, "--workers", at_least=1)


def check_folder(path: Path | None) -> None:
    """Refuse before an hour of work what could not be written after it."""
    if path is not None and not path.absolute().parent.is_dir():
        raise InvalidInput(f"the folder of {path} does not exist; make it first.")


def say(text: str) -> None:
    """A remark that is not a result."""
    print(text, file=sys.stderr, flush=True)


def announcer(workers: int) -> Callable[[Todo], None]:
    """Says how much there is to do before it starts."""

    def announce(todo: Todo) -> None:
        runs, left = todo.all_runs, todo.runs_left
        if not left:
            say(f"All {runs:,} runs are there already; --again runs them again.")
            return
        kept = f", {runs - left:,} of them there already" if left < runs else ""
        say(
            f"{runs:,} runs{kept}; about {rough_text(todo.seconds(workers))} with {workers} "
            "worker(s)."
        )

    return announce


@contextlib.contextmanager
def working(
    workers: int,
    dask: str | None,
    folder: Path | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> Iterator[RunOptions]:
    """Where and how a command makes its runs; `folder` is where they are kept, if they are.

    What shows how far it is may be given; a bar does without.

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
                "progress": progress or progress_bar(log=True),
                "announce": announcer(workers),
            }
    except KeyboardInterrupt:
        if folder is None:
            raise
        say(
            f"\nlatesum: interrupted. What is done is kept in {folder}: run the same command again "
            "and it goes on from there."
        )
        # At once: chunks that are under way are not worth waiting for.
        sys.stderr.flush()
        os._exit(130)
    except OSError as error:
        if folder is None:
            raise
        what = f"cannot write in {folder}" if error.errno else "the work was broken off"
        raise InvalidInput(
            f"{what}: {error.strerror or error}; what is done is kept, run the same command again "
            "when that is mended."
        ) from None
