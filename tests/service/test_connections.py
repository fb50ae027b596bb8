"""A bad network: slow and many connections are closed, and others are answered meanwhile."""

import contextlib
import json
import socket
import time

import httpx
import pytest
from service_process import ServiceProcess
from service_settings import SETTINGS

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.service import Tokens
from latesum.service.connections import Gate, find_room, read_networks


class Visitor:
    """A connection as the gate sees it."""

    def __init__(self, address="10.0.0.1", answered=False, buffer=0):
        self.address = address
        self.answered = answered
        self.since = 0.0
        self.buffer = buffer
        self.closed = False

    def unsent(self):
        return self.buffer

    def cut(self):
        self.closed = True


def make_gate(per_address=3, in_all=5, head_seconds=100.0, **more):
    reasons = []
    return Gate(per_address, in_all, head_seconds, count=reasons.append, **more), reasons


def test_of_too_many_from_one_address_the_one_that_waited_longest_gives_way():
    gate, reasons = make_gate()
    first, second, third, other = Visitor(), Visitor(), Visitor(), Visitor("10.0.0.2")
    assert all(gate.enter(each) for each in (other, first, second, third))
    gate.begin(first)  # its request is being worked on
    assert gate.enter(Visitor())
    assert [each.closed for each in (first, second, third, other)] == [False, True, False, False]
    assert reasons == ["per address"]


def test_one_that_was_answered_before_is_kept_longer():
    gate, _ = make_gate()
    kept, slow = Visitor(answered=True), Visitor()
    assert all(gate.enter(each) for each in (kept, slow, Visitor(), Visitor()))
    assert (kept.closed, slow.closed) == (False, True)


def test_where_every_connection_is_worked_for_the_newest_is_refused():
    gate, reasons = make_gate()
    busy = [Visitor() for _ in range(3)]
    for each in busy:
        assert gate.enter(each)
        gate.begin(each)
    assert not gate.enter(Visitor())
    assert not any(each.closed for each in busy)
    gate.leave(busy[0])
    assert gate.enter(Visitor())
    assert reasons == ["per address"]


def test_a_proxy_may_have_as_many_as_there_may_be_in_all():
    gate, reasons = make_gate(proxies=["10.0.0.0/24"])
    visitors = [Visitor() for _ in range(6)]
    assert all(gate.enter(each) for each in visitors)
    assert [each.closed for each in visitors] == [True] + [False] * 5
    assert reasons == ["in all"]


def test_a_slow_head_is_cut_off_but_not_a_slow_reader():
    gate, reasons = make_gate(head_seconds=0.0)
    slow, reads, busy = Visitor(), Visitor(buffer=10_000), Visitor()
    for each in (slow, reads, busy):
        gate.enter(each)
    gate.begin(busy)
    gate.look()
    assert (slow.closed, reads.closed, busy.closed) == (True, False, False)
    reads.since = time.monotonic() - 3600
    gate.look()
    assert reads.closed
    assert reasons == ["slow", "slow"]


def test_networks_are_read():
    with pytest.raises(InvalidInput, match=r"write 10\.0\.0\.7 or"):
        read_networks(["proxy.example"])
    assert find_room(10).connections == 10


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with few files, and a token for it."""
    tmp_path = tmp_path_factory.mktemp("served")
    with Store(tmp_path / "campaigns.db") as store:
        secret = Tokens(store).new("shop", "operate")
        Campaign.create(name="banner", **{**SETTINGS, "every": "day"}, store=store).decide()
    log = tmp_path / "log"
    with ServiceProcess(
        tmp_path / "campaigns.db", files=256, log=log, log_level="warning",
        # However slow the machine: connections are closed because there are too many, not by their age.
        configured={"head_seconds": 3600.0},
    ) as service:  # fmt: skip
        yield service, {"Authorization": f"Bearer {secret}"}, log


def connect(service):
    host, port = service.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def test_three_hundred_slow_sockets_do_not_stop_a_service_that_has_256_files(served):
    service, headers, log = served
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(
            httpx.Client(base_url=service.url, headers=headers, timeout=60)
        )
        assert client.get("/livez").status_code == 200
        for number in range(300):
            slow = stack.enter_context(connect(service))
            slow.sendall(b"GET / HTTP/1.1\r\nX: ")
            if number % 30 == 0:  # on a connection of its own, and on one that was kept
                assert httpx.get(f"{service.url}/livez", timeout=60).status_code == 200
                assert client.get("/v1/campaigns/banner/option").status_code == 200
        assert client.get("/v1/campaigns/banner/option").status_code == 200
        assert 'latesum_connections_refused_total{reason="in all"}' in client.get("/metrics").text
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    events = [line["event"] for line in lines]
    assert "fewer connections than configured" in events
    refused = [line for line in lines if line["event"] == "connection refused"]
    assert refused[0]["address"] == "127.0.0.1"
    assert "waited longest" in refused[0]["reason"]
    assert len(refused) >= 20


def test_what_is_not_http_gets_a_sentence(served):
    service, _, _ = served
    with connect(service) as talking:
        talking.sendall(b"EHLO mail\r\n\r\n")
        said = talking.recv(10_000).decode()
    assert said.startswith("HTTP/1.1 400")
    assert (
        json.loads(said.partition("\r\n\r\n")[2])["error"] == "this is not a request in HTTP/1.1."
    )


def test_work_that_only_looks_ends_when_its_client_leaves(make_service):
    """A request for a status waits for a thread; when its client leaves it is taken back."""
    import asyncio
    import threading

    service = make_service()
    service.as_("operate").put("/v1/campaigns/banner", json=SETTINGS)
    campaigns, loop_work = service.app.state.campaigns, threading.Event()
    begun = []

    async def run():
        loop = asyncio.get_running_loop()
        for _ in range(2):  # both threads that read are busy
            loop.run_in_executor(campaigns.workers.readers, loop_work.wait, 120)
        cached = await campaigns.of("banner")
        cached.reader.status = lambda *_: begun.append(1)
        sent = []

        async def receive():
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": "/v1/campaigns/banner/status",
            "raw_path": b"/v1/campaigns/banner/status", "query_string": b"", "scheme": "http",
            "headers": [(b"authorization", f"Bearer {service.secrets['read']}".encode())],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": "",
            "http_version": "1.1", "asgi": {"version": "3.0"},
        }  # fmt: skip
        await service.app(scope, receive, send)
        loop_work.set()
        await loop.run_in_executor(campaigns.workers.readers, lambda: None)
        return sent

    service.as_("read").get("/readyz")  # the token is known, so that no thread is needed for it
    sent = service.stranger.portal.call(run)
    assert sent[0]["status"] == 499
    assert begun == []


def test_a_slow_body_is_refused(make_service):
    import asyncio

    service = make_service(body_seconds=0.05)
    sent = []

    async def run():
        async def receive():
            await asyncio.sleep(1)
            return {"type": "http.request", "body": b"x", "more_body": True}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/login", "raw_path": b"/login",
            "query_string": b"", "scheme": "http", "headers": [], "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80), "root_path": "", "http_version": "1.1",
            "asgi": {"version": "3.0"},
        }  # fmt: skip
        await service.app(scope, receive, send)

    service.stranger.portal.call(run)
    assert sent[0]["status"] == 408
    assert "took longer" in json.loads(sent[1]["body"])["error"]
