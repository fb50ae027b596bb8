"""Decisions say which block they are a part of."""

import itertools

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import plays_at
from latesum.campaigns.moving import (
    export_campaigns,
    exported_log,
    replay_log,
)
from latesum.campaigns.rows import largest_share

ME = {"user": "an operator", "reason": "a test"}


def told(campaign):
    return plays_at(campaign.state(), campaign.clock())


def run(campaign, clock, days, rate=0.3):
    for _ in range(days):
        decision = campaign.decide()
        clock.pass_by(days=1)
        campaign.record(decision.bucket, rounds=5000, total=round(5000 * rate) + decision.arm)


def test_a_decision_has_the_number_of_the_bucket_in_which_its_block_began(new_campaign, clock):
    campaign = new_campaign()  # ODAAF's first block is five buckets long
    run(campaign, clock, 14)
    decisions = list(campaign.state().decisions.values())
    changes = [d.bucket for d, e in zip(decisions[1:], decisions, strict=False) if d.arm != e.arm]
    began = 1
    for decision in decisions:
        began = decision.bucket if decision.bucket in changes else began
        assert decision.number == began
    assert len(changes) >= 2
    assert [play.number for play in told(campaign)] == [each.number for each in decisions]


def test_a_new_decision_for_the_same_option_is_a_block_of_its_own(new_campaign, clock):
    campaign = new_campaign(policy="flow", parameters={"horizon": 450_000, "mean_delay": 500})
    run(campaign, clock, 12)
    decisions = list(campaign.state().decisions.values())
    assert {each.purpose for each in decisions} == {"learn"}
    assert any(
        one.arm == other.arm and one.number != other.number
        for one, other in itertools.pairwise(decisions)
    )
    assert replay_log(campaign.first_config, campaign.history()) == []


def test_orders_and_drops_have_numbers_of_their_own(new_campaign, clock):
    campaign = new_campaign()
    run(campaign, clock, 1)
    campaign.pin("C", buckets=2, **ME)
    run(campaign, clock, 3)
    campaign.remove_option("B", **ME)
    run(campaign, clock, 1)
    numbers = [(d.arm, d.purpose, d.number) for d in campaign.state().decisions.values()]
    assert numbers == [
        (0, "learn", 1),
        (2, "override", 2),
        (2, "override", 2),
        (0, "learn", 4),
        (0, "learn", 5),
    ]
    assert replay_log(campaign.first_config, campaign.history()) == []


def test_what_was_shown_instead_is_one_block_while_it_lasts(new_campaign, clock):
    campaign = new_campaign()
    run(campaign, clock, 3)
    for bucket in (2, 3):
        campaign.record(bucket, shown="C")
    assert [tuple(play)[::4] for play in told(campaign)] == [(0, 1), (2, 2), (2, 2)]


def test_a_bucket_that_was_not_asked_for_goes_on_with_the_number_before(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    clock.pass_by(days=7)
    campaign.decide()
    assert [each.number for each in campaign.state().decisions.values()] == [1] * 7 + [8]


def test_a_replay_notices_another_number(new_campaign, clock):
    campaign = new_campaign()
    run(campaign, clock, 3)
    (exported,) = export_campaigns(campaign.store, campaign.name)["campaigns"]
    decision = next(each for each in exported["log"] if each[1] == "decision" and each[2] == 2)
    assert decision[3]["number"] == 1
    decision[3]["number"] = 2
    found = replay_log(CampaignConfig.from_json(exported["config"]), exported_log(exported))
    assert [taken.bucket for taken, _ in found][:1] == [2]


def test_a_mixed_bucket_counts_as_its_largest_share():
    assert largest_share(((0, 0.3), (1, 0.7))) == 1
    assert largest_share(((0, 0.6), (1, 0.4))) == 0
    assert largest_share(2) == 2
