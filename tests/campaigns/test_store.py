"""The contract of `latesum.campaigns.store`, point by point, on every store."""

import contextlib
import multiprocessing
import sqlite3
import threading
import time
from datetime import UTC, datetime

import pytest
from sqlalchemy.exc import IntegrityError

from latesum import InvalidInput
from latesum.campaigns import Store
from latesum.errors import UnknownCampaign

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
SETTINGS = {"options": ["Größe A", "B"], "numbers": [1, 2.5, None]}


def append(store, campaign, count, first_bucket=1):
    with store.writing(campaign.id) as writer:
        return [
            writer.append(NOW, "decision", first_bucket + i, {"label": f"é{i}", "x": 0.1 * i})
            for i in range(count)
        ]


class TestContract:
    def test_1_a_campaign_is_made_once(self, store):
        made = store.create("one", SETTINGS, NOW)
        assert store.config(made.id) == SETTINGS
        assert made.created_at == NOW
        assert store.find("one") == made
        with pytest.raises(InvalidInput, match="already"):
            store.create("one", SETTINGS, NOW)
        assert [each.name for each in store.campaigns()] == ["one"]
        with pytest.raises(UnknownCampaign, match="did you mean 'one'"):
            store.find("oen")

    def test_2_the_log_is_in_order_and_as_written(self, store):
        one, other = store.create("one", SETTINGS, NOW), store.create("other", SETTINGS, NOW)
        written = append(store, one, 3) + append(store, one, 2, first_bucket=4)
        append(store, other, 1)
        assert store.log(one.id) == written
        assert [event.sequence for event in written] == [1, 2, 3, 4, 5]
        assert store.log(one.id, after=3) == written[3:]
        assert store.find("one").head == 5

    def test_2_a_reader_does_not_block_a_writer_nor_see_half_of_its_work(self, store):
        made = store.create("one", SETTINGS, NOW)
        append(store, made, 1)
        with store.engine.connect() as reader:
            reader.exec_driver_sql("SELECT count(*) FROM log")
            with store.writing(made.id) as writer:
                writer.append(NOW, "decision", 2, {})
                writer.append(NOW, "decision", 3, {})
                writer.flush()
                assert len(store.log(made.id)) == 1
        assert len(store.log(made.id)) == 3

    def test_3_one_writer_at_a_time_and_all_or_nothing(self, store):
        made = store.create("one", SETTINGS, NOW)
        order = []

        def second():
            with store.writing(made.id) as writer:
                order.append("second")
                writer.append(NOW, "record", 1, {})

        with store.writing(made.id) as writer:
            thread = threading.Thread(target=second)
            thread.start()
            time.sleep(0.2)
            order.append("first")
            writer.append(NOW, "decision", 1, {})
        thread.join()
        assert order == ["first", "second"]
        assert [event.kind for event in store.log(made.id)] == ["decision", "record"]
        with contextlib.suppress(RuntimeError), store.writing(made.id) as writer:
            writer.append(NOW, "record", 1, {})
            writer.flush()
            raise RuntimeError
        assert len(store.log(made.id)) == 2
        assert store.find("one").head == 2

    def test_5_a_second_decision_for_a_bucket_is_refused(self, store):
        made = store.create("one", SETTINGS, NOW)
        append(store, made, 1)
        with pytest.raises(IntegrityError):
            append(store, made, 1)
        with store.writing(made.id) as writer:
            for _ in range(2):
                writer.append(NOW, "record", 1, {})
            assert [each.kind for each in writer.log()] == ["decision", "record", "record"]

    def test_7_many_processes_may_open_an_empty_store_at_once(self, store_address):
        context = multiprocessing.get_context("fork")
        with context.Pool(4) as pool:
            assert sorted(pool.map(_open_and_create, [(store_address, i) for i in range(8)])) == [
                "0",
                "1",
                "2",
                "3",
                "4",
                "5",
                "6",
                "7",
            ]
        with Store(store_address) as store:
            assert len(store.campaigns()) == 8


def _open_and_create(task):
    address, number = task
    with Store(address) as store:
        return store.create(str(number), SETTINGS, NOW).name


def test_a_new_file_that_another_process_writes_to_is_waited_for(tmp_path):
    """SQLite does not wait by itself when the journal of a file is changed, so the store does."""
    file = tmp_path / "campaigns.db"
    with contextlib.closing(
        sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, other.execute, ["COMMIT"])
        release.start()
        with Store(file) as store:
            assert store.campaigns() == []
        release.join()


def test_a_store_of_another_version_is_refused(store_address):
    from sqlalchemy import text

    with Store(store_address) as store, store.engine.begin() as connection:
        connection.execute(text("UPDATE schema SET version = 9999"))
    with pytest.raises(InvalidInput, match="another latesum"):
        Store(store_address)


@pytest.mark.parametrize(
    "address",
    ["mysql://localhost/db", "sqlite://", "sqlite:///:memory:", "postgresql://nowhere.invalid/x"],
)
def test_addresses_that_cannot_be_used_are_refused_with_a_sentence(address):
    with pytest.raises(InvalidInput):
        Store(address)


def test_the_file_is_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("LATESUM_DATABASE_URL", raising=False)
    monkeypatch.delenv("LATESUM_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    with Store() as store:
        assert store.place == str(tmp_path / "latesum" / "campaigns.db")
        with store.engine.connect() as connection:
            pragma = connection.exec_driver_sql
            assert pragma("PRAGMA journal_mode").scalar() == "wal"
            assert pragma("PRAGMA synchronous").scalar() == 2
    monkeypatch.setenv("LATESUM_DATABASE_URL", f"sqlite:///{tmp_path / 'elsewhere.db'}")
    with Store() as store:
        assert store.place.endswith("elsewhere.db")
