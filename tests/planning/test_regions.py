"""Plans from a history: the market that was simulated is found again, and what regions buy is said."""

import datetime

import numpy as np
import pytest

from latesum.errors import InvalidInput
from latesum.markets import DelayPrior, RegionRow
from latesum.planning import fitted_market, past_rows, plan_regions, read_history
from latesum.simulation.market import Market

LATE = DelayPrior(1.0)


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
    assert "Demand changes by" in warnings[0]
    assert law.rounds == "constant"


def test_a_plan_compares_with_the_test_of_half_the_time():
    asked = {
        "regions": 2, "options": 2, "lift": 0.25, "days": 42, "late": LATE, "replications": 6,
        "workers": 1, "sensitivity": False,
    }  # fmt: skip
    found = plan_regions(history_file(), **asked)
    by_name = {each.candidate.label: each for each in found.forecasts}
    assert set(by_name) == {
        "switchback", "half-time test", "switchback, added up", "half-time test, added up",
        "flow, added up", "unmix, added up",
    }  # fmt: skip
    assert by_name["switchback"].regret.value < by_name["half-time test"].regret.value
    assert found.to_json() == plan_regions(history_file(), **asked).to_json()
    assert Market(**found.to_json()["asked"]["market"]) == found.inputs.market


def test_a_plan_from_a_history_has_the_verdict_of_other_plans(tmp_path):
    """Go or not, how sure, limits, how often a winner is named, and what if the inputs are wrong."""
    found = plan_regions(
        history_file(), regions=2, options=2, lift=0.25, days=42, late=LATE, replications=6,
        workers=1,
    )  # fmt: skip
    assert found.verdict.answer in ("go", "conditional go", "no-go")
    assert not found.verdict.sure
    assert "A winner is named in" in found.verdict.reason
    assert "A winner is named when one option is as good as the best" in " ".join(found.assumed)
    switchback = found.forecasts[0]
    assert switchback.finds_best.low < switchback.finds_best.value
    rows = {each.truth: each.forecast for each in found.sensitivity}
    assert set(rows) >= {"as given", "nothing is better", "all new options are worse"}
    assert rows["nothing is better"].regret.value == pytest.approx(0)
    found.save(tmp_path / "plan.html")
    found.save(tmp_path / "plan.json")
    assert "nothing is better" in (tmp_path / "plan.html").read_text()


def test_on_a_tie_the_regions_are_kept():
    found = plan_regions(
        history_file(days=28), regions=2, options=2, lift=0.5, days=30, late=LATE, replications=4,
        sensitivity=False, workers=1,
    )  # fmt: skip
    handed = found.to_json()["recommendation"]
    assert (handed["n_regions"], handed["regions"]) == (2, ["north", "south"])
    assert (handed["policy"], handed["bucket"], handed["every"]) == ("switchback", 7500, "day")
    assert handed["parameters"] == {"n_arms": 2, "horizon": "30 days", "late": "about 1 day"}
    alone = next(each for each in found.forecasts if each.candidate.label == "flow, added up")
    handed = alone.candidate.campaign
    assert (handed["n_regions"], handed["regions"], handed["bucket"]) == (1, [], 15_000)
    assert handed["added_up"] == ["north", "south"]
    assert handed["parameters"] == {"n_arms": 2, "horizon": "30 days", "mean_delay": "1 day"}


def test_what_a_plan_refuses():
    with pytest.raises(InvalidInput, match="has 2 regions"):
        plan_regions(history_file(), regions=3, options=2, lift=0.1, days=60, late=LATE)
    with pytest.raises(InvalidInput, match="14 or more are needed"):
        plan_regions(history_file(days=9), regions=2, options=2, lift=0.1, days=60, late=LATE)
    with pytest.raises(InvalidInput, match="the lift"):
        plan_regions(history_file(), regions=2, options=2, lift=0.0, days=60, late=LATE)


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
