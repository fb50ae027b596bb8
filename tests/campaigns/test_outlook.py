"""The options compared: uplift, probability of being best, and what a decision is worth."""

import numpy as np
import pytest

from latesum.campaigns.view import OptionView, compare, find_worth

LEVEL = 0.95


def options(*rows):
    return [
        OptionView(name, arm, 3, 2, 1000, mean, low, high, status)
        for arm, (name, mean, low, high, status) in enumerate(rows)
    ]


def test_two_that_are_alike_have_half_a_chance_each():
    rows = (("a", 0.2, 0.1, 0.3, "candidate"), ("b", 0.2, 0.1, 0.3, "candidate"))
    found = compare(options(*rows), 0, LEVEL)
    assert [each.probability_best for each in found] == pytest.approx([0.5, 0.5])
    assert found[1].uplift == pytest.approx(0.0)


def test_probabilities_are_those_of_normal_draws():
    """Against 400,000 draws: the standard error is below 0.0008, and five of them are allowed."""
    known = options(
        ("a", 0.20, 0.18, 0.22, "candidate"),
        ("b", 0.21, 0.16, 0.26, "candidate"),
        ("c", 0.19, 0.189, 0.191, "candidate"),
        ("d", 0.5, 0.4, 0.6, "removed"),
    )
    found = [each.probability_best for each in compare(known, 0, LEVEL)]
    assert sum(found) == pytest.approx(1.0)
    assert found[3] == 0.0
    rng = np.random.default_rng(1)
    half = 1.959964
    draws = np.array(
        [rng.normal(row.mean, (row.high - row.low) / 2 / half, 400_000) for row in known[:3]]
    )
    shares = np.bincount(draws.argmax(axis=0), minlength=3) / 400_000
    assert found[:3] == pytest.approx(list(shares), abs=0.004)


def test_uplift_and_worth_are_against_the_status_quo():
    rows = (("a", 0.25, 0.24, 0.26, "candidate"), ("b", 0.20, 0.19, 0.21, "candidate"))
    first, second = found = compare(options(*rows), 1, LEVEL)
    assert first.uplift == pytest.approx(0.25)
    assert first.uplift_low < 0.25 < first.uplift_high
    assert second.is_status_quo
    assert second.uplift is None
    worth = find_worth(found, 1, 30_000, LEVEL)
    assert (worth.option, worth.value) == ("a", pytest.approx(0.05 * 30_000))
    assert worth.low < worth.value < worth.high
    assert find_worth(compare(options(*rows), 0, LEVEL), 0, 30_000, LEVEL) is None


def test_what_is_not_known_is_not_made_up():
    rows = (("a", None, 0.0, 1.0, "candidate"), ("b", 0.2, 0.1, 0.3, "candidate"))
    found = compare(options(*rows), 0, LEVEL)
    assert [each.probability_best for each in found] == [None, None]
    assert found[1].uplift is None
    assert find_worth(found, 0, 30_000, LEVEL) is None
    known = compare(options(("a", 0.1, 0.0, 0.2, "behind"), rows[1]), 0, LEVEL)
    assert find_worth(known, 0, None, LEVEL) is None  # numbered buckets have no dates


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
