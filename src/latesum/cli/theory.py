"""`latesum schedule` and `latesum bounds`."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from latesum import theory
from latesum._checks import InvalidInput
from latesum._render import new_table, terminal
from latesum.cli.compare import read_problem
from latesum.cli.options import Seed
from latesum.experiments.engine import run
from latesum.experiments.spec import RunSpec, knowledge
from latesum.experiments.stats import standard_error
from latesum.policies import ODAAF, PolicySpec, registry
from latesum.policies.schedules import KnownBound, KnownMean, KnownVariance, Naive, Schedule
from latesum.simulation import Problem

#: The policy with attributed feedback: it has Flow's index, and waits for delays in a queue.
_ATTRIBUTED = "qpm-d(base='kl-ucb++')"
_SCHEDULED = ("odaaf", "odaaf-b", "odaaf-v", "odaaf-v-tightened", "naive")


def show_schedule(
    horizon: Annotated[int, typer.Option(help="The number of rounds.")],
    policy: Annotated[str, typer.Option(help=f"One of {', '.join(_SCHEDULED)}.")] = "odaaf",
    mean_delay: Annotated[float | None, typer.Option(help="In rounds, or a bound on it.")] = None,
    delay_bound: Annotated[int | None, typer.Option(help="The largest delay, in rounds.")] = None,
    delay_variance: Annotated[float | None, typer.Option(help="Or a bound on it.")] = None,
    first_tolerance: Annotated[float, typer.Option(help="1/2 in the paper's text.")] = 0.5,
    arms: Annotated[int, typer.Option(help="How many arms there are.")] = 2,
) -> None:
    """The phases of ODAAF and their lengths."""
    if policy not in _SCHEDULED:
        raise InvalidInput(f"{policy!r} has no phases; take one of {', '.join(_SCHEDULED)}.")
    given = {
        "mean_delay": mean_delay,
        "delay_bound": delay_bound,
        "delay_variance": delay_variance,
    }
    accepted = registry.accepted_parameters(policy)
    known = {name: value for name, value in given.items() if value is not None}
    for name in given:
        option = "--" + name.replace("_", "-")
        if name in accepted and name not in known:
            raise InvalidInput(f"{policy} must be given {option}.")
        if name not in accepted and name in known:
            raise InvalidInput(f"{policy} does not use {option}; leave it out.")
    built = registry.build(
        policy, n_arms=arms, horizon=horizon, first_tolerance=first_tolerance, **known
    )
    assert isinstance(built, ODAAF)
    columns = ["phase", "tolerance", "rounds per arm", "new rounds", "bridge", "ends by"]
    columns.append("half-width")
    table = new_table(f"{policy}, {arms} arms, horizon {horizon:,}", columns)
    before = end = 0
    for phase, rounds in enumerate(built.phase_rounds, start=1):
        new, tolerance = rounds - before, first_tolerance / 2 ** (phase - 1)
        bridge = new if built.bridge else 0
        end += arms * new + bridge
        half_width = theory.half_width(built.schedule, phase, tolerance, horizon)
        fits = f"{end:,}" if end <= horizon else "past the horizon"
        counts = [f"{rounds:,}", f"{new:,}", f"{bridge:,}"]
        table.add_row(f"{phase}", f"{tolerance:.4g}", *counts, fits, f"{half_width:.4f}")
        if end > horizon:
            break
        before = rounds
    terminal().print(table)
    print("'Ends by' is the round in which the phase is over if no arm was eliminated before.")


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
    """Regret with attributed feedback, and what visits add to it without."""
    shown = ", ".join(dict.fromkeys(f"{delay.spread:,.4g}" for delay in problem.delays))
    print(
        f"Two delays are {shown} rounds apart on average: a long visit to an arm wastes as many of "
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
        f"({_ATTRIBUTED}, {runs} runs).\nWith what visits waste it is {once:,.4g} if every arm is "
        f"visited once, and {twice:,.4g} if twice: a reference, no bound\n"
        "(docs/research/anonymity.md)."
    )
