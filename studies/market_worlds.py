"""The cells of the study of markets: which policy in which world, and what must hold there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from latesum.simulation.market import Market

_DEMAND = "market_demand"
_STREAM = ("flow", "unmix")
_TESTS = ("half-time-test", "quarter-time-test", "geo-test", "equal-split")

#: One stream and four regions with three options and daily totals, and what is hard: many
#: options, long delays, a
#: background, few sales, one option that is a little better.
WORLDS: dict[str, Market] = {
    "A": Market(),
    "B": Market(regions=4),
    "D": Market(options=5, delay=4, buckets=120),
    "E": Market(regions=4, options=5, delay=4, background=0.3, sales=240, buckets=120),
    "F": Market(regions=4, options=2, delay=0.5, sales=120, buckets=60),
    "G": Market(regions=4, one_better=True, sales=240, buckets=60),
}


class Cell(NamedTuple):
    """A policy in a world.

    Args:
        table: The table that it stands in.
        world: The name of the world.
        market: The world.
        policy: The policy, as text.
        called: What it is called in the table.
        goal: The largest share of an equal split's loss that it may lose; None for comparisons.
        most: The largest number of runs.
    """

    table: str
    world: str
    market: Market
    policy: str
    called: str
    goal: float | None = None
    most: int = 300


def _worlds() -> list[Cell]:
    goals = {"A": 0.26, "B": 0.15, "D": 0.32, "E": 0.30, "F": 0.24, "G": 0.32}
    cells = []
    for name, market in WORLDS.items():
        cells.append(Cell("worlds", name, market, "switchback", "switchback", goals[name]))
        for policy in (*_TESTS, *_STREAM):
            cells.append(Cell("worlds", name, market, policy, policy, most=100))
    return cells


def _delays() -> list[Cell]:
    cells = []
    for name in "AB":
        for factor, words in ((3.0, "3 times too long"), (1 / 3, "3 times too short")):
            for stay, dwell in ((0, "dwell of the true delay"), (None, "dwell of the told delay")):
                policy = f"switchback(told={factor!r}, stay={stay!r})"
                cells.append(
                    Cell("delay told wrong", name, WORLDS[name], policy, f"{words}, {dwell}")
                )
        even = replace(WORLDS[name], traffic=0.0, traffic_noise=0.0)
        short = f"switchback(told={1 / 3!r}, stay=0)"
        cells.append(
            Cell("delay told wrong", f"{name}, even traffic", even, short, "3 times too short")
        )
        for shape in ("gamma", "lognormal", "two-part"):
            law = replace(WORLDS[name], shape=shape)
            cells.append(
                Cell("delay told wrong", f"{name}, {shape}", law, "switchback", "right mean")
            )
    return [cell._replace(most=100) for cell in cells]


def _later() -> list[Cell]:
    goals = {("A", 1.3): 0.42, ("B", 1.3): 0.25, ("A", 2.0): 0.88, ("B", 2.0): 0.50}
    cells = []
    for (name, later), goal in goals.items():
        law = replace(WORLDS[name], best_later=later)
        world = f"{name}, best option {later:g} times as late"
        cells.append(Cell("best option later", world, law, "switchback", "lags: auto", goal))
        for lags in ("same", "own"):
            policy = f"switchback(lags={lags!r})"
            cells.append(Cell("best option later", world, law, policy, f"lags: {lags}", most=100))
    for name in "AB":
        policy = "switchback(lags='own')"
        cells.append(Cell("best option later", name, WORLDS[name], policy, "lags: own", most=100))
    return cells


def _before() -> list[Cell]:
    cells = []
    for name in "AB":
        for before in ("status quo", "nothing"):
            law = replace(WORLDS[name], history=0, before=before)
            world = f"{name} without history, {before} before"
            for told in ("truth", "not known", "wrong"):
                policy = f"switchback(before={told!r})"
                cells.append(Cell("what ran before", world, law, policy, f"told: {told}", most=150))
    return cells


def _reports() -> list[Cell]:
    poor: dict[str, Any] = {"report_lag": 2, "restated": 7, "missing": 0.05}
    return [
        Cell(
            "poor reports",
            f"{name}, two days late, restated for a week, 5% missing",
            replace(WORLDS[name], **poor),
            "switchback",
            "switchback",
            most=150,
        )
        for name in "AB"
    ]


def _broken() -> list[Cell]:
    changes: dict[str, dict[str, Any]] = {
        "spill-over of 30%": {"spill": 0.3},
        "novelty of 15%": {"novelty": 0.15},
        "effects differ by region, 7%": {"differences": 0.07},
        "a holiday, +60% for five days": {"holiday": 0.6},
        "noise of 12%": {"noise": 0.12},
        "drift of 3%, 2% per region": {"walk": 0.03, "region_walk": 0.02},
        "trend of +40%": {"trend": 0.4},
        "effects of 30%": {"effects": 0.3},
        "effects of 2%": {"effects": 0.02},
        "weekdays differ by region, 20%": {"region_weekday": 0.2},
        "shocks that last": {"persistence": 0.6},
        "other week-ends for one option": {"week_end": 0.1},
        "overdispersed sales": {"overdispersion": 2.0},
        "no history": {"history": 0},
    }
    cells = []
    for words, change in changes.items():
        law = replace(WORLDS["B"], **change)
        cells.append(Cell("what breaks it", f"B, {words}", law, "switchback", "switchback"))
        if words.startswith("novelty"):
            policy = "switchback(novelty=0.01)"
            cells.append(Cell("what breaks it", f"B, {words}", law, policy, "told of novelty"))
    further: dict[str, dict[str, Any]] = {
        "money, orders of sd 1.5": {"order_spread": 1.5},
        "dated by decision": {"dated": "decision"},
        "hours (21 days)": {
            "hours": 0.5,
            "buckets": 21 * 24,
            "history": 14 * 24,
            "sales": 25.0,
            "visitors": 833.0,
            "delay": 12.0,
            "walk": 0.002,
            "region_walk": 0.0015,
            "shocks": 0.01,
            "noise": 0.04,
        },
        "20 regions": {"regions": 20},
    }
    for words, change in further.items():
        law = replace(WORLDS["B"], **change)
        cells.append(Cell("what breaks it", f"B, {words}", law, "switchback", "switchback"))
    return [cell._replace(most=100) for cell in cells]


def _winners() -> list[Cell]:
    return [
        Cell("winner", name, WORLDS[name], "switchback(winner=True)", "switchback", most=300)
        for name in "AB"
    ]


def _real() -> list[Cell]:
    series: dict[str, tuple[str, int, int, float | None]] = {
        "births, 4 states": ("births", 4, 7, 0.16),
        "flights, 3 airports": ("flights", 3, 7, 0.18),
        "Chicago, 4 stations": ("chicago", 4, 7, 0.22),
        "bank calls": ("bank_calls", 1, 5, 0.27),
        "deaths": ("deaths", 1, 7, 0.37),
        "Chicago, 1 station": ("chicago", 1, 7, 0.40),
        "web page": ("web_page", 1, 7, None),
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
            demand=f"{_DEMAND}:{name}",
        )
        cells.append(Cell("real demand", words, law, "switchback", "switchback", goal))
        cells.append(Cell("real demand", words, law, "half-time-test", "half-time-test"))
        cells.append(Cell("real demand", words, law, "flow", "flow, told the history"))
        rough = replace(law, rounds="rough")
        cells.append(Cell("real demand", words, rough, "switchback", "rounds known to 10%"))
    return [cell._replace(most=100) for cell in cells]


#: By table.
CELLS: dict[str, list[Cell]] = {
    "worlds": _worlds(),
    "best option later": _later(),
    "delay told wrong": _delays(),
    "what ran before": _before(),
    "poor reports": _reports(),
    "what breaks it": _broken(),
    "winner": _winners(),
    "real demand": _real(),
}
