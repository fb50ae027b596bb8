"""A campaign's health: what is wrong, said at once, with what to do; and nothing while all is well."""

import pytest

from latesum.campaigns.health import LITTLE_SPACE, NO_SPACE
from latesum.campaigns.store import Store

ME = {"user": "ada", "reason": "a look"}
FLOW = {"policy": "flow", "parameters": {"horizon": 4_500_000, "mean_delay": 1500}}


@pytest.fixture(autouse=True)
def enough_space(monkeypatch):
    monkeypatch.setattr(Store, "free_bytes", lambda self: 10**12)


def found(campaign, level=None):
    return {
        each.code: each.text for each in campaign.health() if level is None or each.level == level
    }


def of_yesterday(campaign, rounds=5000):
    """What is recorded every morning: the total of the day before."""

    def record(day):
        if day - 1 in campaign.state().decisions:
            campaign.record(day - 1, rounds=rounds, total=0.3 * rounds)

    return record


def live(campaign, clock, count, record=lambda day: None):
    """Every morning the question, and what is recorded on that day; the alarms of each."""
    alarms = []
    for _ in range(count):
        record(campaign.decide().bucket)
        alarms.append(found(campaign, "alarm").get("learns nothing"))
        clock.pass_by(days=1)
    clock.pass_by(days=-1)
    return alarms


def test_a_campaign_that_is_well_has_only_notes(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    live(campaign, clock, 60, of_yesterday(campaign))
    assert set(found(campaign)) == set(found(campaign, "note")) == {"weekdays"}
    aligned = new_campaign("aligned", **FLOW, align="week")
    live(aligned, clock, 60, of_yesterday(aligned))
    assert found(aligned) == {}


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ({}, "after 4 days. No total was recorded for them: is the import still running?"),
        ({"rounds": 5000}, "No total was recorded for them"),
        ({"status": "missing"}, "after 4 days. 4 days are marked as missing: if a total turns up"),
    ],
)
def test_three_buckets_without_a_usable_total_are_an_alarm(new_campaign, clock, recorded, said):
    campaign = new_campaign()
    alarms = live(campaign, clock, 4, lambda day: recorded and campaign.record(day, **recorded))
    assert alarms[:3] == [None] * 3  # on the third morning two days are over
    assert "no total has become usable yet, after 3 days" in alarms[3]
    clock.pass_by(days=1)
    campaign.decide()
    status = campaign.status()
    assert said in status.alarm
    assert status.alarm == status.health[0].sentence
    assert status.health[0].command == "import FILE"
    assert "nothing is known yet" in status.headline


def test_totals_that_come_in_are_no_alarm_and_their_end_is_one(new_campaign, clock):
    campaign = new_campaign()
    assert live(campaign, clock, 10, of_yesterday(campaign)) == [None] * 10
    clock.pass_by(days=1)
    alarms = live(campaign, clock, 4)
    assert alarms[:2] == [None] * 2
    assert "for 3 days, since 2026-03-11 08:00 UTC" in alarms[2]
    campaign.record(10, rounds=5000, total=1500)
    assert found(campaign, "alarm") == {}


def test_totals_that_must_be_full_first_say_when_they_count(new_campaign, clock):
    campaign = new_campaign(completeness={"5 days": 1})
    alarms = live(campaign, clock, 20, of_yesterday(campaign))
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

    alarms = live(campaign, clock, 40, on_mondays)
    assert all(alarms[i] is None for i in range(40) if i % 7 == 0)  # on the Mondays themselves
    assert alarms[6] is not None
    assert alarms[15:] == [None] * 25
    clock.pass_by(days=1)
    alarms = live(campaign, clock, 20)
    assert alarms[7] is None  # the file that is four days late
    assert alarms[10] is not None


@pytest.mark.parametrize("status", [None, "final"])
def test_totals_of_the_evening_are_no_alarm(new_campaign, clock, status):
    campaign = new_campaign()
    total = {"rounds": 5000, "total": 1500, "status": status}
    assert live(campaign, clock, 9, lambda day: campaign.record(day, **total)) == [None] * 9


