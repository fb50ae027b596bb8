"""Plans over HTTP and the date of a decision: simulated in a process of their own."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from latesum.campaigns import Campaign, Row
from latesum.service import forecasts
from latesum.service.forecasts import Forecasts, in_words
from latesum.service.jobs import forecast_rest
from latesum.service.routes import plans
from latesum.simulation import Problem


def forecast(campaign, **changed):
    """A short forecast of the rest of a campaign."""
    return forecast_rest(campaign, **{"replications": 8, "max_buckets": 40, **changed})


@pytest.fixture
def grown(store_file, clock):
    """A campaign of some days, whose options bring this; all totals but the last are known."""

    def make(means, days=8):
        campaign = Campaign.create(
            name="banner",
            options=["red", "blue"],
            every="day",
            expected_rounds=5000,
            parameters={"horizon": "90 days", "mean_delay": "12 hours"},
            time_basis="arrival",
            status_quo="red",
            seed=1,
            store=store_file(f"{means[0]}.db"),
            clock=clock,
        )
        rng = np.random.default_rng(1)
        world = Problem(means, "exponential(2500)").start(rng=rng, status_quo=0)
        for day in range(1, days + 1):
            total = world.play(campaign.decide(day).arm, 5000)
            clock.pass_by(days=1)
            if day < days:
                campaign.record_many([Row(day, 5000, total)])
        return campaign

    return make


def test_options_that_are_close_are_decided_later(grown):
    close = grown([0.0250, 0.0265], 6)
    found = forecast(close)
    assert found == forecast(close)  # the same question, the same answer
    low, middle, high = (1e9 if each is None else each for each in found.buckets)
    assert 2 <= low <= middle <= high  # the newest total is awaited
    clear = grown([0.20, 0.23], 6)
    if clear.winner() is None:  # otherwise it is decided
        assert (forecast(clear).buckets[1] or 1e9) < middle


def test_what_is_over_or_unknown_is_not_simulated(grown):
    campaign, nothing_runs = grown([0.02, 0.03], 1), Forecasts(None, 0.0)

    def said():
        return nothing_runs.of(SimpleNamespace(campaign=campaign), campaign.status())

    assert said().words == "Once totals of the options are in."
    campaign.pause(user="ada", reason="a look")
    assert said().figure == "not while it is paused"
    campaign.finish("red", user="ada", reason="a look")
    assert said() is None


def test_a_forecast_in_words(grown):
    config = grown([0.02, 0.03], 1).config  # it begins on 2 March 2026
    answer = {"buckets": [3, 20, 40], "decided": 1.0, "replications": 60}
    said = in_words(answer, config, 1)
    assert said.figure == "about 22 March"
    assert said.words.startswith("Between 5 March and 11 April, in 60 simulations")
    late = in_words({**answer, "buckets": [3, 330, None]}, config, 1)
    assert late.figure == "about 26 January 2027"
    assert "and much later" in late.words
    never = in_words({**answer, "buckets": [3, None, None], "decided": 0.3}, config, 1)
    assert never.figure == "not soon"
    assert "30% of the time" in never.words


def test_plans_over_http(lasting_service, monkeypatch):
    """With 20 runs of each policy in place of 100: all find an option that is half as good again."""
    monkeypatch.setattr(plans, "REPLICATIONS", 20)
    operator = lasting_service.as_("operate")
    question = {
        "options": 2,
        "rate": 0.1,
        "lift": "50%",
        "traffic": "1000 per day",
        "late": "4 hours",
        "run_for": "8 weeks",
    }
    found = operator.post("/v1/plans", json=question).json()
    assert found["verdict"]["answer"] == "go"
    assert found["policies"][0]["finds_best"]["value"] > 0.8
    rows = {row["truth"]: row for row in found["sensitivity"]}
    assert rows["nothing is better"]["winner"]["value"] < 0.5
    assert rows["all new options are worse"]["regret"]["value"] > 0
    for wrong, says in (
        ({"run_for": "8 wombats"}, "wombats"),
        ({"late": "delays.csv"}, "reads no files"),
        ({"late": "/etc/passwd"}, "pattern"),
        ({"late": "os:system"}, "pattern"),
        ({"rate": 2}, "rate: it must be below 1"),
    ):
        answer = operator.post("/v1/plans", json={**question, **wrong})
        assert answer.status_code == 422, answer.text
        assert says in answer.json()["error"]


def test_time_that_passes_does_not_change_a_forecast(grown, clock):
    campaign = grown([0.02, 0.03], 5)
    first = forecast(campaign)
    clock.now += timedelta(hours=1)
    assert forecast(campaign) == first


@pytest.fixture
def regional(store_file, clock):
    """A campaign in two regions with a history, in which one option brings this much more; the newest total is awaited."""

    def make(lift, days, **more):
        rng = np.random.default_rng(3)
        sizes = {"north": 20_000, "south": 9_000}
        start = clock().date()
        history = [
            {
                "bucket": (start - timedelta(days=back)).isoformat(),
                "region": region,
                "rounds": size,
                "total": float(rng.poisson(0.1 * size)),
            }
            for back in range(21, 0, -1)
            for region, size in sizes.items()
        ]
        campaign = Campaign.create(
            name=f"lift{lift}-{days}",
            options=["old", "new"],
            regions=list(sizes),
            every="day",
            parameters={"horizon": "90 days", "late": "1 day"},
            status_quo="old",
            history=history,
            expected_rounds=10_000,
            time_basis="arrival",
            seed=1,
            clock=clock,
            store=store_file(f"{lift}-{days}.db"),
            **more,
        )
        made = {}
        for day in range(1, days + 1):
            for region, decision in campaign.decide_all().items():
                made[region, day] = 0.1 * sizes[region] * (1 + lift * (decision.option == "new"))
            clock.pass_by(days=1)
            if day < days:
                rows = [
                    Row(
                        day,
                        size,
                        float(
                            rng.poisson(
                                0.5 * made[region, day]
                                + 0.5 * made.get((region, day - 1), 0.1 * size)
                            )
                        ),
                        region=region,
                    )
                    for region, size in sizes.items()
                ]
                campaign.record_many(rows)
        return campaign

    return make


def test_the_rest_of_a_campaign_with_regions_is_simulated(regional):
    clear = regional(0.08, 4)
    found = forecast(clear)
    assert found == forecast(clear)  # the same question, the same answer
    assert found.decided >= 0.5
    low, middle, _ = found.buckets
    assert 1 <= low <= middle <= 40
    assert list(forecast(clear, lag=6).buckets[:2]) == [low + 5, middle + 5]
    barred = forecast(clear, barred={"north": ["new"], "south": ["new"]})
    assert barred != found  # nothing more is learned of it


def test_of_very_many_regions_there_is_no_forecast_and_the_page_says_so(operator, monkeypatch):
    monkeypatch.setattr(forecasts, "MAX_REGIONS", 1)
    config = {
        "options": ["red", "blue"],
        "regions": ["north", "south"],
        "every": "day",
        "seed": 3,
        "expected_rounds": 1000,
        "time_basis": "arrival",
        "start": "2026-03-01",
        "status_quo": "red",
    }
    assert operator.put("/v1/campaigns/many", json=config).status_code == 201
    assert operator.get("/v1/campaigns/many/options").status_code == 200
    page = operator.get("/campaigns/many")
    assert "With more than 1 regions there is no forecast" in page.text
