"""Regret of the market model beside the analysts' tests, and coverage of its intervals.

    python studies/market_study.py worlds --world G --policy geo-test --replications 60

Results are kept in a folder, so that a study that was stopped goes on where it was. The same seed
gives the same
tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, Unpack

import numpy as np

from latesum._checks import InvalidInput, known_name
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.results import Rows
from market_field import FieldRow, run_field
from market_worlds import CELLS, Cell
from report import command, keep, options, running, show

#: An option that is worse than the best by less than this share is as good.
AS_GOOD = 0.02
COLUMNS = (
    "world",
    "policy",
    "of split",
    "± s.e.",
    "lost, %",
    "worst 1%",
    "90%",
    "95%",
    "wrong signs",
    "ends within 2%",
    "switches",
    "winner",
    "wrong winner",
    "runs",
    "goal",
)


class MarketRow(NamedTuple):
    """How a policy did in a world.

    Args:
        cell: The policy and the world.
        runs: The number of runs.
        of_split: What it lost, over what an equal split loses.
        error: The standard error of that.
        lost: What it lost, as a share of the best option's sales.
        worst: What 99% of the runs stay below.
        covered90: The share of effects in their 90% interval; NaN where there are no intervals.
        covered95: The same of the 95% interval.
        wrong_signs: The share of effects whose 95% interval claims the wrong sign.
        ends_within: The share of runs that end on an option as good as the best.
        switches: How often a region changed its option.
        named: The share of runs in which a winner was named.
        named_wrongly: The share of runs in which it was worse than the best by more than 2%.
    """

    cell: Cell
    runs: int
    of_split: float
    error: float
    lost: float
    worst: float
    covered90: float
    covered95: float
    wrong_signs: float
    ends_within: float
    switches: float
    named: float
    named_wrongly: float

    @property
    def holds(self) -> bool:
        """Whether it lost no more than it may."""
        return self.cell.goal is None or self.of_split <= self.cell.goal


def run_markets(
    tables: Sequence[str],
    *,
    worlds: Sequence[str] = (),
    policies: Sequence[str] = (),
    replications: int | None = None,
    seed: int = 50_000,
    **how: Unpack[RunOptions],
) -> list[MarketRow]:
    """Run what is missing of some tables, and return all rows; at most `replications` runs each.

    Args:
        tables: Names of `CELLS`.
        worlds: The worlds that are played in, by their names in the tables; all without.
        policies: The policies, as the tables call them; all without.
        replications: The largest number of runs of a cell.
        seed: The seed.
        how: Where and how runs are made.

    >>> rows = run_markets(["poor reports"], replications=1)  # doctest: +SKIP
    >>> [row.cell.world for row in rows]  # doctest: +SKIP
    ['A, two days late, restated for a week, 5% missing', 'B, two days late, restated for a week,
    5% missing']
    """
    every = [cell for table in tables for cell in CELLS[known_name(table, CELLS, "table")]]
    for world in worlds:
        known_name(world, dict.fromkeys(cell.world for cell in every), "world")
    for policy in policies:
        known_name(policy, dict.fromkeys(cell.called for cell in every), "policy")
    cells = [
        cell
        for cell in every
        if (not worlds or cell.world in worlds) and (not policies or cell.called in policies)
    ]
    if not cells:
        raise InvalidInput("none of these policies plays in one of these worlds.")
    settings = [
        MarketRunSpec(
            cell.market,
            cell.policy,
            seed,
            problem_name=f"{cell.table}: {cell.world}",
            policy_name=cell.called,
        )
        for cell in cells
    ]
    counts = [cell.most if replications is None else min(cell.most, replications) for cell in cells]
    results = run(settings, counts, what="markets", **how)
    return [row_of(cell, measured) for cell, measured in zip(cells, results.rows, strict=True)]


def row_of(cell: Cell, measured: Rows) -> MarketRow:
    """What was measured in the runs of a cell, in one row.

    Args:
        cell: The cell.
        measured: By measure, one row per run.
    """
    lost, split = measured["lost"], measured["lost_by_split"]
    ratio = float(lost.mean() / split.mean())
    # The error of a ratio of means, to first order.
    error = float(np.std(lost - ratio * split) / split.mean() / np.sqrt(len(lost)))
    bounds = measured["intervals"]
    known = np.isfinite(bounds[:, 0])
    covered = bounds[known].mean(axis=0) if known.any() else np.full(3, np.nan)
    named = measured["named"]
    covered90, covered95, wrong_signs = covered.tolist()
    return MarketRow(
        cell,
        len(lost),
        ratio,
        error,
        float(lost.mean()),
        float(np.quantile(lost, 0.99)),
        covered90,
        covered95,
        wrong_signs,
        float(np.mean(measured["within"] < AS_GOOD)),
        float(measured["switches"].mean()),
        float(np.mean(np.isfinite(named[:, 0]))),
        float(np.mean(named[:, 1] > AS_GOOD)),
    )


def cells_of(row: MarketRow) -> list[str]:
    """A row for a table, as text in the order of `COLUMNS`.

    Args:
        row: The row.
    """
    looked = row.cell.table == "winner"
    share = "{:.0%}".format
    goal = (
        "" if row.cell.goal is None else f"{row.cell.goal:.2f}" + ("" if row.holds else " MISSED")
    )
    intervals = (
        ["", "", ""]
        if np.isnan(row.covered90)
        else [share(row.covered90), share(row.covered95), f"{row.wrong_signs:.1%}"]
    )
    return [
        row.cell.world,
        row.cell.called,
        f"{row.of_split:.2f}",
        f"{row.error:.2f}",
        f"{row.lost:.2%}".rstrip("%"),
        f"{100 * row.worst:.1f}",
        *intervals,
        share(row.ends_within),
        f"{row.switches:.1f}",
        share(row.named) if looked else "",
        f"{row.named_wrongly:.1%}" if looked else "",
        f"{row.runs}",
        goal,
    ]


def as_values(row: MarketRow) -> dict[str, object]:
    """A row for a file of values.

    Args:
        row: The row.
    """
    cell, *values = row
    named: dict[str, object] = {
        "table": cell.table,
        "world": cell.world,
        "policy": cell.called,
        "goal": cell.goal,
    }
    return named | dict(zip(row._fields[1:], values, strict=True))


#: The table that has problems of one stream, of `market_field`.
FIELD = "field problems"


def main() -> bool:
    """Read the options and run what is missing; whether the goals are met."""
    parser = options(__doc__, "markets-results", seed=50_000)
    parser.add_argument("tables", nargs="*", help="some of the tables, such as worlds")
    parser.add_argument("--world", action="append", default=[], help="only this world")
    parser.add_argument("--policy", action="append", default=[], help="only this policy")
    asked = parser.parse_args()
    every = (*CELLS, FIELD)
    chosen = [known_name(table, every, "table") for table in asked.tables or every]
    rows: list[MarketRow] = []
    field: list[FieldRow] = []
    with running(asked) as how:
        if cells := [table for table in chosen if table != FIELD]:
            rows = run_markets(
                cells,
                worlds=asked.world,
                policies=asked.policy,
                replications=asked.replications,
                seed=asked.seed,
                **how,
            )
        if FIELD in chosen:
            most = min(asked.replications or 200, 200)
            field = run_field(replications=most, seed=asked.seed, **how)
    for name, group in groupby(rows, key=lambda row: row.cell.table):
        show(name.capitalize(), COLUMNS, map(cells_of, group))
    if rows:
        print(
            "Of split: what was lost over what an equal split loses. "
            "90%, 95%: shares of true effects inside their intervals."
        )
        keep(asked.out / "markets.csv", map(as_values, rows), ("table", "world", "policy"))
    if field:
        columns = ["problem", "policy", "mean", "± s.e.", "goal"]
        show("Regret on problems of one stream", columns, map(_field_cells, field))
        keep(asked.out / "field.csv", (each._asdict() for each in field), ("problem", "policy"))
    missed = [each for each in field if each.goal is not None and each.mean > each.goal]
    return not missed and all(row.holds for row in rows)


def _field_cells(row: FieldRow) -> list[str]:
    goal = "" if row.goal is None else f"{row.goal:,.0f}"
    return [row.problem, row.policy, f"{row.mean:,.0f}", f"{row.error:,.0f}", goal]


if __name__ == "__main__":
    command(main)
