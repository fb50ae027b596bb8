"""`latesum bench`: a policy on the benchmark, and `latesum bench verify FILE`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import InvalidInput
from latesum._render import new_table, terminal
from latesum.cli.options import Dask, Workers, worker_count, working

#: On the mean delay that is given, in the track `mean`.
WRONG_FACTORS = (0.5, 2.0)


def bench(
    entry: Annotated[
        str, typer.Argument(help="A policy, such as flow or my_pkg.mine:Mine; or: verify")
    ],
    file: Annotated[Path | None, typer.Argument(help="For verify: the zip of an entry.")] = None,
    track: Annotated[
        str,
        typer.Option(
            help="What is given of the delay: nothing, mean, bound, variance, distribution."
        ),
    ] = "mean",
    suite: Annotated[str | None, typer.Option(help="core-1 or random-1; both without.")] = None,
    out: Annotated[
        Path, typer.Option(help="The folder for runs and report; the work resumes there.")
    ] = Path("bench-results"),
    dev_seed: Annotated[
        int | None, typer.Option(min=0, help="A development seed, in place of the test seed.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs per cell, for a look; the report says so.")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="For verify: how many runs are made again.")
    ] = 50,
    workers: Workers = None,
    dask: Dask = None,
) -> None:
    """Run a policy on the frozen benchmark, with a report to verify.

    Examples: latesum bench flow --suite core-1 --runs 5 --dev-seed 1

    latesum bench my_pkg.mine:Mine --track mean

    latesum bench verify bench-results/entry.zip --sample 50
    """
    if entry == "verify":
        if file is None:
            raise InvalidInput("say which file: latesum bench verify FILE")
        _verify(file, sample)
        return
    if file is not None:
        raise InvalidInput(f"{entry!r} takes no file; did you mean: latesum bench verify {file}")
    from latesum.benchmark import Entry, card, run_entry, write
    from latesum.benchmark import suite as suite_of
    from latesum.benchmark.running import microseconds_per_decision

    read = Entry.read(entry, track)
    names = ["core-1", "random-1"] if suite is None else [suite_of(suite).name]
    if runs is not None and dev_seed is None:
        raise InvalidInput("fewer runs are for development: say --dev-seed 1 as well.")
    count = worker_count(workers)
    wrong = {}
    with working(count, dask, out) as options:
        outcomes = [run_entry(read, name, seed=dev_seed, runs=runs, **options) for name in names]
        if "random-1" in names and track == "mean":
            wrong = {
                factor: run_entry(
                    read, "random-1", seed=dev_seed, factor=factor, runs=runs, **options
                )
                for factor in WRONG_FACTORS
            }
    found = card(
        read,
        outcomes,
        robustness=wrong,
        microseconds=microseconds_per_decision(read),
        development=dev_seed is not None,
    )
    target = write(out, read, found, outcomes)
    rows = new_table(f"{entry}, track {track}", ["suite", "ratio", "95% interval", "stuck runs"])
    for name, part in found["suites"].items():
        stuck = f"{part['stuck']['seen']} of {part['stuck']['runs']:,}"
        score = part.get("score")
        if score is None:
            rows.add_row(name, f"{math.exp(part['ratio']):.2f}", "", stuck)
        else:
            low, high = math.exp(score["low"]), math.exp(score["high"])
            rows.add_row(name, f"{math.exp(score['value']):.2f}", f"{low:.2f} to {high:.2f}", stuck)
    terminal().print(rows)
    print("Ratio: regret divided by the regret with attributed feedback, geometric mean.")
    if found["failures"]:
        print(f"The policy failed in {len(found['failures'])} runs, charged with round robin's.")
    print(f"The report: {out / 'report.html'}")
    print(f"To be verified by others: {target}")


def _verify(file: Path, sample: int) -> None:
    from latesum.benchmark import verify

    made, differing = verify(file, sample)
    for each in differing:
        print(each)
    if differing:
        print(f"Not verified: {made} runs made again.")
        raise typer.Exit(1)
    print(f"Verified: {made} runs made again, all with the same bytes.")
