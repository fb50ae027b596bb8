"""A damaged file, a place that cannot be written, a full disk: a sentence each, and nothing lost."""

import sqlite3

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store


@pytest.fixture
def file(new_campaign, tmp_path):
    """The file of a campaign with a decision, closed."""
    campaign = new_campaign()
    campaign.decide()
    campaign.store.close()
    return tmp_path / "own.db"


def test_a_damaged_file_is_said_to_be_one(file, latesum):
    whole = bytearray(file.read_bytes())
    whole[4096:] = bytes(i * 7 % 256 for i in range(len(whole) - 4096))
    file.write_bytes(whole)
    code, _, errors = latesum("campaign", "--store", str(file), "next")
    assert code == 2
    assert errors.count("\n") == 1
    assert "malformed" in errors
    assert "go back to a copy of it" in errors
    file.write_text("this is no database at all, whatever its name says")
    with pytest.raises(InvalidInput, match="not a database"):
        Store(file)


def test_a_folder_that_cannot_be_made_is_said_to_be_one(latesum, monkeypatch, tmp_path):
    (tmp_path / "occupied").write_text("a file")
    monkeypatch.setenv("LATESUM_DATA_DIR", str(tmp_path / "occupied" / "data"))
    monkeypatch.delenv("LATESUM_DATABASE_URL", raising=False)
    code, _, errors = latesum("campaign", "list")
    assert code == 2
    assert "cannot be made" in errors
    assert "--store or $LATESUM_DATA_DIR" in errors


def test_a_full_disk_is_said_and_nothing_is_lost(file, clock):
    with Store(file) as store:
        campaign = Campaign.open("banner", store=store, clock=clock)
        with store.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

        def full(connection, _):
            connection.execute(f"PRAGMA max_page_count = {pages}")

        store.engine.dispose()
        event.listen(store.engine, "connect", full)

        def go_on():
            for _ in range(100):
                campaign.pause(user="ada", reason="x" * 900)
                campaign.resume(user="ada", reason="y" * 900)

        with pytest.raises(OperationalError, match="full"):
            go_on()
        kept = len(campaign.history())
    with Store(file) as store:
        again = Campaign.open("banner", store=store, clock=clock)
        assert len(again.history()) == kept
        assert again.record(1, total=3).verdict == "new"


def test_a_full_disk_is_said_on_the_command_line(file, latesum, monkeypatch):
    """SQLite says "disk I/O error" where its files beside the database find no room."""
    failed = OperationalError("SELECT 1", None, sqlite3.OperationalError("disk I/O error"))
    monkeypatch.setattr(Store, "free_bytes", lambda self: 0)
    with Store(file) as store:
        assert "The disk is full: make room there." in store.failure(failed)
        monkeypatch.setattr(Store, "free_bytes", lambda self: 10**9)
        assert store.failure(failed).startswith("disk I/O error. The disk fails")
    code, _, errors = latesum("campaign", "--store", "/proc/none/c.db", "list")
    assert code == 2
    assert "cannot be made" in errors


def test_records_as_names_and_values_and_parameters_of_a_plan(new_campaign, clock):
    campaign = new_campaign(parameters={"n_arms": 3, "horizon": 450_000, "mean_delay": 1500})
    assert campaign.config.parameters == {"horizon": 450_000, "mean_delay": 1500}
    with pytest.raises(InvalidInput, match=r"for 2 options .n_arms., and here are 3"):
        new_campaign("other", parameters={"n_arms": 2, "horizon": 450_000, "mean_delay": 1500})
    campaign.decide()
    done = campaign.record_many([{"bucket": 1, "rounds": 5000, "total": 1500}])
    assert done[0].verdict == "new"
    with pytest.raises(InvalidInput, match="did you mean 'total'"):
        campaign.record_many([{"bucket": 1, "totl": 1500}])
    with pytest.raises(InvalidInput, match="a record has a bucket"):
        campaign.record_many([{"total": 1500}])
