"""Plans from a history: the market that was simulated is found again, and what regions buy is said."""

import datetime
from dataclasses import replace

import numpy as np
import pytest

from latesum.errors import InvalidInput
from latesum.experiments.stats import mean_of
from latesum.markets import RegionRow
from latesum.planning import plan
from latesum.planning.market import past_rows, read_market
from latesum.planning.runs import recommend
from latesum.simulation.market import Market

ASKED = {"options": 2, "lift": "25%", "run_for": "30 days", "late": "about 1 day"}


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
    rows = past_rows(history_file(days=3))
    assert {row.bucket for row in rows} == {-3, -2, -1}
    assert {row.region for row in rows} == {"north", "south"}
    rows = past_rows([{"bucket": "2026-03-01", "region": "north", "rounds": 10, "total": None}])
    assert rows == [RegionRow("north", -1, 10.0, "today", None)]
    for bad, says in (
        (b"date,total\nyesterday,5\n", "row 2 of the history"),
        ([{"total": 3}], "row 1 of the history is for 'no bucket'"),
        ([{"bucket": "2026-03-01", "total": "x"}], "total in row 1 of the history"),
        ([], "no rows"),
    ):
        with pytest.raises(InvalidInput, match=says):
            past_rows(bad)


def test_the_market_of_a_history_is_found():
    law = read_market({**ASKED, "history": history_file(), "options": 3}).market
    assert law.sales == pytest.approx(469, rel=0.05)  # 450 a day, and more on Saturdays
    assert law.spread == pytest.approx(2.0, rel=0.1)
    assert 0.15 < law.weekday < 0.35
    assert law.walk < 0.02
    assert law.noise < 0.06
    assert (law.options, law.buckets, law.effects, law.delay) == (3, 30, 0.25, 1.0)
    added_up = read_market({**ASKED, "history": history_file(), "regions": 1}).market
    assert (added_up.regions, added_up.visitors) == (1, law.visitors)


def test_a_wild_demand_is_warned_of():
    rng = np.random.default_rng(2)
    level = np.cumsum(0.12 * rng.standard_normal(60))
    start = datetime.date(2026, 1, 5)
    rows = [
        {
            "bucket": (start + datetime.timedelta(days=day)).isoformat(),
            "total": float(rng.poisson(4000 * np.exp(level[day]))),
        }
        for day in range(60)
    ]
    inputs = read_market({**ASKED, "history": rows})
    assert "Demand changes by" in inputs.in_words()[-1]
    assert inputs.market.rounds == "constant"


@pytest.fixture(scope="module")
def regional():
    policies = ["switchback", "half-time test"]
    return plan(**ASKED, history=history_file(), replications=3, workers=1, policies=policies)


def test_a_plan_compares_with_the_test_of_half_the_time(regional):
    assert [each.label for each in regional.inputs.candidates()] == [
        "switchback",
        "half-time test",
        "switchback (added up)",
        "half-time test (added up)",
        "flow (added up)",
        "unmix (added up)",
    ]
    by_name = {each.label: each for each in regional.rows}
    assert by_name["switchback"].regret.value < by_name["half-time test"].regret.value
    assert Market(**regional.to_json()["asked"]["market"]) == regional.inputs.market


def test_a_plan_from_a_history_has_the_verdict_of_other_plans(regional, tmp_path):
    """Go or not, how sure, limits, how often a winner is named, and what if the inputs are wrong."""
    assert regional.verdict in ("go", "conditional go", "no-go")
    assert regional.headline.endswith("not sure")
    assert "A winner is named in" in regional.explanation
    assert "A winner is named when one option is as good as the best" in " ".join(
        regional.inputs.in_words()
    )
    switchback = regional.rows[0]
    assert switchback.finds_best.low < switchback.finds_best.value
    rows = {truth: both[0] for truth, both in regional.sensitivity.items()}
    assert set(rows) >= {"as given", "nothing is better", "all new options are worse"}
    assert rows["nothing is better"].regret.value == pytest.approx(0)
    regional.save(tmp_path / "plan.html")
    regional.save(tmp_path / "plan.json")
    assert "nothing is better" in (tmp_path / "plan.html").read_text()


def test_on_a_tie_the_regions_are_kept():
    asked = {**ASKED, "lift": 0.5, "run_for": "30 days", "sensitivity": False, "workers": 1}
    found = plan(**asked, history=history_file(days=28), replications=4)

    def recommended(lead):
        """Where the policies of all regions added up gain this much more, run by run."""
        gains = {1: 10 + np.array(lead), 2: np.full(4, 10.0)}
        rows = [(each, gains[each.candidate.regions]) for each in found.rows]
        return recommend([replace(row, gains=all_, gain=mean_of(all_)) for row, all_ in rows])[0]

    assert recommended([5.0, 6.0, 5.0, 6.0]).candidate.regions == 1
    best = recommended([3.0, -3.0, 3.0, -2.9])
    handed = replace(found, recommended=best).to_json()["recommendation"]
    assert (handed["n_regions"], handed["regions"]) == (2, ["north", "south"])
    with pytest.raises(InvalidInput, match="set up as a campaign"):
        found.policy()
    assert (handed["policy"], handed["bucket"], handed["every"]) == ("switchback", 7500, "day")
    assert handed["parameters"] == {"n_arms": 2, "horizon": "30 days", "late": "about 1 day"}
    alone = next(each for each in found.rows if each.label == "flow (added up)")
    handed = found.inputs.campaign(alone.candidate)
    assert (handed["n_regions"], handed["regions"], handed["bucket"]) == (1, [], 15_000)
    assert handed["parameters"] == {"n_arms": 2, "horizon": "30 days", "mean_delay": "1 day"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"regions": 3}, "has 2 regions"),
        ({"history": history_file(days=9)}, "14 or more are needed"),
        ({"lift": "0%"}, "lift"),
        ({"traffic": "5000 per day"}, "leave traffic out"),
        ({"run_for": "3 days"}, "at least 14"),
    ],
)
def test_what_a_plan_from_a_history_refuses(change, says):
    with pytest.raises(InvalidInput, match=says):
        plan(**{**ASKED, "history": history_file(), **change})
