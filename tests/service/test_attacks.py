"""Attacks and a bad network: each is refused early, and others are answered meanwhile."""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import threading
import time
import warnings
from pathlib import Path

import httpx
import pytest
from service_process import ServiceProcess
from service_settings import SETTINGS

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.service import Configuration, Tokens, auth
from latesum.service.app import create_app
from latesum.service.server import read_networks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its choice of a library for requests
    from starlette.testclient import TestClient

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service in a process of its own with few files, and a token that may only read."""
    address = tmp_path_factory.mktemp("served") / "campaigns.db"
    with Store(address) as store:
        secret = Tokens(store).new("shop", "read")
        Campaign.create(name="banner", **SETTINGS, store=store).decide()
    with ServiceProcess(address, files=512) as service:
        yield service, secret


def alive(service):
    return httpx.get(f"{service.url}/livez", timeout=60).status_code == 200


def test_a_bad_network_does_not_stop_a_service_that_has_512_files(served):
    """Slow sockets, more connections than there are files, a silent one, and what is not HTTP."""
    service, secret = served
    with contextlib.ExitStack() as stack:
        for number in range(300):
            stack.enter_context(service.connect()).sendall(b"GET / HTTP/1.1\r\nX: ")
            assert number % 30 or alive(service)
        option, headers = "/v1/campaigns/banner/option", {"Authorization": f"Bearer {secret}"}
        answer = httpx.get(service.url + option, headers=headers, timeout=60)
        assert answer.status_code == 200
        for _ in range(300):
            stack.enter_context(service.connect()).sendall(b"GET / HTTP/1.1\r\nX: ")
        assert alive(service)
    with service.connect() as silent:
        assert silent.recv(100) == b""
    with service.connect() as talking:
        talking.sendall(b"EHLO mail\r\n\r\n")
        assert talking.recv(10_000).startswith(b"HTTP/1.1 400")


def test_a_port_that_is_taken_is_refused(served, latesum, tmp_path):
    port = served[0].url.rpartition(":")[2]
    place = str(tmp_path / "other.db")
    latesum("serve", "--store", place, "--port", port).refused("Try another --port")
    latesum("serve", "--store", place, "--port", "65536").refused("65535")


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"GET /livez HTTP/1.1\r\nX-Long: ", b"x" * 65_536),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\n", b"a: b\r\n" * 10_000),
        (b"GET /", b"x" * 65_536),
    ],
    ids=["one header", "many headers", "address"],
)
def test_a_head_without_end_is_cut_off(served, start, more):
    service, _ = served
    sent = 0
    with contextlib.suppress(ConnectionError), service.connect() as endless:
        endless.sendall(start)
        while sent < 16_000_000:  # it is closed long before
            endless.sendall(more)
            sent += len(more)
    assert sent < 16_000_000
    assert alive(service)


def test_a_large_body_that_comes_with_its_head_is_no_long_head(served):
    service, secret = served
    with service.connect() as talking:
        body = b"x" * 200_000
        head = (
            "POST /v1/campaigns/banner/totals HTTP/1.1\r\nHost: a\r\nContent-Type: text/csv\r\n"
            f"Authorization: Bearer {secret}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        talking.sendall(head.encode() + body)
        assert talking.recv(100).startswith(b"HTTP/1.1 403")  # a read token may not write


@pytest.mark.parametrize("path", ["/login", "/v1/campaigns"])
def test_a_body_that_never_comes_is_not_waited_for_long(served, path):
    service, secret = served
    method = "POST" if path == "/login" else "GET"
    with service.connect() as waiting:
        waiting.sendall(
            f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n"
            "Content-Length: 50\r\n\r\nab".encode()
        )
        said = b"".join(iter(lambda: waiting.recv(10_000), b"")).decode()
    assert said.startswith("HTTP/1.1 408")
    assert "took longer than 3 s" in said


def test_the_body_of_a_get_is_limited(service):
    reader = service.as_("read")
    announced = reader.get(
        "/v1/campaigns", headers={"Content-Length": "100000000000"}, content=b"x"
    )
    assert announced.status_code == 413

    def in_parts():  # without a length that could be looked at beforehand
        for _ in range(100):
            yield b"x" * 1000

    assert reader.get("/v1/campaigns", content=in_parts()).status_code == 413
    assert reader.get("/v1/campaigns", content=b"x" * 100).status_code == 200


def test_tokens_are_looked_up_while_statuses_take_long(service, daily):
    """All threads that make statuses are busy, and another token is let in nevertheless."""
    done = threading.Event()
    readers = service.app.state.campaigns._readers

    async def hold_up():
        for _ in range(8):
            asyncio.get_running_loop().run_in_executor(readers, done.wait, 120)

    service.stranger.portal.call(hold_up)
    try:
        assert service.as_("record").get(f"{daily}/option").status_code == 200
        assert service.as_("read").get("/readyz").status_code == 200
        assert not done.is_set()
    finally:
        done.set()


def test_no_file_of_the_working_folder_is_run(operator, campaign, tmp_path, monkeypatch):
    """A large file is read by another process, which imports modules such as csv."""
    (tmp_path / "csv.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'was run')!r}).touch()\n"
    )
    monkeypatch.chdir(tmp_path)
    operator.get(f"{campaign}/option?bucket=1")
    answer = operator.upload(campaign, "bucket,total\n" + "1,7\n" * 9_000)
    assert answer.status_code == 200, answer.text
    assert not (tmp_path / "was run").exists()


def test_a_failing_store_does_not_put_secrets_into_the_log(service, lines):
    with sqlite3.connect(service.store.url.database) as broken:
        broken.execute(
            "CREATE TRIGGER failing BEFORE INSERT ON webhooks "
            "BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
    address = "https://hooks.example.com/secret-path"
    answer = service.as_("admin").post("/v1/webhooks", json={"name": "chat", "address": address})
    assert answer.status_code == 503
    failed = [json.loads(line) for line in lines if "the store failed" in line]
    assert "INSERT INTO webhooks" in failed[0]["trace"]
    assert "secret-path" not in "".join(lines)


def test_a_flood_of_refused_requests_does_not_fill_the_log(make_service, lines, monkeypatch):
    monkeypatch.setattr(auth, "_MAX_REFUSAL_LINES", 0.001)  # one, and no other within the test
    service = make_service(unauthenticated_per_second=1000.0)
    for _ in range(20):
        service.stranger.get("/" + "x" * 60_000)
    (refused,) = [json.loads(line) for line in lines if '"event": "request"' in line]
    assert len(refused["path"]) == 200
    service.as_("operate").put("/v1/campaigns/banner", json=SETTINGS)
    assert json.loads(lines[-1])["refusals_not_logged"] == 19


@pytest.mark.parametrize("hosts", [[], ["a", "b"]])
def test_a_request_has_one_host(served, hosts):
    service, secret = served
    with service.connect() as talking:
        lines = [f"Host: {host}" for host in hosts]
        talking.sendall(
            "\r\n".join(
                ["GET /readyz HTTP/1.1", *lines, f"Authorization: Bearer {secret}", "", ""]
            ).encode()
        )
        assert talking.recv(100).startswith(b"HTTP/1.1 400")


def test_more_requests_at_once_than_can_be_answered_soon_are_503(make_service, monkeypatch):
    monkeypatch.setattr("latesum.service.app.MAX_REQUESTS", 0)
    answer = make_service().as_("read").get("/readyz")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert make_service().stranger.get("/livez").status_code == 200


def test_requests_that_wait_for_their_bodies_keep_nobody_out(served):
    service, secret = served
    slow = b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nab"
    with contextlib.ExitStack() as stack:
        for _ in range(2 * auth.MAX_REQUESTS):
            stack.enter_context(service.connect()).sendall(slow)
        # From another address: those of this one are guesses.
        transport = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=transport, timeout=60) as client:
            headers = {"Authorization": f"Bearer {secret}"}
            assert client.get(f"{service.url}/readyz", headers=headers).status_code == 200


def test_a_token_has_only_some_statuses_under_way(make_service, monkeypatch):
    monkeypatch.setattr(auth, "MAX_LONG_REQUESTS", 0)
    service = make_service()
    assert service.as_("read").get("/v1/campaigns").status_code == 429
    assert service.as_("read").get("/readyz").status_code == 200


@pytest.mark.parametrize("mode", [0o644, 0o000])
def test_the_start_of_the_container_stops_without_its_password(tmp_path, mode):
    """The shell lines of compose.yaml, with the secret readable and not."""
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["latesum"]
    secret = tmp_path / "postgres_password"
    if mode:
        secret.write_text("secret\n")
    script = service["command"][0].replace("$$", "$")
    script = script.replace("/run/secrets/postgres_password", str(secret))
    script = script.replace("/tmp/pgpass", str(tmp_path / "pgpass")).replace("exec latesum", "echo")
    done = subprocess.run([*service["entrypoint"], script], capture_output=True, text=True)
    assert (done.returncode == 0) == bool(mode), done.stderr
    if mode:
        assert (tmp_path / "pgpass").read_text() == "postgres:5432:latesum:latesum:secret\n"
        assert (tmp_path / "pgpass").stat().st_mode & 0o077 == 0


def test_over_https_the_cookie_is_bound_to_the_host(service):
    form = {"token": service.secrets["read"]}
    over_tls = {"base_url": "https://testserver", "raise_server_exceptions": False}
    with TestClient(service.app, **over_tls) as browser:
        (cookie,) = browser.post("/login", data=form, follow_redirects=False).headers.get_list(
            "set-cookie"
        )
        assert cookie.startswith("__Host-latesum=")
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
        assert browser.get("/readyz").status_code == 200
        session = browser.cookies["__Host-latesum"]
        browser.cookies.clear()
        # A neighbor of the host can set a cookie of this name, and it opens nothing.
        assert browser.get("/readyz", headers={"Cookie": f"latesum={session}"}).status_code == 401


def test_a_campaign_that_another_service_deleted_is_gone(service, operator, daily, clock):
    other = TestClient(create_app(service.store, Configuration(clock=clock)))
    token = service.as_("read").headers
    with other:
        assert other.get(f"{daily}/option", headers=token).status_code == 200
        assert operator.act(daily, "delete", name="daily").status_code == 200
        time.sleep(0.11)  # for so long a log is not looked at again
        for path in ("option", "status", "history"):
            gone = other.get(f"{daily}/{path}", headers=token)
            assert (gone.status_code, "was deleted" in gone.text) == (404, True), path


@pytest.mark.parametrize("scope", ["read", "record", "operate"])
def test_only_operators_decide_ahead(service, operator, daily, campaign, scope):
    client = service.as_(scope)
    for path in (f"{daily}/option", f"{campaign}/options"):
        assert client.get(path).status_code == 200
        answer = client.get(f"{path}?bucket=2026-03-03")
        assert answer.status_code == (200 if scope == "operate" else 403), answer.text
        operator.get(f"{path}?bucket=2026-03-03")
        assert client.get(f"{path}?bucket=2026-03-03").status_code == 200  # it may be read


def test_refusals_do_not_repeat_long_input(operator, campaign):
    long = "x" * 19_000  # more would be read by a process of its own
    tried = [
        operator.put(f"{campaign}/buckets/1", json={"shown": long[:900], long: 1}),
        operator.put(f"{campaign}/buckets/1", json={"shown": long[:900]}),
        operator.get("/v1/campaigns", params={"search": long}),
        operator.put("/v1/campaigns/new", json={**SETTINGS, "options": ["a", long]}),
        operator.put("/v1/campaigns/new", json={**SETTINGS, "policy": long}),
        operator.post(f"{campaign}/totals", json={"rows": [{"bucket": long}]}),
        operator.upload(campaign, f"{long}\n1"),
    ]
    for answer in tried:
        assert answer.status_code in (413, 422), answer.text[:300]
        assert len(answer.content) < 5_000


def test_networks_are_read():
    with pytest.raises(InvalidInput, match=r"write 10\.0\.0\.7 or"):
        read_networks(["proxy.example"])


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


def test_work_that_only_looks_ends_when_its_client_leaves(service, campaign):
    """A request for a status waits for a thread; when its client leaves it is taken back."""
    campaigns, loop_work = service.app.state.campaigns, threading.Event()
    begun = []

    async def run():
        loop = asyncio.get_running_loop()
        for _ in range(2):  # both threads that read are busy
            loop.run_in_executor(campaigns._readers, loop_work.wait, 120)
        cached = await campaigns.of("banner")
        cached.reader.status = lambda *_: begun.append(1)
        sent = []

        async def receive():
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/campaigns/banner/status",
            "raw_path": b"/v1/campaigns/banner/status",
            "query_string": b"",
            "scheme": "http",
            "headers": [
                (b"host", b"a"),
                (b"authorization", f"Bearer {service.secrets['read']}".encode()),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "root_path": "",
            "http_version": "1.1",
            "asgi": {"version": "3.0"},
        }
        await service.app(scope, receive, send)
        loop_work.set()
        await loop.run_in_executor(campaigns._readers, lambda: None)
        return sent

    service.as_("read").get("/readyz")  # the token is known, so that no thread is needed for it
    sent = service.stranger.portal.call(run)
    assert sent[0]["status"] == 499
    assert begun == []
