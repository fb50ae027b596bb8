"""Several processes on one campaign: killed in the middle, and racing on the same bucket."""

import multiprocessing

import killtest
import pytest

from latesum.campaigns import Campaign, Store
from latesum.campaigns.moving import replay_log


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


@pytest.mark.parametrize(
    ("regions", "own", "buckets"),
    [
        ([], [""] * 3, 15),
        (["north", "south", "west", "east"], ["north", "south", "west", "east"], 8),
    ],
    ids=["one stream", "regions"],
)
def test_processes_on_one_bucket_make_one_decision(store_address, regions, own, buckets):
    policy = {} if regions else {"policy": "odaaf"}
    with Store(store_address) as store:
        Campaign.create(
            name="raced",
            options=["A", "B", "C"],
            regions=regions,
            **policy,
            start="2026-01-01",
            parameters={"horizon": 90_000, "mean_delay": 10},
            expected_rounds=1000,
            time_basis="arrival",
            store=store,
        )
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(len(own)), context.Queue()
    racers = [
        context.Process(target=_race, args=(store_address, buckets, barrier, answers, each))
        for each in own
    ]
    for racer in racers:
        racer.start()
    seen = [answers.get(timeout=300) for _ in racers]
    for racer in racers:
        racer.join()
    assert all(each == seen[0] for each in seen)
    with Campaign.open("raced", store=store_address) as campaign:
        # Those of one stream all sent the same total for each bucket: it was set once.
        places = [(bucket, each) for bucket in range(1, buckets + 1) for each in regions or [""]]
        for kind in ("decision", "record"):
            found = [(e.bucket, e.region) for e in campaign.history() if e.kind == kind]
            assert sorted(found) == sorted(places)
        assert replay_log(campaign.first_config, campaign.history()) == []


def _race(address, buckets, barrier, answers, own):
    with Campaign.open("raced", store=address) as campaign:
        decided = []
        for bucket in range(1, buckets + 1):
            barrier.wait(timeout=300)
            found = campaign.decide_all(bucket)
            decided.append(list(found.values()))
            barrier.wait(timeout=300)
            total = 300 + 50 * found[own].arm
            campaign.record(bucket, region=own or None, rounds=1000, total=total)
        answers.put(decided)
