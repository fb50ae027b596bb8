"""Plans from a history: the market that was simulated is found again, and what regions buy is said."""

import datetime

import numpy as np
import pytest

from latesum.errors import InvalidInput
from latesum.markets import RegionRow, ToldDelay
from latesum.planning import fitted_market, plan_regions, read_history
from latesum.world.market import Market

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
