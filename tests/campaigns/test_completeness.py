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


def test_the_curve_has_what_was_in_at_the_end_of_a_bucket_and_never_falls(new_campaign, midnight):
    campaign = new_campaign(completeness="fit 3 days")
    for _ in range(4):
        reported(campaign, midnight, {0: 800, 1: 600, 3: 1000})
    midnight.pass_by(days=3)
    curve = seen(campaign, midnight).curve
    assert curve == ((timedelta(0), 0.8), (timedelta(days=1), 0.8), (timedelta(days=3), 1.0))


def test_a_total_that_was_followed_to_within_a_bucket_of_being_full_is_full(new_campaign, midnight):
    campaign = new_campaign(completeness={"1 day": 0.5, "3 days": 1.0})
    bucket = reported(campaign, midnight, {1: 500, 2: 900})
    midnight.pass_by(days=3)
    assert seen(campaign, midnight).observation(bucket).share == 1.0


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
