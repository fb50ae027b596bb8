"""A campaign estimates its delay from its own data, and says when the told one is off."""

from __future__ import annotations

import numpy as np
import pytest

from latesum import Problem
from latesum.campaigns.own_delay import _likely_means
from latesum.campaigns.static_page import status_html

ROUNDS = 5000


class Shop:
    """A campaign and what comes in: totals dated by arrival, 1.5 days late on average."""

    def __init__(self, campaign, clock):
        self.campaign, self.clock = campaign, clock
        problem = Problem([0.03, 0.035], f"exponential({1.5 * ROUNDS})")
        self.world = problem.start(rng=np.random.default_rng(4))

    def run(self, days):
        for _ in range(days):
            decision = self.campaign.decide()
            self.clock.pass_by(days=1)
            total = self.world.play(decision.arm, ROUNDS)
            self.campaign.record(decision.bucket, rounds=ROUNDS, total=total)


def switching(new_campaign, told):
    parameters = {"horizon": 450_000, "mean_delay": told * ROUNDS}
    return new_campaign(options=("A", "B"), policy="flow", parameters=parameters)


@pytest.mark.parametrize(("told", "off"), [(1.5, False), (0.2, True), (8.0, True)])
def test_switches_show_the_delay(new_campaign, clock, told, off):
    campaign = switching(new_campaign, told)
    shop = Shop(campaign, clock)
    # A policy that is told a long delay hardly switches by itself.
    for _ in range(5):
        for name in ("A", "B"):
            campaign.override(name, buckets=4, who="an operator", why="a test")
            shop.run(4)
    own = campaign.status().own_delay
    assert own.source == "switches"
    assert own.low < 1.5 < own.high < 6
    assert own.told == told
    assert own.off is off
    found = [each for each in campaign.status().health if each.code == "delay off"]
    assert bool(found) is off
    if off:
        assert found[0].level == ("warning" if told < 1.5 else "note")  # too long costs little
        assert "--parameter mean_delay=" in found[0].sentence
        assert f"it was told {told:.2g}" in found[0].sentence
    assert own.sentence in campaign.explain()
    saved = campaign.status().to_json()["own_delay"]
    assert (saved["mean"], saved["off"]) == (own.mean, off)
    assert own.sentence in status_html(campaign.status())


def test_while_little_is_known_nothing_is_said(new_campaign, clock):
    campaign = switching(new_campaign, 1.5)
    assert campaign.status().own_delay is None
    Shop(campaign, clock).run(5)
    assert campaign.status().own_delay is None
    assert len(campaign.explain()) == len(campaign.policy().explain())


@pytest.mark.parametrize(
    ("curve", "off"),
    [({"1 day": 0.95, "2 days": 1}, True), ({"1 day": 0.5, "2 days": 0.75, "6 days": 1}, False)],
)
def test_restatements_show_how_totals_fill_up(new_campaign, clock, curve, off):
    campaign = new_campaign(options=("A", "B"), time_basis="decision", fills_up=curve)
    rng = np.random.default_rng(6)
    arrived: dict[int, np.ndarray] = {}
    for bucket in range(1, 31):
        campaign.decide()
        # Decided at a random moment of the day, and exponential after it: half within a day.
        arrived[bucket] = bucket + rng.random(400) + rng.exponential(1.2, 400)
        clock.pass_by(days=1)
        for earlier in range(max(1, bucket - 9), bucket + 1):
            known = int((arrived[earlier] <= bucket + 1).sum())
            campaign.record(earlier, rounds=ROUNDS, total=known)
    own = campaign.status().own_delay
    assert own.source == "restatements"
    assert own.low < 1.2 < own.high
    assert own.off is off
    found = [each for each in campaign.status().health if each.code == "delay off"]
    assert bool(found) is off
    if off:
        assert "--fills-up" in found[0].sentence


def coverage(samples):
    """How often the interval holds the mean delay, with a right and a wrong delay told."""
    inside = wrong_found = 0
    for seed in range(samples):
        problem = Problem([0.03, 0.035], f"exponential({1.5 * ROUNDS})")
        world = problem.start(rng=np.random.default_rng([8, seed]))
        parts = tuple((b // 4 % 2, ROUNDS, world.play(b // 4 % 2, ROUNDS)) for b in range(40))
        mean, low, high = _likely_means(parts, 2, False, 1.5 * ROUNDS)
        assert low <= mean <= high
        inside += low <= 1.5 * ROUNDS <= high
        _, low, high = _likely_means(parts, 2, False, 0.4 * ROUNDS)
        wrong_found += not low <= 0.4 * ROUNDS <= high
    return inside, wrong_found


def test_the_interval_holds_the_delay_and_finds_a_wrong_one():
    """Of 30 at 95%, fewer than 25 are inside with a probability of 0.003; a wrong delay is found in nearly all."""
    inside, wrong_found = coverage(30)
    assert inside >= 25
    assert wrong_found >= 28


@pytest.mark.slow
def test_the_interval_holds_the_delay_in_full():
    """Of 300 at 95%, fewer than 270 are inside with a probability of 0.0003."""
    inside, wrong_found = coverage(300)
    assert inside >= 270
    assert wrong_found >= 285
