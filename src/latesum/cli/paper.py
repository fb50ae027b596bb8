"""`latesum paper`: the paper's experiments beside its published curves."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import known_name, whole_number
from latesum._extras import need
from latesum._terminal import new_table, terminal
from latesum.cli.options import progress_bar
from latesum.cli.sweep import Again, Dask, Workers, announce, resumable, say, worker_count


def paper(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Some of 3a, 3b, 5, 6a, 6b; all without.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Far fewer runs: a look, not a comparison.")
    ] = False,
    replications: Annotated[
        int | None, typer.Option(help="So many runs of each policy; as published without.")
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
    """Run the paper's experiments again, beside its published curves, with a report."""
    from latesum.lab.paper import FIGURES, experiment_text, run_paper
    from latesum.lab.paper.report import write_report
    from latesum.lab.paper.verdicts import digits
    from latesum.lab.sweep import Plan, Progress, chosen_runner

    if show is not None:
        print(experiment_text(show), end="")
        return
    chosen = [known_name(figure, FIGURES, "figure of the paper") for figure in figures or FIGURES]
    chosen = sorted(set(chosen), key=FIGURES.index)
    if replications is not None:
        replications = whole_number(replications, "--replications", at_least=1)
    if dask is not None:
        need("cluster")
    count = worker_count(workers)

    def announce_all(plans: list[Plan]) -> None:
        runs, left = sum(p.all_runs for p in plans), sum(p.runs_left for p in plans)
        announce(runs, left, sum(p.seconds(count) for p in plans), count)

    def bar(figure: str) -> AbstractContextManager[Progress]:
        return progress_bar(f"figure {figure}")

    with resumable(out), chosen_runner(count, dask) as runner:
        run = run_paper(
            chosen, out, quick=quick, replications=replications, seed=seed, workers=count,
            runner=runner if dask else None, again=again, announce=announce_all, progress=bar,
        )  # fmt: skip
    say("Drawing and writing the report.")
    written = write_report(run, out, workers=count)
    columns = ["curve", "published", "ours", "± s.e.", "errors apart", "verdict"]
    table = new_table("Where the curves end", columns)
    for row in written.ratios:
        table.add_row(
            f"{row.figure} {row.curve}", digits(row.published, 4), digits(row.ours, 4),
            digits(row.standard_error, 2), f"{row.errors_apart:+.2f}",
            "agrees" if row.holds else "differs",
        )  # fmt: skip
    terminal().print(table)
    holding, jumps = sum(row.holds for row in written.ratios), written.jumps
    print(f"{holding} of {len(written.ratios)} end ratios agree.")
    if jumps:
        good, known = sum(row.holding for row in jumps), sum(len(row.ours) for row in jumps)
        print(f"{good} of {known} jumps are within 0.5% of the published rounds.")
    if quick:
        print("A quick look: with so few runs, agreement says little.")
    print(f"The report: {written.html}")
