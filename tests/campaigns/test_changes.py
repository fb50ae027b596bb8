"""A campaign is changed half-way, by actions with user and reason; what was decided stands."""

import json
import multiprocessing
from datetime import timedelta

import pytest

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.campaigns import store as store_module
from latesum.campaigns.actions import describe_event
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.moving import (
    export_campaigns,
    exported_log,
    replay_log,
    restore_campaigns,
)
from latesum.errors import Deleted, NotPossible, UnknownBucket
from latesum.policies import registry

ME = {"user": "an operator", "reason": "a test"}
FLOW = {"policy": "flow", "parameters": {"horizon": 450_000, "mean_delay": 1500}}
#: What a policy needs to know here, of which each takes what it can.
KNOWN = {
    "horizon": 450_000,
    "mean_delay": 1500.0,
    "delay_bound": 9000,
    "delay_variance": 1e6,
    "best_arm": 0,
}


def days(campaign, clock, count):
    """Decide every morning, and record yesterday."""
    for _ in range(count):
        decision = campaign.decide()
        if decision.bucket > 1 and decision.bucket - 1 in campaign.state().decisions:
            arm = campaign.state().shown(decision.bucket - 1)
            total = 1500 + 150 * arm
            campaign.record(decision.bucket - 1, rounds=5000, total=total)
        clock.pass_by(days=1)


def replays_the_same(campaign):
    assert replay_log(campaign.first_config, campaign.history()) == []


def policies():
    for name in registry.available():
        accepted = registry.accepted_parameters(name)
        yield name, {key: value for key, value in KNOWN.items() if key in accepted}


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize(
    ("name", "before_it"),
    [
        # With an unknown delay all delays are weighed, which takes longer with every day.
        *((name, 4 if name == "unmix-unknown-delay" else 12) for name, _ in policies()),
        pytest.param("unmix-unknown-delay", 20, marks=pytest.mark.slow),
    ],
)
def test_an_added_option_is_asked_for_next_or_the_policy_refuses(
    new_campaign, clock, name, before_it
):
    campaign = new_campaign(policy=name, parameters=dict(policies())[name])
    days(campaign, clock, before_it)
    before = campaign.history()
    if not registry.PolicySpec.parse(name).owner.takes_new_options:
        with pytest.raises(NotPossible, match=rf"^{name} cannot take in an option.*flow.*ars-ucb"):
            campaign.add_option("D", **ME)
        assert campaign.history() == before
        return
    done = campaign.add_option(" D ", **ME)
    assert (done.action, done.option, done.repeated) == ("add-option", "D", False)
    assert campaign.config.options == ("A", "B", "C", "D")
    assert campaign.decide().option == "D"
    assert done.note == "D is asked for next."
    days(campaign, clock, 8)
    rows = campaign.status().options
    assert rows[3].rounds > 0
    assert rows[3].mean is not None
    assert campaign.history()[: len(before)] == before
    replays_the_same(campaign)


def test_an_added_option_needs_a_name_of_its_own(new_campaign, clock):
    campaign = new_campaign(**FLOW, status_quo="other")
    for name, says in (
        ("b", "already"),
        ("", "1 to 100"),
        ("x" * 101, "1 to 100"),
        ("re\x1b[2Jd", r"U\+001B"),
        ("a\u200bb", r"U\+200B"),
        ("a\u202eb", r"U\+202E"),
        ("other", "before its start"),
    ):
        with pytest.raises(InvalidInput, match=says):
            campaign.add_option(name, **ME)
    assert campaign.history() == []


def test_texts_that_would_disturb_a_terminal_are_refused(new_campaign):
    with pytest.raises(InvalidInput, match=r"U\+202E"):
        new_campaign(options=["red", "b\u202elue"])
    campaign = new_campaign()
    with pytest.raises(InvalidInput, match=r"why has a character that cannot be shown, U\+001B"):
        campaign.pause(user="ada", reason="a \x1b[31mred\x1b[0m reason")
    campaign.pause(user="ada", reason="first line\nsecond line")
    assert campaign.history()[0].body["reason"] == "first line second line"


