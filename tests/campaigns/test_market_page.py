"""What a page shows of a campaign with regions, as plain values: effects, grid, origins, weekdays."""

from datetime import timedelta

import numpy as np
import pytest

from latesum.campaigns import Campaign, Row
from latesum.campaigns.deciding import Replay
from latesum.campaigns.knowledge import knowledge_of
from latesum.campaigns.static_page import (
    columns_of,
    options_chart,
    pattern_charts,
    status_section,
    timeline_chart,
    totals_chart,
)

SIZES = {"north": 8000, "south": 3000}
DAYS = 10


@pytest.fixture
def campaign(tmp_path, clock):
    """Ten days in two regions with a history; the last total is awaited, one was ordered, one day was strange."""
    rng = np.random.default_rng(5)
    start = clock().date()
    history = [
        {"bucket": (start - timedelta(days=back)).isoformat(), "region": region, "rounds": size,
         "total": float(rng.poisson(0.1 * size * (1.4 if (start - timedelta(days=back)).weekday() == 5 else 1)))}
        for back in range(21, 0, -1) for region, size in SIZES.items()
    ]  # fmt: skip
    made = Campaign.create(
        name="offers", options=["old", "new"], regions=list(SIZES), every="day", history=history,
        parameters={"horizon": "60 days", "late": "about 1 day"}, status_quo="old", unit="sales",
        expected_rounds=5000, time_basis="arrival", seed=1, clock=clock, store=tmp_path / "c.db",
    )  # fmt: skip
    for day in range(1, DAYS + 1):
        decided = made.decide_all()
        weekday = clock().weekday()
        clock.pass_by(days=1)
        if day == 6:
            made.pin("new", buckets=1, region="south", user="ada", reason="a fair")
        if day < DAYS:
            rows = []
            for region, size in SIZES.items():
                mean = 0.1 * size * (1.4 if weekday == 5 else 1)
                mean *= 1.2 if decided[region].option == "new" else 1
                mean *= 4 if (day, region) == (8, "south") else 1
                rows.append(Row(day, size, float(rng.poisson(mean)), region=region))
            made.record_many(rows)
    return made


def test_uplift_chance_and_worth_are_those_of_the_model(campaign):
    status = campaign.status()
    old, new = status.options
    known = knowledge_of(campaign.state(), campaign.clock(), Replay())
    effect = next(each for each in known.summary.effects if each.option == "new")
    assert old.is_status_quo
    assert old.uplift is None
    assert (new.uplift, new.probability_best) == (effect.effect, effect.chance)
    assert (new.uplift_low, new.uplift_high) == pytest.approx((effect.low95, effect.high95))
    assert old.probability_best + new.probability_best == pytest.approx(1)
    # In 30 days of all regions, with the visitors that came.
    whole = old.mean * sum(SIZES.values()) * 30
    assert status.worth.value == pytest.approx(effect.effect * whole)
    assert status.worth.low < status.worth.value < status.worth.high
    for region, each in known.summary.by_region.items():
        here = status.regions[region].options
        assert here[1].uplift == each[1].effect
        assert here[1].mean == pytest.approx(here[0].mean * (1 + here[1].uplift))
        assert sum(option.buckets for option in here) == DAYS


def test_the_grid_has_a_row_per_region_and_marks_orders_and_outliers(campaign):
    status = campaign.status()
    columns = columns_of(status)
    grid = timeline_chart(status, columns)
    assert grid["rows"] == list(SIZES)
    assert [len(row) for row in grid["cells"]] == [DAYS, DAYS]
    assert all(row[-1].endswith("p") for row in grid["cells"])  # awaited
    south = grid["cells"][1]
    assert south[6] == "1ko"
    assert south[7].endswith("x")
    assert not any("x" in cell or "o" in cell for cell in grid["cells"][0])
    for region, row in zip(grid["rows"], grid["cells"], strict=True):
        shown = [each.arm for each in status.timeline if each.region == region]
        assert [int(cell[0]) for cell in row] == shown
    assert len(columns_of(status, 4)) == 4


def test_many_buckets_are_drawn_in_columns_of_several(campaign):
    status = campaign.status()
    row = status.timeline[0]
    many = [row._replace(bucket=number, label=str(number)) for number in range(1, 1001)]
    long = type(status)(**{**vars(status), "timeline": many})
    labels = timeline_chart(long, columns_of(long))["labels"]
    assert (len(labels), labels[0]) == (250, "1 to 4")
    assert timeline_chart(long, columns_of(long, 90))["labels"][0] == "911"


def test_what_came_in_is_told_by_the_option_it_came_from(campaign):
    status = campaign.status()
    chart = totals_chart(status, columns_of(status))
    totals = [
        sum(row.total or 0 for row in status.timeline if row.bucket == bucket)
        for bucket in range(1, DAYS + 1)
    ]
    added = [old + new for old, new in zip(*chart["series"], strict=True)]
    assert added == pytest.approx(totals, rel=0.01)
    assert chart["series"][0][0] > 0  # on the first day sales of the days before come in


def test_saturday_is_seen_and_effects_are_in_percent(campaign):
    status = campaign.status()
    (pattern,) = pattern_charts(status)
    assert pattern["labels"][5] == "Sat"
    assert max(pattern["values"]) == pattern["values"][5]
    chart = options_chart(status)
    assert chart["unit"] == "sales against old"
    assert chart["options"][0]["mean"] == 0
    assert chart["options"][1]["words"][0].startswith("+")


def test_the_page_says_in_which_region_and_in_days(campaign):
    html = status_section(campaign.status())
    assert "in south: far more than expected" in html
    assert "about 1 day was given at the start" in html
    assert "bucket" not in html.split('id="why-now"')[1].split('id="people"')[0]
    campaign.pause(region="north", user="ada", reason="a look")
    held = status_section(campaign.status())
    assert 'data-states="paused running"' in held
    assert held.count('<span class="badge paused">') == 1
