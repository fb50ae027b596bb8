"""`latesum sweep`: anybody's experiment, from a file."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from latesum._checks import InvalidInput, whole_number
from latesum._extras import need
from latesum._terminal import new_table, terminal
from latesum.cli.options import progress_bar

if TYPE_CHECKING:
    from latesum.lab.results import Results

Workers = Annotated[
    int | None, typer.Option(help="How many processes to use; as many as cores without.")
]
Dask = Annotated[
    str | None, typer.Option(help="Run on the Dask scheduler at this address, or on 'local'.")
]
Again = Annotated[bool, typer.Option("--again", help="Run again what is there already.")]


def sweep(
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML or YAML.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder for results; NAME-results without.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    replications: Annotated[
        int | None, typer.Option(help="So many runs of each, whatever the file says.")
    ] = None,
    again: Again = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file and estimate the time.")
    ] = False,
) -> None:
    """Run a grid of problems and policies from a file; it resumes where it was stopped."""
    from latesum.lab.experiment_file import load
    from latesum.lab.results import Results
    from latesum.lab.store import Store
    from latesum.lab.sweep import chosen_runner, make_runs, plan

    if dask is not None:
        need("cluster")
    experiment = load(file)
    if replications is not None:
        number = whole_number(replications, "--replications", at_least=1)
        experiment = experiment.with_replications(number)
    count = worker_count(workers)
    folder = out or Path(f"{experiment.name}-results")
    if check:
        import tempfile

        with tempfile.TemporaryDirectory() as scratch:
            known = (folder / "store.json").exists()  # else nothing is written there
            planned = plan(experiment, Store(folder if known else scratch))
        announce(planned.all_runs, planned.runs_left, planned.seconds(count), count)
        return
    store = Store(folder)
    planned = plan(experiment, store, again=again)
    store.write_manifest(experiment, planned.cells)
    announce(planned.all_runs, planned.runs_left, planned.seconds(count), count)
    if planned.work:
        with (
            resumable(folder),
            chosen_runner(count, dask) as runner,
            progress_bar(experiment.name) as progress,
        ):
            make_runs(planned, store, runner=runner, progress=progress)
    paths = store.merge(experiment, planned.cells)
    results = Results.read(store, experiment, planned.cells)
    _show(results)
    for what, path in paths.items():
        print(f"The {what}: {path}")
    _draw(results, folder)


def worker_count(workers: int | None) -> int:
    """The number of processes asked for, or one a core."""
    if workers is None:
        return os.cpu_count() or 1
    return whole_number(workers, "--workers", at_least=1)


def announce(runs: int, left: int, seconds: float, workers: int) -> None:
    """Say how much there is to do before it starts."""
    if not left:
        say(f"All {runs:,} runs are there already; --again runs them again.")
        return
    kept = f", {runs - left:,} of them there already" if left < runs else ""
    say(f"{runs:,} runs{kept}; about {duration(seconds)} with {workers} worker(s).")


def say(text: str) -> None:
    """A remark that is not a result."""
    print(text, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A time to read.

    >>> duration(0.4), duration(80), duration(4000)
    ('a second', '80 s', '67 minutes')
    """
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


@contextlib.contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """An interrupt ends with a sentence that says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        say(
            f"\nlatesum: interrupted. What is done is kept in {folder}: run the same command again "
            "and it goes on from there."
        )
        # At once: chunks that are under way are not worth waiting for.
        sys.stderr.flush()
        os._exit(130)
    except OSError as error:
        what = f"cannot write in {folder}" if error.errno else "the work was broken off"
        raise InvalidInput(
            f"{what}: {error.strerror or error}; what is done is kept, run the same command again "
            "when that is mended."
        ) from None


def _show(results: Results) -> None:
    """One table a problem, one row a policy."""
    columns = ["policy", "runs", "mean", "± s.e.", "median", "95%", "ends on best"]
    asked = results.experiment.ratio
    if asked is not None:
        columns.append(f"over {asked.policy or asked.problem}")
    summary = results.summary()
    for problem in results.problems:
        table = new_table(f"Regret after {results.experiment.horizon:,} rounds: {problem}", columns)
        for row in summary:
            if row.problem != problem:
                continue
            cells = [
                row.policy, f"{row.replications:,}", f"{row.mean:,.1f}",
                f"{row.standard_error:,.1f}", f"{row.median:,.1f}", f"{row.percentile_95:,.1f}",
                f"{row.ended_on_best:.1%}",
            ]  # fmt: skip
            if asked is not None:
                ratio = results.ratio(row.problem, row.policy)
                cells.append(f"{ratio.value[-1]:.4g} ± {ratio.error[-1]:.2g}")
            table.add_row(*cells)
        terminal().print(table)


def _draw(results: Results, folder: Path) -> None:
    """A figure where Matplotlib is there; a sweep is worth having without one too."""
    import importlib.util

    if importlib.util.find_spec("matplotlib") is None:
        return
    from latesum.lab.paper import drawing

    target = folder / results.experiment.name
    if len(results.checkpoints) > 1:
        drawing.write(drawing.regret_figure(results), target, "regret")
        print(f"The figure: {target / 'regret.png'}")