def test_after_an_option_is_added_all_others_keep_what_was_learned(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    days(campaign, clock, 30)
    before = campaign.estimates()
    campaign.add_option("D", **ME)
    after = campaign.estimates()
    assert [each.plays for each in after] == [*(each.plays for each in before), 0]
    assert [each.mean for each in after[:3]] == pytest.approx([each.mean for each in before])


@pytest.mark.parametrize("policy", ["odaaf", "flow", "ars-ucb"])
def test_a_drop_is_undone(new_campaign, clock, policy):
    parameters = dict(policies())[policy]
    campaign = new_campaign(policy=policy, parameters=parameters)
    never = new_campaign("never", policy=policy, parameters=parameters)
    days(campaign, clock, 10)
    campaign.remove_option("B", **ME)
    with pytest.raises(NotPossible, match="B was removed; restore it first"):
        campaign.pin("B", **ME)
    assert campaign.restore_option("B", **ME).option == "B"
    with pytest.raises(NotPossible, match="B was not removed"):
        campaign.restore_option("B", **ME)
    assert campaign.state().removed == {}
    clock.pass_by(days=-10)
    days(never, clock, 10)
    # At once it is as if it had never been away, and decisions in between stay as they were.
    assert campaign.policy().estimates() == never.policy().estimates()
    assert campaign.policy().ask() == never.policy().ask()
    days(campaign, clock, 10)
    replays_the_same(campaign)


def test_an_override_goes_on_after_hold_and_resume(new_campaign, clock):
    campaign = new_campaign()
    campaign.pin("C", buckets=7, **ME)
    shown = []
    for day in range(1, 10):
        if day == 4:
            note = campaign.pause(**ME).note
            assert note == "The pin to C goes on, for 4 more days; `unpin` ends it."
        if day == 5:
            note = campaign.resume(**ME).note
            assert note == "The pin to C goes on, for 3 more days; `unpin` ends it."
        shown.append(campaign.decide())
        clock.pass_by(days=1)
    assert [each.option for each in shown[:7]] == ["C"] * 7
    assert [each.source for each in shown] == ["pinned"] * 7 + ["policy"] * 2
    replays_the_same(campaign)


def test_without_a_hold_resume_ends_an_override_and_says_so(new_campaign, clock):
    campaign = new_campaign()
    campaign.pin("C", buckets=7, **ME)
    assert campaign.resume(**ME).note == "There was no pause: the pin has ended."
    assert campaign.decide().source == "policy"


def test_an_override_is_cancelled_and_a_hold_stays(new_campaign, clock):
    campaign = new_campaign()
    days(campaign, clock, 1)
    campaign.pin("C", buckets=7, **ME)
    days(campaign, clock, 2)
    campaign.pause(**ME)
    campaign.unpin(**ME)
    assert campaign.state().pin is None
    decision = campaign.decide()
    assert (decision.source, decision.option) == ("paused", "C")
    with pytest.raises(NotPossible, match="nothing is pinned"):
        campaign.unpin(**ME)
    campaign.resume(**ME)
    clock.pass_by(days=1)
    assert campaign.decide().source == "policy"
    replays_the_same(campaign)


def test_a_new_policy_learns_from_the_whole_log(new_campaign, clock):
    campaign = new_campaign()
    flow = new_campaign("flow", **FLOW)
    days(campaign, clock, 30)
    decided = [each.option for each in campaign.state().decisions.values()]
    done = campaign.change(policy="flow", **ME)
    assert done.action == "change"
    # Both policies take the horizon and the mean delay; the rest is as for a new campaign.
    assert campaign.config.parameters == flow.config.parameters
    told = [each.plays for each in campaign.estimates()]
    assert sum(told) == 29 * 5000
    assert [each.option for each in campaign.state().decisions.values()] == decided
    days(campaign, clock, 10)
    assert flow.policy().kind == campaign.policy().kind == "flow"
    replays_the_same(campaign)
    event = next(event for event in campaign.history() if event.kind == "change")
    assert "changed policy from odaaf to flow" in describe_event(event, campaign.config)


def test_what_another_policy_does_not_take_is_left_out_and_said(new_campaign, clock):
    campaign = new_campaign()
    assert (
        "does not take horizon, mean_delay: left out"
        in campaign.change(policy="ars-ucb", **ME).note
    )
    with pytest.raises(InvalidInput, match="horizon"):  # it is needed, and is gone
        campaign.change(policy="odaaf", **ME)
    assert campaign.config.policy == "ars-ucb"


def test_the_horizon_and_the_delay_are_changed_in_time_or_rounds(new_campaign, clock):
    campaign = new_campaign()
    days(campaign, clock, 5)
    campaign.change(parameters={"horizon": "120 days", "mean_delay": "12 hours"}, **ME)
    assert campaign.config.parameters == {"horizon": 600_000, "mean_delay": 2500.0}
    assert campaign.policy().horizon == 600_000
    sentence = describe_event(campaign.history()[-1], campaign.config)
    assert "changed horizon from 450,000 to 600,000, mean_delay from 1,500 to 2,500" in sentence
    with pytest.raises(NotPossible, match="nothing was changed"):
        campaign.change(parameters={"horizon": 600_000}, **ME)


def test_expected_rounds_say_what_stays_in_rounds(new_campaign, clock):
    campaign = new_campaign()
    note = campaign.change(expected_rounds=8000, **ME).note
    assert "horizon (450,000 rounds) and mean delay (1,500 rounds) stay as they are" in note
    campaign.change(expected_rounds=4000, parameters={"horizon": "90 days"}, **ME)
    assert campaign.config.parameters == {"horizon": 360_000, "mean_delay": 1500}


def test_alignment_and_filling_up_are_changed(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    days(campaign, clock, 3)
    campaign.change(align="week", completeness="7 days: 1", **ME)
    assert campaign.config.completeness == ((timedelta(days=7), 1.0),)
    clock.pass_by(days=1)
    days(campaign, clock, 10)
    assert "aligned" in [each.source for each in campaign.state().decisions.values()]
    campaign.change(align=None, completeness={"1 day": 0.5, "2 days": 1}, **ME)
    assert campaign.config.completeness == ((timedelta(days=1), 0.5), (timedelta(days=2), 1.0))
    assert campaign.config.align is None
    days(campaign, clock, 3)
    replays_the_same(campaign)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"every": "hour"}, "every cannot be changed while a campaign runs; expected_rounds"),
        ({"options": ["x", "y"]}, "options cannot be changed"),
        ({"alig": "week"}, "did you mean 'align'"),
        ({}, "say what to change"),
        ({"align": "month"}, "align is 'week'"),
        ({"policy": "oddaf"}, "did you mean"),
        ({"parameters": {"horizont": 5}}, "horizont"),
        ({"parameters": {"horizon": -5}}, "horizon"),
        ({"parameters": [1]}, "names with values"),
        ({"expected_rounds": 0}, "expected rounds"),
    ],
)
def test_bad_changes_are_refused_and_nothing_is_written(new_campaign, wrong, says):
    campaign = new_campaign()
    with pytest.raises(InvalidInput, match=says):
        campaign.change(**wrong, **ME)
    assert campaign.history() == []


