"""kill -9 of the service at random moments under load, with clients that try again.

One client decides and records, bucket after bucket, revises earlier buckets and holds, resumes and
pins now and then; others send again what was acknowledged, and look. At the end: everything
acknowledged is in the log, once; and the decisions are those of a run that was never killed.
"""

import random
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from service_process import ServiceProcess

from latesum.campaigns import Campaign, Store
from latesum.service import Tokens
from latesum.service.client import Client

NAME = "killed"
RATES = (0.3, 0.34, 0.4)
SETTINGS = {
    "options": ["red", "blue", "green"],
    "policy": "odaaf",
    "parameters": {"horizon": 400_000, "mean_delay": 100},
    "every": "day",
    "start": "2000-01-01",
    "expected_rounds": 1000,
    "time_basis": "arrival",
    "seed": 7,
}
_FEWEST_BUCKETS = 40


def total_of(bucket, option, look):
    """What arrives in a bucket; the second look is a revision."""
    rate = RATES[SETTINGS["options"].index(option)]
    return float(np.random.default_rng((bucket, look)).binomial(1000, rate))


def drive(world, done):
    """Decide, record, revise and act until `done(bucket)`; returns how many buckets there were."""
    shown = {}
    bucket = 0
    while not done(bucket):
        bucket += 1
        shown[bucket] = world.option(bucket)
        world.record(bucket, total_of(bucket, shown[bucket], 1))
        if bucket > 2:
            world.record(bucket - 2, total_of(bucket - 2, shown[bucket - 2], 2))
        if bucket % 15 == 5:
            world.act("pause", reason=f"in {bucket}")
        if bucket % 15 == 8:
            world.act("resume", reason=f"in {bucket}")
        if bucket % 15 == 11:
            world.act("pin", option="blue", buckets=2, reason=f"in {bucket}")
    return bucket


class ByService:
    """The world of the killed run: a client that tries again until it is answered."""

    def __init__(self, client):
        self._client = client
        self.acknowledged = {}
        self.answered = 0

    def option(self, bucket):
        self.answered += 1
        return self._client.option(NAME, bucket)["option"]

    def record(self, bucket, total):
        self._client.record(NAME, bucket, rounds=1000, total=total)
        self.acknowledged[bucket] = total
        self.answered += 1

    def act(self, act, **arguments):
        self._client.send("POST", f"/v1/campaigns/{NAME}/actions/{act}", json=arguments)


class ByLibrary:
    """The world of the run that is never killed."""

    def __init__(self, campaign):
        self._campaign = campaign

    def option(self, bucket):
        return self._campaign.decide(bucket).option

    def record(self, bucket, total):
        self._campaign.record(bucket, rounds=1000, total=total)

    def act(self, act, **arguments):
        self._campaign.act(act, **arguments, user="x")


def client_of(service, secret):
    """A client that does not give up for two minutes."""
    return Client(
        service.url, secret, attempts=4000, sleep=lambda span: time.sleep(min(span, 0.03))
    )


def bother(service, secret, world, stop, seed, answered):
    """Send again what was acknowledged and will not be revised any more, and look."""
    draws = random.Random(seed)
    with client_of(service, secret) as client:
        while not stop.is_set():
            settled = len(world.acknowledged) - 3
            if settled < 1:
                time.sleep(0.01)
                continue
            bucket = draws.randint(1, settled)
            client.record(NAME, bucket, rounds=1000, total=world.acknowledged[bucket])
            # Of a bucket that was decided: to ask for the next one would decide it, too early.
            assert client.option(NAME, bucket)["bucket"] == bucket
            if draws.random() < 0.05:
                client.send("GET", f"/v1/campaigns/{NAME}/status")
            answered[seed] += 2


def wait_for_answers(count, wanted, seconds=5.0):
    """Until this many more requests were answered, or some time has passed."""
    before, end = count(), time.monotonic() + seconds
    while count() - before < wanted and time.monotonic() < end:
        time.sleep(0.001)


def kill_at_random_moments(address, moments, *, seed=1):
    """The whole test on one store; raises AssertionError if anything was lost or counted twice."""
    draws = random.Random(seed)
    with Store(address) as store:
        secret = Tokens(store).new("killer", "operate")
    service = ServiceProcess(address).start()
    stop, killed = threading.Event(), 0
    try:
        with client_of(service, secret) as client:
            client.send("PUT", f"/v1/campaigns/{NAME}", json=SETTINGS)
            world = ByService(client)
            answered = [0, 0, 0]
            threads = [
                threading.Thread(
                    target=bother, args=(service, secret, world, stop, n, answered), daemon=True
                )
                for n in range(3)
            ]
            finished = []
            driver = threading.Thread(
                target=lambda: finished.append(
                    drive(world, lambda bucket: stop.is_set() and bucket >= _FEWEST_BUCKETS)
                ),
                daemon=True,
            )
            for thread in (driver, *threads):
                thread.start()
            while killed < moments:
                wait_for_answers(lambda: world.answered + sum(answered), draws.randint(0, 60))
                time.sleep(draws.uniform(0.0, 0.03))
                service.kill()
                killed += 1
                service.start(wait=draws.random() < 0.8)  # sometimes it dies while it starts
            service.wait()
            stop.set()
            for thread in (driver, *threads):
                thread.join(600)
            assert finished, "the client that decides did not come to its end"
        assert service.stop() == 0
    finally:
        service.__exit__()
    check(address, world.acknowledged, finished[0])
    return killed


def check(address, acknowledged, buckets):
    """Nothing lost, nothing twice, and the decisions of a run that was never killed."""
    with Store(address) as store, tempfile.TemporaryDirectory() as folder:
        campaign = Campaign.open(NAME, store=store)
        history = campaign.history()
        assert [event.sequence for event in history] == list(range(1, len(history) + 1))
        timeline = {row.bucket: row for row in campaign.status().timeline}
        for bucket, total in acknowledged.items():
            assert (timeline[bucket].rounds, timeline[bucket].total) == (1000, total)
        reference = Campaign.create(name=NAME, **SETTINGS, store=Path(folder) / "reference.db")
        drive(ByLibrary(reference), lambda bucket: bucket >= buckets)

        def told(events, *kinds):
            return [
                (event.kind, event.bucket, {**event.body, "user": 0, "by": 0, "key": 0})
                for event in events
                if event.kind in kinds
            ]

        calm = reference.history()
        reference.close()
        assert told(history, "decision") == told(calm, "decision")
        assert told(history, "pause", "resume", "pin") == told(calm, "pause", "resume", "pin")
        # Every record is there exactly as often as it would be had no answer been lost.
        assert told(history, "record") == told(calm, "record")
