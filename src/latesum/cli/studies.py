"""`latesum paper`, `league`, `safety`, `coverage` and `markets`: studies that come with latesum."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._render import new_table, terminal
from latesum.cli.options import Again, Dask, Seed, Workers, say, worker_count, working

Replications = Annotated[int | None, typer.Option(help="At most this many runs of each.")]


def paper(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Some of 3a, 3b, 5, 6a, 6b; all without.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Far fewer runs: a look, not a comparison.")
    ] = False,
    replications: Annotated[
        int | None, typer.Option(help="This many runs of each policy; as published without.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Another seed than the files have.")
    ] = None,
    workers: Workers = None,
    out: Annotated[Path, typer.Option(help="The folder for everything.")] = Path("paper-results"),
    dask: Dask = None,
    again: Again = False,
    show: Annotated[
        str | None, typer.Option(help="Print the experiment file of this figure and stop.")
    ] = None,
) -> None:
    """Run the paper's experiments again, beside its published curves, with a report."""
    from latesum.experiments.studies.paper import FIGURES, experiment_text, run_paper
    from latesum.experiments.studies.paper.report import write_report
    from latesum.experiments.summaries import write_summary

    if show is not None:
        print(experiment_text(show), end="")
        return
    chosen = [known_name(figure, FIGURES, "figure of the paper") for figure in figures or FIGURES]
    chosen = sorted(set(chosen), key=FIGURES.index)
    if replications is not None:
        replications = whole_number(replications, "--replications", at_least=1)
    count = worker_count(workers)
    with working(count, dask, out, again) as how:
        run = run_paper(chosen, out, quick=quick, replications=replications, seed=seed, **how)
    say("Drawing and writing the report.")
    written = write_report(run, workers=count)
    write_summary(
        written.html.parent / "ratios.csv",
        (
            row._asdict() | {"errors_apart": row.errors_apart, "verdict": row.verdict}
            for row in written.ratios
        ),
    )
    columns = ["curve", "published", "ours", "± s.e.", "errors apart", "verdict"]
    table = new_table("Where the curves end", columns)
    for row in written.ratios:
        table.add_row(*row.cells)
    terminal().print(table)
    holding, jumps = sum(row.holds for row in written.ratios), written.jumps
    print(f"{holding} of {len(written.ratios)} end ratios agree.")
    if jumps:
        good, known = sum(row.holding for row in jumps), sum(len(row.ours) for row in jumps)
        print(f"{good} of {known} jumps are within 0.5% of the published rounds.")
    if quick:
        print("A quick look: with few runs, agreement says little.")
    print(f"The report: {written.html}; its end ratios: {written.html.parent / 'ratios.csv'}")


def league(
    out: Annotated[Path, typer.Option(help="The folder for results; it resumes there.")] = Path(
        "league-results"
    ),
    replications: Replications = None,
    seed: Seed = 1,
    workers: Workers = None,
    dask: Dask = None,
    again: Again = False,
) -> None:
    """Every policy on 24 problems: regret, tails, lock-ins, the price of anonymity."""
    from latesum.experiments.studies.league import as_markdown, as_values, cells_of, run_league
    from latesum.experiments.summaries import write_summary

    with working(worker_count(workers), dask, out, again) as how:
        rows = run_league(out, replications=replications, seed=seed, **how)
    columns = ["policy", "mean", "± s.e.", "99%", "worst", "lock-ins", "switches", "price", "runs"]
    for problem, group in groupby(rows, key=lambda row: row.summary.problem):
        table = new_table(problem, columns)
        for row in group:
            table.add_row(*cells_of(row))
        terminal().print(table)
    markdown = out / "league.md"
    markdown.write_text(as_markdown(rows), encoding="utf-8")
    values = write_summary(out / "league.csv", map(as_values, rows))
    print(
        "Lock-ins: runs that play arms at least 0.02 worse for most of their last half, and again "
        "at ten times the horizon.\nPrice: of anonymity, the mean over that of the policy with the "
        f"same index and attributed feedback.\nThe same as Markdown: {markdown}; as CSV: {values}"
    )


