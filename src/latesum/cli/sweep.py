"""`latesum sweep`: an experiment of your own, from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import whole_number
from latesum._extras import has
from latesum._render import terminal
from latesum.cli.options import Again, Dask, Workers, announcer, worker_count, working


def sweep(
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder for results; NAME-results without.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    replications: Annotated[
        int | None, typer.Option(help="This many runs of each, whatever the file says.")
    ] = None,
    again: Again = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file and estimate the time.")
    ] = False,
) -> None:
    """Run a grid of problems and policies from a file; it can resume."""
    from latesum.experiments.engine import todo
    from latesum.experiments.store import RunStore
    from latesum.experiments.sweep import expand, load, run_sweep

    experiment = load(file)
    if replications is not None:
        number = whole_number(replications, "--replications", at_least=1)
        experiment = experiment.with_replications(number)
    count = worker_count(workers)
    folder = out or Path(f"{experiment.name}-results")
    if check:
        with tempfile.TemporaryDirectory() as scratch:
            known = (folder / "store.json").exists()  # otherwise nothing is written there
            store = RunStore(folder if known else scratch)
            announcer(count)(todo(*expand(experiment), store))
        return
    with working(count, dask, folder, again) as how:
        results = run_sweep(experiment, folder, source=file, **how)
    terminal().print(results.table())
    tables = folder / experiment.name
    print(f"The runs: {tables / 'runs.parquet'}")
    print(f"The checkpoints: {tables / 'checkpoints.parquet'}")
    # A figure where Matplotlib is there; a sweep is worth having without one too.
    if has("plots") and len(results.checkpoints) > 1:
        results.plot(tables / "regret.png")
        print(f"The figure: {tables / 'regret.png'}")
