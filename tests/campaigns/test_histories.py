"""Histories and databases of earlier versions: opened, replayed, and gone on with."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.database import schema_version
from latesum.campaigns.deciding import PolicyCache, choose
from latesum.campaigns.describing import describe_entry
from latesum.campaigns.importing import import_totals
from latesum.campaigns.moving import (
    export_campaign,
    exported_log,
    move_campaign,
    read_export,
    replay_log,
    restore_campaign,
)
from latesum.campaigns.schema import SCHEMA_VERSION
from latesum.errors import Moved
from latesum.files import FileForm

HERE = Path(__file__).parent
HISTORIES = sorted((HERE / "histories").glob("*.json"))
DATABASES = sorted((HERE / "databases").glob("*.db"))


#: To weigh all delays takes longer with every decision: the second half is replayed in the slow tests.
LONG = [path for path in HISTORIES if path.stem.endswith("-untold")]


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize(
    ("path", "until"),
    [
        *(pytest.param(path, 30 if path in LONG else 60, id=path.stem) for path in HISTORIES),
        *(
            pytest.param(path, 60, id=f"{path.stem}, whole", marks=pytest.mark.slow)
            for path in LONG
        ),
    ],
)
def test_recorded_histories_replay_to_the_same_decisions(path, until):
    exported = read_export(path.read_text(encoding="utf-8"))
    entries = exported_log(exported)
    decided = [number for number, entry in enumerate(entries) if entry.kind == "decision"]
    assert len(decided) == 60
    entries = entries[: decided[until - 1] + 1] if until < 60 else entries
    assert replay_log(CampaignConfig.from_json(exported["settings"]), entries) == []


EARLY = [path for path in HISTORIES if path.stem.startswith("early-")]


@pytest.mark.parametrize("path", EARLY, ids=lambda path: path.stem)
def test_early_totals_and_interrupted_overrides_are_among_the_recorded_histories(path):
    exported = read_export(path.read_text(encoding="utf-8"))
    entries, buckets = (
        exported_log(exported),
        CampaignConfig.from_json(exported["settings"]).buckets,
    )
    early = {
        entry.bucket
        for entry in entries
        if entry.kind == "record" and entry.at < buckets.end(entry.bucket)
    }
    again = {
        entry.bucket
        for entry in entries
        if entry.kind == "record" and entry.at >= buckets.end(entry.bucket)
    }
    final = {entry.bucket for entry in entries if entry.body.get("status") == "final"}
    assert min(len(early & again - final), len(early & final), len(early - again - final)) >= 9
    acts = [entry.kind for entry in entries if entry.kind not in ("decision", "record")]
    assert acts[:3] == ["override", "hold", "resume"]
    assert acts[3:5] == ["override", "drop"]
    sources = {entry.bucket: entry.body["source"] for entry in entries if entry.kind == "decision"}
    # Seven buckets were ordered and four shown; five were ordered and two shown.
    assert [bucket for bucket in range(1, 30) if sources[bucket] == "override"] == [
        10, 11, 12, 13, 24, 25,
    ]  # fmt: skip


READ_OTHERWISE = [
    path for path in HISTORIES if path.stem.startswith(("early-", "restated-", "curve-"))
]


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("path", READ_OTHERWISE, ids=lambda path: path.stem)
def test_by_the_new_rules_the_old_decisions_would_have_been_others(path):
    if path.stem == "restated-odaaf":
        pytest.skip("its phases are long: what is told otherwise changes none of its decisions")
    exported = read_export(path.read_text(encoding="utf-8"))
    for _, _, kind, _, body in exported["log"]:
        if kind == "decision":
            body["rules"] = 2
    assert replay_log(CampaignConfig.from_json(exported["settings"]), exported_log(exported))


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("path", READ_OTHERWISE, ids=lambda path: path.stem)
def test_the_first_decision_after_an_upgrade_logs_the_change_of_rules(path, store_file):
    exported = read_export(path.read_text(encoding="utf-8"))
    now = datetime(2026, 5, 19, 9, tzinfo=UTC)
    with Store(store_file()) as store:
        restore_campaign(store, exported)
        campaign = Campaign.open("eventful", store=store, clock=lambda: now)
        then = campaign.explain(30)
        assert campaign.decide().rules == 2
        now += timedelta(days=1)
        campaign.decide()
        first, second = campaign.history()[-2:]
        assert (first.body["rules"], first.body["rules_before"]) == (2, 1)
        assert "version 2 of the rules, not 1" in describe_entry(first, campaign.settings)
        assert second.body["rules"] == 2
        assert "rules_before" not in second.body
        assert campaign.history()[:-2] == exported_log(exported)
        assert replay_log(campaign.first_settings, campaign.history()) == []
        assert campaign.explain(30) == then
        again = exported_log(export_campaign(store, "eventful"))
        assert again == campaign.history()


def test_decisions_of_an_older_latesum_among_new_ones_are_replayed_by_its_rules(store_file):
    exported = read_export((HERE / "histories" / "early-ars-ucb.json").read_text(encoding="utf-8"))
    now = datetime(2026, 5, 19, 9, tzinfo=UTC)
    with Store(store_file()) as store:
        restore_campaign(store, exported)
        campaign = Campaign.open("eventful", store=store, clock=lambda: now)
        for _ in range(6):
            campaign.decide()
            now += timedelta(days=1)
            with store.writing(campaign.stored.id) as writer:  # as if by another process
                planner, bucket = (
                    PolicyCache(),
                    campaign.ledger().last,
                )
                choice = choose(campaign.ledger(), planner, bucket + 1, now, 1)
                body = choice.body(campaign.settings.buckets.label(bucket + 1), None)
                del body["rules"]
                writer.append(now, "decision", bucket + 1, body)
            now += timedelta(days=1)
        versions = [each.rules for each in campaign.ledger().decisions.values()]
        assert versions == [1] * 60 + [2, 1] * 6
        assert replay_log(campaign.first_settings, campaign.history()) == []


@pytest.mark.parametrize(
    ("recorded", "version"),
    [("stream", None), ("remodelled", 2), ("remodelled_regions", 2), ("calmer", 3), ("calmer_regions", 3)],
)  # fmt: skip
def test_by_another_model_of_markets_the_decisions_would_have_been_others(recorded, version):
    exported = read_export((HERE / "histories" / f"{recorded}-switchback.json").read_text("utf-8"))
    told = exported["settings"]["parameters"]
    assert told.get("model") == version
    told["model"] = 3 if version == 2 else 2
    assert replay_log(CampaignConfig.from_json(exported["settings"]), exported_log(exported))


def test_a_log_by_rules_of_a_newer_version_is_left_to_it(store_file):
    exported = read_export((HERE / "histories" / "early-ars-ucb.json").read_text(encoding="utf-8"))
    decisions = [each for each in exported["log"] if each[2] == "decision"]
    decisions[-1][4]["rules"] = 99
    now = datetime(2026, 5, 19, 9, tzinfo=UTC)
    with Store(store_file()) as store:
        restore_campaign(store, exported)
        campaign = Campaign.open("eventful", store=store, clock=lambda: now)
        assert campaign.decide(60).rules == 99  # what was decided stands
        for act in (campaign.decide, lambda: campaign.explain(60)):
            with pytest.raises(InvalidInput, match=r"version 99.*use a newer latesum"):
                act()
        with pytest.raises(InvalidInput, match="version 99"):
            replay_log(campaign.first_settings, campaign.history())
        assert campaign.history() == exported_log(exported)


def test_a_replay_notices_a_decision_that_would_be_another():
    exported = read_export(HISTORIES[0].read_text(encoding="utf-8"))
    entry = next(each for each in exported["log"] if each[2] == "decision" and each[3] == 40)
    entry[4]["option"] = (entry[4]["option"] + 1) % 3
    found = replay_log(CampaignConfig.from_json(exported["settings"]), exported_log(exported))
    assert found[0].bucket == 40


@pytest.mark.parametrize("path", DATABASES, ids=lambda path: path.stem)
def test_a_database_of_every_schema_version_is_opened_and_gone_on_with(path, tmp_path):
    shutil.copy(path, tmp_path / "old.db")
    with Store(tmp_path / "old.db") as store:
        with store.engine.connect() as connection:
            assert schema_version(connection) == SCHEMA_VERSION
            assert "log" in inspect(connection).get_table_names()
        now = datetime(2026, 5, 19, 9, tzinfo=UTC)
        campaign = Campaign.open("eventful", store=store, clock=lambda: now)
        assert replay_log(campaign.first_settings, campaign.history()) == []
        assert campaign.decide().bucket == 61
        assert campaign.record(60, rounds=4000, total=2200).verdict == "new"
        assert campaign.file_form() == FileForm()
        form = FileForm.create(columns="total=Summe")
        result = import_totals(campaign, b"bucket;rounds;Summe\n60;4000;2200,0\n", form)
        assert result.count("same") == 1
        assert Campaign.open("eventful", store=store).file_form() == form
        story = "odaaf" if path.stem in ("schema-0001", "schema-0002") else "changed-flow"
        recorded = read_export((HERE / "histories" / f"{story}.json").read_text(encoding="utf-8"))
        assert campaign.history()[: len(recorded["log"])] == exported_log(recorded)


@pytest.mark.parametrize("policy", ["flow", "ars-ucb"])
def test_every_act_is_among_the_recorded_histories(policy):
    path = HERE / "histories" / f"changed-{policy}.json"
    exported = read_export(path.read_text(encoding="utf-8"))
    kinds = {kind for _, _, kind, _, _ in exported["log"]}
    assert kinds >= {
        "hold", "resume", "override", "cancel-override", "drop", "bring-back", "add", "rename",
        "change", "finish", "reopen",
    }  # fmt: skip
    sources = {body["source"] for _, _, kind, _, body in exported["log"] if kind == "decision"}
    assert sources == {
        "policy", "carried", "held", "override", "aligned", "finished", "reported",
    }  # fmt: skip


@pytest.fixture
def two_stores(store_file, postgres, tables_database):
    address = postgres.new_database(tables_database)
    with Store(store_file()) as file, Store(address) as server:
        yield file, server


def test_a_campaign_moves_from_store_to_store_and_back(two_stores):
    exported = read_export((HERE / "histories" / "odaaf.json").read_text(encoding="utf-8"))
    file, server = two_stores
    restore_campaign(file, exported)
    before = export_campaign(file, "eventful")
    assert before["log"] == [list(entry) for entry in exported["log"]]
    count = move_campaign(file, server, "eventful")
    assert count == len(before["log"])
    assert export_campaign(server, "eventful") == before
    now = datetime(2026, 5, 19, 9, tzinfo=UTC)
    left = Campaign.open("eventful", store=file, clock=lambda: now)
    with pytest.raises(Moved, match="PostgreSQL"):
        left.decide()
    arrived = Campaign.open("eventful", store=server, clock=lambda: now)
    assert arrived.decide().bucket == 61
    with pytest.raises(InvalidInput, match="moved"):
        move_campaign(file, server, "eventful")


def test_a_move_that_was_cut_short_is_finished_by_another(two_stores):
    exported = read_export((HERE / "histories" / "odaaf.json").read_text(encoding="utf-8"))
    file, server = two_stores
    restore_campaign(file, exported)
    half = {**exported, "log": exported["log"][:100]}
    restore_campaign(server, half)
    move_campaign(file, server, "eventful")
    assert export_campaign(server, "eventful")["log"] == exported["log"]


def test_a_move_onto_another_campaign_is_refused(two_stores):
    exported = read_export((HERE / "histories" / "odaaf.json").read_text(encoding="utf-8"))
    other = read_export((HERE / "histories" / "odaaf-b.json").read_text(encoding="utf-8"))
    file, server = two_stores
    restore_campaign(file, exported)
    restore_campaign(server, other)
    with pytest.raises(InvalidInput, match="nothing was moved"):
        move_campaign(file, server, "eventful")
    assert file.find("eventful").moved_to is None


@pytest.mark.parametrize("text", ["{", "[]", '{"latesum_campaign": 99}', "{}"])
def test_what_is_no_export_is_refused(text, store_file):
    with Store(store_file()) as store, pytest.raises(InvalidInput):
        restore_campaign(store, read_export(text))
