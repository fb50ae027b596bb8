"""Campaigns with regions: decided together, recorded and changed apart, and the same when replayed."""

import json
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import market_rows
from latesum.campaigns.importing import import_totals
from latesum.campaigns.moving import (
    export_campaigns,
    exported_log,
    replay_log,
    restore_campaigns,
)
from latesum.delays.parsing import parse
from latesum.errors import BadFile, NotPossible, UnknownBucket
from latesum.files import FileForm

ME = {"user": "an operator", "reason": "a test"}
SIZES = {"north": 5000, "south": 3000, "west": 1500}
WORTH = {"ten off": 1.0, "free shipping": 0.95, "a gift": 1.2, "a voucher": 1.0}
FIRST = date(2026, 3, 2)
GIVEN = {
    "name": "offers",
    "options": ["ten off", "free shipping", "a gift"],
    "regions": list(SIZES),
    "start": "2026-03-02",
    "expected_rounds": 3000,
    "time_basis": "arrival",
    "seed": 3,
    "parameters": {"horizon": "8 weeks", "late": "about 2 days"},
    "status_quo": "ten off",
}


def total_of(region, day, option):
    """About 3% of the visitors, by the worth of the option; a little noise that is always the same."""
    noise = 1 + 0.04 * (((day.toordinal() * 31 + len(region) * 17) % 7) - 3) / 3
    return round(SIZES[region] * 0.03 * WORTH[option] * noise)


def past_rows(days=28):
    return [
        {
            "bucket": str(day),
            "region": region,
            "rounds": size,
            "total": total_of(region, day, "ten off"),
        }
        for day in (FIRST - timedelta(days=back) for back in range(days, 0, -1))
        for region, size in SIZES.items()
    ]


@pytest.fixture
def make(request, store_file, clock):
    """Make a campaign in a file, or in the kind of store that a test names."""
    named = "store" in request.fixturenames
    store = request.getfixturevalue("store") if named else Store(store_file("regions.db"))

    def made(**changed):
        return Campaign.create(**{**GIVEN, **changed}, store=store, clock=clock)

    yield made
    store.close()


def live(campaign, clock, days, acts=None):
    """Record yesterday in every region in the morning, and ask."""
    for _ in range(days):
        number = (clock.now.date() - FIRST).days
        for region, part in campaign.state().parts.items():
            if number in part.decisions:
                option = campaign.config.options[part.shown(number)]
                day = FIRST + timedelta(days=number - 1)
                campaign.record(
                    number, region=region, rounds=SIZES[region], total=total_of(region, day, option)
                )
        (acts or {}).get(number + 1, lambda: None)()
        campaign.decide_all()
        clock.now += timedelta(days=1)


def shown(campaign, region):
    return [each.option for each in campaign.state().parts[region].decisions.values()]


