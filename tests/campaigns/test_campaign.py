"""What a campaign does with totals that are late, restated, missing, partial or odd."""

import pytest

from latesum import InvalidInput
from latesum.campaigns.actions import describe_event
from latesum.campaigns.deciding import plays_at
from latesum.campaigns.static_page import status_html
from latesum.errors import UnknownBucket
from latesum.policies import Play, registry


def told(campaign, **maybe):
    return plays_at(campaign.state(), campaign.clock(), **maybe)


def run_days(campaign, clock, days, rate=0.3, *, lag=1):
    """Decide for some days; totals come `lag` days after."""
    decisions = []
    for _ in range(days):
        decision = campaign.decide()
        decisions.append(decision)
        known = decision.bucket - lag
        if known >= 1:
            campaign.record(known, rounds=5000, total=round(5000 * rate) + known)
        clock.pass_by(days=1)
    return decisions


def test_a_decision_is_taken_once_and_never_again(new_campaign, clock):
    campaign = new_campaign()
    first = campaign.decide()
    clock.pass_by(hours=5)
    assert campaign.decide() == first
    assert campaign.decide("2026-03-02") == campaign.decide(1) == first
    assert len(campaign.history()) == 1


def test_decisions_do_not_wait_and_pending_buckets_are_told_as_pending(new_campaign, clock):
    campaign = new_campaign()
    for _ in range(4):
        campaign.decide()
        clock.pass_by(days=1)
    campaign.record(1, rounds=4000, total=1200)
    campaign.record(2, rounds=6000)
    decisions = campaign.state().decisions
    assert told(campaign) == [
        Play(decisions[1].arm, 4000, 1200.0, "learn", 1),
        Play(decisions[2].arm, 6000, None, "learn", decisions[2].number),
        Play(decisions[3].arm, 5000, None, decisions[3].purpose, decisions[3].number),
        Play(decisions[4].arm, 5000, None, decisions[4].purpose, decisions[4].number),
    ]


