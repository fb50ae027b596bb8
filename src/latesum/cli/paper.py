"""`latesum paper`: the paper's experiments again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import known_name
from latesum._render import new_table, terminal
from latesum.cli.options import Again, Dask, Workers, say, worker_count, working


def paper(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Some of 3a, 3b, 5, 6a, 6b; all without.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Far fewer runs: a look, not a comparison.")
    ] = False,
    replications: Annotated[
        int | None, typer.Option(min=1, help="This many runs of each policy; as published without.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Another seed than the files have.")
    ] = None,
    workers: Workers = None,
    out: Annotated[Path, typer.Option(help="The folder for everything.")] = Path("paper-results"),
    dask: Dask = None,
    again: Again = False,
    show: Annotated[
        str | None, typer.Option(help="Print the experiment file of this figure and stop.")
    ] = None,
) -> None:
    """The paper's experiments, beside its published curves: a report."""
    from latesum.experiments.paper import FIGURES, experiment_text, run_paper
    from latesum.experiments.paper.report import write_report
    from latesum.experiments.paper.verdicts import agreement
    from latesum.experiments.store import write_summary

    if show is not None:
        print(experiment_text(show), end="")
        return
    chosen = [known_name(figure, FIGURES, "figure of the paper") for figure in figures or FIGURES]
    chosen = sorted(set(chosen), key=FIGURES.index)
    count = worker_count(workers)
    with working(count, dask, out, again) as how:
        run = run_paper(chosen, out, quick=quick, replications=replications, seed=seed, **how)
    say("Drawing and writing the report.")
    ratios, jumps = write_report(run, workers=count)
    rows = (
        row._asdict() | {"errors_apart": row.errors_apart, "verdict": row.verdict} for row in ratios
    )
    csv = write_summary(run.folder / "ratios.csv", rows)
    columns = ["curve", "published", "ours", "± s.e.", "errors apart", "verdict"]
    table = new_table("Where the curves end", columns)
    for row in ratios:
        table.add_row(*row.cells)
    terminal().print(table)
    print(agreement(ratios))
    if jumps:
        good, known = sum(row.holding for row in jumps), sum(len(row.ours) for row in jumps)
        print(f"{good} of {known} jumps are within 0.5% of the published rounds.")
    print(f"The report: {run.folder / 'report.html'}; its end ratios: {csv}")
