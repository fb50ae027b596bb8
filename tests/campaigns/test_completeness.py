"""When a total may be used, and how far it is filled up, at the edges."""

from datetime import timedelta

import pytest

from latesum.campaigns.completeness import Completeness

ME = {"user": "an operator", "reason": "a test"}


@pytest.fixture
def midnight(clock):
    """A clock that stands at the beginning of a day."""
    clock.now = clock.now.replace(hour=0)
    return clock


def reported(campaign, clock, totals):
    """A bucket whose total is reported at whole days after its end; when it ended."""
    bucket = campaign.decide().bucket
    clock.pass_by(days=1)
    end = clock.now
    for age, total in totals.items():
        clock.now = end + timedelta(days=age)
        campaign.record(bucket, rounds=5000, total=total)
    clock.now = end
    return bucket


def seen(campaign, clock):
    return Completeness(campaign.state(), clock.now)


def test_a_final_value_is_usable_from_when_it_was_said_to_be_final(new_campaign, midnight):
    campaign = new_campaign(completeness={"5 days": 1})
    bucket = reported(campaign, midnight, {0: 2000})
    midnight.pass_by(days=2)
    campaign.record(bucket, total=2000, status="final")
    assert seen(campaign, midnight).usable_at(bucket) == midnight.now


def test_buckets_after_the_end_are_not_filled_in(new_campaign, midnight):
    campaign = new_campaign()
    reported(campaign, midnight, {0: 2000})
    campaign.finish("A", **ME)
    midnight.pass_by(days=5)
    decided = set(campaign.state().decisions)
    bucket = campaign.config.buckets.number(midnight.now) - 1
    row = {"bucket": bucket, "rounds": 5000, "total": 2000}
    (found,) = campaign.record_many([row], skip_unknown=True)
    assert found.verdict == "unknown bucket"
    assert set(campaign.state().decisions) == decided