def test_a_block_ends_where_the_recorded_rounds_reach_what_was_asked(new_campaign, clock):
    campaign = new_campaign()
    asked = campaign.decide().rounds
    assert asked > 5000
    by_expected = -(-asked // 5000)
    decided = run_days(campaign, clock, by_expected + 1, lag=99)
    assert [each.arm for each in decided] == [0] * by_expected + [1]
    busy = new_campaign("busy")
    first = busy.decide()
    busy.record(first.bucket, rounds=asked)
    clock.pass_by(days=1)
    assert busy.decide().arm == 1


def test_a_revision_changes_the_future_and_never_the_past(new_campaign, clock):
    campaign = new_campaign(parameters={"horizon": 450_000, "mean_delay": 10})
    decided = run_days(campaign, clock, 30, rate=0.3)
    estimate = campaign.estimates()[0].mean
    for bucket, decision in enumerate(decided[:-1], start=1):
        if decision.arm == 0:
            campaign.record(bucket, total=4000)
    assert campaign.estimates()[0].mean > estimate + 0.3
    assert list(campaign.state().decisions.values()) == decided


def test_a_total_of_the_evening_that_is_completed_later_is_no_total_that_keeps_growing(
    new_campaign, clock
):
    campaign = new_campaign()
    for day in range(1, 15):
        campaign.decide()
        clock.pass_by(hours=13)
        campaign.record(day, rounds=4000, total=1200)
        if day > 3:
            campaign.record(day - 3, rounds=5000, total=1500)
        clock.pass_by(hours=11)
    assert not any("kept growing" in each.sentence for each in campaign.status().health)


def test_what_was_recorded_early_is_marked_until_it_is_recorded_again(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    campaign.record(1, rounds=2000, total=600)
    row = campaign.status().timeline[0]
    assert (row.early, row.total_state) == (True, "running, recorded early")
    clock.pass_by(days=1)
    status = campaign.status()
    assert status.timeline[0].total_state == "known, recorded early"
    assert "1 of the known was recorded before the bucket had ended" in status.data
    assert "known, recorded early" in status_html(status)
    assert status.timeline[0].total_state == "known, recorded early"
    assert "early: the day had not ended" in describe_event(campaign.history()[1], campaign.config)
    assert campaign.record(1, rounds=2000, total=600).verdict == "same"  # the day brought no more
    status = campaign.status()
    assert not status.timeline[0].early
    assert "before the bucket" not in status.data
    before = campaign.history()
    assert campaign.record(1, rounds=2000, total=600).verdict == "same"
    assert campaign.history() == before


def test_money_is_scaled_by_its_range(new_campaign, clock):
    campaign = new_campaign(range=(-10, 90), unit="euros")
    campaign.decide()
    clock.pass_by(days=1)
    campaign.record(1, rounds=5000, total=20_000)
    assert told(campaign)[0].total == (20_000 + 10 * 5000) / 100
    assert campaign.estimates()[0].mean == pytest.approx(4.0)
    with pytest.raises(InvalidInput, match="more than 5,000 visitors can bring"):
        campaign.record(1, total=460_000)
    assert campaign.record(1, total=460_000, allow_out_of_range=True).verdict == "revised"


def test_what_was_really_shown_may_differ(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    clock.pass_by(days=1)
    campaign.record(1, rounds=5000, total=1500, shown="C")
    assert told(campaign) == [Play(2, 5000, 1500.0, "override", 1)]
    row = campaign.status().timeline[0]
    assert (row.decided, row.option) == ("A", "C")
    with pytest.raises(InvalidInput, match="no option"):
        campaign.record(1, shown="D")


def test_a_bucket_without_rounds_is_no_play_and_its_total_goes_to_the_one_before(
    new_campaign, clock
):
    campaign = new_campaign()
    run_days(campaign, clock, 3, lag=99)
    campaign.record(1, rounds=5000, total=1500)
    campaign.record(2, rounds=0, total=40)
    campaign.record(3, rounds=0)
    assert told(campaign) == [Play(0, 5000, 1540.0, "learn", 1)]
    pending = new_campaign("pending", start="2026-03-02")
    pending.decide(1)
    pending.record(1, rounds=5000)
    pending.record(2, rounds=0, total=40)
    assert told(pending)[0] == Play(0, 5000, None, "learn", 1)


@pytest.mark.parametrize(("action", "removed"), [("pin", "C"), ("pin", "A"), ("pause", "A")])
def test_a_removed_option_is_neither_pinned_nor_kept_by_a_pause(
    new_campaign, clock, action, removed
):
    """A sold-out option must not go on being shown because it was ordered before."""
    campaign = new_campaign()
    if action == "pause":
        campaign.decide()
    arguments = {"option": "C", "buckets": 5} if action == "pin" else {}
    campaign.act(action, user="an operator", reason="a test", **arguments)
    clock.pass_by(days=1)
    ordered = campaign.decide().option
    clock.pass_by(days=1)
    campaign.remove_option(removed, user="an operator", reason="a test")
    assert (campaign.decide().option == ordered) == (ordered != removed)


def test_the_present_bucket_is_not_taken_to_be_over(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    clock.pass_by(days=2)
    assert campaign.record(2, rounds=5000, total=1500).verdict == "new"  # yesterday went on
    with pytest.raises(UnknownBucket):
        campaign.record(3, rounds=5000, total=1500)


def test_days_that_were_not_asked_for_went_on_with_what_ran(new_campaign, clock):
    campaign = new_campaign()
    run_days(campaign, clock, 2, lag=99)
    clock.pass_by(days=3)
    assert campaign.record("2026-03-05", rounds=5000, total=1500).verdict == "new"
    assert campaign.decide().bucket == 6
    sources = [each.source for each in campaign.state().decisions.values()]
    assert sources == ["policy", "policy", "carried", "carried", "carried", "policy"]
    with pytest.raises(UnknownBucket, match="before the campaign's beginning"):
        campaign.record("2026-03-01", total=1)
    with pytest.raises(UnknownBucket, match="in the future"):
        campaign.record("2026-04-01", total=1)


def test_only_the_next_bucket_is_decided_ahead(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    assert campaign.decide("2026-03-03").bucket == 2
    with pytest.raises(InvalidInput, match="too far ahead"):
        campaign.decide("2026-03-04")
    with pytest.raises(InvalidInput, match="is before it"):
        campaign.decide("2026-03-01")


def test_hold_resume_override_drop_finish(new_campaign, clock):
    campaign = new_campaign(parameters={"horizon": 450_000, "mean_delay": 10})
    me = {"user": "an operator", "reason": "a test"}
    run_days(campaign, clock, 4)
    held_on = campaign.state().decisions[4].option
    campaign.pause(**me)
    assert {each.option for each in run_days(campaign, clock, 10)} == {held_on}
    assert campaign.status().state == "paused"
    campaign.resume(**me)
    campaign.pin("C", buckets=2, **me)
    assert campaign.status().state == "pinned"
    assert [each.option for each in run_days(campaign, clock, 2)] == ["C", "C"]
    assert campaign.status().state == "running"
    campaign.remove_option("B", **me)
    assert "B" not in {each.option for each in run_days(campaign, clock, 20)}
    with pytest.raises(InvalidInput, match="was removed"):
        campaign.pin("B", **me)
    campaign.remove_option("A", **me)
    with pytest.raises(InvalidInput, match="last option left"):
        campaign.remove_option("C", **me)
    assert campaign.finish(**me).option == "C"
    count = len(campaign.history())
    final = campaign.decide()
    assert (final.option, final.source, final.sequence) == ("C", "finished", None)
    assert len(campaign.history()) == count
    with pytest.raises(InvalidInput, match="it is finished"):
        campaign.pause(**me)
    campaign.record(30, total=1400)  # late totals are welcome all the same
    with pytest.raises(InvalidInput, match="say why"):
        campaign.pause(user="an operator", reason=" ")


def test_an_order_counts_the_days_that_are_not_asked_for_once_it_has_begun(new_campaign, clock):
    campaign = new_campaign()
    campaign.decide()
    campaign.pin("C", buckets=7, user="an operator", reason="a test")
    clock.pass_by(days=3)
    assert campaign.decide().option == "C"
    clock.pass_by(days=7)
    assert campaign.decide().source == "policy"
    options = [each.option for each in campaign.state().decisions.values()]
    assert options[:10] == ["A"] * 3 + ["C"] * 7


def test_a_drop_is_told_where_it_happened(new_campaign, clock):
    campaign = new_campaign()
    run_days(campaign, clock, 2, lag=99)
    campaign.remove_option("C", user="an operator", reason="a test")
    run_days(campaign, clock, 1, lag=99)
    items = told(campaign)
    assert [each if isinstance(each, int) else each.arm for each in items] == [0, 0, 2, 0]


def test_whole_weeks(new_campaign, clock):
    campaign = new_campaign(align="week", parameters={"horizon": 450_000, "mean_delay": 10})
    decided = run_days(campaign, clock, 70)
    for week in range(10):
        assert len({each.option for each in decided[7 * week : 7 * week + 7]}) == 1
    assert len({each.option for each in decided}) > 1
    with pytest.raises(InvalidInput, match="align"):
        new_campaign("monthly", align="month")


def test_no_winner_before_every_surviving_option_was_visited_twice(new_campaign, clock):
    campaign = new_campaign(parameters={"horizon": 450_000, "mean_delay": 10})
    rates = {"A": 0.2, "B": 0.5, "C": 0.55}
    named, seen_once = None, 0
    for bucket in range(1, 61):
        decision = campaign.decide()
        clock.pass_by(days=1)
        campaign.record(bucket, rounds=5000, total=round(5000 * rates[decision.option]))
        status = campaign.status()
        once = [row.name for row in status.options if row.periods == 1]
        if status.winner is not None:
            assert all(row.periods >= 2 for row in status.options if row.status != "behind")
            named = status.winner
        else:
            assert status.why_no_winner
            assert named is None  # once named, it stays: the rates do not change
            seen_once += bool(once)
    assert named == "C"
    assert seen_once > 0


def test_a_clear_winner_is_not_named_after_one_visit(new_campaign, clock):
    campaign = new_campaign(options=("A", "B"), parameters={"horizon": 450_000, "mean_delay": 10})
    for bucket in range(1, 4):
        decision = campaign.decide()
        clock.pass_by(days=1)
        campaign.record(bucket, rounds=5000, total=4500 if decision.option == "A" else 100)
        status = campaign.status()
        if bucket == 2:
            assert status.winner is None
            assert "shown in two periods; A was not" in status.why_no_winner
    assert status.winner == "A"


def test_delays_in_time_become_rounds(new_campaign):
    parameters = {"horizon": "90 days", "mean_delay": "36 hours", "delay_bound": "1 week"}
    config = new_campaign(policy="odaaf-b", parameters=parameters).config
    assert config.parameters == {"horizon": 450_000, "mean_delay": 7500, "delay_bound": 35_000}
    in_buckets = {"horizon": "90 buckets", "mean_delay": "2 buckets"}
    config = new_campaign("in-buckets", parameters=in_buckets).config
    assert config.parameters == {"horizon": 450_000, "mean_delay": 10_000}


def test_explanations_are_of_now_or_of_then(new_campaign, clock):
    campaign = new_campaign()
    run_days(campaign, clock, 10)
    assert campaign.explain()[-2].startswith("Next:")
    assert campaign.explain()[-1].startswith("2026-03-11: ")
    then = campaign.explain("2026-03-03")
    assert then[-1].startswith("2026-03-03: A for ")
    with pytest.raises(InvalidInput, match="no decision was taken for 2026-03-12"):
        campaign.explain("2026-03-12")


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"name": "a b"}, "name"),
        ({"options": ["A", "a"]}, "a name of its own"),
        ({"options": "AB"}, "list of names"),
        ({"parameters": {"horizon": 10}}, "cannot be built"),
        ({"range": (1, 1)}, "above 1"),
        ({"completeness": {"1 day": 0.9, "2 days": 0.5}}, "grow with age"),
    ],
)
def test_a_bad_config_is_refused_with_a_sentence(new_campaign, wrong, match):
    with pytest.raises(InvalidInput, match=match):
        new_campaign(**wrong)


@pytest.mark.parametrize("every", ["day", "hour", "week"])
@pytest.mark.parametrize("bucket", [10**20, -(10**20), "9" * 9, 10**7, "9999-12-31", "0001-01-01"])
def test_buckets_beyond_all_calendars_are_refused_with_a_sentence(new_campaign, every, bucket):
    campaign = new_campaign(every=every, zone="Asia/Tokyo")
    campaign.decide()
    with pytest.raises(InvalidInput):
        campaign.decide(bucket)
    with pytest.raises(InvalidInput):
        campaign.record(bucket, total=1)


@pytest.mark.parametrize("policy", ["odaaf", "flow", "unmix"])
def test_absurd_totals_never_stop_a_campaign(new_campaign, clock, policy):
    if policy not in registry.available():
        pytest.skip("this policy is not registered")
    campaign = new_campaign(policy=policy)
    with pytest.raises(InvalidInput, match="another unit"):
        campaign.record(1, total=1e300, allow_out_of_range=True)
    with pytest.raises(InvalidInput, match="at most"):
        campaign.record(1, rounds=10**30)
    for bucket in range(1, 12):
        campaign.decide()
        clock.pass_by(days=1)
        total = 1e15 if bucket % 2 else -1e15
        campaign.record(
            bucket, rounds=1 if bucket % 3 else 10**12, total=total, allow_out_of_range=True
        )
    campaign.status()


def test_values_far_from_the_usual_are_asked_about(new_campaign, clock):
    campaign = new_campaign(zone="Europe/Berlin")
    assert campaign.decide()
    clock.pass_by(days=8)
    campaign.decide()
    note = campaign.record(1, rounds=50, total=3).note
    assert note == "50 visitors, where 5,000 are usual: is that right?"
    for bucket in range(1, 7):
        assert campaign.record(bucket, rounds=5000, total=124).note == ""
    for total in (0, 3000):
        note = campaign.record(7, rounds=5000, total=total).note
        assert note == f"a total of {total:,}, where 124 is usual: is that right?"
    assert campaign.record(7, rounds=5000, total=100).note == ""
