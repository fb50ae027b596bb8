"""`latesum league`: every policy on a fixed set of problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latesum._terminal import new_table, terminal
from latesum.cli.options import progress_bar
from latesum.lab.league import Row, run_league


def league(
    out: Annotated[Path, typer.Option(help="The folder for results; it resumes there.")] = Path(
        "league-results"
    ),
    replications: Annotated[
        int | None, typer.Option(help="At most so many runs of each; for a quick look.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same table.")] = 1,
    workers: Annotated[int, typer.Option(help="How many processes to use.")] = 2,
) -> None:
    """Every policy on seventeen problems: regret, tails, lock-ins, the price of anonymity."""
    with progress_bar("policies on problems") as show:
        rows = run_league(
            out,
            replications=replications,
            seed=seed,
            workers=workers,
            progress=lambda done, of, what: show(done, of) if done else None,
        )
    for problem in dict.fromkeys(row.problem for row in rows):
        columns = [
            "policy",
            "mean",
            "± s.e.",
            "99%",
            "worst",
            "lock-ins",
            "switches",
            "price",
            "runs",
        ]
        table = new_table(problem, columns)
        for row in rows:
            if row.problem == problem:
                table.add_row(*_cells(row))
        terminal().print(table)
    markdown = out / "league.md"
    markdown.write_text(as_markdown(rows), encoding="utf-8")
    print(
        "Lock-ins: runs that play arms at least 0.02 worse for most of their last half, and again "
        "at ten times the horizon.\nPrice: of anonymity, the mean over that of the policy with the "
        f"same index that sees which arm paid.\nThe same as Markdown: {markdown}"
    )


def _cells(row: Row) -> list[str]:
    def number(value: float) -> str:
        return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"

    return [
        row.policy,
        *map(number, (row.mean, row.standard_error, row.percentile_99, row.worst)),
        "" if row.lock_ins is None else f"{row.lock_ins / row.replications:.1%}",
        number(row.switches),
        "" if row.price_of_anonymity is None else f"{row.price_of_anonymity:.1f}",
        f"{row.replications}",
    ]


def as_markdown(rows: list[Row]) -> str:
    """Mean ± standard error (99th percentile), one row a problem, one column a policy."""
    problems = list(dict.fromkeys(row.problem for row in rows))
    policies = list(dict.fromkeys(row.policy for row in rows))
    found = {(row.problem, row.policy): row for row in rows}
    lines = ["| problem | " + " | ".join(policies) + " |", "|---" * (len(policies) + 1) + "|"]
    for problem in problems:
        cells = []
        for policy in policies:
            row = found.get((problem, policy))
            cells.append(
                f"{row.mean:,.0f} ± {row.standard_error:,.0f} ({row.percentile_99:,.0f})"
                if row
                else "–"
            )
        lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
