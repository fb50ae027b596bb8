"""What a page shows of a campaign with regions: effects, timeline, origins, weekdays."""

import re
from datetime import timedelta

import numpy as np
import pytest

from latesum.campaigns import Row
from latesum.campaigns.charts import (
    columns_of,
    options_chart,
    timeline_chart,
    totals_by_option,
    totals_chart,
)
from latesum.campaigns.deciding import Replay
from latesum.campaigns.knowledge import knowledge_of
from latesum.campaigns.static_page import status_section

SIZES = {"north": 8000, "south": 3000}
DAYS = 10


@pytest.fixture
def campaign(new_campaign, clock):
    """Ten days in two regions with a history; the last total is awaited, one was ordered, one day was strange."""
    rng = np.random.default_rng(5)
    start = clock().date()
    history = [
        {
            "bucket": (start - timedelta(days=back)).isoformat(),
            "region": region,
            "rounds": size,
            "total": float(
                rng.poisson(
                    0.1 * size * (1.4 if (start - timedelta(days=back)).weekday() == 5 else 1)
                )
            ),
        }
        for back in range(21, 0, -1)
        for region, size in SIZES.items()
    ]
    given = {"horizon": "60 days", "late": "about 1 day"}
    told = {"regions": list(SIZES), "history": history, "status_quo": "old", "unit": "sales"}
    made = new_campaign("offers", ["old", "new"], "switchback", given, **told)
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
    assert (new.uplift, new.probability_best) == pytest.approx((effect.effect, effect.chance))
    assert (new.uplift_low, new.uplift_high) == pytest.approx((effect.low95, effect.high95))
    assert old.probability_best + new.probability_best == pytest.approx(1)
    # In 30 days of all regions, with the visitors that came.
    whole = old.mean * sum(SIZES.values()) * 30
    assert status.worth.value == pytest.approx(effect.effect * whole)
    assert status.worth.low < status.worth.value < status.worth.high
    for region, each in known.summary.by_region.items():
        here = status.regions[region].options
        assert here[1].uplift == pytest.approx(each[1].effect)
        assert here[1].mean == pytest.approx(here[0].mean * (1 + here[1].uplift))
        assert sum(option.buckets for option in here) == DAYS


def test_an_option_that_a_winner_waits_for_is_a_candidate(new_campaign, clock):
    """In its one period "bold" sells a third: its interval is below the others' on that day."""
    given = {"horizon": "40 days", "late": "about 1 day"}
    options = ["old", "new", "bold"]
    made = new_campaign("offers", options, "switchback", given, status_quo="old")
    waited_though_worse = False
    for day in range(1, 23):  # in the second half it is not waited for any more
        decided = made.decide()
        clock.pass_by(days=1)
        rate = {"old": 0.1, "new": 0.11, "bold": 0.03}[decided.option]
        made.record(day, rounds=8000, total=8000 * rate)
        status = made.status()
        status_of = {each.name: each.status for each in status.options}
        waiting = (status.why_no_winner or "").endswith("; bold was not.")
        assert not (waiting and status_of["bold"] == "behind")
        bold, best = status.options[2], max(status.options, key=lambda each: each.mean or 0.0)
        if waiting and bold.high < best.low and not waited_though_worse:
            waited_though_worse = True
            made.remove_option("bold", user="ada", reason="a look")
            assert "bold" not in made.status().why_no_winner
            made.restore_option("bold", user="ada", reason="a look")
    assert waited_though_worse
    assert status_of["bold"] == "behind"


def titles(chart):
    """What the parts of a chart say of themselves."""
    return re.findall("<title>(.*?)</title>", chart)


def test_the_timeline_has_a_row_per_region_and_marks_orders_and_outliers(campaign):
    status = campaign.status()
    said = titles(timeline_chart(status, columns_of(status)))
    assert {each.partition(",")[0] for each in said} == set(SIZES)
    for region in SIZES:
        last = [each for each in said if each.startswith(region)][-1]
        assert "total awaited" in last
    marked = {word: [each for each in said if word in each] for word in ("ordered", "far from")}
    assert [each.split(": ")[0] for each in marked["ordered"]] == ["south, 2026-03-08"]
    assert ": new," in marked["ordered"][0]
    assert [each.split(": ")[0] for each in marked["far from"]] == ["south, 2026-03-09"]
    assert len(columns_of(status, 4)) == 4


def test_many_buckets_are_drawn_in_columns_of_several(campaign):
    status = campaign.status()
    row = status.timeline[0]
    many = [row._replace(bucket=number, label=str(number)) for number in range(1, 1001)]
    long = type(status)(**{**vars(status), "timeline": many})
    columns = columns_of(long)
    assert (len(columns), len(columns[0])) == (250, 4)
    assert titles(timeline_chart(long, columns))[0].startswith("north, 1 to 1000: ")  # one bar
    assert columns_of(long, 90)[0][0].label == "911"


def test_what_came_in_is_told_by_the_option_it_came_from(campaign):
    status = campaign.status()
    columns = columns_of(status)
    series = totals_by_option(status, columns)
    totals = [
        sum(row.total or 0 for row in status.timeline if row.bucket == bucket)
        for bucket in range(1, DAYS + 1)
    ]
    assert [old + new for old, new in zip(*series, strict=True)] == pytest.approx(totals)
    assert series[0][0] > 0  # on the first day sales of the days before come in
    bars = titles(totals_chart(status, columns))
    assert len(bars) == sum(value != 0 for each in series for value in each)
    assert f"old: {series[0][0]:,.4g} sales" in bars[0]


def test_saturday_is_seen_and_options_are_drawn_with_their_intervals(campaign):
    status = campaign.status()
    pattern = re.findall("<dt>(.*?)</dt><dd>(.*?)%</dd>", status_section(status))
    assert max(pattern, key=lambda day: float(day[1]))[0] == "Sat"
    assert len(pattern) == 7
    chart = options_chart(status)
    assert "sales per visitor" in chart
    old, _, new, _ = titles(chart)
    assert re.fullmatch(r"old: (.*)%, between \1% and \1%", old)
    assert re.fullmatch("new: .*%, between .*% and .*%", new)


def test_the_page_says_in_which_region_and_in_days(campaign):
    html = status_section(campaign.status())
    assert html.count("in south was ") == html.count("standard deviations above") == 1
    assert "about 1 day was given at the start" in html
    assert "bucket" not in html.split('id="why-now"')[1].split('id="people"')[0]
    campaign.pause(region="north", user="ada", reason="a look")
    held = status_section(campaign.status())
    assert 'data-states="paused running"' in held
    assert held.count('<span class="badge paused">') == 1