def test_a_renamed_option_has_its_name_everywhere(new_campaign, clock):
    campaign = new_campaign(status_quo="A")
    days(campaign, clock, 5)
    shown = campaign.decide().option
    before = [each.option for each in campaign.state().decisions.values()]
    assert len(set(before)) > 1
    campaign.rename_option(shown, "Größe 2", **ME)
    after = [each.option for each in campaign.state().decisions.values()]
    assert after == [{shown: "Größe 2"}.get(each, each) for each in before]
    assert campaign.decide().option == "Größe 2"
    assert "Größe 2" in [row.name for row in campaign.status().options]
    with pytest.raises(InvalidInput, match=f"no option '{shown}'"):
        campaign.record(1, shown=shown)
    assert campaign.record(1, shown="Größe 2").verdict in ("same", "new", "revised")
    with pytest.raises(InvalidInput, match="there is an option 'c' already"):
        campaign.rename_option("Größe 2", "c", **ME)
    campaign.rename_option("A" if shown != "A" else "Größe 2", "first", **ME)
    assert campaign.config.status_quo == "first"
    days(campaign, clock, 3)
    replays_the_same(campaign)


def test_a_finished_campaign_is_reopened(new_campaign, clock):
    campaign = new_campaign()
    days(campaign, clock, 5)
    clock.pass_by(days=2)
    campaign.finish("C", **ME)
    clock.pass_by(days=3)
    assert campaign.decide().source == "finished"
    campaign.reopen(**ME)
    campaign.record("2026-03-10", rounds=5000, total=1700)
    sources = [each.source for each in campaign.state().decisions.values()]
    # Two days were not asked for; from the end until today C was shown.
    assert sources == ["policy"] * 5 + ["carried"] * 2 + ["finished"] * 4
    assert campaign.state().shown(9) == 2
    assert campaign.decide().source == "finished"  # what was answered for today stands
    clock.pass_by(days=1)
    assert campaign.decide().source == "policy"
    with pytest.raises(NotPossible, match="it is not finished"):
        campaign.reopen(**ME)
    replays_the_same(campaign)


