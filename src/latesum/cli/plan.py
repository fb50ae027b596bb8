"""`latesum plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from latesum._extras import require
from latesum._plugins import split_list
from latesum._progress import progress_bar
from latesum._render import terminal
from latesum.cli.options import (
    FILE_OPTIONS,
    AsJson,
    Seed,
    Workers,
    check_folder,
    take_form,
    with_options,
)


def _known(kind: Any, help: str, *names: str) -> Any:
    return Annotated[kind | None, typer.Option(*names, help=help, rich_help_panel="What is known")]


#: The words of a plan (`latesum.planning.PlanWords`) as options.
_WORDS = {
    "traffic": _known(str, 'Decisions, such as "5000 per day"; not with a file of days.'),
    "rate": _known(str, "Today's conversion rate, such as 3% or 0.03."),
    "mean": _known(float, "Or today's mean reward."),
    "low": _known(float, "The smallest single reward; 0 by default."),
    "high": _known(float, "The largest single reward."),
    "sd": _known(float, "The sd of a single reward."),
    "history": _known(
        str,
        "A file of days with date and total, and region and rounds, in place of traffic and rate. "
        'Or how long today\'s totals are known: "4 weeks".',
    ),
    "regions": _known(int, "In how many regions options differ; by default those of the file."),
    "status_quo": _known(str, "The status quo: option (one of the options) or other."),
    "bucket": _known(str, "Totals are reported by hour, day (the default) or week."),
    "switch_cost": _known(float, "The cost of a switch, in rewards."),
    "delay_unit": _known(str, "The unit of time of a file of delays."),
    "equal_delays": _known(bool, "All options are surely equally late.", "--equal-delays"),
}


def _plan(
    options: Annotated[int, typer.Option(help="How many options there are.")],
    lift: Annotated[str, typer.Option(help='Smallest lift worth having: "10%", "0.2 points".')],
    late: Annotated[
        str,
        typer.Option(
            help='How late rewards come: "2 days", "up to 10 days", "half within 2 hours, 95% '
            'within 3 days", "exponential(2 days)", or a CSV or Parquet file.'
        ),
    ],
    run_for: Annotated[str, typer.Option(help='How long you are willing to run: "12 weeks".')],
    finds_best: Annotated[
        float, typer.Option(help="A go finds the best option in at least this share of runs.")
    ] = 0.8,
    quick: Annotated[bool, typer.Option(help="Leave the sensitivity analysis out.")] = False,
    replications: Annotated[
        int | None,
        typer.Option(help="The runs of each policy at most: 200, or 80 with a file of days."),
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="What is tried: candidates, policies, package.module:Class.")
    ] = None,
    seed: Seed = 1,
    workers: Workers = None,
    out: Annotated[list[Path] | None, typer.Option(help="Write it here (.html, .json).")] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Will it work, for how long, with which policy?

    It is found by simulation.

    Example: latesum plan --options 3 --rate 3% --lift 15% --traffic "6000 per day" --late "2 days"
    --run-for "10 weeks"
    """
    from latesum import planning
    from latesum.planning.report import is_html

    for path in out or []:  # before the simulation, not after it
        check_folder(path)
        if is_html(path):
            require("jinja2", "experiments")
    given |= {"form": take_form(given), "workers": workers}
    found = planning.plan(
        options=options,
        lift=lift,
        late=late,
        run_for=run_for,
        finds_best=finds_best,
        policies=None if policies is None else split_list(policies),
        sensitivity=not quick,
        replications=replications,
        seed=seed,
        progress=progress_bar(log=True),
        **{name: value for name, value in given.items() if value is not None},
    )
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        print(found.to_text(terminal().width))
    for path in out or []:
        found.save(path)
        if not as_json:
            print(f"The plan: {path}")


plan = with_options(_plan, {**_WORDS, **FILE_OPTIONS})
