"""Blocks of whole weeks, and what ends them early."""

ME = {"user": "an operator", "reason": "a test"}
WEEKS = {"policy": "round-robin", "parameters": {"block": 5000}, "align": "week"}


def test_an_option_runs_to_the_end_of_its_week(new_campaign, clock):
    campaign = new_campaign(**WEEKS)
    first = campaign.decide()
    clock.pass_by(days=1)
    second = campaign.decide()
    assert (second.option, second.source) == (first.option, "aligned")


def test_a_removed_option_is_not_shown_to_the_end_of_its_week(new_campaign, clock):
    campaign = new_campaign(**WEEKS)
    first = campaign.decide().option
    clock.pass_by(days=1)
    campaign.remove_option(first, **ME)
    assert campaign.decide().option != first


def test_what_was_reported_afterwards_does_not_bind_the_week(new_campaign, clock):
    campaign = new_campaign(**WEEKS)
    clock.pass_by(days=2)
    campaign.record(2, rounds=5000, total=2000, shown="B")
    assert campaign.decide().source == "policy"
