"""Regret of the market model, and coverage of its intervals, in many worlds.

    python studies/market_study.py "late options" --world "A, best 2 times as late" --seed 1

Results are kept in a folder, so that a study that was stopped resumes. The same seed gives the same
tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple, Unpack

import numpy as np

from latesum._checks import InvalidInput, known_name
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.store import Rows
from latesum.simulation.market import Market
from report import command, keep, options, running, show

#: An option that is worse than the best by less than this share is as good.
AS_GOOD = 0.02
#: One stream and four regions with three options and daily totals, and what is hard: many options,
#: long delays, a background, few sales, one option that is a little better.
WORLDS: dict[str, Market] = {
    "A": Market(),
    "B": Market(regions=4),
    "D": Market(options=5, delay=4, buckets=120),
    "E": Market(regions=4, options=5, delay=4, background=0.3, sales=240, buckets=120),
    "F": Market(regions=4, options=2, delay=0.5, sales=120, buckets=60),
    "G": Market(regions=4, one_better=True, sales=240, buckets=60),
}


class Cell(NamedTuple):
    """A policy in a world; `goal` is the largest share of an equal split's regret it may have."""

    table: str
    world: str
    market: Market
    policy: str = "switchback(winner=True)"
    goal: float | None = None

    @property
    def name(self) -> str:
        """What the policy is called in tables."""
        return "switchback" if self.policy.startswith("switchback(winner=True") else self.policy


def _worlds() -> list[Cell]:
    goals = {"A": 0.165, "B": 0.115, "D": 0.26, "E": 0.33, "F": 0.24, "G": 0.34}
    cells = [Cell("worlds", name, WORLDS[name], goal=goal) for name, goal in goals.items()]
    tests = ("half-time-test", "geo-test", "flow", "unmix")
    return cells + [
        Cell("worlds", name, market, policy) for name, market in WORLDS.items() for policy in tests
    ]


def _late_options() -> list[Cell]:
    """The best option later than the others, or the worst; delays of two parts."""
    goals: dict[str, dict[float, float | None]] = {
        "A": {1.3: 0.24, 2.0: 0.26, 3.0: 0.34},
        "B": {1.3: None, 2.0: 0.19, 3.0: 0.22},
    }
    cells = []
    for name, of_world in goals.items():
        law = WORLDS[name]
        for times, goal in of_world.items():
            words = f"{name}, best {times:g} times as late"
            cells.append(Cell("late options", words, replace(law, best_later=times), goal=goal))
        words = f"{name}, worst 2 times as late"
        cells.append(Cell("late options", words, replace(law, worst_later=2.0)))
        for times in (1.0, 2.0):
            words = f"{name}, two-part delay, best {times:g} times as late"
            changed = replace(law, shape="two-part", best_later=times)
            cells.append(Cell("late options", words, changed))
    many = replace(WORLDS["D"], best_later=2.0)
    return [*cells, Cell("late options", "D, best 2 times as late", many)]


def _given() -> list[Cell]:
    """A delay or a status quo that is given wrongly."""
    cells = []
    for name in "AB":
        for factor, words in ((3.0, "3 times too long"), (1 / 3, "3 times too short")):
            policy = f"switchback(winner=True, given={factor!r})"
            cells.append(Cell("wrong inputs", f"{name}, delay {words}", WORLDS[name], policy))
        for ran in ("option", "nothing"):
            law = replace(WORLDS[name], history=0, status_quo=ran)
            for given in ("truth", "not known", "wrong"):
                policy = f"switchback(winner=True, status_quo={given!r})"
                words = f"{name} without history, {ran} before, given: {given}"
                cells.append(Cell("wrong inputs", words, law, policy))
    return cells


def _robustness() -> list[Cell]:
    changes: dict[str, dict[str, Any]] = {
        "two days late, restated for a week, 5% missing": {
            "report_lag": 2,
            "restated": 7,
            "missing": 0.05,
        },
        "spill-over of 30%": {"spill": 0.3},
        "novelty of 15%": {"novelty": 0.15},
        "effects differ by region, 7%": {"differences": 0.07},
        "a holiday, +60% for five days": {"holiday": 0.6},
        "noise of 12%": {"noise": 0.12},
        "drift of 3%, 2% per region": {"walk": 0.03, "region_walk": 0.02},
        "effects of 30%": {"effects": 0.3},
        "overdispersed sales": {"overdispersion": 2.0},
        "money, orders of sd 1.5": {"order_spread": 1.5},
        "dated by decision": {"dated": "decision"},
        "20 regions": {"regions": 20},
    }
    return [
        Cell("robustness", f"B, {words}", replace(WORLDS["B"], **change))
        for words, change in changes.items()
    ]


def _real() -> list[Cell]:
    series: dict[str, tuple[str, int, int, float]] = {
        "births, 4 states": ("births", 4, 7, 0.12),
        "flights, 3 airports": ("flights", 3, 7, 0.12),
        "Chicago, 4 stations": ("chicago", 4, 7, 0.18),
        "bank calls": ("bank_calls", 1, 5, 0.20),
        "deaths": ("deaths", 1, 7, 0.29),
        "Chicago, 1 station": ("chicago", 1, 7, 0.40),
    }
    cells = []
    for words, (name, regions, week, goal) in series.items():
        law = Market(
            regions=regions,
            week=week,
            buckets=85,
            sales=400.0 * regions,
            effects=0.08,
            rounds="constant",
            demand=f"market_demand:{name}",
        )
        cells.append(Cell("real demand", words, law, goal=goal))
        cells.append(Cell("real demand", words, law, "half-time-test"))
    return cells


CELLS: dict[str, list[Cell]] = {
    "worlds": _worlds(),
    "late options": _late_options(),
    "wrong inputs": _given(),
    "robustness": _robustness(),
    "real demand": _real(),
}


