"""`latesum sweep`: an experiment of your own, from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from latesum._checks import whole_number
from latesum._extras import has
from latesum._render import new_table, terminal
from latesum.cli.options import Again, Dask, Workers, announcer, worker_count, working
from latesum.experiments.stats import number_text

if TYPE_CHECKING:
    from latesum.experiments.sweeps import SweepResults


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
    """Run a grid of problems and policies from a file; it resumes where it was stopped."""
    from latesum.experiments.engine import todo
    from latesum.experiments.store import RunStore
    from latesum.experiments.sweeps import load, run_sweep

    grid = load(file)
    if replications is not None:
        grid = grid.with_replications(whole_number(replications, "--replications", at_least=1))
    count = worker_count(workers)
    name = grid.experiment.name
    folder = out or Path(f"{name}-results")
    if check:
        with tempfile.TemporaryDirectory() as scratch:
            known = (folder / "store.json").exists()  # otherwise nothing is written there
            store = RunStore(folder if known else scratch)
            announcer(count)(todo(grid.settings, grid.replications, store))
        return
    with working(count, dask, folder, again) as how:
        results = run_sweep(grid, folder, source=file, **how)
    _show(results)
    print(f"The runs: {folder / name / 'runs.parquet'}")
    print(f"The checkpoints: {folder / name / 'checkpoints.parquet'}")
    # A figure where Matplotlib is there; a sweep is worth having without one too.
    if has("plots") and len(results.checkpoints) > 1:
        results.plot(folder / name / "regret.png")
        print(f"The figure: {folder / name / 'regret.png'}")


def _show(results: SweepResults) -> None:
    """One table per problem, one row per policy."""
    columns = ["policy", "runs", "mean", "± s.e.", "median", "95%", "ends on best"]
    asked = results.experiment.ratio
    if asked is not None:
        columns.append(f"over {asked.policy or asked.problem}")
    units = {each.problem_name: each.about.get("unit", "rounds") for each in results.specs}
    for problem in results.problems:
        rows = [row for row in results.summary() if row.problem == problem]
        horizon = int(results[problem, rows[0].policy].checkpoints[-1])
        table = new_table(f"Regret after {horizon:,} {units[problem]}: {problem}", columns)
        for row in rows:
            cells = [
                row.policy,
                f"{row.replications:,}",
                f"{row.mean:,.1f}",
                number_text(row.standard_error),
                f"{row.median:,.1f}",
                f"{row.percentile_95:,.1f}",
                f"{row.ended_on_best:.1%}",
            ]
            if asked is not None:
                ratio = results.ratio(row.problem, row.policy)
                value, error = float(ratio.value[-1]), float(ratio.error[-1])
                cells.append(f"{value:.4g} ± " + ("–" if error != error else f"{error:.2g}"))
            table.add_row(*cells)
        terminal().print(table)