#: Of two kinds of stores, what the policy decides is the same: one is enough for the default run.
POSTGRESQL = pytest.mark.parametrize(
    "store", [pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"], indirect=True
)


@POSTGRESQL
def test_every_region_is_decided_once_and_the_best_option_is_found(store, make, clock):
    campaign = make(history=past_rows())
    first = campaign.decide_all()
    assert list(first) == list(SIZES)
    assert {each.option for each in first.values()} == set(GIVEN["options"])  # the sweep
    assert campaign.decide_all() == first
    assert campaign.decide(region="south") == first["south"]
    assert len(campaign.history()) == 3
    live(campaign, clock, 42)
    assert replay_log(campaign.first_config, campaign.history()) == []
    status = campaign.status()
    assert status.winner == "a gift"
    assert {shown(campaign, region)[-1] for region in SIZES} == {"a gift"}
    options = {each.name: each for each in status.options}
    assert options["ten off"].is_status_quo
    assert options["a gift"].uplift_low < 0.2 < options["a gift"].uplift_high
    assert options["a gift"].probability_best > 0.9
    said = " ".join(campaign.explain())
    assert "; probability of being best" in said
    assert "late on average (given: about 2 days)" in said
    assert json.loads(json.dumps(status.to_json()))["status_quo"] == "ten off"
    clock.now -= timedelta(days=1)
    assert [each for each in campaign.health() if each.level != "note"] == []


def test_a_campaign_with_regions_has_switchback_and_no_other_policy():
    config = CampaignConfig.read(GIVEN)
    assert config.policy == "switchback"
    said = {"horizon": 56, "mean_delay": 2.0, "certainty": "guess"}
    assert config.parameters == said
    assert CampaignConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    known = CampaignConfig.read({**GIVEN, "parameters": {"late": "36 hours"}})
    assert known.parameters == {
        "horizon": 90,
        "mean_delay": 1.5,
        "certainty": "known",
    }
    law = {"late": "half within 6 hours, 95% within 4 days"}
    given = CampaignConfig.read({**GIVEN, "parameters": law})
    shape = given.build_market().delay
    assert shape.mean == pytest.approx(shape.law.mean / 24_000, rel=1e-3)
    assert shape.law.survival(np.array([5_999]))[0] == pytest.approx(0.5, abs=1e-3)
    one = {key: each for key, each in GIVEN.items() if key != "regions"}
    one = CampaignConfig.read({**one, "policy": "unmix", "parameters": {"horizon": 900_000, **law}})
    mean = parse(one.parameters["delay"]).mean / one.expected_rounds
    assert mean == pytest.approx(shape.mean, rel=0.01)
    for changed, says in (
        ({"policy": "unmix"}, "a campaign with regions has the policy switchback"),
        ({"regions": ["north"]}, "one region is no region"),
        ({"regions": ["north", "North"]}, "name of its own"),
        ({"regions": "north,south"}, "a list of names"),
        ({"align": "week"}, "needs no align"),
        ({"parameters": {"late": "soon"}}, "span of time"),
        ({"parameters": {"late": "2 days", "mean_delay": 2}}, "not by both"),
        ({"parameters": {"horizn": 3}}, "did you mean 'horizon'"),
        ({"parameters": {"differing_delays": 2}}, "delays differ"),
    ):
        with pytest.raises(InvalidInput, match=says):
            CampaignConfig.read({**GIVEN, **changed})
    stream = CampaignConfig.read({**GIVEN, "regions": [], "policy": "switchback"})
    assert stream.build_market().regions == ("",)


def test_a_history_is_of_regions_and_may_be_mixed():
    rows = [
        *past_rows(3),
        {"bucket": "2026-02-20", "region": "west", "total": 40, "shown": "ten off:0.5 a gift:0.5"},
    ]
    config = CampaignConfig.read({**GIVEN, "history": rows})
    assert len(config.history) == 10
    first = config.history[0]
    assert (first.bucket, first.region) == (config.buckets.number("2026-02-20"), "west")
    assert first.shown == ((0, 0.5), (2, 0.5))
    for row, says in (
        ({"bucket": "2026-02-20", "total": 4}, "2026-02-20 in the history: say which region"),
        ({"bucket": "2026-02-20", "region": "east", "total": 4}, "no region 'east'"),
        (past_rows(1)[0], "twice in the history"),
    ):
        with pytest.raises(InvalidInput, match=says):
            CampaignConfig.read({**GIVEN, "history": [*past_rows(1), row]})
    with pytest.raises(InvalidInput, match="the campaign has none"):
        CampaignConfig.read({**GIVEN, "regions": [], "history": past_rows(1)})


def test_rows_are_of_a_region_and_the_others_do_not_change(make):
    campaign = make()
    campaign.decide_all()
    assert campaign.record(1, region="south", rounds=3000, total=90).region == "south"
    values = {region: part.value(1).total for region, part in campaign.state().parts.items()}
    assert values == {"north": None, "south": 90, "west": None}
    assert campaign.record(1, region="south", total=90).verdict == "same"
    assert campaign.record(1, region="north", total=150).verdict == "new"
    with pytest.raises(InvalidInput, match="which region the row is of: north, south, west"):
        campaign.record(1, total=4)
    with pytest.raises(UnknownBucket, match="no region 'east'"):
        campaign.record(1, region="east", total=4)
    with pytest.raises(InvalidInput, match="say which region"):
        campaign.decide()
    with pytest.raises(InvalidInput, match="did you mean 'north'"):
        campaign.decide(region="nort")


def test_a_campaign_without_regions_takes_none(new_campaign):
    campaign = new_campaign()
    assert list(campaign.decide_all()) == [""]
    with pytest.raises(InvalidInput, match="has no regions"):
        campaign.record(1, region="north", total=4)
    with pytest.raises(InvalidInput, match="has no regions"):
        campaign.pause(region="north", **ME)
    with pytest.raises(InvalidInput, match="learns from buckets of one option only"):
        campaign.record(1, shown="A:0.5 B:0.5")


def test_files_have_a_column_for_the_region(make, clock):
    campaign = make()
    campaign.decide_all()
    clock.now += timedelta(days=1)
    head = "date,region,rounds,total,shown\n"
    text = "2026-03-02,north,5000,150,\n2026-03-02,south,3000,80,a gift:0.7 ten off:0.3\n"
    done = import_totals(campaign, (head + text).encode())
    assert [(row.verdict, row.region) for _, row in done.rows] == [
        ("new", "north"),
        ("new", "south"),
    ]
    assert campaign.state().parts["south"].shares(1) == ((0, 0.3), (2, 0.7))
    table = campaign.table()
    again = import_totals(campaign, table.to_csv().encode())
    assert {row.verdict for _, row in again.rows} == {"same"}
    refused = import_totals(campaign, (head + "2026-03-02,east,5000,150,\n").encode())
    assert refused.stopped
    assert "no region 'east'" in refused.rows[0][1].note
    for content, says in (
        ("date,rounds,total\n2026-03-02,5000,150\n", "no column says which region"),
        (f"{head}2026-03-02,,5000,150,\n", "which region the row is of"),
        (f"{head}2026-03-02,west,5000,150,a gift:0.7 ten off:0.1\n", "add up to 0.8"),
        (
            f"{head}2026-03-02,west,9,5,\n2026-03-02,west,9,6,\n",
            "2026-03-02 west is in row 2 already",
        ),
    ):
        with pytest.raises(BadFile, match=says):
            import_totals(campaign, content.encode())
    german = "Datum;Gebiet;Besucher;total\n02.03.2026;west;1.500;44,0\n"
    columns = {"bucket": "Datum", "region": "Gebiet", "rounds": "Besucher"}
    assert import_totals(campaign, german.encode(), FileForm(columns, decimal=",")).written
    assert campaign.state().parts["west"].value(1).total == 44


@POSTGRESQL
def test_acts_are_for_a_region_or_for_all(store, make, clock):
    campaign = make(history=past_rows())
    acts = {
        6: lambda: campaign.pause(region="south", **ME),
        7: lambda: campaign.pin("free shipping", buckets=2, region="west", **ME),
        12: lambda: campaign.remove_option("a gift", region="north", **ME),
        14: lambda: campaign.resume(region="south", **ME),
        16: lambda: campaign.pin("ten off", buckets=1, **ME),
        18: lambda: campaign.restore_option("a gift", region="north", **ME),
        20: lambda: campaign.add_option("a voucher", **ME),
    }
    live(campaign, clock, 30, acts)
    held = campaign.state().parts["south"].decisions
    assert len({held[number].arm for number in range(5, 14)}) == 1
    assert {held[number].source for number in range(6, 14)} == {"paused"}
    assert shown(campaign, "west")[6:8] == ["free shipping"] * 2
    assert campaign.state().parts["west"].decisions[9].source == "policy"
    assert "a gift" not in shown(campaign, "north")[11:17]
    assert {shown(campaign, region)[15] for region in SIZES} == {"ten off"}
    dwell = campaign.status().model.period
    assert any("a voucher" in shown(campaign, region)[19 : 19 + dwell] for region in SIZES)
    assert replay_log(campaign.first_config, campaign.history()) == []
    with pytest.raises(NotPossible, match="was not removed"):
        campaign.restore_option("a gift", region="north", **ME)
    campaign.pause(region="north", **ME)
    assert campaign.status().state == "running"
    campaign.pause(**ME)  # the others too
    assert campaign.status().state == "paused"
    with pytest.raises(NotPossible, match="paused already"):
        campaign.pause(**ME)
    done = campaign.pin("ten off", region="west", key="12345678", **ME)
    assert campaign.pin("ten off", region="west", key="12345678", **ME) == done._replace(
        repeated=True
    )
    with pytest.raises(NotPossible, match="was used for another act"):
        campaign.pin("ten off", region="north", key="12345678", **ME)
    campaign.finish(**ME)
    assert {each.source for each in campaign.decide_all().values()} == {"finished"}
    clock.now += timedelta(days=3)
    campaign.reopen(**ME)
    campaign.decide_all()
    assert replay_log(campaign.first_config, campaign.history()) == []


def test_days_before_the_first_question_and_days_not_asked_for(make, clock):
    """What was reported of them is history to the model: the sweep begins with the first question."""
    campaign = make()
    clock.now += timedelta(days=4)
    campaign.record(1, region="north", rounds=5000, total=150)  # the status quo went on
    campaign.record(2, region="south", rounds=3000, total=90, shown="a gift")
    first = campaign.decide_all()
    assert {each.option for each in first.values()} == set(GIVEN["options"])
    assert shown(campaign, "north")[:4] == ["ten off"] * 4
    assert shown(campaign, "south")[:3] == ["a gift"] * 3
    assert market_rows(campaign.state(), clock()).first == 5
    clock.now += timedelta(days=3)
    campaign.record(7, region="west", rounds=1500, total=40)
    campaign.decide_all()
    assert shown(campaign, "west")[1:3] == [first["west"].option] * 2
    assert replay_log(campaign.first_config, campaign.history()) == []


def test_a_mistake_or_an_order_does_not_become_the_choice(make, clock):
    campaign = make(history=past_rows())
    first = campaign.decide_all()
    other = "a gift" if first["north"].option != "a gift" else "ten off"
    campaign.record(1, region="north", rounds=5000, total=150, shown=other)
    clock.now += timedelta(days=1)
    assert campaign.decide_all()["north"].option == first["north"].option
    goes_on = "up to and including 2026-03-04; then it is decided again."
    assert campaign.decide_all()["north"].reason.endswith(goes_on)


def test_a_campaign_with_regions_is_exported_and_restored(make, clock):
    campaign = make(history=past_rows())
    live(campaign, clock, 12)
    (exported,) = json.loads(json.dumps(export_campaigns(campaign.store, "offers")))["campaigns"]
    assert exported_log(exported) == campaign.history()
    restore_campaigns(campaign.store, [exported], "again")
    again = Campaign.open("again", store=campaign.store, clock=clock)
    assert again.history() == campaign.history()
    assert again.decide_all() == campaign.decide_all()


def test_one_stream_may_have_switchback_too(make, clock):
    campaign = make(regions=[], policy="switchback", name="stream")
    for day in range(20):
        decision = campaign.decide()
        if day:
            campaign.record(day, rounds=5000, total=total_of("north", FIRST, decision.option))
        clock.now += timedelta(days=1)
    assert replay_log(campaign.first_config, campaign.history()) == []
    assert campaign.status().status_quo == "ten off"
    changed = campaign.change(policy="unmix", **ME)
    assert "Not taken over, because they are counted otherwise: horizon" in changed.note
    campaign.decide()
    campaign.change(policy="switchback", parameters={"late": "about 3 days"}, **ME)
    assert campaign.config.parameters["mean_delay"] == 3.0
    campaign.decide()
    assert replay_log(campaign.first_config, campaign.history()) == []
    campaign.change(parameters={"late": "2 days"}, **ME)
    assert campaign.config.parameters["certainty"] == "known"


def test_negative_and_missing_totals_and_unknown_rounds_do_not_stop_it(make, clock):
    campaign = make()
    for day in range(1, 12):
        campaign.decide_all()
        clock.now += timedelta(days=1)
        campaign.record(day, region="north", total=-5)
        campaign.record(day, region="south", rounds=0, total=2)
        campaign.record(day, region="west", status="missing")
    campaign.decide_all()
    assert replay_log(campaign.first_config, campaign.history()) == []
    assert campaign.status().model is not None


def test_it_is_said_that_effects_are_taken_to_stay(make):
    campaign = make()

    def found():
        return [each for each in campaign.health() if each.code == "effects that stay"]

    assert found() == []
    campaign.decide_all()
    assert [each.level for each in found()] == ["note"]
    assert "finish the campaign then and start a new one" in found()[0].sentence
    campaign.change(parameters={"novelty": 0.01}, **ME)
    assert found() == []


def test_a_stream_that_is_too_noisy_is_warned_of_before_the_first_decision(make):
    """The history alone says it: demand that walks by 12% a day, beside one that walks by 1%."""
    past = [FIRST - timedelta(days=back) for back in range(40, 0, -1)]
    steps = np.random.default_rng(4).standard_normal(len(past))
    for name, walk in (("wild", 0.12), ("calm", 0.01)):
        totals = np.rint(900 * np.exp(np.cumsum(walk * steps))).tolist()
        rows = [
            {"bucket": str(day), "rounds": 30_000, "total": total}
            for day, total in zip(past, totals, strict=True)
        ]
        status = make(regions=[], policy="switchback", name=name, history=rows).status()
        said = [each for each in status.health if each.code == "noisy demand"]
        assert len(said) == (name == "wild")
        assert all("Use regions." in each.sentence and each.level == "warning" for each in said)
        assert not any("Demand changes" in sentence for sentence in status.explanation)


def test_a_status_beside_one_who_renames_an_option_shows_one_state(tmp_path):
    """Whenever this process looks at its clock, another one renames an option."""
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    address = tmp_path / "campaigns.db"
    other = Campaign.create(**GIVEN, store=address, clock=lambda: now)
    other.decide_all()
    names = ["a gift", "a present"]

    def renaming_clock():
        other.rename_option(names[0], names[1], **ME)
        names.reverse()
        return now

    with other, Campaign.open("offers", store=address, clock=renaming_clock) as campaign:
        for _ in range(2):
            status = campaign.status()
            assert {row.option for row in status.timeline} <= {row.name for row in status.options}
            shown = {row.name for row in campaign.estimates()}
            assert len(shown & {"a gift", "a present"}) == 1
