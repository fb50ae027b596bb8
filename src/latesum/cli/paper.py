"""`latesum paper`: the paper's experiments again; `latesum demo`: its problem in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from latesum._checks import known_name, whole_number
from latesum._extras import figure_class, save
from latesum._render import new_table, terminal
from latesum.cli.options import Again, Dask, Workers, say, worker_count, working
from latesum.experiments import Results, compare
from latesum.experiments.results import COLORS
from latesum.policies import registry
from latesum.simulation import Problem

HORIZON = 250_000
#: QPM-D with the index of Flow and Unmix: a reference with attributed feedback.
SAME_INDEX = "qpm-d(base='kl-ucb++')"
#: The policies of the headline figure and their labels there.
HEADLINE = {
    "odaaf-v": "ODAAF-V",
    "odaaf": "ODAAF",
    "odaaf-b": "ODAAF-B",
    "flow": "Flow",
    "unmix": "Unmix",
    "qpm-d": "QPM-D with UCB1,\n  attributed feedback",
    SAME_INDEX: "QPM-D with KL-UCB++,\n  attributed feedback",
}


def paper(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Some of 3a, 3b, 5, 6a, 6b; all without.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Far fewer runs: a look, not a comparison.")
    ] = False,
    replications: Annotated[
        int | None, typer.Option(help="This many runs of each policy; as published without.")
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
    if replications is not None:
        replications = whole_number(replications, "--replications", at_least=1)
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


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the figures.")] = Path("demo-output"),
    replications: Annotated[int, typer.Option(help="How often each policy is run.")] = 100,
) -> None:
    """The paper's problem with every policy: a table and figures."""
    from latesum.experiments.paper import quick_figure

    out.mkdir(parents=True, exist_ok=True)
    problem = Problem([0.5, 0.6], "uniform(0, 100)")
    # Improved UCB is for undelayed rewards only.
    names = [name for name in registry.available(None) if name != "improved-ucb"]
    policies = [*names, SAME_INDEX]
    with working(2, None) as how:
        result = compare(problem, policies, HORIZON, replications=replications, seed=1, **how)
    terminal().print(result.table())
    headline = out / "regret.png"
    _plot_headline(result, repr(problem), headline)
    print(f"Regret over rounds, with quantiles: {headline}")
    print("Now figure 3a of the paper, with fewer runs than published ...", flush=True)
    print(f"Figure 3a, ours over the published: {quick_figure('3a', out / 'figure-3a')}")


def _plot_headline(results: Results, title: str, path: Path) -> None:
    """Median regret over rounds with bands from the 5th to the 95th percentile, a log axis."""
    figure = figure_class()(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", xlabel="rounds", ylabel="regret: median, 5th to 95th percentile")
    axes.set_title(title, fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    rounds = results.checkpoints
    for color, (policy, label) in zip(COLORS, HEADLINE.items(), strict=False):
        one = results[policy]
        low, median, high = np.quantile(one.regrets, (0.05, 0.5, 0.95), axis=0)
        line = ":" if one.specs[0].attributed else "-"
        axes.plot(rounds, median, color=color, linestyle=line)
        axes.fill_between(rounds, low, high, color=color, alpha=0.2, linewidth=0)
        text, end = f"  {label}: {median[-1]:,.0f}", (rounds[-1], median[-1])
        axes.annotate(text, end, color=color, va="center", fontsize=8)
    axes.set_yscale("log")
    axes.set_xlim(100, rounds[-1])
    axes.set_ylim(bottom=5)
    save(figure, path)
