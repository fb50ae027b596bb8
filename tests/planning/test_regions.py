"""Plans from a history: the market that was simulated is found again, and what regions buy is said."""

import datetime
from dataclasses import replace

import numpy as np
import pytest

from latesum.errors import InvalidInput
from latesum.markets import RegionRow, ToldDelay
from latesum.planning import fitted_market, past_rows, plan_regions, read_history
from latesum.simulation.market import Market

LATE = ToldDelay(1.0)


def history_file(days=42, regions=("north", "south"), column="region"):
    rng = np.random.default_rng(1)
    lines = [f"date,{column},visitors,orders"]
    for day in range(days):
        date = datetime.date(2026, 1, 5) + datetime.timedelta(days=day)
        for place, region in enumerate(regions):
            mean = 300 / (1 + place) * np.exp(0.3 * (day % 7 == 5))
            lines.append(f"{date},{region},{10_000 // (1 + place)},{rng.poisson(mean)}")
    return "\n".join(lines).encode()


def test_a_history_is_read_by_its_dates():
    rows = read_history(history_file(days=3))
    assert {row.bucket for row in rows} == {-3, -2, -1}
    assert {row.region for row in rows} == {"north", "south"}
    with pytest.raises(InvalidInput, match="row 2 of the history"):
        read_history(b"date,total\nyesterday,5\n")


def test_the_market_of_a_history_is_found():
    law, warnings = fitted_market(
        read_history(history_file()), regions=2, options=3, lift=0.1, days=60, late=LATE
    )
    assert law.sales == pytest.approx(469, rel=0.05)  # 450 a day, and more on Saturdays
    assert law.spread == pytest.approx(2.0, rel=0.1)
    assert 0.15 < law.weekday < 0.35
    assert law.walk < 0.02
    assert law.noise < 0.06
    assert warnings == ()


def test_a_wild_demand_is_warned_of():
    rng = np.random.default_rng(2)
    level = np.cumsum(0.12 * rng.standard_normal(60))
    rows = [
        RegionRow("", day, None, "today", float(rng.poisson(4000 * np.exp(level[day]))))
        for day in range(-60, 0)
    ]
    law, warnings = fitted_market(rows, regions=1, options=2, lift=0.1, days=60, late=LATE)
    assert "Demand walks by" in warnings[0]
    assert law.rounds == "constant"


def test_a_plan_compares_with_the_test_of_half_the_time():
    found = plan_regions(
        history_file(),
        regions=2,
        options=2,
        lift=0.25,
        days=42,
        late=LATE,
        replications=6,
        workers=1,
    )
    by_name = {row.policy: row for row in found.forecasts}
    assert set(by_name) == {
        "switchback", "a test of half the time", "switchback, as one stream",
        "a test of half the time, as one stream", "flow, as one stream", "unmix, as one stream",
    }  # fmt: skip
    assert by_name["switchback"].lost < by_name["a test of half the time"].lost
    assert [row.lost for row in found.forecasts] == sorted(row.lost for row in found.forecasts)
    assert found.sentence.startswith(f"Use {found.forecasts[0].policy}")
    assert "2 regions: decided in" in found.sentence
    assert str(found) == str(
        plan_regions(
            history_file(),
            regions=2,
            options=2,
            lift=0.25,
            days=42,
            late=LATE,
            replications=6,
            workers=1,
        )
    )
    assert Market(**found.to_json()["market"]) == found.market


def test_what_a_plan_refuses():
    with pytest.raises(InvalidInput, match="has 2 regions"):
        plan_regions(history_file(), regions=3, options=2, lift=0.1, days=60, late=LATE)
    with pytest.raises(InvalidInput, match="14 or more are needed"):
        plan_regions(history_file(days=9), regions=2, options=2, lift=0.1, days=60, late=LATE)
    with pytest.raises(InvalidInput, match="the lift"):
        plan_regions(history_file(), regions=2, options=2, lift=0.0, days=60, late=LATE)


def test_what_a_plan_hands_over_is_what_a_campaign_can_run():
    found = plan_regions(
        history_file(days=28), regions=2, options=2, lift=0.2, days=30, late=LATE, replications=2,
        workers=1,
    )  # fmt: skip
    rows = {row.policy: row for row in found.forecasts}
    test, together = rows["a test of half the time"], rows["switchback"]
    flow = rows["flow, as one stream"]
    first = replace(found, forecasts=(test, together)).recommendation  # the test is no policy
    assert first["policy"] == "switchback"
    assert first["parameters"] == {"n_arms": 2, "horizon": "30 days", "late": "about 1 day"}
    assert (first["n_regions"], first["regions"]) == (2, ["north", "south"])
    assert first["bucket"] == 7500
    alone = replace(found, forecasts=(flow, together), late=ToldDelay(1.0, "known")).recommendation
    assert (alone["policy"], alone["n_regions"], alone["regions"]) == ("flow", 1, [])
    assert alone["parameters"] == {"n_arms": 2, "horizon": "30 days", "mean_delay": "1 day"}
    assert alone["bucket"] == 15_000
    assert found.to_json()["recommendation"] == found.recommendation


def test_rows_of_a_campaigns_history_are_read_for_a_plan():
    rows = past_rows([{"bucket": "2026-03-01", "region": "north", "rounds": 10, "total": None}])
    assert rows == [RegionRow("north", -1, 10.0, "today", None)]
    for bad, says in (
        ([{"total": 3}], "row 1 of the history has no day"),
        ([{"bucket": "2026-03-01", "total": "x"}], "total in row 1 of the history"),
        ([], "no rows"),
    ):
        with pytest.raises(InvalidInput, match=says):
            past_rows(bad)
