"""Several processes, some of them killed."""

import threading
import time

import pytest
from service_killtest import kill_at_random_moments
from service_process import ServiceProcess
from service_settings import SETTINGS

from latesum.campaigns import Store
from latesum.errors import ServiceError
from latesum.service import Tokens
from latesum.service.client import Client


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    if request.param == "sqlite":
        return tmp_path / "campaigns.db"
    return request.getfixturevalue("postgres").new_database()


def test_killed_at_a_few_random_moments(address):
    assert kill_at_random_moments(address, 3) == 3


@pytest.mark.slow
def test_killed_at_a_hundred_random_moments(address):
    assert kill_at_random_moments(address, 100, seed=2) == 100


@pytest.mark.parametrize("buckets", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_four_processes_on_one_postgresql_take_one_decision_for_a_bucket(postgres, buckets):
    address = postgres.new_database()
    with Store(address) as store:
        secret = Tokens(store).new("racer", "operate")
    services = [ServiceProcess(address) for _ in range(4)]
    try:
        for service in services:
            service.start(wait=False)
        for service in services:
            service.wait()
        clients = [
            Client(service.url, secret, timeout=120) for service in services for _ in range(2)
        ]
        for client in clients:
            client.send("PUT", "/v1/campaigns/race", json=SETTINGS)
        for bucket in range(1, buckets + 1):
            answers, start = [], threading.Barrier(len(clients))

            def ask(client, bucket=bucket, answers=answers, start=start):
                start.wait()
                answers.append(client.option("race", bucket))
                answers.append(client.option("race", bucket))

            threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(answers) == 2 * len(clients)
            assert all(each == answers[0] for each in answers)
            assert answers[0]["bucket"] == bucket
            clients[bucket % len(clients)].record("race", bucket, rounds=1000, total=300 + bucket)
        history = clients[0].send("GET", "/v1/campaigns/race/history?limit=1000")["events"]
        decisions = [each for each in history if each["kind"] == "decision"]
        assert [each["bucket"] for each in decisions] == list(range(1, buckets + 1))
        for client in clients:
            client.close()
    finally:
        for service in services:
            service.__exit__()


def test_a_stopped_service_answers_what_was_begun(tmp_path):
    address = tmp_path / "campaigns.db"
    with Store(address) as store:
        secret = Tokens(store).new("shop", "operate")
    service = ServiceProcess(address).start()
    client = Client(service.url, secret, attempts=1, timeout=120)
    client.send("PUT", "/v1/campaigns/banner", json=SETTINGS)
    client.option("banner", 1)
    acknowledged, stop = [], threading.Event()

    def keep_on():
        total = 0
        while not stop.is_set():
            total += 1
            try:
                client.record("banner", 1, rounds=1000, total=total)
            except ServiceError:
                return  # no more connections are accepted
            acknowledged.append(total)

    thread = threading.Thread(target=keep_on)
    thread.start()
    while len(acknowledged) < 10 and thread.is_alive():
        time.sleep(0.01)
    assert thread.is_alive(), "a record was refused before the service was stopped"
    assert service.stop() == 0
    stop.set()
    thread.join()
    with Store(address) as store:
        kept = store.log(1)[-1].body["total"]
    # The last one may have been written when its answer could no longer be sent.
    assert kept in (acknowledged[-1], acknowledged[-1] + 1)