def two_options(store, clock):
    return Campaign.create(
        name="banner",
        options=["red", "blue"],
        expected_rounds=1000,
        time_basis="arrival",
        store=store,
        clock=clock,
        **FLOW,
    )


def test_a_deleted_campaign_leaves_a_tombstone(store, clock):
    made = two_options(store, clock)
    other = Campaign.open("banner", store=store, clock=clock)
    other.decide()
    made.decide()
    with pytest.raises(InvalidInput, match="type its name: 'banner', not 'baner'"):
        made.delete("baner", **ME)
    made.delete("banner", user="ada", reason="a wrong start")
    says = r"campaign 'banner' was deleted on 20.* by ada: a wrong start"
    for act in (
        other.decide,
        other.status,
        lambda: other.record(1, total=3),
        other.state,
        lambda: Campaign.open("banner", store=store),
        lambda: other.pause(**ME),
        lambda: export_campaigns(store, "banner"),
    ):
        with pytest.raises(Deleted, match=says):
            act()
    assert store.campaigns() == []
    assert store.log(made.stored.id) == []
    assert len(store.tombstones()) == 1
    with pytest.raises(Deleted, match="choose another name"):
        Campaign.create(made.first_config, store=store, clock=clock)
    another = made.first_config.to_json() | {"name": "another"}
    assert store.create("another", another, clock()).id != made.stored.id


def test_every_act_happens_once_under_its_key(new_campaign, clock):
    campaign = new_campaign(**FLOW)
    days(campaign, clock, 3)
    acts = [
        lambda: campaign.add_option("D", **ME, key="k-add"),
        lambda: campaign.rename_option("A", "alpha", **ME, key="k-rename"),
        lambda: campaign.change(align="week", **ME, key="k-change"),
        lambda: campaign.remove_option("B", **ME, key="k-drop"),
        lambda: campaign.restore_option("B", **ME, key="k-back"),
        lambda: campaign.pin("D", buckets=2, **ME, key="k-over"),
        lambda: campaign.unpin(**ME, key="k-cancel"),
        lambda: campaign.finish("D", **ME, key="k-finish"),
        lambda: campaign.reopen(**ME, key="k-reopen"),
    ]
    for act in acts:
        assert not act().repeated
        count = len(campaign.history())
        again = act()
        assert again.repeated
        assert len(campaign.history()) == count
    for other in (
        lambda: campaign.change(align=None, **ME, key="k-change"),
        lambda: campaign.pin("D", buckets=3, **ME, key="k-over"),
        lambda: campaign.unpin(user="an operator", reason="another", key="k-cancel"),
        lambda: campaign.resume(**ME, key="k-cancel"),
    ):
        with pytest.raises(NotPossible, match="used for another act"):
            other()
    # The option may be left to the campaign: the answer is what was done.
    assert campaign.finish(**ME, key="k-finish")[:3] == ("finish", "D", True)


def test_changes_by_another_process_are_seen_at_once(store, clock):
    one = two_options(store, clock)
    other = Campaign.open("banner", store=store, clock=clock)
    first = one.decide()
    other.decide()
    one.add_option("green", **ME)
    one.rename_option("red", "rouge", **ME)
    assert other.record(1, rounds=1000, total=300, shown="green").verdict == "new"
    assert other.decide(1).option == {"red": "rouge"}.get(first.option, first.option)
    one.change(range=(0, 2), **ME)
    assert other.record(1, total=1500).verdict == "revised"
    assert other.config == one.config