def safety(
    policy: Annotated[
        str, typer.Option(help="A name from `latesum policies`, or package.module:Class.")
    ] = "unmix",
    told: Annotated[
        list[str] | None,
        typer.Option(
            help="It is told the mean delay times this, or 'nothing': 1 and 0.8; in markets 1."
        ),
    ] = None,
    law: Annotated[
        str,
        typer.Option(
            help="Which random problems: usual, wide (with horizons of their own), or markets."
        ),
    ] = "usual",
    replications: Annotated[int, typer.Option(help="The number of runs.")] = 10_000,
    horizon: Annotated[
        int | None, typer.Option(help="The rounds of a run: 200,000, or the wide law's own.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path, typer.Option(help="The folder for results; it resumes there.")] = Path(
        "safety-results"
    ),
    again: Again = False,
) -> None:
    """Count how often a policy gets stuck with a bad option, on random problems; 1 if too often."""
    from latesum.experiments.stats import number_text
    from latesum.experiments.studies.safety import is_safe, measure_safety
    from latesum.experiments.summaries import write_summary

    usual = ["1"] if law == "markets" else ["1", "0.8"]
    factors = [_told_factor(text) for text in told or usual]
    with working(worker_count(workers), dask, out, again) as how:
        rows = [
            measure_safety(
                replications, policy=policy, told=factor, horizon=horizon, seed=seed,
                problems=law, **how,
            )
            for factor in factors
        ]  # fmt: skip
    columns = [
        "policy",
        "told",
        "runs",
        "suspects",
        "lock-ins",
        "told tenfold",
        "95% limit",
        "mean",
        "worst",
    ]
    table = new_table("Lock-ins on random problems", columns)
    for row in rows:
        table.add_row(
            row.policy, "nothing" if row.told is None else f"{row.told:g}",
            f"{row.replications:,}", f"{row.suspects:,}",
            f"{row.lock_ins:,}", "" if row.told_longer is None else f"{row.told_longer:,}",
            f"{row.upper_limit:.2e}", number_text(row.mean_regret), number_text(row.worst_regret),
        )  # fmt: skip
    terminal().print(table)
    values = write_summary(
        out / "safety.csv",
        (
            {
                "policy": row.policy, "law": law, "told": "nothing" if row.told is None else row.told,
                "horizon": horizon, "seed": seed, "runs": row.replications, "suspects": row.suspects,
                "lock_ins": row.lock_ins, "told_longer": row.told_longer,
                "upper_limit": row.upper_limit, "mean": row.mean_regret, "worst": row.worst_regret,
            }
            for row in rows
        ),
        same=("policy", "law", "told", "horizon", "seed"),
    )  # fmt: skip
    print(f"Added to {values}.")
    kind = "MarketRunSpec" if law == "markets" else "RunSpec"
    for row in rows:
        for each in row.found:
            print(
                f"Run {each.number} locked in, with a regret of {each.regret:,.0f}: "
                f"{kind}.from_json({json.dumps(each.setting)}).run({each.number})"
            )
    if not all(is_safe(row) for row in rows):
        raise typer.Exit(1)


def _told_factor(text: str) -> float | None:
    """The factor on the mean delay that is told; None for 'nothing'."""
    if text == "nothing":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(
            f"--told takes a factor on the mean delay, such as 0.8, or 'nothing', not {text!r}."
        ) from None


def coverage(
    replications: Annotated[int, typer.Option(help="The runs of each policy and problem.")] = 500,
    arms: Annotated[
        list[str] | None, typer.Option(help="Only these arms, such as 2a; all without.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only these policies, such as unmix; all without.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path, typer.Option(help="The folder for results; it resumes there.")] = Path(
        "coverage-results"
    ),
    again: Again = False,
) -> None:
    """How often reported intervals miss the truth; 1 if those that are proved miss too often."""
    from latesum.experiments.studies.coverage import ARMS, CASES, LEVELS, POLICIES, measure_coverage
    from latesum.experiments.summaries import write_summary

    for name in arms or []:
        known_name(name, ARMS, "set of arms")
    for name in policy or []:
        known_name(name, POLICIES, "policy here")
    cases = [
        case
        for case in CASES
        if (not arms or case[1] in arms) and (not policy or case[0] in policy)
    ]
    with working(worker_count(workers), dask, out, again) as how:
        rows = measure_coverage(cases, replications=replications, seed=seed, **how)
    columns = ["policy", "delay", "arms"]
    for level in LEVELS:
        columns += [f"missed at {100 * level:g}%", "worst"]
    table = new_table("Intervals that miss", columns)
    for (named, each, delay), group in groupby(rows, key=lambda row: row[:3]):
        numbers = [f"{number:.4f}" for row in group for number in (row.missed, row.worst)]
        table.add_row(named, delay, each, *numbers)
    terminal().print(table)
    values = write_summary(
        out / "coverage.csv",
        (row._asdict() | {"runs": replications, "seed": seed} for row in rows),
        same=("policy", "arms", "delay", "level"),
    )
    print(f"Added to {values}.")
    if not all(row.holds for row in rows):
        raise typer.Exit(1)


#: The table of `latesum markets` that has problems of the league.
_FIELD = "field problems"


def markets(
    tables: Annotated[
        list[str] | None, typer.Argument(help="Some of the tables, such as worlds; all without.")
    ] = None,
    world: Annotated[
        list[str] | None, typer.Option(help="Only this world; may be given several times.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this policy; may be given several times.")
    ] = None,
    replications: Replications = None,
    seed: Seed = 50_000,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path, typer.Option(help="The folder for results; it resumes there.")] = Path(
        "markets-results"
    ),
    again: Again = False,
) -> None:
    """Late totals of regions with weekdays and drift: what is lost, and do intervals hold; 1 if not."""
    from latesum.experiments.studies.market_cells import CELLS
    from latesum.experiments.studies.market_field import FieldRow, run_field
    from latesum.experiments.studies.markets import (
        COLUMNS,
        as_values,
        cells_of,
        run_markets,
        write_markdown,
    )
    from latesum.experiments.summaries import write_summary

    chosen = [known_name(table, (*CELLS, _FIELD), "table") for table in tables or (*CELLS, _FIELD)]
    field: list[FieldRow] = []
    with working(worker_count(workers), dask, out, again) as how:
        cells = [table for table in chosen if table != _FIELD]
        rows = []
        if cells:
            rows = run_markets(
                cells, worlds=world or (), policies=policy or (), replications=replications,
                seed=seed, **how,
            )  # fmt: skip
        if _FIELD in chosen:
            field = run_field(replications=min(replications or 200, 200), seed=seed, **how)
    for name, group in groupby(rows, key=lambda row: row.cell.table):
        texts = [cells_of(row) for row in group]
        filled = [place for place in range(len(COLUMNS)) if any(text[place] for text in texts)]
        table = new_table(name.capitalize(), [COLUMNS[place] for place in filled])
        for text in texts:
            table.add_row(*(text[place] for place in filled))
        terminal().print(table)
    if field:
        table = new_table(
            "Regret on problems of the league", ["problem", "policy", "mean", "± s.e.", "goal"]
        )
        for each in field:
            goal = "" if each.goal is None else f"{each.goal:,.0f}"
            table.add_row(
                each.problem, each.policy, f"{each.mean:,.0f}", f"{each.error:,.0f}", goal
            )
        terminal().print(table)
    values = write_summary(
        out / "markets.csv", map(as_values, rows), same=("table", "world", "policy")
    )
    if field:
        write_summary(out / "field.csv", (each._asdict() for each in field))
    print(
        "Of split: what was lost over what an equal split loses. 90%, 95%: shares of true effects inside "
        f"their intervals.\nThe same as Markdown: {write_markdown(rows, out)}; as CSV: {values}"
    )
    missed = [each for each in field if each.goal is not None and each.mean > each.goal]
    if missed or not all(row.holds for row in rows):
        raise typer.Exit(1)
