"""`kill -9` at random moments of a process that decides and records, on SQLite and on PostgreSQL.

    python tests/campaigns/killtest.py --moments 200

A worker decides on bucket after bucket and records rounds, totals, restatements and a missing day,
and says on a pipe what has been acknowledged. It is killed at a random moment and another one
goes on, sending again what it cannot know to have arrived. At the end: nothing acknowledged is lost,
nothing is counted twice, and every decision is that of a run never killed.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from postgres_server import running_server

from latesum import markets
from latesum.campaigns import Campaign, Store

START = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 1000
LAG = 2  # totals come two days late, and are restated a week later


#: What operators do in the morning of some days; each has a key, and happens once.
ME = {"user": "an operator", "reason": "a test"}
ACTS = {
    6: lambda campaign, key: campaign.add_option("D", **ME, key=key),
    9: lambda campaign, key: campaign.pin("B", buckets=5, **ME, key=key),
    10: lambda campaign, key: campaign.pause(**ME, key=key),
    11: lambda campaign, key: campaign.resume(**ME, key=key),
    12: lambda campaign, key: campaign.unpin(**ME, key=key),
    14: lambda campaign, key: campaign.remove_option("A", **ME, key=key),
    17: lambda campaign, key: campaign.restore_option("A", **ME, key=key),
    19: lambda campaign, key: campaign.rename_option("D", "delta", **ME, key=key),
    20: lambda campaign, key: campaign.change(
        parameters={"horizon": 500 * ROUNDS, "mean_delay": 300}, **ME, key=key
    ),
    23: lambda campaign, key: campaign.change(policy="ars-ucb", **ME, key=key),
    26: lambda campaign, key: campaign.add_option("E", **ME, key=key),
    29: lambda campaign, key: campaign.finish("B", **ME, key=key),
    30: lambda campaign, key: campaign.reopen(**ME, key=key),
}


REGIONS = {"north": 1000, "south": 400, "west": 150}
REGIONAL_ACTS = {
    5: lambda campaign, key: campaign.pause(region="south", **ME, key=key),
    6: lambda campaign, key: campaign.pin("B", buckets=3, region="west", **ME, key=key),
    7: lambda campaign, key: campaign.resume(region="south", **ME, key=key),
    9: lambda campaign, key: campaign.remove_option("A", region="north", **ME, key=key),
    11: lambda campaign, key: campaign.add_option("D", **ME, key=key),
    13: lambda campaign, key: campaign.restore_option("A", region="north", **ME, key=key),
    15: lambda campaign, key: campaign.rename_option("D", "delta", **ME, key=key),
    17: lambda campaign, key: campaign.change(parameters={"horizon": 500}, **ME, key=key),
    29: lambda campaign, key: campaign.finish("B", **ME, key=key),
    30: lambda campaign, key: campaign.reopen(**ME, key=key),
}


class DayClock:
    """Noon of a given day: the time is part of the log, so it must not depend on the machine."""

    day = 1

    def __call__(self):
        return START + timedelta(days=self.day - 1, hours=12)


def create(address, regional):
    method = {"policy": "flow", "parameters": {"horizon": 400 * ROUNDS, "mean_delay": 200}}
    if regional:
        method = {"regions": list(REGIONS), "parameters": {"horizon": 400, "late": "about 1 day"}}
    with Store(address) as store:
        Campaign.create(
            name="killed",
            options=["A", "B", "C"],
            **method,
            every="day",
            expected_rounds=ROUNDS,
            status_quo="A" if regional else "unknown",
            time_basis="arrival",
            seed=5,
            start="2026-01-01",
            store=store,
            clock=DayClock(),
        )


def total_of(bucket, arm, restated):
    return round(ROUNDS * (0.3 + 0.1 * arm)) + bucket * 7919 % 41 + 5 * restated


def operations(bucket, acts):
    """What happens on the day of a bucket, in order."""
    if bucket in acts:
        yield "act", bucket
    yield "decide", bucket
    known, restated = bucket - LAG, bucket - LAG - 7
    if known >= 1:
        yield "rounds", known
        yield "missing" if known % 17 == 0 else "total", known
    if restated >= 1 and restated % 17:
        yield "restate", restated


def perform(campaign, clock, day, operation, bucket):
    """Do one thing; what it answers must be the same whenever it is done again."""
    clock.day = day
    if operation == "act":
        return acts_of(campaign)[bucket](campaign, f"act {bucket}").action
    if operation == "decide":
        return [each.arm for each in campaign.decide_all(bucket).values()]
    for region in campaign.config.regions or [None]:
        rounds = REGIONS.get(region, ROUNDS)
        if operation == "rounds":
            campaign.record(bucket, rounds=rounds + bucket % 13, region=region)
        elif operation == "missing":
            campaign.record(bucket, status="missing", region=region)
        else:
            arm = campaign.decide(bucket, region=region or "").arm
            total = total_of(bucket, arm, operation == "restate")
            campaign.record(bucket, total=total * rounds // ROUNDS, region=region)
    return None


def acts_of(campaign):
    return REGIONAL_ACTS if campaign.config.regions else ACTS


def work(address, first_day, last_day, say):
    """Live through the days. The worker does not know what the one before it has done."""
    clock = DayClock()
    with Campaign.open("killed", store=address, clock=clock) as campaign:
        for day in range(first_day, last_day + 1):
            for operation, bucket in operations(day, acts_of(campaign)):
                answer = perform(campaign, clock, day, operation, bucket)
                say([day, operation, bucket, answer])


def log_of(address):
    with Store(address) as store:
        return [event[1:] for event in store.log(store.find("killed").id)]


def run_killed(address, moments, rng, *, longest=0.15, most_answers=12):
    """Kill workers at random moments; what was acknowledged, and the last day reached.

    A moment is a number of answers and a time after them, so that days go by on a slow machine too.
    """
    acknowledged, day = [], 1
    for _ in range(moments):
        reading, writing = os.pipe()
        worker = os.fork()
        if worker == 0:
            os.close(reading)
            with contextlib.suppress(BrokenPipeError):
                work(address, day, day + 10_000, lambda line, pipe=writing: _send(pipe, line))
            os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines = [json.loads(pipe.readline()) for _ in range(rng.randint(1, most_answers))]
            time.sleep(rng.random() * longest)
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
            lines += [json.loads(line) for line in pipe if line.endswith("\n")]
        acknowledged += lines
        day = lines[-1][0]  # the next worker sends this day's operations again
    return acknowledged, day


def _send(pipe, line):
    os.write(pipe, (json.dumps(line) + "\n").encode())


def warm_up(address):
    """Load what deciding needs before the first fork, so that workers are killed at work."""
    with Campaign.open("killed", store=address) as campaign:
        if campaign.config.regions:
            rows = [
                markets.RegionRow(region, day, size, "ABC"[day % 3], size / 3)
                for region, size in REGIONS.items()
                for day in range(20)
            ]
            markets.decide(rows, 20, campaign.config.build_market())
            return
        policy = campaign.config.build_policy()
    for arm in range(3):
        policy.tell(arm, ROUNDS, 0.3 * ROUNDS, "learn")
    policy.ask()


def check(address, other_address, moments, seed, *, regional=False):
    """Kill, go on to the end of the last day, and compare with a run never killed."""
    create(address, regional)
    create(other_address, regional)
    warm_up(address)
    acknowledged, day = run_killed(address, moments, random.Random(seed))
    work(address, day, day + 3, lambda line: None)
    work(other_address, 1, day + 3, lambda line: None)
    killed, whole = log_of(address), log_of(other_address)

    decisions = {}
    for _, kind, bucket, body, _ in killed:
        if kind == "decision":
            decisions.setdefault(bucket, []).append(body["option"])
    for _, operation, bucket, answer in acknowledged:
        if operation == "act":
            done = [event for event in killed if event[3].get("key") == f"act {bucket}"]
            assert [event[1] for event in done] == [answer], "an act was lost or done twice"
        elif operation == "decide" and bucket in decisions:
            assert decisions[bucket] == answer, "an acknowledged decision was changed"
        elif operation == "decide":
            assert bucket == 29, "an acknowledged decision was lost"  # the campaign was finished
        else:
            assert any(event[1] == "record" and event[2] == bucket for event in killed), (
                f"the acknowledged {operation} of bucket {bucket} was lost"
            )
    assert killed == whole, "the log differs from that of a run never killed"
    for place in (address, other_address):
        with Campaign.open("killed", store=place, clock=_at(day + 4)) as campaign:
            decisions[place] = [
                (last.option, last.purpose, last.rounds)
                for last in campaign.decide_all(day + 4).values()
            ]
    assert decisions[address] == decisions[other_address], "the next decision differs"
    return len(acknowledged), day + 3, len(killed)


def _at(day):
    clock = DayClock()
    clock.day = day
    return clock


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stores", default="sqlite,postgresql")
    arguments = parser.parse_args()
    wanted = [
        (kind, regional) for kind in arguments.stores.split(",") for regional in (False, True)
    ]
    for kind, regional in wanted:
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            if kind == "sqlite":
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                addresses = [f"sqlite:///{folder / name}.db" for name in ("killed", "whole")]
            else:
                server = stack.enter_context(running_server())
                addresses = [server.new_database() for _ in range(2)]
            said, days, events = check(
                *addresses, arguments.moments, arguments.seed, regional=regional
            )
        print(
            f"{kind}{' with regions' if regional else ''}: killed {arguments.moments} times in {time.monotonic() - began:.0f} s; {said} "
            f"acknowledgements over {days} days, {events} log events: nothing lost, nothing "
            "twice, every decision as in a run never killed.",
            flush=True,
        )


if __name__ == "__main__":
    main()