class MarketRow(NamedTuple):
    """How a policy did in a world.

    Args:
        table: The table that it is in.
        world: The name of the world.
        policy: What the policy is called.
        goal: The largest share of an equal split's regret that it may have.
        runs: The number of runs.
        of_split: Its regret, over that of an equal split.
        error: The standard error of that.
        worst: The regret that 99% of the runs stay below, as a share of the best option's sales.
        ends_best: The share of runs that end on the best option.
        ends_within: The same of an option as good as the best.
        coverage: The share of effects in their 90% interval; NaN where there are no intervals.
        wrong_signs: The share of effects whose 95% interval claims the wrong sign.
        named: The share of runs in which a winner was named.
        named_wrongly: The share of runs in which it was worse than the best by more than 2%.
    """

    table: str
    world: str
    policy: str
    goal: float | None
    runs: int
    of_split: float
    error: float
    worst: float
    ends_best: float
    ends_within: float
    coverage: float
    wrong_signs: float
    named: float
    named_wrongly: float

    @property
    def holds(self) -> bool:
        """Whether its regret is no larger than it may be."""
        return self.goal is None or self.of_split <= self.goal

    def texts(self) -> list[str]:
        """In the order of `COLUMNS`; empty where there is no value."""
        values = [getattr(self, field) for field, _ in COLUMNS.values()]
        texts = [
            "" if value is None or value != value else format(value, form)
            for value, (_, form) in zip(values, COLUMNS.values(), strict=True)
        ]
        return texts if self.holds else [*texts[:-1], f"{texts[-1]} MISSED"]


#: The columns of a printed table: the field of a row, and its format.
COLUMNS = {
    "world": ("world", ""),
    "policy": ("policy", ""),
    "of split": ("of_split", ".3f"),
    "± s.e.": ("error", ".3f"),
    "worst 1%": ("worst", ".1%"),
    "ends on best": ("ends_best", ".0%"),
    "within 2%": ("ends_within", ".0%"),
    "90% coverage": ("coverage", ".0%"),
    "wrong signs": ("wrong_signs", ".1%"),
    "winner": ("named", ".0%"),
    "wrong winner": ("named_wrongly", ".1%"),
    "runs": ("runs", ""),
    "goal": ("goal", ".3g"),
}


def run_markets(
    tables: Sequence[str],
    *,
    worlds: Sequence[str] = (),
    policies: Sequence[str] = (),
    replications: int = 200,
    seed: int = 50_000,
    **how: Unpack[RunOptions],
) -> list[MarketRow]:
    """Run what is missing of some tables, and return all rows.

    Args:
        tables: Names of `CELLS`.
        worlds: The worlds that are played in, by their names in the tables; all without.
        policies: The policies, as the tables call them; all without.
        replications: The number of runs of a cell.
        seed: The seed.
        how: Where and how runs are made.
    """
    every = [cell for table in tables for cell in CELLS[known_name(table, CELLS, "table")]]
    for world in worlds:
        known_name(world, dict.fromkeys(cell.world for cell in every), "world")
    for policy in policies:
        known_name(policy, dict.fromkeys(cell.name for cell in every), "policy")
    cells = [
        cell
        for cell in every
        if (not worlds or cell.world in worlds) and (not policies or cell.name in policies)
    ]
    if not cells:
        raise InvalidInput("none of these policies plays in one of these worlds.")
    specs = [
        MarketRunSpec(
            cell.market,
            cell.policy,
            seed=seed,
            problem_name=f"{cell.table}: {cell.world}",
            policy_name=cell.policy,
        )
        for cell in cells
    ]
    results = run(specs, replications, what="markets", **how)
    return [row_of(cell, measured) for cell, measured in zip(cells, results.rows, strict=True)]


def row_of(cell: Cell, measured: Rows) -> MarketRow:
    """What was measured in the runs of a cell, in one row."""
    lost, split = measured["lost"], measured["lost_by_split"]
    ratio = float(lost.mean() / split.mean())
    # The error of a ratio of means, to first order.
    error = float(np.std(lost - ratio * split) / split.mean() / np.sqrt(len(lost)))
    bounds, named = measured["intervals"].mean(axis=0), measured["named"]
    return MarketRow(
        cell.table,
        cell.world,
        cell.name,
        cell.goal,
        len(lost),
        ratio,
        error,
        float(np.quantile(lost, 0.99)),
        float(np.mean(measured["ended_on_best"])),
        float(np.mean(measured["within"] < AS_GOOD)),
        float(bounds[0]),
        float(bounds[2]),
        float(np.mean(np.isfinite(named[:, 0]))),
        float(np.mean(named[:, 1] > AS_GOOD)),
    )


def main() -> bool:
    """Read the options and run what is missing; whether the goals are met."""
    parser = options(__doc__, "markets-results", seed=50_000)
    parser.add_argument("tables", nargs="*", help=f"some of {', '.join(CELLS)}")
    parser.add_argument("--world", action="append", default=[], help="only this world")
    parser.add_argument("--policy", action="append", default=[], help="only this policy")
    asked = parser.parse_args()
    with running(asked) as how:
        rows = run_markets(
            asked.tables or list(CELLS),
            worlds=asked.world,
            policies=asked.policy,
            replications=asked.replications or 200,
            seed=asked.seed,
            **how,
        )
    for name, group in groupby(rows, key=lambda row: row.table):
        show(name.capitalize(), list(COLUMNS), (row.texts() for row in group))
    print("Of split: the regret over that of an equal split.")
    keep(asked.out / "markets.csv", (row._asdict() for row in rows), ("table", "world", "policy"))
    return all(row.holds for row in rows)


if __name__ == "__main__":
    command(main)
