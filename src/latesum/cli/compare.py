"""`latesum compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, get_args

import typer

from latesum._checks import InvalidInput, known_name
from latesum._extras import need
from latesum._plugins import read_call, split_list
from latesum._render import terminal
from latesum.cli.options import (
    Dask,
    Kept,
    Seed,
    check_folder,
    read_problem,
    read_status_quo,
    working,
)
from latesum.experiments import compare
from latesum.experiments.spec import Order
from latesum.simulation import Problem
from latesum.simulation.market import Market, market_of


def compare_policies(
    policies: Annotated[
        str, typer.Option(help="Names from `latesum policies`, or package.module:Class, by commas.")
    ],
    horizon: Annotated[int, typer.Option(help="The number of rounds, or of a market's buckets.")],
    arms: Annotated[
        str | None,
        typer.Option(help='The mean reward of each arm, such as 0.5,0.6; or "beta(6, 4)".'),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(help='How late rewards come, such as "uniform(0,100)"; by ; per arm.'),
    ] = None,
    market: Annotated[
        str | None,
        typer.Option(
            help='In place of --arms and --delay: a market, such as "regions=4, sales=600"; then '
            "also switchback, half-time-test, quarter-time-test, geo-test and equal-split play."
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="How often each policy is run.")] = 100,
    seed: Seed = 1,
    workers: Annotated[int, typer.Option(help="The number of processes.")] = 1,
    dask: Dask = None,
    bucket: Annotated[
        int, typer.Option(help="Decide only at the ends of buckets of this many rounds.")
    ] = 1,
    report_lag: Annotated[
        int, typer.Option(help="The number of rounds after which totals are known.")
    ] = 0,
    status_quo: Annotated[
        str | None,
        typer.Option(
            help="What ran until the start: an arm (0, 1, ...), or another reward's mean."
        ),
    ] = None,
    history: Annotated[
        int, typer.Option(help="For this many rounds before the start its totals are known.")
    ] = 0,
    order: Annotated[
        str, typer.Option(help="The arms as 'listed', or in an order 'drawn' in every run.")
    ] = "listed",
    measure: Annotated[
        list[str] | None, typer.Option(help="Keep this of every run too, such as stuck.")
    ] = None,
    store: Kept = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure here (png, pdf, svg).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all runs here, as Parquet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Run policies on one problem many times and compare their regret."""
    if out:
        need("experiments")
    if plot:
        need("plots")
    for path in (plot, out):
        check_folder(path)
    problem = _problem(arms, delay, market)
    with working(workers, dask, store) as how:
        result = compare(
            problem,
            split_list(policies),
            horizon,
            replications=replications,
            seed=seed,
            bucket=bucket,
            report_lag=report_lag,
            status_quo=read_status_quo(status_quo),
            history=history,
            order=read_order(order),
            measures=measure or (),
            **how,
        )
    if out:
        result.to_parquet(out)
    if plot:
        result.plot(plot)
    if as_json:
        print(json.dumps(result.to_json(), indent=2))
        return
    terminal().print(result.table())
    for path, what in ((plot, "figure"), (out, "runs")):
        if path:
            print(f"The {what}: {path}")


def _problem(arms: str | None, delay: str | None, market: str | None) -> Problem | Market:
    if market is not None:
        if arms is not None or delay is not None:
            raise InvalidInput(
                "a market has options and delays of its own: leave --arms and --delay out."
            )
        return market_of(read_call(f"market({market})", "market")[1])
    if arms is None or delay is None:
        raise InvalidInput("say what is played: --arms and --delay, or --market.")
    return read_problem(arms, delay)


def read_order(text: str) -> Order:
    """The order of the arms: listed or drawn."""
    known_name(text, get_args(Order), "order of the arms")
    return "drawn" if text == "drawn" else "listed"
