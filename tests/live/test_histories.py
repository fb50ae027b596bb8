"""Histories and databases of earlier versions: opened, replayed, and gone on with."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import inspect

from latesum import InvalidInput
from latesum.errors import Moved
from latesum.live import Campaign, Store
from latesum.live.migrate import schema_version
from latesum.live.moving import (
    export_campaign,
    exported_log,
    move_campaign,
    read_export,
    replay_log,
    restore_campaign,
)
from latesum.live.schema import SCHEMA_VERSION
from latesum.live.settings import Settings

HERE = Path(__file__).parent
HISTORIES = sorted((HERE / "histories").glob("*.json"))
DATABASES = sorted((HERE / "databases").glob("*.db"))


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_recorded_histories_replay_to_the_same_decisions(path):
    exported = read_export(path.read_text(encoding="utf-8"))
    entries = exported_log(exported)
    assert sum(entry.kind == "decision" for entry in entries) == 60
    assert replay_log(Settings.from_json(exported["settings"]), entries) == []


def test_a_replay_notices_a_decision_that_would_be_another():
    exported = read_export(HISTORIES[0].read_text(encoding="utf-8"))
    entry = next(each for each in exported["log"] if each[2] == "decision" and each[3] == 40)
    entry[4]["option"] = (entry[4]["option"] + 1) % 3
    found = replay_log(Settings.from_json(exported["settings"]), exported_log(exported))
    assert found[0].bucket == 40


def test_there_is_a_database_of_every_schema_version():
    versions = HERE.parents[1] / "src" / "latesum" / "live" / "migrations" / "versions"
    there = {path.stem.removeprefix("schema-") for path in DATABASES}
    assert there == {path.name[1:5] for path in versions.glob("v*.py")}


@pytest.mark.parametrize("path", DATABASES, ids=lambda path: path.stem)
def test_a_database_of_every_schema_version_is_opened_and_gone_on_with(path, tmp_path):
    shutil.copy(path, tmp_path / "old.db")
    with Store(tmp_path / "old.db") as store:
        with store.engine.connect() as connection:
            assert schema_version(connection) == SCHEMA_VERSION
            assert "log" in inspect(connection).get_table_names()
        now = datetime(2026, 5, 19, 9, tzinfo=UTC)
        campaign = Campaign.open("eventful", store=store, clock=lambda: now)
        assert replay_log(campaign.settings, campaign.history()) == []
        assert campaign.decide().bucket == 61
        assert campaign.record(60, rounds=4000, total=2200).verdict == "new"
        recorded = read_export((HERE / "histories" / "odaaf.json").read_text(encoding="utf-8"))
        assert campaign.history()[: len(recorded["log"])] == exported_log(recorded)


@pytest.fixture
def two_stores(tmp_path, postgres):
    with Store(tmp_path / "file.db") as file, Store(postgres.new_database()) as server:
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
def test_what_is_no_export_is_refused(text, tmp_path):
    with Store(tmp_path / "x.db") as store, pytest.raises(InvalidInput):
        restore_campaign(store, read_export(text))
