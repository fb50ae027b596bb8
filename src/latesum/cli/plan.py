"""`latesum plan`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from latesum._call_text import split_list
from latesum._checks import InvalidInput
from latesum._extras import require
from latesum.cli.options import Dask, Kept, Seed, Workers, check_folder, worker_count, working


def plan_campaign(
    options: Annotated[int, typer.Option(help="How many options there are.")],
    lift: Annotated[str, typer.Option(help='Smallest lift worth having: "10%", "0.2 points".')],
    traffic: Annotated[str, typer.Option(help='Decisions, such as "5000 per day".')],
    late: Annotated[
        str,
        typer.Option(
            help='How late rewards come: "2 days", "half within 2 hours, 95% within 3 days", '
            '"exponential(2 days)", or a CSV or Parquet file.'
        ),
    ],
    run_for: Annotated[str, typer.Option(help='How long you are willing to run: "12 weeks".')],
    rate: Annotated[float | None, typer.Option(help="Today's conversion rate.")] = None,
    mean: Annotated[float | None, typer.Option(help="Or today's mean reward.")] = None,
    low: Annotated[float, typer.Option(help="The smallest single reward.")] = 0.0,
    high: Annotated[float | None, typer.Option(help="The largest single reward.")] = None,
    sd: Annotated[float | None, typer.Option(help="The sd of a single reward.")] = None,
    bucket: Annotated[str, typer.Option(help="Totals are reported by hour, day or week.")] = "day",
    switch_cost: Annotated[float, typer.Option(help="The cost of a switch, in rewards.")] = 0.0,
    delay_unit: Annotated[str | None, typer.Option(help="The unit of time of a file.")] = None,
    status_quo: Annotated[
        str | None, typer.Option(help="What runs today and still pays later: option or other.")
    ] = None,
    history: Annotated[
        str | None, typer.Option(help='How long its totals are known: "4 weeks".')
    ] = None,
    ends_right: Annotated[float, typer.Option(help="A go ends right so often at least.")] = 0.8,
    percentile: Annotated[float, typer.Option(help="And gains even at this percentile.")] = 0.05,
    longer: Annotated[
        float, typer.Option(help='How many times as long a "go, but" may run.')
    ] = 2.0,
    replications: Annotated[int, typer.Option(help="How often each policy is run.")] = 1000,
    policies: Annotated[
        str | None, typer.Option(help="What is tried: candidates, policies, package.module:Class.")
    ] = None,
    seed: Seed = 1,
    workers: Workers = None,
    dask: Dask = None,
    store: Kept = None,
    quick: Annotated[
        bool, typer.Option(help="Do not try what happens if beliefs are wrong.")
    ] = False,
    out: Annotated[list[Path] | None, typer.Option(help="Write it here (.html, .json).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not text.")] = False,
) -> None:
    """Will it work, how long will it take, which policy: answered by simulating your campaign."""
    from latesum.planning import plan

    for path in out or []:
        check_folder(path)
        if path.suffix.lower() not in (".html", ".htm", ".json"):
            raise InvalidInput(f"a plan is written as .html or .json, not {path.name!r}.")
        if path.suffix.lower() != ".json":
            require("jinja2", "lab")
        try:  # before the simulation, not after it
            tempfile.TemporaryFile(dir=path.absolute().parent).close()
        except OSError as error:
            raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from None
    with working(worker_count(workers), dask, store) as how:
        how["announce"] = None
        found = plan(
            options=options, lift=lift, traffic=traffic, late=late, run_for=run_for, rate=rate,
            mean=mean, low=low, high=high, sd=sd, bucket=bucket, switch_cost=switch_cost,
            delay_unit=delay_unit, status_quo=status_quo, history=history, ended_well=ends_right,
            percentile=percentile, longer=longer,
            policies=None if policies is None else split_list(policies),
            check_beliefs=not quick, replications=replications, seed=seed, **how,
        )  # fmt: skip
    for path in out or []:
        found.save(path)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
        return
    print(found)
    for path in out or []:
        print(f"The plan: {path}")
