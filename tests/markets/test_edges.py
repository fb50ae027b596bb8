"""Rows at the edge: none, no visitors, no sales, refunds, enormous totals, every shape of delay. All numbers stay finite."""

import math

import pytest

from latesum import delays
from latesum.markets import (
    NOTHING,
    DelayPrior,
    MarketConfig,
    RegionRow,
    decide,
    summarize,
    winner,
)
from latesum.markets.arrivals import lag_weights

TWO = MarketConfig(("a", "b", "c"), 90, regions=("n", "s"), delay=DelayPrior(2.0))


def both(days, rounds, total):
    return [
        RegionRow(region, day, rounds, "a", total(day)) for day in range(days) for region in "ns"
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [RegionRow("n", day, 100, "a", 3) for day in range(30)],  # one region has no row
        both(30, 0, lambda day: 0),
        both(30, 100, lambda day: 0),
        both(30, None, lambda day: 50),
        both(30, 100, lambda day: None),
        both(30, 1e9, lambda day: 1e9 * (day % 3)),
    ],
    ids=["none", "one region", "no visitors", "no sales", "no rounds", "no totals", "enormous"],
)
@pytest.mark.filterwarnings("error")
def test_decisions_and_readings_of_odd_rows(rows):
    choices = decide(rows, 40, TWO)
    assert {choice.option for choice in choices.values()} <= {"a", "b", "c"}
    found = summarize(rows, 40, TWO)
    assert all(math.isfinite(value) for effect in found.effects for value in effect[1:])
    assert winner(rows, 40, TWO).option is None


@pytest.mark.filterwarnings("error")
def test_refunds_may_make_money_negative():
    settings = MarketConfig(
        ("a", "b"), 90, amounts="money", status_quo=NOTHING, delay=DelayPrior(0)
    )
    rows = [RegionRow("", day, 100, "ab"[day % 2], day - 5.0) for day in range(40)]
    assert math.isfinite(summarize(rows, 40, settings).effects[1].high95)


@pytest.mark.parametrize(
    "law", ["constant(5000)", "pareto(1.5, 50).truncated(20000)", "uniform(0, 9000)"]
)
def test_every_law_of_delays_can_be_told(law):
    told = DelayPrior(delays.parse(law).mean / 5_000, "known", delays.parse(law))
    weights = lag_weights(told)
    assert weights.sum() == pytest.approx(1.0, abs=2e-4)
    assert (weights >= -1e-12).all()
    lags = sum(lag * weight for lag, weight in enumerate(weights))
    assert lags == pytest.approx(
        told.mean, abs=0.02
    )  # visitors come in the middle of a bucket, and so do sales
    settings = MarketConfig(("a", "b"), 90, delay=told, status_quo="a")
    rows = [RegionRow("", day, 5_000, "ab"[day // 4 % 2], 150 + day % 5) for day in range(40)]
    assert abs(summarize(rows, 40, settings).effects[1].effect) < 0.05
