"""Following the log: only what is new is read, unless the database was put back."""

import pytest

from latesum.campaigns import Campaign, Store


@pytest.fixture
def opened(store, clock):
    """The same campaign, opened twice."""
    config = {"horizon": 90_000, "mean_delay": 100}
    Campaign.create(
        name="banner", options=["red", "blue"], policy="odaaf", parameters=config, every="number", expected_rounds=1000,
        time_basis="arrival", seed=1, store=store, clock=clock,
    )  # fmt: skip
    return [Campaign.open("banner", store=store, clock=clock) for _ in range(2)]


def go_on(campaign, buckets, total=300.0):
    for _ in range(buckets):
        bucket = campaign.decide().bucket
        campaign.record(bucket, rounds=1000, total=total)


def test_only_what_is_new_is_read(opened, monkeypatch):
    one, other = opened
    go_on(one, 3)
    other.pause(user="ada", reason="a look")
    one.state()
    asked = []
    whole = Store.log
    monkeypatch.setattr(
        Store,
        "log",
        lambda self, campaign, after=0: (asked.append(after), whole(self, campaign, after))[1],
    )
    go_on(one, 1)
    assert one.state().paused is not None
    assert asked
    assert min(asked) >= 6  # the newest event and no other is read again


def test_a_log_that_was_put_back_is_read_anew(opened, clock):
    one, other = opened
    go_on(one, 4)
    with one.store.engine.begin() as connection:  # as a backup would have it
        connection.exec_driver_sql("DELETE FROM log WHERE sequence > 4")
        connection.exec_driver_sql("UPDATE campaigns SET head = 4")
    clock.pass_by(minutes=1)
    go_on(other, 3, total=250.0)
    assert [one.state().value(bucket).total for bucket in range(1, 6)] == [300, 300, 250, 250, 250]
    assert one.decide() == other.decide()


def test_a_log_that_was_put_back_and_not_gone_on_with(opened):
    one, _ = opened
    go_on(one, 4)
    with one.store.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM log WHERE sequence > 4")
        connection.exec_driver_sql("UPDATE campaigns SET head = 4")
    assert one.state().last == 2
    assert one.decide().bucket == 3
