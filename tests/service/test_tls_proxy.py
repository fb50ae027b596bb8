"""HTTPS that ends at a proxy, as docs/how-to/service.md sets it up: cookies, origins, addresses, caps, uploads."""

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from service_process import ServiceProcess, free_port
from service_settings import SETTINGS

from latesum.campaigns import Campaign, Store
from latesum.service import Tokens
from latesum.service.auth import SECURE_COOKIE as COOKIE
from latesum.service.client import Client

PAGE = {"X-Latesum-Page": "1"}
CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)


def make_certificate(folder):
    """A key, and a certificate of its own for 127.0.0.1 and localhost."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            key,
            "-out",
            certificate,
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate


def server_block(upstream, port, key, certificate):
    """`deploy/nginx.conf` for this service, at this port of all addresses of this machine."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    for shipped, used in (
        ("http://127.0.0.1:8000", upstream),
        ("listen 443 ssl", f"listen 0.0.0.0:{port} ssl"),
        ("/etc/ssl/certs/latesum.pem", str(certificate)),
        ("/etc/ssl/private/latesum.pem", str(key)),
    ):
        assert shipped in text
        text = text.replace(shipped, used)
    return text


@contextlib.contextmanager
def nginx(folder, upstream, key, certificate):
    """nginx as it is shipped; the port on which it speaks HTTPS."""
    port = free_port()
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"""pid {folder}/nginx.pid;
error_log stderr crit;
worker_processes 1;
daemon off;
{"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 512; }}
http {{
  access_log off;
  {temporary}
  {server_block(upstream, port, key, certificate)}
}}
"""
    )
    process = subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf"])
    try:
        wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(120)


def wait_for(port, seconds=120):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < end
        time.sleep(0.02)


class Behind:
    """A service behind a proxy: the address that clients see, a token, and the service's log."""

    def __init__(self, address, port, secret, certificate, log, service):
        self.address, self.port, self.secret = address, port, secret
        self.certificate, self.log, self.service = certificate, log, service
        self.trusted = ssl.create_default_context(cafile=certificate)

    def lines(self):
        written = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in written if line[:1] == "{" and line[-1] == "\n"]

    def lines_with(self, **values):
        """Lines that have these values; a line is written after the answer has left, so it may take a moment."""
        deadline = time.monotonic() + 120
        while True:
            found = [line for line in self.lines() if values.items() <= line.items()]
            if found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    if NGINX is None or shutil.which("openssl") is None:
        pytest.skip("nginx, or openssl, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("proxy")
    with Store(folder / "campaigns.db") as store:
        secret = Tokens(store).new("shop", "admin")
        Campaign.create(name="banner", **SETTINGS, store=store)
    key, certificate = make_certificate(folder)
    log = folder / "service.log"
    service = ServiceProcess(
        folder / "campaigns.db",
        log=log,
        log_level="debug",
        proxy=["127.0.0.1"],
        # So few that a slow machine asks more often, and more than the tests need at once.
        configured={"unauthenticated_per_second": 3.0},
    )
    with service, nginx(folder, service.url, key, certificate) as port:
        yield Behind(f"https://127.0.0.1:{port}", port, secret, certificate, log, service)


def log_in(behind, **headers):
    with httpx.Client(verify=behind.trusted, timeout=60) as client:
        return client.post(
            f"{behind.address}/login", data={"token": behind.secret}, headers=headers
        )


def test_the_cookie_of_a_session_is_secure_and_only_our_page_may_act(behind):
    answer = log_in(behind, Origin=behind.address)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "secure" in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert log_in(behind, Origin="https://elsewhere.example").status_code == 403
    plain = httpx.post(f"{behind.service.url}/login", data={"token": behind.secret}, timeout=60)
    assert "secure" not in plain.headers["set-cookie"].lower()  # there it would not come back
    sent = {"Cookie": f"{COOKIE}={answer.cookies[COOKIE]}", **PAGE}
    act = f"{behind.address}/v1/campaigns/banner/actions/pause"
    with httpx.Client(verify=behind.trusted, timeout=60) as client:
        for origin, status in (("https://elsewhere.example", 403), (behind.address, 200)):
            said = client.post(act, json={"reason": "a look"}, headers={**sent, "Origin": origin})
            assert said.status_code == status, said.text
        resumed = client.post(
            f"{behind.address}/v1/campaigns/banner/actions/resume",
            json={"reason": "seen"},
            headers=sent,
        )
        assert resumed.status_code == 200


def test_the_client_speaks_https_decides_records_and_uploads(behind, tmp_path):
    transport = httpx.HTTPTransport(verify=behind.trusted)
    with Client(behind.address, behind.secret, timeout=120, transport=transport) as client:
        assert client.option("banner", 1)["option"] in SETTINGS["options"]
        assert client.record("banner", 1, rounds=1000, total=300)["verdict"] in ("new", "same")
        file = tmp_path / "report.csv"
        file.write_text("bucket,total\n1,300\n" + "\n" * 30_000)  # read by a process of its own
        assert [row["verdict"] for row in client.upload("banner", file)] == ["same"]


def test_the_log_has_the_address_of_the_client_and_not_what_it_says_of_itself(behind):
    with httpx.Client(verify=behind.trusted, timeout=60) as client:
        lie = {"X-Forwarded-For": "203.0.113.9", "Authorization": "Bearer wrong"}
        answer = client.get(f"{behind.address}/v1/campaigns", headers=lie)
        assert answer.status_code == 401
    (refused,) = behind.lines_with(request=answer.headers["x-request-id"])
    assert (refused["status"], refused["address"]) == (401, "127.0.0.1")


def test_what_a_listed_proxy_says_of_a_client_is_logged_and_throttled_by(behind):
    """As the proxy on this machine would for clients elsewhere; one that guesses tokens does not slow down others."""
    address, other = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "203.0.113.8"}
    wrong = {"Authorization": "Bearer wrong"}
    with httpx.Client(base_url=behind.service.url, timeout=60) as client:
        for _ in range(200):
            said = client.get("/v1/campaigns", headers={**address, **wrong})
            if said.status_code == 429:
                break
        assert said.status_code == 429
        assert client.get("/v1/campaigns", headers={**other, **wrong}).status_code == 401
    assert behind.lines_with(address="203.0.113.7")


def connect_tls(behind, stack, source="127.0.0.1"):
    raw = socket.create_connection(("127.0.0.1", behind.port), 60, source_address=(source, 0))
    return stack.enter_context(behind.trusted.wrap_socket(raw, server_hostname="127.0.0.1"))


def test_one_address_cannot_hold_the_service_by_slow_bodies(behind):
    """Of an address that has 100 requests in progress the next are refused, and others are answered."""
    slow = b"POST /v1/plans HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nab"
    with contextlib.ExitStack() as stack:
        for _ in range(130):
            connect_tls(behind, stack).sendall(slow)
        last = connect_tls(behind, stack)
        last.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        assert last.recv(100).startswith(b"HTTP/1.1 429")
        other = connect_tls(behind, stack, "127.0.0.2")
        other.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        assert other.recv(100).startswith(b"HTTP/1.1 200")


def test_logins_are_limited_for_each_address(behind):
    with httpx.Client(verify=behind.trusted, timeout=60) as client:
        guesses = [
            client.post(f"{behind.address}/login", data={"token": "guess"}).status_code
            for _ in range(40)
        ]
    assert 429 in guesses
