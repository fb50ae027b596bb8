"""Records in one transaction: what is kept at hand between two of them is never stale."""

import pytest
from service_settings import SETTINGS

from latesum.live import Campaign, Row, Store
from latesum.live.store import Writer
from latesum.service import served
from latesum.service.served import Served


@pytest.fixture
def opened(store_address, clock):
    """The same campaign, opened twice, as by two processes."""
    with Store(store_address) as store:
        Campaign.create("banner", **SETTINGS, store=store, clock=clock)
        stored = store.find("banner")
        pair = [Served(store, stored, clock, owns_store=False) for _ in range(2)]
        pair[0].decide()
        yield pair


def say(campaign, *totals, bucket=1):
    rows = [(Row(bucket, 1000, total), "somebody", False, False) for total in totals]
    return [result.verdict for result in campaign.record_each(rows)]


def test_each_row_is_judged_by_the_ones_before_it(opened):
    one, _ = opened
    assert say(one, 300.0, 300.0, 310.0) == ["new", "same", "revised"]
    assert say(one, 310.0, 300.0) == ["same", "revised"]
    assert one.ledger().value(1).total == 300.0


def test_what_another_process_wrote_is_seen(opened):
    one, other = opened
    assert say(one, 300.0) == ["new"]
    assert say(other, 310.0) == ["revised"]
    assert say(one, 310.0, 300.0) == ["same", "revised"]
    assert say(other, 300.0) == ["same"]


def test_a_decision_in_between_is_seen(opened):
    one, other = opened
    assert say(one, 5.0, bucket=2) == ["unknown bucket"]
    assert say(one, 300.0) == ["new"]
    other.decide()
    assert say(one, 5.0, bucket=2) == ["new"]


def test_what_failed_to_be_written_is_not_remembered(opened, monkeypatch):
    one, _ = opened
    assert say(one, 300.0) == ["new"]
    whole = Writer.flush

    def fail(self):
        whole(self)
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(Writer, "flush", fail)
        with pytest.raises(ConnectionError):
            say(one, 310.0)
    assert say(one, 310.0) == ["revised"]
    assert [entry.kind for entry in one.store.log(one.stored.id)] == ["decision", *["record"] * 2]


def test_more_buckets_than_are_kept_and_than_one_statement_asks_for(opened, monkeypatch):
    monkeypatch.setattr(served, "_MOST_PAGES", 3)
    monkeypatch.setattr("latesum.live.bookkeeping._MOST_AT_ONCE", 2)
    one, _ = opened
    for bucket in range(1, 8):
        assert say(one, 300.0, bucket=bucket) == ["new"]
        one.decide()
    rows = [(Row(bucket, 1000, 310.0), "somebody", False, False) for bucket in range(1, 8)]
    assert {result.verdict for result in one.record_each(rows)} == {"revised"}
    assert one._pages_after is None  # too many to keep
    assert {result.verdict for result in one.record_each(rows)} == {"same"}


def test_a_log_that_was_put_back_and_went_another_way_is_noticed(opened):
    one, other = opened
    assert say(one, 300.0, 310.0) == ["new", "revised"]
    with one.store.engine.begin() as connection:  # as a backup would have it
        connection.exec_driver_sql("DELETE FROM log WHERE sequence = 3")
        connection.exec_driver_sql("UPDATE campaigns SET head = 2")
    assert say(other, 320.0) == ["revised"]
    assert say(one, 310.0) == ["revised"]


def test_a_bucket_that_is_revised_often_stays_small(opened):
    one, _ = opened
    for total in range(20):
        say(one, float(total))
    assert len(one._pages[1].value.looks) == 1
    assert len(one.ledger().value(1).looks) == 20


def test_what_is_kept_is_used(opened, monkeypatch):
    one, _ = opened
    assert say(one, 300.0) == ["new"]
    monkeypatch.setattr(Writer, "of_buckets", None)  # nothing is read again
    assert say(one, 310.0) == ["revised"]
