"""`latesum plan`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum._plugins import split_list
from latesum._render import terminal
from latesum.cli.file_options import (
    Columns,
    DateFormat,
    Decimal,
    PresetName,
    Sheet,
    SkipLines,
    Thousands,
)
from latesum.cli.live_answer import live_answer
from latesum.cli.options import Dask, Kept, Seed, Workers, check_folder, worker_count, working

if TYPE_CHECKING:
    from latesum.files import FileForm
    from latesum.planning import Plan


def plan_campaign(
    options: Annotated[int, typer.Option(help="How many options there are.")],
    lift: Annotated[str, typer.Option(help='Smallest lift worth having: "10%", "0.2 points".')],
    late: Annotated[
        str,
        typer.Option(
            help='How late rewards come: "2 days", "up to 10 days", "half within 2 hours, 95% within 3 '
            'days", "exponential(2 days)", or a CSV or Parquet file.'
        ),
    ],
    run_for: Annotated[str, typer.Option(help='How long you are willing to run: "12 weeks".')],
    traffic: Annotated[
        str | None, typer.Option(help='Decisions, such as "5000 per day"; not with --regions.')
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="Today's conversion rate, such as 3% or 0.03.")
    ] = None,
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
        str | None,
        typer.Option(
            help='How long its totals are known: "4 weeks"; with --regions, a file of them.'
        ),
    ] = None,
    nonstationary: Annotated[
        bool,
        typer.Option(
            "--nonstationary", help="The best option and another one change places during the run."
        ),
    ] = False,
    regions: Annotated[
        int | None,
        typer.Option(help="The number of regions; each has its own totals: see --history."),
    ] = None,
    preset: PresetName = None,
    columns: Columns = None,
    date_format: DateFormat = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    skip_lines: SkipLines = None,
    sheet: Sheet = None,
    finds_best: Annotated[
        float, typer.Option(help="A go finds the best option in at least this share of runs.")
    ] = 0.8,
    percentile: Annotated[float, typer.Option(help="And gains even at this percentile.")] = 0.05,
    longer: Annotated[
        float, typer.Option(help="How many times as long a conditional go may run.")
    ] = 2.0,
    replications: Annotated[
        int | None, typer.Option(help="The runs of each policy at most: 1000, with --regions 100.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="What is tried: candidates, policies, package.module:Class.")
    ] = None,
    seed: Seed = 1,
    workers: Workers = None,
    dask: Dask = None,
    store: Kept = None,
    quick: Annotated[bool, typer.Option(help="Leave the sensitivity analysis out.")] = False,
    out: Annotated[list[Path] | None, typer.Option(help="Write it here (.html, .json).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not text.")] = False,
) -> None:
    """Will it work, how long will it take, which policy: answered by simulating your campaign."""
    from latesum.files import FileForm
    from latesum.files.form import read_columns
    from latesum.planning import Thresholds, plan

    thresholds = Thresholds(finds_best, percentile, longer)
    for path in out or []:
        _check_writable(path)
    form = FileForm(
        columns=read_columns(columns),
        date_format=date_format,
        decimal=decimal,
        thousands=thousands,
        skip_lines=skip_lines,
        sheet=sheet,
        preset=preset,
    ).after(FileForm())
    if regions is None and not form.says_nothing:
        raise InvalidInput(
            "how a file is written is said of the file of --history, with --regions."
        )
    if regions is not None:
        given = {
            "--traffic": traffic,
            "--rate": rate,
            "--mean": mean,
            "--high": high,
            "--sd": sd,
            "--low": low or None,
            "--switch-cost": switch_cost or None,
            "--delay-unit": delay_unit,
            "--status-quo": status_quo,
            "--policies": policies,
            "--bucket": None if bucket == "day" else bucket,
            "--nonstationary": nonstationary or None,
        }
        if unused := [name for name, value in given.items() if value is not None]:
            raise InvalidInput(
                "with --regions, what is true of the market is in --history: leave "
                f"{', '.join(unused)} out."
            )
        with working(worker_count(workers), dask, store) as how:
            how["announce"] = None
            found = _plan_regions(
                regions,
                history,
                form,
                lift,
                late,
                run_for,
                options=options,
                thresholds=thresholds,
                sensitivity=not quick,
                replications=replications or 100,
                seed=seed,
                **how,
            )
    elif traffic is None:
        raise InvalidInput(
            'say --traffic, such as "5000 per day"; or --regions with --history FILE.'
        )
    else:
        with (
            live_answer() as (progress, on_interim),
            working(worker_count(workers), dask, store, progress=progress) as how,
        ):
            how["announce"] = None
            found = plan(
                options=options,
                lift=lift,
                traffic=traffic,
                late=late,
                run_for=run_for,
                rate=rate,
                mean=mean,
                low=low,
                high=high,
                sd=sd,
                bucket=bucket,
                switch_cost=switch_cost,
                delay_unit=delay_unit,
                status_quo=status_quo,
                history=history,
                nonstationary=nonstationary,
                thresholds=thresholds,
                policies=None if policies is None else split_list(policies),
                sensitivity=not quick,
                replications=replications or 1000,
                seed=seed,
                on_interim=on_interim,
                **how,
            )
    for path in out or []:
        found.save(path)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
        return
    print(found.to_text(terminal().width))
    for path in out or []:
        print(f"The plan: {path}")


def _check_writable(path: Path) -> None:
    """Refuse before the simulation, not after it."""
    check_folder(path)
    if path.suffix.lower() not in (".html", ".htm", ".json"):
        raise InvalidInput(f"a plan is written as .html or .json, not {path.name!r}.")
    if path.suffix.lower() != ".json":
        require("jinja2", "experiments")
    try:
        tempfile.TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from None


def _plan_regions(
    regions: int,
    history: str | None,
    form: FileForm,
    lift: str,
    late: str,
    run_for: str,
    **more: Any,
) -> Plan:
    from latesum.planning import given_delay, plan_regions, read_history
    from latesum.planning.words import read_duration, read_lift

    if history is None or not Path(history).is_file():
        raise InvalidInput(
            "--regions needs --history FILE: rows before the start with date, region, rounds and "
            "total."
        )
    if not lift.strip().endswith("%"):
        raise InvalidInput(f'with --regions the lift is a share, such as "10%", not {lift!r}.')
    return plan_regions(
        read_history(Path(history), form),
        regions=regions,
        lift=read_lift(lift, 1.0),
        days=round(read_duration(run_for, "the run") / 24),
        late=given_delay(late),
        **more,
    )
