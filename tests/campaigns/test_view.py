"""The view of a campaign as JSON: one tree of plain values, of the same shape for every method."""

import json

import numpy as np
import pytest

from latesum._render import finite


def lived(campaign, clock, days=8):
    """A campaign some days old, whose second option brings half as much again."""
    rng = np.random.default_rng(1)
    for day in range(1, days + 1):
        decided = campaign.decide_all()
        clock.pass_by(days=1)
        for region, each in decided.items():
            total = float(rng.binomial(5000, 0.2 + 0.1 * each.arm))
            campaign.record(day, rounds=5000, total=total, region=region or None)
    campaign.decide_all()
    return json.loads(json.dumps(finite(campaign.status().to_json()), allow_nan=False))


def shape(value):
    """The names in a tree, without its values."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


@pytest.fixture
def views(new_campaign, clock):
    start = clock()
    stream = lived(new_campaign("stream", ("A", "B"), "flow", status_quo="A"), clock)
    clock.pass_by(days=(start - clock()).days)
    given = {"horizon": "60 days", "late": "about 1 day"}
    regions = lived(
        new_campaign(
            "regions", ("A", "B"), "switchback", given, regions=["n", "s"], status_quo="A"
        ),
        clock,
    )
    return stream, regions


def test_policies_and_market_models_have_options_and_a_timeline_of_one_shape(views):
    stream, regions = views
    assert stream.keys() == regions.keys()
    for part in ("options", "timeline", "current", "health"):
        assert shape(stream[part]) == shape(regions[part])
    assert list(stream["options"][0]) == [
        "name", "arm", "buckets", "periods", "rounds", "mean", "low", "high", "status",
        "probability_best", "uplift", "uplift_low", "uplift_high", "is_status_quo",
    ]  # fmt: skip


def test_the_figures_of_the_options_agree_with_each_other(views):
    for view in views:
        first, second = view["options"]
        assert (view["status_quo"], first["is_status_quo"], view["level"]) == ("A", True, 0.95)
        assert first["probability_best"] + second["probability_best"] == pytest.approx(1)
        assert second["low"] < second["mean"] < second["high"]
        assert second["uplift"] == pytest.approx(second["mean"] / first["mean"] - 1)
        assert second["uplift_low"] < second["uplift"] < second["uplift_high"]
        assert view["worth"]["option"] == "B"


def test_a_pin_that_has_not_begun_is_announced(new_campaign, clock):
    campaign = new_campaign()
    shown = campaign.decide().option
    campaign.pin("C", buckets=3, user="ada", reason="a fair")
    headline = campaign.status().headline
    assert shown in headline
    assert headline.endswith("From the next day on C is pinned for 3 days: a fair")
    clock.pass_by(days=1)
    assert campaign.decide().option == "C"
    assert "From the next day" not in campaign.status().headline
