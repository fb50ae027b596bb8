"""The view of a campaign as JSON: one tree of plain values, of the same shape for every method."""

import dataclasses
import json

import numpy as np
import pytest

from latesum.campaigns.knowledge import compare, probabilities
from latesum.campaigns.view import find_worth
from latesum.policies import Estimate


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
    return json.loads(json.dumps(campaign.status().to_json(), allow_nan=False))


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
    regions["timeline"][0]["origins"] = None  # only a model has them
    for part in ("options", "timeline", "current", "health"):
        assert shape(stream[part]) == shape(regions[part])
    assert shape(stream["options"]) == shape(regions["regions"]["n"]["options"])
    assert list(stream["options"][0]) == [
        "name",
        "arm",
        "buckets",
        "periods",
        "rounds",
        "mean",
        "low",
        "high",
        "status",
        "probability_best",
        "uplift",
        "uplift_low",
        "uplift_high",
        "is_status_quo",
    ]


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


def compared(*rows, base=0, removed=()):
    """Options with these means and intervals, compared."""
    estimates = [Estimate(arm, *row, 1000, True) for arm, row in enumerate(rows)]
    racing = [each for each in estimates if each.arm not in removed]
    return compare(estimates, base, probabilities(racing))


def test_two_that_are_alike_have_half_a_chance_each():
    rows = (("a", 0.2, 0.1, 0.3), ("b", 0.2, 0.1, 0.3))
    found = compared(*rows)
    assert [each.probability_best for each in found] == pytest.approx([0.5, 0.5])
    assert found[1].uplift == pytest.approx(0.0)


def test_probabilities_are_those_of_draws_that_are_normal_on_each_side():
    """Against 400,000 draws: the standard error is below 0.0008, and five of them are allowed."""
    known = (
        ("a", 0.20, 0.18, 0.22),
        ("b", 0.21, 0.16, 0.23),
        ("c", 0.19, 0.189, 0.191),
        ("d", 0.5, 0.4, 0.6),
    )
    found = [each.probability_best for each in compared(*known, removed=[3])]
    assert sum(found) == pytest.approx(1.0)
    assert found[3] == 0.0
    rng = np.random.default_rng(1)
    draws = []
    for _, mean, low, high in known[:3]:
        off = rng.normal(0.0, 1 / 1.959964, 400_000)
        draws.append(mean + off * np.where(off < 0, mean - low, high - mean))
    shares = np.bincount(np.argmax(draws, axis=0), minlength=3) / 400_000
    assert found[:3] == pytest.approx(list(shares), abs=0.004)


def test_uplift_and_worth_are_against_the_status_quo():
    rows = (("a", 0.25, 0.24, 0.26), ("b", 0.20, 0.19, 0.21))
    first, second = found = compared(*rows, base=1)
    assert first.uplift == pytest.approx(0.25)
    assert first.uplift_low < 0.25 < first.uplift_high
    assert second.uplift is None
    less = [("a", 0.25, 0.23, 0.26), ("b", 0.20, 0.19, 0.22)]  # intervals that are not symmetric
    uplift = compared(*less, base=1)[0]
    assert uplift.uplift - uplift.uplift_low == pytest.approx(np.hypot(0.02, 1.25 * 0.02) / 0.2)
    assert uplift.uplift_high - uplift.uplift == pytest.approx(np.hypot(0.01, 1.25 * 0.01) / 0.2)
    worth = find_worth(found, 1, 30_000)
    assert (worth.option, worth.value) == ("a", pytest.approx(0.05 * 30_000))
    assert worth.low < worth.value < worth.high
    assert find_worth(compared(*rows), 0, 30_000) is None


def test_what_is_not_known_is_not_made_up():
    rows = (("a", None, 0.0, 1.0), ("b", 0.2, 0.1, 0.3))
    found = compared(*rows)
    assert [each.probability_best for each in found] == [None, None]
    assert found[1].uplift is None
    assert find_worth(found, 0, 30_000) is None


@pytest.mark.parametrize(("every", "share"), [("day", 1), ("week", 1 / 7)])
def test_a_worth_is_of_thirty_days_whatever_a_bucket_is(new_campaign, clock, every, share):
    campaign = new_campaign(every=every, status_quo="unknown", policy="flow")
    length = {"day": 1, "week": 7}[every]
    shown = {}
    for _ in range(12):
        decision = campaign.decide()
        shown[decision.option] = decision.arm
        clock.pass_by(days=length)
        total = 5000 * (0.2 + 0.1 * decision.arm)
        campaign.record(decision.bucket, rounds=5000, total=total)
    status = campaign.status()
    assert (status.status_quo, status.assumed) == (campaign.config.options[0], True)
    assert len(shown) > 1
    best = next(row for row in status.options if row.name == status.worth.option)
    gain = best.mean - status.options[0].mean
    assert status.worth.value == pytest.approx(gain * 5000 * 30 * share)


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (1.2, "about 1 more than if"),
        (-2300.0, "about 2,300 less than if"),
        (0.3, "about as much as if"),
        (-0.3, "about as much as if"),
    ],
)
def test_what_a_campaign_has_brought_is_said_whatever_its_unit_is_called(new_campaign, gain, said):
    """The unit is a word of the user's own, of which no second form is known for one of it."""
    status = dataclasses.replace(new_campaign(unit="orders").status(), gain=gain)
    assert status.gain_sentence.startswith(f"So far, in orders: {said} all options had been shown")
