"""Proxies that end TLS before a service: nginx as it is shipped, and one of the standard library."""

import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

from service_process import free_port

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)


def make_certificate(folder):
    """A key, and a certificate of its own for 127.0.0.1 and localhost."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
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


@contextlib.contextmanager
def standard_proxy(folder, upstream, key, certificate):
    """A proxy that adds what nginx adds, a thread per connection; the port on which it speaks HTTPS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    stopped = threading.Event()

    def serve():
        while not stopped.is_set():
            try:
                connection, (address, _) = listening.accept()
            except OSError:
                return
            threading.Thread(
                target=handle, args=(context, connection, address, upstream), daemon=True
            ).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        stopped.set()
        listening.close()


def handle(context, connection, address, upstream):
    """One request of one connection; the head gets what a proxy says of the client."""
    host, port = upstream.removeprefix("http://").split(":")
    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as client:
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(65536)
            if not part:
                return
            head += part
        first, _, rest = head.partition(b"\r\n")
        said = f"X-Forwarded-For: {address}\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n".encode()
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        body = len(rest.partition(b"\r\n\r\n")[2])
        # What a client says of itself is left out, as nginx replaces it.
        kept = re.sub(rb"(?i)(x-forwarded-[a-z]+|connection):[^\r]*\r\n", b"", rest)
        with socket.create_connection((host, int(port))) as server:
            server.sendall(first + b"\r\n" + said + kept)
            while length and body < int(length[1]):
                part = client.recv(65536)
                if not part:
                    return
                body += len(part)
                server.sendall(part)
            while part := server.recv(65536):
                client.sendall(part)


def wait_for(port, seconds=120):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < end
        time.sleep(0.02)