def test_an_exported_and_restored_campaign_is_changed_alike(new_campaign, clock, tmp_path):
    campaign = new_campaign(**FLOW)
    days(campaign, clock, 8)
    campaign.add_option("D", **ME)
    campaign.change(align="week", **ME)
    days(campaign, clock, 4)
    (exported,) = json.loads(json.dumps(export_campaigns(campaign.store, "banner")))["campaigns"]
    with Store(tmp_path / "other.db") as store:
        restore_campaigns(store, [exported])
        there = Campaign.open("banner", store=store, clock=clock)
        assert there.state().config == campaign.config
        assert there.decide() == campaign.decide()
        assert there.record(2, shown="D").verdict in ("new", "revised")
    first = CampaignConfig.from_json(exported["config"])
    assert first.options == ("A", "B", "C")
    assert replay_log(first, exported_log(exported)) == []


def test_an_unknown_act_of_a_newer_latesum_is_not_passed_over(new_campaign, clock):
    campaign = new_campaign()
    with campaign.store.writing(campaign.stored.id) as writer:
        writer.append(clock(), "teleport", None, ME)
    for ask in (campaign.decide, campaign.status, campaign.decide, campaign.state):
        with pytest.raises(InvalidInput, match=r"'teleport'.*use a newer latesum"):
            ask()


def test_what_is_refused_does_not_make_the_whole_log_be_read_again(
    new_campaign, clock, monkeypatch
):
    campaign = new_campaign(**FLOW)
    days(campaign, clock, 3)
    read = []
    whole = store_module._read_log
    monkeypatch.setattr(
        store_module, "_read_log", lambda *given: read.append(given[2]) or whole(*given)
    )
    with pytest.raises(InvalidInput):
        campaign.record(1, rounds=-1)
    with pytest.raises(NotPossible):
        campaign.resume(**ME)
    campaign.record_many([{"bucket": 99, "total": 1}])  # unknown, so it is not written
    assert campaign.status().n_buckets == 3
    assert min(read) > 0
    campaign.record_many([{"bucket": 1, "total": 7}], dry_run=True)
    assert campaign.state().value(1).total != 7


# Buckets before the first question.


def test_a_bucket_before_the_first_question_is_filled_in(new_campaign, clock):
    campaign = new_campaign(**FLOW, start="2026-02-20")
    assert campaign.decide().bucket == 11
    with pytest.raises(UnknownBucket, match="record what was shown"):
        campaign.record("2026-02-22", rounds=5000, total=1600)
    with pytest.raises(UnknownBucket, match="before the campaign's beginning"):
        campaign.record("2026-02-19", rounds=5000, total=1600, shown="A")
    assert campaign.record("2026-02-22", rounds=5000, total=1600, shown="B").verdict == "new"
    state = campaign.state()
    assert (state.first, state.last) == (3, 11)
    assert [each.option for each in state.decisions.values()][:-1] == ["B"] * 8
    assert campaign.record("2026-02-20", rounds=5000, total=1400, shown="A").verdict == "new"
    assert campaign.record("2026-02-25", rounds=5000, total=1900, shown="C").verdict == "new"
    known = {each.name: each.plays for each in campaign.estimates()}
    assert known == {"A": 5000, "B": 5000, "C": 5000}
    days(campaign, clock, 5)
    replays_the_same(campaign)


def test_the_status_quo_is_what_was_shown_before_the_first_question(new_campaign, clock):
    campaign = new_campaign(**FLOW, start="2026-02-20", status_quo="B")
    assert campaign.record("2026-02-21", rounds=5000, total=1600).verdict == "new"
    assert campaign.record("2026-02-20", rounds=5000, total=1600).verdict == "new"
    assert campaign.decide().bucket == 11
    sources = [each.source for each in campaign.state().decisions.values()]
    assert sources == ["reported"] * 2 + ["carried"] * 8 + ["policy"]
    assert campaign.estimates()[1].plays == 10_000
    replays_the_same(campaign)


def _add(address, name, ready):
    with Store(address) as store:
        campaign = Campaign.open("banner", store=store)
        ready.wait()
        for n in range(5):
            campaign.add_option(f"{name}{n}", **ME)


def test_two_processes_change_at_once(store_address, clock):
    with Store(store_address) as store:
        two_options(store, clock)
    # Not spawned: a package `tests` that is installed would be taken for these.
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(2)
    workers = [context.Process(target=_add, args=(store_address, name, ready)) for name in "xy"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    with Store(store_address) as store:
        found = Campaign.open("banner", store=store).state().config.options
    assert sorted(found) == sorted(
        ["red", "blue", *(f"{name}{n}" for name in "xy" for n in range(5))]
    )
