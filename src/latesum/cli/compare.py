"""`latesum compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import InvalidInput
from latesum._extras import need
from latesum._terminal import terminal
from latesum.cli.options import progress_bar, read_problem
from latesum.lab import Comparison, compare
from latesum.lab.roster import policy_for, split_list
from latesum.lab.tables import comparison_table


def compare_policies(
    arms: Annotated[str, typer.Option(help="The mean reward of each arm, such as 0.5,0.6.")],
    delay: Annotated[
        str, typer.Option(help='How late rewards come, such as "uniform(0,100)"; by ; per arm.')
    ],
    policies: Annotated[str, typer.Option(help="Names from `latesum policies`, by commas.")],
    horizon: Annotated[int, typer.Option(help="The number of rounds.")],
    replications: Annotated[int, typer.Option(help="How often each policy is run.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 1,
    workers: Annotated[int, typer.Option(help="How many processes to use.")] = 1,
    bucket: Annotated[int, typer.Option(help="Decide only every so many rounds.")] = 1,
    report_lag: Annotated[int, typer.Option(help="Totals are known so many rounds late.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Write a figure here (png, pdf, svg).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all runs here, as Parquet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Run policies on one problem many times and compare their regret."""
    if out:
        need("lab")
    if plot:
        need("plots")
    for path in (plot, out):
        _check_folder(path)
    problem = read_problem(arms, delay)
    roster = {text: policy_for(text, problem, horizon) for text in split_list(policies)}
    with progress_bar("runs") as progress:
        result = compare(
            problem, roster, horizon, replications=replications, seed=seed, workers=workers,
            bucket=bucket, report_lag=report_lag, progress=progress,
        )  # fmt: skip
    if out:
        result.to_parquet(out)
    if plot:
        result.plot(plot)
    if as_json:
        print(json.dumps(_as_dictionary(result), indent=2))
        return
    show_comparison(result)
    for path, what in ((plot, "figure"), (out, "runs")):
        if path:
            print(f"The {what}: {path}")


def show_comparison(result: Comparison) -> None:
    terminal().print(comparison_table(result))


def _as_dictionary(result: Comparison) -> dict[str, object]:
    return {**result.description, "policies": [row._asdict() for row in result.summary()]}


def _check_folder(path: Path | None) -> None:
    """Refuse before an hour of work what could not be written after it."""
    if path is not None and not path.absolute().parent.is_dir():
        raise InvalidInput(f"the folder of {path} does not exist; make it first.")