def test_a_month_of_silence_is_an_alarm(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    live(campaign, clock, 10, of_yesterday(campaign))
    clock.pass_by(days=31)
    alarm = found(campaign, "alarm")["learns nothing"]
    assert "no total has become usable for 31 days, since 2026-03-11 08:00 UTC" in alarm
    sentence = found(campaign)["not asked for"]
    assert "10 of the last 10 days were not asked for (the last that was: 2026-03-11)" in sentence
    assert "latesum campaign next" in sentence
    campaign.decide()
    assert "9 of the last 10 days were not asked for" in found(campaign)["not asked for"]


def test_days_before_the_first_question_could_not_be_asked_for(new_campaign, clock):
    campaign = new_campaign(**FLOW, start="2026-03-01", status_quo="A")
    clock.pass_by(days=11)
    campaign.record("2026-03-01", rounds=5000, total=1500)
    campaign.record("2026-03-02", rounds=5000, total=1500)
    campaign.decide()
    assert [each.source for each in campaign.state().decisions.values()].count("carried") > 3
    assert "not asked for" not in found(campaign)
    clock.pass_by(days=4)
    campaign.decide()
    assert "3 of the last 5 days were not asked for" in found(campaign)["not asked for"]


def test_the_planned_end_is_said_with_how_long_ago_it_was(new_campaign, clock):
    parameters = {"horizon": "5 days", "mean_delay": 100}
    campaign = new_campaign(policy="flow", parameters=parameters)
    live(campaign, clock, 5, of_yesterday(campaign))
    assert "planned end passed" not in found(campaign)
    clock.pass_by(days=1)
    live(campaign, clock, 1, of_yesterday(campaign))
    assert "was now (2026-03-06)" in found(campaign)["planned end passed"]
    clock.pass_by(days=1)
    live(campaign, clock, 25, of_yesterday(campaign))
    sentence = found(campaign)["planned end passed"]
    assert "25,000 visitors, was 25 days ago (2026-03-06)" in sentence
    assert "Finish the campaign, or extend it." in sentence
    campaign.change(parameters={"horizon": "60 days"}, **ME)
    assert "planned end passed" not in found(campaign)


def test_a_pause_that_lasts_long_is_named(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    campaign.decide()
    clock.pass_by(days=1)
    campaign.pause(**ME)
    live(campaign, clock, 6)
    assert "paused long" not in found(campaign)
    clock.pass_by(days=1)
    live(campaign, clock, 1)
    assert "paused for 7 days (by ada: a look)" in found(campaign)["paused long"]
    campaign.resume(**ME)
    assert "paused long" not in found(campaign)


def test_rounds_that_are_not_as_expected_say_the_command_that_sets_them_right(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    live(campaign, clock, 6, of_yesterday(campaign, rounds=1000))
    sentence = found(campaign, "warning")["rounds not as expected"]
    assert "1,000 visitors on average, not 5,000" in sentence
    assert "latesum campaign change --expected-rounds 1000" in sentence
    campaign.change(expected_rounds=1000, **ME)
    assert "rounds not as expected" not in found(campaign)


def test_old_totals_that_grow_and_totals_by_decision(new_campaign, clock):
    campaign = new_campaign(**FLOW, time_basis="decision")

    def restate_all(day):
        for bucket in range(1, day):
            campaign.record(bucket, rounds=5000, total=1000 + 60 * (day - bucket))

    live(campaign, clock, 14, restate_all)
    assert set(found(campaign, "warning")) >= {"old totals grow", "dated by decision"}


@pytest.mark.parametrize(
    ("free", "level"),
    [(LITTLE_SPACE, None), (LITTLE_SPACE - 1, "warning"), (NO_SPACE - 1, "alarm"), (None, None)],
)
def test_a_store_that_is_nearly_full(new_campaign, monkeypatch, free, level):
    campaign = new_campaign()
    monkeypatch.setattr(Store, "free_bytes", lambda self: free)
    levels = [each.level for each in campaign.health() if each.code == "store nearly full"]
    assert levels == ([] if level is None else [level])


def test_the_space_of_a_file_is_known_and_that_of_a_server_is_not(store_address, monkeypatch):
    monkeypatch.undo()
    with Store(store_address) as store:
        free = store.free_bytes()
    assert (free is None) == store_address.startswith("postgresql")
    assert free is None or free > 0


def test_a_finished_campaign_has_nothing_to_say(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    campaign.decide()
    clock.pass_by(days=40)
    assert found(campaign, "alarm")
    campaign.finish("A", **ME)
    assert campaign.health() == campaign.status().health == []


def test_reasons_and_data_claim_nothing_that_is_not_known(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    assert "because it has not been tried yet" in campaign.decide().reason
    clock.pass_by(days=1)
    campaign.decide()
    campaign.record(1, rounds=5000, total=1500)
    assert campaign.status().data.startswith("1 total is known")
    campaign.add_option("D", **ME)
    clock.pass_by(days=1)
    assert "has not been tried yet" in campaign.decide().reason
