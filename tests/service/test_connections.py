"""A bad network: slow and many connections are closed, and others are answered meanwhile."""

import contextlib
import os
import time

import httpx
import pytest
from service_process import ServiceProcess
from service_settings import SETTINGS

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.service import Tokens
from latesum.service.configuration import read_networks


def test_networks_are_read():
    with pytest.raises(InvalidInput, match=r"write 10\.0\.0\.7 or"):
        read_networks(["proxy.example"])


def test_a_port_that_is_taken_is_refused(served, latesum, tmp_path):
    service, _ = served
    port = service.url.rpartition(":")[2]
    code, _, errors = latesum("serve", "--store", str(tmp_path / "other.db"), "--port", port)
    assert code == 2
    assert "Try another --port" in errors


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with few files, and a token for it."""
    tmp_path = tmp_path_factory.mktemp("served")
    with Store(tmp_path / "campaigns.db") as store:
        secret = Tokens(store).new("shop", "operate")
        Campaign.create(name="banner", **SETTINGS, store=store).decide()
    with ServiceProcess(tmp_path / "campaigns.db", files=512) as service:
        yield service, {"Authorization": f"Bearer {secret}"}


def test_three_hundred_slow_sockets_do_not_stop_a_service_that_has_512_files(served):
    service, headers = served
    with contextlib.ExitStack() as stack:
        for number in range(300):
            slow = stack.enter_context(service.connect())
            slow.sendall(b"GET / HTTP/1.1\r\nX: ")
            if number % 30 == 0:
                answer = httpx.get(f"{service.url}/livez", timeout=60)
                assert answer.status_code == 200
        option = f"{service.url}/v1/campaigns/banner/option"
        assert httpx.get(option, headers=headers, timeout=60).status_code == 200


def test_more_connections_than_there_are_files_wait_and_are_answered(served):
    service, _ = served
    with contextlib.ExitStack() as stack:
        for _ in range(600):
            stack.enter_context(service.connect()).sendall(b"GET / HTTP/1.1\r\nX: ")
        assert httpx.get(f"{service.url}/livez", timeout=60).status_code == 200


def test_a_socket_that_says_nothing_is_closed(served):
    service, _ = served
    with service.connect() as silent:
        assert silent.recv(100) == b""


def test_what_is_not_http_is_400(served):
    service, _ = served
    with service.connect() as talking:
        talking.sendall(b"EHLO mail\r\n\r\n")
        assert talking.recv(10_000).startswith(b"HTTP/1.1 400")


def test_the_process_that_serves_ends_with_the_one_that_watches_over_it(tmp_path):
    with ServiceProcess(tmp_path / "campaigns.db") as service:
        serving = service.serving()
        service.process.kill()
        service.process.join()
        with contextlib.suppress(ProcessLookupError):
            for _ in range(3000):
                os.kill(serving, 0)
                time.sleep(0.02)
            pytest.fail("it goes on")


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
            "headers": [(b"host", b"a"), (b"authorization", f"Bearer {service.secrets['read']}".encode())],
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
