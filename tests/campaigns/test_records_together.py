"""Several processes on one log: what one keeps in memory of it is never stale."""

import pytest

from latesum.campaigns import Campaign, Row, Store
from latesum.campaigns.store import Writer
from latesum.errors import BadRows


@pytest.fixture
def opened(store_address, clock):
    """The same campaign, opened twice, as by two processes."""
    with Store(store_address) as store:
        Campaign.create(
            name="banner",
            options=["red", "blue"],
            policy="odaaf",
            parameters={"horizon": 90_000, "mean_delay": 100},
            every="day",
            expected_rounds=1000,
            time_basis="arrival",
            store=store,
            clock=clock,
        )
        stored = store.find("banner")
        pair = [Campaign(store, stored, clock, owns_store=False) for _ in range(2)]
        pair[0].decide()
        yield pair


def say(campaign, *totals, bucket=1):
    rows = [Row(bucket, 1000, total) for total in totals]
    return [result.verdict for result in campaign.record_many(rows, by="shop")]


def test_each_row_is_judged_by_the_ones_before_it_of_any_process(opened):
    one, other = opened
    assert say(one, 300.0, 300.0, 310.0) == ["new", "same", "revised"]
    assert say(other, 310.0, 300.0) == ["same", "revised"]
    assert say(one, 300.0) == ["same"]
    assert one.state().value(1).total == 300.0


@pytest.mark.parametrize(
    ("act", "verdicts"),
    [
        (lambda other: other.record(1, rounds=1000, total=5.0), ["revised", "revised"]),
        (lambda other: other.record(1, total=5.0, status="final"), ["conflicting"] * 2),
        (lambda other: other.rename_option("red", "rouge", user="op", reason="a test"), None),
    ],
)
def test_what_changes_after_rows_were_checked_is_judged_anew(opened, clock, act, verdicts):
    one, other = opened
    waiting = [act]

    def now():  # it is asked between the checks and the transaction
        if waiting:
            waiting.pop()(other)
        return clock()

    one.clock = now
    rows = [Row(1, 1000, total, shown="red") for total in (300.0, 310.0)]
    if verdicts is None:
        with pytest.raises(BadRows, match="no option 'red'"):
            one.record_many(rows)
    else:
        assert [each.verdict for each in one.record_many(rows)] == verdicts
    written = 2 if verdicts == ["revised", "revised"] else 0
    assert len(one.history()) == 2 + written


def test_a_decision_in_between_is_seen(opened):
    one, other = opened
    assert say(one, 5.0, bucket=2) == ["unknown bucket"]
    assert say(one, 300.0) == ["new"]
    other.decide(2)
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
    assert [event.kind for event in one.store.log(one.stored.id)] == ["decision", *["record"] * 2]


def test_a_log_that_was_put_back_and_went_another_way_is_noticed(opened):
    one, other = opened
    assert say(one, 300.0, 310.0) == ["new", "revised"]
    with one.store.engine.begin() as connection:  # as a backup would have it
        connection.exec_driver_sql("DELETE FROM log WHERE sequence = 3")
        connection.exec_driver_sql("UPDATE campaigns SET head = 2")
    assert one.state().newest.sequence == 2
    assert say(other, 320.0) == ["revised"]
    assert say(one, 310.0) == ["revised"]


def test_only_what_is_new_is_read(opened, monkeypatch):
    one, other = opened
    assert say(one, 300.0, 310.0) == ["new", "revised"]
    other.pause(user="ada", reason="a look")
    one.state()
    asked = []
    whole = Store.log
    monkeypatch.setattr(
        Store,
        "log",
        lambda self, campaign, after=0: (asked.append(after), whole(self, campaign, after))[1],
    )
    assert say(one, 320.0) == ["revised"]
    assert one.state().paused is not None
    assert min(asked) >= 3  # the newest event and no other is read again


def test_rows_that_are_bad_in_any_way_are_named_by_their_places(opened):
    one, _ = opened
    with pytest.raises(BadRows) as refused:
        one.record_many([Row(1, 1000, 300.0), Row(1, -5), Row(1, 10, 11.0), Row("soon", 5)])
    places = [(place, bad.field) for place, bad in refused.value.problems]
    assert places == [(1, "rounds"), (2, "total"), (3, "bucket")]
    assert not one.state().value(1).recorded
