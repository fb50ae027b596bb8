"""`latesum compare`, `latesum sweep` and `latesum warm-up`: runs of policies on problems."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from latesum import experiments
from latesum._checks import InvalidInput
from latesum._extras import has, need
from latesum._plugins import split_list
from latesum._render import terminal
from latesum.cli.options import (
    Again,
    AsJson,
    Dask,
    Seed,
    Workers,
    announce_runs,
    check_folder,
    worker_count,
    working,
)
from latesum.simulation import Problem


def compare(
    policies: Annotated[
        str, typer.Option(help="Names from `latesum policies`, or package.module:Class, by commas.")
    ],
    horizon: Annotated[int, typer.Option(help="The number of rounds.")],
    arms: Annotated[
        str, typer.Option(help='The mean reward of each arm: 0.5,0.6; or "beta(6, 4)".')
    ],
    delay: Annotated[
        str, typer.Option(help='How late rewards come, such as "uniform(0,100)"; by ; per arm.')
    ],
    replications: Annotated[int, typer.Option(help="How often each policy is run.")] = 100,
    seed: Seed = 1,
    workers: Annotated[int, typer.Option(help="The number of processes.")] = 1,
    dask: Dask = None,
    bucket: Annotated[int, typer.Option(help="Decide at the ends of buckets of this size.")] = 1,
    status_quo: Annotated[
        str | None, typer.Option(help="Shown until the start: an arm (0, 1, ...), or a mean.")
    ] = None,
    history: Annotated[int, typer.Option(help="Rounds before the start with known totals.")] = 0,
    measure: Annotated[
        list[str] | None, typer.Option(help="Keep this of every run too, such as stuck.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Keep the runs in this folder, and go on from those there.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure here (png, pdf, svg).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all runs here, as Parquet.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run policies on one problem many times and compare their regret."""
    if out:
        need("experiments")
    if plot:
        need("plots")
    for path in (plot, out):
        check_folder(path)
    with working(workers, dask, store) as how:
        result = experiments.compare(
            read_problem(arms, delay),
            split_list(policies),
            horizon,
            replications=replications,
            seed=seed,
            bucket=bucket,
            status_quo=read_status_quo(status_quo),
            history=history,
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


def read_problem(arms: str, delay: str) -> Problem:
    """The problem written as a list of means and a delay, or one delay for each arm by ';'."""
    means: list[float | str] = []
    for text in split_list(arms):
        try:
            means.append(float(text))
        except ValueError:
            if "(" not in text:
                raise InvalidInput(
                    f'--arms takes means between 0 and 1, or rewards such as "beta(6, 4)", '
                    f"not {text!r}."
                ) from None
            means.append(text)
    delays = [part.strip() for part in delay.split(";")]
    return Problem(means, delays[0] if len(delays) == 1 else delays)


def read_status_quo(text: str | None) -> int | float | str | None:
    """The status quo: the number of an arm, or the mean or the law of another reward.

    >>> read_status_quo("1"), read_status_quo("0.3"), read_status_quo("beta(6, 4)")
    (1, 0.3, 'beta(6, 4)')
    """
    if text is None:
        return None
    for read in (int, float):
        with contextlib.suppress(ValueError):
            return read(text)
    if "(" not in text:
        raise InvalidInput(
            "--status-quo takes the number of an arm (0, 1, ...), or the mean or the law of a "
            f'reward that is no arm, such as 0.3 or "beta(6, 4)", not {text!r}.'
        )
    return text


def sweep(
    file: Annotated[Path, typer.Argument(help="The experiment, in TOML.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder for results; NAME-results without.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    replications: Annotated[
        int | None, typer.Option(min=1, help="This many runs of each, whatever the file says.")
    ] = None,
    again: Again = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file and count the runs.")
    ] = False,
) -> None:
    """Run a grid of problems and policies from a file; it can resume."""
    from latesum.experiments.engine import missing_chunks
    from latesum.experiments.store import RunStore
    from latesum.experiments.sweep import expand, load, run_sweep

    experiment = load(file)
    if replications is not None:
        experiment = experiment.with_replications(replications)
    folder = out or Path(f"{experiment.name}-results")
    if check:
        store = RunStore(folder) if (folder / "store.json").exists() else None
        specs, counts = expand(experiment)
        chunks = missing_chunks(specs, counts, store)
        announce_runs(sum(end - first for _, first, end in chunks), sum(counts))
        return
    with working(worker_count(workers), dask, folder, again) as how:
        results = run_sweep(experiment, folder, source=file, **how)
    terminal().print(results.table())
    tables = folder / experiment.name
    print(f"The runs: {tables / 'runs.parquet'}")
    print(f"The checkpoints: {tables / 'checkpoints.parquet'}")
    # A figure where Matplotlib is there; a sweep is worth having without one too.
    if has("plots") and len(results.checkpoints) > 1:
        results.plot(tables / "regret.png")
        print(f"The figure: {tables / 'regret.png'}")


def warm_up(workers: Workers = None) -> None:
    """Compile all kernels now, so that nothing waits for it later."""
    from latesum._compile import cache_folder
    from latesum.experiments.warm_up import warm_up

    started = time.perf_counter()
    compiled, _ = warm_up(worker_count(workers))
    where = cache_folder() or "nowhere, since no folder can be written"
    if compiled:
        seconds = time.perf_counter() - started
        print(f"{compiled} kernels compiled in {seconds:.0f} s and kept in {where}.")
    else:
        print(f"All kernels were there already, in {where}.")
