"""`latesum demo`: the main job in a minute, with a table and two figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latesum._render import terminal
from latesum.cli.options import working
from latesum.experiments import compare
from latesum.experiments.figures import plot_headline
from latesum.policies import registry
from latesum.simulation import Problem

HORIZON = 250_000
#: QPM-D with the index of Flow and Unmix: what they could do at best if they had attributed feedback.
SAME_INDEX = "qpm-d(base='kl-ucb++')"
#: The policies of the headline figure and their labels there.
HEADLINE = {
    "odaaf-v": "ODAAF-V",
    "odaaf": "ODAAF",
    "odaaf-b": "ODAAF-B",
    "flow": "Flow",
    "unmix": "Unmix",
    "qpm-d": "QPM-D with UCB1,\nattributed feedback",
    SAME_INDEX: "QPM-D with their index,\nattributed feedback",
}


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the figures.")] = Path("demo-output"),
    replications: Annotated[int, typer.Option(help="How often each policy is run.")] = 100,
) -> None:
    """The paper's problem with every policy: a table here, figures in a folder."""
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
    plot_headline(result.curves, repr(problem), HEADLINE, headline)
    print(f"Regret over rounds, with quantiles: {headline}")
    print("Now figure 3a of the paper, with fewer runs than published ...", flush=True)
    print(f"Figure 3a, ours over the published: {quick_figure('3a', out / 'figure-3a')}")
