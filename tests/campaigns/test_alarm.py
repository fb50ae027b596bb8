"""A campaign that learns nothing says so, and says what to do."""

import pytest


def days(campaign, clock, count, record=lambda day: None):
    """Decide every morning; `record` says what is recorded on that day."""
    first = campaign.state().last or 0
    alarms = []
    for day in range(first + 1, first + count + 1):
        campaign.decide()
        record(day)
        alarms.append(campaign.status().alarm)
        clock.pass_by(days=1)
    clock.pass_by(days=-1)
    return alarms


def test_three_buckets_without_a_usable_total_are_an_alarm(new_campaign, clock):
    campaign = new_campaign()
    alarms = days(campaign, clock, 5)
    assert alarms[:3] == [None] * 3  # on the third morning two days are over
    assert all("no total has become usable yet" in alarm for alarm in alarms[3:])
    assert "after 4 days" in alarms[-1]
    assert "is the import still running?" in alarms[-1]
    assert campaign.health()[0].command == "import FILE"
    status = campaign.status()
    assert status.alarm == status.health[0].sentence == alarms[-1]
    assert "nothing is known yet" in status.headline


def test_totals_that_come_in_are_no_alarm_and_their_end_is_one(new_campaign, clock):
    campaign = new_campaign()

    def yesterday(day):
        if day > 1:
            campaign.record(day - 1, rounds=5000, total=1500)

    assert days(campaign, clock, 10, yesterday) == [None] * 10
    clock.pass_by(days=1)
    alarms = days(campaign, clock, 4)
    assert alarms[:2] == [None] * 2
    assert "for 3 days, since 2026-03-11 08:00 UTC" in alarms[2]
    campaign.record(10, rounds=5000, total=1500)
    assert campaign.status().alarm is None


def test_rounds_without_totals_are_an_alarm(new_campaign, clock):
    campaign = new_campaign()
    alarms = days(campaign, clock, 5, lambda day: campaign.record(day, rounds=5000))
    assert "No total was recorded for them" in alarms[-1]


def test_totals_that_must_be_full_first_say_when_they_count(new_campaign, clock):
    campaign = new_campaign(completeness={"5 days": 1})

    def yesterday(day):
        if day > 1:
            campaign.record(day - 1, rounds=5000, total=1500)

    alarms = days(campaign, clock, 20, yesterday)
    full = "counts only when it is full, 5 days after the end of its day; the first will from "
    assert full + "2026-03-08 00:00 UTC" in alarms[4]
    assert "still running" not in alarms[4]
    assert "recorded as final counts at once" in alarms[4]
    assert alarms[6:] == [None] * 14  # from then on one becomes usable every day


def test_files_that_come_once_a_week_are_no_alarm_once_that_is_usual(new_campaign, clock):
    campaign = new_campaign()

    def on_mondays(day):
        if day % 7 == 1:
            for bucket in range(max(day - 7, 1), day):
                campaign.record(bucket, rounds=5000, total=1500)

    alarms = days(campaign, clock, 40, on_mondays)
    assert all(alarms[i] is None for i in range(40) if i % 7 == 0)  # on the Mondays themselves
    assert alarms[6] is not None
    assert alarms[15:] == [None] * 25
    clock.pass_by(days=1)
    alarms = days(campaign, clock, 20)
    assert alarms[7] is None  # the file that is four days late
    assert alarms[10] is not None


def test_what_is_missing_is_named(new_campaign, clock):
    other = new_campaign("other")
    alarm = days(other, clock, 5, lambda day: other.record(day, status="missing"))[-1]
    assert "days are marked as missing" in alarm


@pytest.mark.parametrize("final", [False, True])
def test_totals_of_the_evening_are_no_alarm(new_campaign, clock, final):
    campaign = new_campaign()
    status = {"status": "final"} if final else {}
    alarms = days(
        campaign, clock, 9, lambda day: campaign.record(day, rounds=5000, total=1500, **status)
    )
    assert alarms == [None] * 9
