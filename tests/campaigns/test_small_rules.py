"""The small rules of the log: each of these tests fails if one sign or one condition is changed."""

from __future__ import annotations

import dataclasses

import pytest

from latesum.campaigns.deciding import plays_at
from latesum.campaigns.terminal_page import gain_sentence
from latesum.errors import InvalidInput, UnknownBucket
from latesum.policies import Play

ME = {"user": "an operator", "reason": "a test"}


def told(campaign):
    return plays_at(campaign.state(), campaign.clock())


def test_dropping_an_option_ends_an_override_to_it(new_campaign, clock):
    """A sold-out option must not go on being shown because it was ordered before."""
    campaign = new_campaign()
    campaign.pin("C", buckets=5, **ME)
    assert campaign.decide().option == "C"
    clock.pass_by(days=1)
    campaign.remove_option("C", **ME)
    assert campaign.state().pin is None
    assert campaign.decide().option != "C"


def test_dropping_another_option_does_not_end_an_override(new_campaign, clock):
    campaign = new_campaign()
    campaign.pin("C", buckets=5, **ME)
    campaign.decide()
    clock.pass_by(days=1)
    campaign.remove_option("A", **ME)
    assert campaign.decide().option == "C"


def test_hearing_the_same_total_again_does_not_start_the_wait_anew(new_campaign, clock):
    """A file that is imported every day would otherwise keep its totals pending for ever."""
    campaign = new_campaign(settling_time="2 days")
    campaign.decide()
    clock.pass_by(hours=12)  # at 20:00: four hours before the end of the day
    campaign.record(1, rounds=5000, total=1500)
    clock.pass_by(hours=12)
    again = campaign.record(1, rounds=5000, total=1500)
    assert again.verdict == "same"
    assert campaign.history()[-1].body == {"verdict": "same", "total": 1500.0}  # it says more
    clock.pass_by(
        hours=40
    )  # two days after the end, and less than two days after it was said again
    assert told(campaign)[0].total == 1500


def test_the_first_total_is_no_revision(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    clock.pass_by(days=1)
    assert campaign.record(1, rounds=5000, total=1500).verdict == "new"
    assert campaign.state().value(1).revisions == 0
    assert campaign.record(1, total=1500).verdict == "same"
    assert campaign.state().value(1).revisions == 0
    assert campaign.record(1, total=1510).verdict == "revised"
    assert campaign.state().value(1).revisions == 1


def test_a_total_at_exactly_the_lateness_is_in_time(new_campaign, clock):
    campaign = new_campaign(max_lateness="3 days")
    campaign.decide()
    clock.pass_by(hours=16 + 72)  # the day ended 16 hours after the beginning
    assert campaign.record(1, rounds=5000, total=1500).verdict == "new"


def test_a_second_after_the_lateness_it_is_too_late(new_campaign, clock):
    campaign = new_campaign(max_lateness="3 days")
    campaign.decide()
    clock.pass_by(hours=16 + 72, seconds=1)
    assert campaign.record(1, rounds=5000, total=1500).verdict == "too late"


def test_what_came_too_late_is_kept_once(new_campaign, clock):
    """The log must not grow with every import of an old file."""
    campaign = new_campaign(max_lateness="1 day")
    campaign.decide()
    clock.pass_by(days=4)
    assert campaign.record(1, rounds=5000, total=1500).verdict == "too late"
    events = len(campaign.history())
    for _ in range(3):
        clock.pass_by(days=1)
        assert campaign.record(1, rounds=5000, total=1500).verdict == "too late"
    assert len(campaign.history()) == events
    assert campaign.record(1, rounds=5000, total=1501).verdict == "too late"  # this is news
    assert len(campaign.history()) == events + 1


def test_a_total_at_the_limit_is_not_refused_for_its_last_digit(new_campaign, clock):
    assert 3 * 0.7 < 2.1
    campaign = new_campaign(range=(0, 0.7))
    campaign.decide()
    clock.pass_by(days=1)
    assert campaign.record(1, rounds=3, total=2.1).verdict == "new"
    with pytest.raises(InvalidInput, match="more than 3 visitors can bring"):
        campaign.record(1, total=2.2)


def test_late_totals_of_a_pending_bucket_do_not_make_it_known(new_campaign, clock):
    campaign = new_campaign()
    for _ in range(3):
        campaign.decide()
        clock.pass_by(days=1)
    campaign.record(1, rounds=5000)
    campaign.record(2, rounds=0, total=40)
    campaign.record(3, rounds=0)
    assert told(campaign) == [Play(0, 5000, None, "learn", 1)]


def test_a_held_campaign_does_not_hold_on_to_an_option_that_was_dropped(new_campaign, clock):
    campaign = new_campaign()
    held = campaign.decide().option
    campaign.pause(**ME)
    clock.pass_by(days=1)
    assert campaign.decide().option == held
    clock.pass_by(days=1)
    campaign.remove_option(held, **ME)
    assert campaign.decide().option != held


def test_an_older_file_does_not_make_a_final_value_provisional(new_campaign, clock):
    campaign = new_campaign(settling_time="9 days")
    campaign.decide()
    clock.pass_by(days=1)
    campaign.record(1, rounds=5000, total=1500, status="final")
    assert campaign.record(1, total=1500, status="provisional").verdict == "same"
    assert campaign.state().value(1).status == "final"
    assert told(campaign)[0].total == 1500


def test_a_final_value_that_is_corrected_to_a_provisional_one_must_settle(new_campaign, clock):
    campaign = new_campaign(settling_time="2 days")
    campaign.decide()
    clock.pass_by(days=1)
    campaign.record(1, rounds=5000, total=1500, status="final")
    assert told(campaign)[0].total == 1500
    campaign.record(1, status="missing", overwrite_final=True)
    campaign.record(1, total=1400)
    assert campaign.state().value(1).status == "provisional"
    assert told(campaign)[0].total is None
    clock.pass_by(days=2)
    assert told(campaign)[0].total == 1400


def test_a_missing_bucket_has_no_total(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    clock.pass_by(days=1)
    campaign.record(1, rounds=5000, total=1500)
    campaign.record(1, status="missing")
    assert campaign.state().value(1).total is None


def test_the_present_bucket_is_not_taken_to_be_over(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    clock.pass_by(days=2)
    assert campaign.record(2, rounds=5000, total=1500).verdict == "new"  # yesterday went on
    with pytest.raises(UnknownBucket):
        campaign.record(3, rounds=5000, total=1500)


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
    sentence = gain_sentence(status)
    assert sentence.startswith(f"So far, in orders: {said} all options had been shown")
