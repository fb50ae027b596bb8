"""A campaign estimates its delay from its own data, and says when the told one is off."""

from __future__ import annotations

import numpy as np
import pytest

from latesum import Problem
from latesum.campaigns import Campaign
from latesum.campaigns.own_delay import likely_means
from latesum.campaigns.static_page import status_html
from latesum.policies import Play

ROUNDS = 5000


class Shop:
    """A campaign and what comes in: totals dated by arrival, 1.5 days late on average."""

    def __init__(self, campaign, clock):
        self.campaign, self.clock = campaign, clock
        problem = Problem([0.03, 0.035], f"exponential({1.5 * ROUNDS})")
        self.world = problem.start(rng=np.random.default_rng(5))

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
            campaign.pin(name, buckets=4, user="an operator", reason="a test")
            shop.run(4)
    own = campaign.status().own_delay
    assert own.source == "switches"
    assert own.low < 1.5 < own.high < 6
    assert own.given == told
    assert own.off is off
    found = [each for each in campaign.status().health if each.code == "delay off"]
    assert bool(found) is off
    if off:
        assert found[0].level == ("warning" if told < 1.5 else "note")  # too long costs little
        assert "--parameter mean_delay=" in found[0].text
        assert f"it was given {told:.2g}" in found[0].text
    assert own.sentence in campaign.explain()
    saved = campaign.status().to_json()["own_delay"]
    assert (saved["mean"], saved["off"]) == (own.mean, off)
    assert own.sentence in status_html(campaign.status())


def test_while_little_is_known_nothing_is_said(new_campaign, clock):
    campaign = switching(new_campaign, 1.5)
    assert campaign.status().own_delay is None
    Shop(campaign, clock).run(5)
    assert campaign.status().own_delay is None
    assert len(campaign.explain()) == len(campaign.policy().explain()) + 1  # the present decision


@pytest.mark.parametrize(
    ("curve", "off"),
    [({"1 day": 0.95, "2 days": 1}, True), ({"1 day": 0.5, "2 days": 0.75, "6 days": 1}, False)],
)
def test_restatements_show_how_totals_fill_up(new_campaign, clock, curve, off):
    campaign = new_campaign(options=("A", "B"), time_basis="decision", completeness=curve)
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
        assert "--completeness" in found[0].text


def rehearsed(folder, seed):
    """A campaign of 40 days, some of them missing and one restated, whose delay is told rightly."""
    options = ["free shipping", "a gift"]
    problem = Problem([0.030, 0.036], "exponential(1500)")
    world = problem.start(rng=np.random.default_rng([8, seed]), status_quo=0.030)
    with Campaign.create(
        name="offers", options=options, every="number", expected_rounds=2_000, time_basis="arrival",
        policy="unmix", parameters={"horizon": 80_000, "mean_delay": 1_500},
        status_quo="free shipping", store=folder / f"{seed}.db",
    ) as campaign:  # fmt: skip
        for day in range(1, 41):
            total = world.play(campaign.decide(day).arm, 2_000)
            known = {"status": "missing"} if seed % 2 and day % 9 == 0 else {"total": total}
            campaign.record(day, rounds=2_000, **known)
        if seed % 2:
            campaign.record(38, total=campaign.state().value(38).total + 9)
        return campaign.status().own_delay


def coverage(folder, samples):
    """How many rehearsals said something of the delay, and how many of these were right."""
    said = [own for seed in range(samples) if (own := rehearsed(folder, seed)) is not None]
    for own in said:
        assert (own.mean is None) == (own.high == np.inf)
        assert own.low > 0 or own.high < np.inf
        if own.mean is None:
            assert "at least" in own.sentence
            assert "is not known yet" in own.sentence
    return len(said), sum(own.low <= 0.75 <= own.high for own in said)


def test_what_a_campaign_says_of_its_delay_is_true(tmp_path):
    """Of 12 statements at 95%, two or more are false with a probability of 0.12 by chance; the seeds are fixed."""
    said, right = coverage(tmp_path, 16)
    assert said >= 8
    assert right >= said - 1


@pytest.mark.slow
def test_what_a_campaign_says_of_its_delay_is_true_in_full(tmp_path):
    """Of 140 statements at 95%, fewer than 92% are right with a probability of 0.05."""
    said, right = coverage(tmp_path, 200)
    assert said >= 100
    assert right >= 0.92 * said


def test_a_wrong_delay_is_found():
    """Ten switches with a delay of 1.5 buckets, where 0.4 was told."""
    found = 0
    for seed in range(20):
        world = Problem([0.03, 0.035], f"exponential({1.5 * ROUNDS})").start(
            rng=np.random.default_rng([8, seed])
        )
        plays = [
            Play(day // 4 % 2, ROUNDS, float(world.play(day // 4 % 2, ROUNDS))) for day in range(40)
        ]
        _, low, _ = likely_means(plays, 2, None, 0.4 * ROUNDS)
        found += low > 0.4 * ROUNDS
    assert found >= 17
