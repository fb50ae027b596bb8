"""Several processes on one campaign: killed in the middle, and racing on the same bucket."""

import multiprocessing
from datetime import UTC, datetime

import killtest
import pytest

from latesum.campaigns import Campaign, Store
from latesum.campaigns.moving import replay_log

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def two_addresses(store_address, request, tmp_path):
    if store_address.startswith("sqlite"):
        return store_address, f"sqlite:///{tmp_path / 'whole.db'}"
    return store_address, request.getfixturevalue("postgres").new_database()


@pytest.mark.parametrize("moments", [4, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("regional", [False, True], ids=["one stream", "regions"])
def test_killed_at_random_moments(two_addresses, regional, moments):
    said, _, events = killtest.check(*two_addresses, moments=moments, seed=3, regional=regional)
    assert said >= moments  # each worker is killed after its first answer at the earliest
    assert events > 0  # what is in the log was compared with a run never killed


def test_four_processes_decide_all_regions_once(store_address):
    with Store(store_address) as store:
        Campaign.create(
            name="raced", options=["A", "B", "C"], regions=["north", "south", "west", "east"],
            parameters={"horizon": 60}, start="2026-01-01", expected_rounds=1000, time_basis="arrival",
            store=store,
        )  # fmt: skip
    context = multiprocessing.get_context("fork")
    barrier, answers, buckets = context.Barrier(4), context.Queue(), 8
    racers = [
        context.Process(
            target=_race_in_regions, args=(store_address, buckets, barrier, answers, own)
        )
        for own in ("north", "south", "west", "east")
    ]
    for racer in racers:
        racer.start()
    seen = [answers.get(timeout=300) for _ in racers]
    for racer in racers:
        racer.join()
    assert all(each == seen[0] for each in seen)
    with Campaign.open("raced", store=store_address) as campaign:
        places = [(e.bucket, e.region) for e in campaign.history() if e.kind == "decision"]
        assert len(places) == len(set(places)) == 4 * buckets
        assert sum(e.kind == "record" for e in campaign.history()) == 4 * buckets
        assert replay_log(campaign.first_config, campaign.history()) == []


def _race_in_regions(address, buckets, barrier, answers, own):
    with Campaign.open("raced", store=address) as campaign:
        decided = []
        for bucket in range(1, buckets + 1):
            barrier.wait(timeout=300)
            found = campaign.decide_all(bucket)
            decided.append([(each.option, each.sequence, each.at) for each in found.values()])
            barrier.wait(timeout=300)
            campaign.record(bucket, region=own, rounds=1000, total=300 + 50 * found[own].arm)
        answers.put(decided)


def test_two_processes_on_one_bucket_make_one_decision(store_address):
    with Store(store_address) as store:
        Campaign.create(
            name="raced", options=["A", "B", "C"], policy="odaaf", parameters={"horizon": 90_000, "mean_delay": 10}, start="2026-01-01",
            expected_rounds=1000, time_basis="arrival", store=store,
        )  # fmt: skip
    context = multiprocessing.get_context("fork")
    buckets = 15
    barrier = context.Barrier(3)
    answers = context.Queue()
    racers = [
        context.Process(target=_race, args=(store_address, buckets, barrier, answers, number))
        for number in range(3)
    ]
    for racer in racers:
        racer.start()
    seen = [answers.get(timeout=300) for _ in racers]
    for racer in racers:
        racer.join()
    assert seen[0] == seen[1] == seen[2]
    with Campaign.open("raced", store=store_address) as campaign:
        history = campaign.history()
        assert [e.bucket for e in history if e.kind == "decision"] == list(range(1, buckets + 1))
        # Each of the three sent the same total for each bucket: it was set once.
        assert [e.bucket for e in history if e.kind == "record"] == list(range(1, buckets + 1))


def _race(address, buckets, barrier, answers, number):
    with Campaign.open("raced", store=address) as campaign:
        decided = []
        for bucket in range(1, buckets + 1):
            barrier.wait(timeout=300)
            decision = campaign.decide(bucket)
            decided.append((decision.option, decision.purpose, decision.sequence, decision.at))
            barrier.wait(timeout=300)
            campaign.record(bucket, rounds=1000, total=300 + 50 * decision.arm)
        answers.put(decided)
