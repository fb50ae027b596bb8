"""`latesum bounds`."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from latesum import theory
from latesum._render import new_table, terminal
from latesum.cli.compare import read_problem
from latesum.cli.options import Seed
from latesum.experiments.engine import run
from latesum.experiments.spec import RunSpec, knowledge
from latesum.experiments.stats import standard_error
from latesum.policies import PolicySpec
from latesum.policies.schedules import KnownBound, KnownMean, KnownVariance, Naive, Schedule
from latesum.simulation import Problem

#: The policy with attributed feedback: it has Flow's index, and waits for delays in a queue.
_ATTRIBUTED = "qpm-d(base='kl-ucb++')"


def show_bounds(
    arms: Annotated[str, typer.Option(help="The mean reward of each arm, such as 0.5,0.6.")],
    delay: Annotated[str, typer.Option(help='How late rewards come, such as "uniform(0,100)".')],
    horizon: Annotated[int, typer.Option(help="The number of rounds.")],
    attributed_runs: Annotated[
        int,
        typer.Option(
            min=0, help="The runs of QPM-D for the limit with attributed feedback; 0: no limit."
        ),
    ] = 100,
    seed: Seed = 1,
) -> None:
    """What theory says of a problem: regret bounds, and references."""
    problem = read_problem(arms, delay)
    known = knowledge(problem, horizon)
    schedules: dict[str, Schedule] = {"odaaf": KnownMean(known["mean_delay"])}
    if known["delay_bound"] is not None:
        schedules["odaaf-b"] = KnownBound(known["mean_delay"], known["delay_bound"])
    if math.isfinite(known["delay_variance"]):
        both = known["mean_delay"], known["delay_variance"]
        schedules["odaaf-v"] = KnownVariance(*both)
        if known["mean_delay"] >= 1:
            schedules["odaaf-v-tightened"] = KnownVariance(*both, tightened=True)
    if known["delay_bound"] is not None:
        schedules["naive"] = Naive(known["delay_bound"])
    columns = ["regret at most", "as printed", "as corrected", "worst case over gaps"]
    table = new_table(f"{problem!r}, horizon {horizon:,}", columns)
    gaps = [gap for gap in problem.gaps if gap > 0]
    for name, schedule in schedules.items():
        table.add_row(
            name,
            f"{theory.regret_bound(schedule, gaps, horizon, corrected=False):,.0f}",
            f"{theory.regret_bound(schedule, gaps, horizon):,.0f}",
            f"{theory.worst_case_regret(schedule, problem.n_arms, horizon):,.0f}",
        )
    terminal().print(table)
    print("'As corrected' is never more than the gap in every round, which is always a bound.")
    lower = theory.lai_robbins(problem.means, horizon)
    print(
        f"As the horizon grows, no policy can do much better than {lower:,.1f} (Lai and Robbins): "
        "an asymptotic\nbound. At this horizon a policy may lose less."
    )
    _print_limit(problem, horizon, attributed_runs, seed)


def _print_limit(problem: Problem, horizon: int, runs: int, seed: int) -> None:
    """Regret with attributed feedback, and what blocks add to it without."""
    shown = ", ".join(dict.fromkeys(f"{delay.spread:,.4g}" for delay in problem.delays))
    print(
        f"Two delays are {shown} rounds apart on average: a long block of an arm wastes as many of "
        "its plays,\nsince rewards are anonymous."
    )
    if runs == 0:
        return
    policy = PolicySpec.parse(_ATTRIBUTED)
    spec = RunSpec(problem, policy, horizon, seed=seed, measures=("regret",))
    final = run([spec], runs).regrets[:, -1]
    error = float(standard_error(final))
    attributed = float(final.mean())
    once, twice = (
        theory.limit_with_visits(attributed, problem.means, problem.delays, visits)
        for visits in (1, 2)
    )
    print(
        f"With attributed feedback a policy loses {attributed:,.4g} ± {error:.2g} "
        f"({_ATTRIBUTED}, {runs} runs).\nWith what blocks waste it is {once:,.4g} if every arm has "
        f"one, and {twice:,.4g} if two: a reference, no bound\n"
        "(docs/research/anonymity.md)."
    )
