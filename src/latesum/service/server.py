"""What a service is started with, and serving over HTTP until it is stopped.

Granian runs the application in a process of its own. It limits the heads of requests, closes
connections that say nothing, and accepts no more connections than there are files for. Limits per
address are a proxy's task.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import ipaddress
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from latesum import _extras
from latesum._checks import InvalidInput
from latesum.campaigns.campaign import Clock, system_clock
from latesum.service.logs import log, logging_config

#: Connections in all; beyond them new ones wait to be accepted.
MAX_CONNECTIONS = 4_500
#: Files that a process needs for all else: its store, its logs, its threads.
_OTHER_FILES = 128
#: In milliseconds and bytes, of a request's head.
_MAX_HEAD_MILLISECONDS = 5_000
_MAX_HEAD_BYTES = 64 * 1024
#: Seconds for which a thread that computes may keep the others waiting.
_SWITCH_SECONDS = 0.001
#: Seconds that requests may take to end after the service was asked to stop.
_MAX_LAST_REQUESTS = 10


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Configuration:
    """Limits and clocks of a service; the defaults suit a service of a few applications."""

    #: Requests per second without a valid token, for each address they come from.
    unauthenticated_per_second: float = 20.0
    #: Proxies that stand before the service: addresses or networks. What they say of a client's
    #: address is believed.
    proxies: tuple[str, ...] = ()
    #: How long someone who has logged in stays so, in hours.
    session_hours: float = 24.0
    #: How often the page asks for what is new, in seconds.
    page_every: float = 2.0
    #: Private networks to which alerts may be sent, also over http.
    webhook_networks: tuple[str, ...] = ()
    #: The address of the page as others see it, for links in alerts.
    site: str | None = None
    #: How often all campaigns are looked after and webhooks hear of changes, in seconds.
    watch_every: float = 20.0
    #: The least seconds between two forecasts of a campaign that is looked at.
    forecast_every: float = 30.0
    clock: Clock = system_clock


def read_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Addresses and networks as people write them.

    >>> read_networks(["127.0.0.1", "10.0.0.0/8"])
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'))
    """
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise InvalidInput(
                f"{text!r} is not an address or a network; write 10.0.0.7 or 10.0.0.0/8."
            ) from None
    return tuple(found)


def find_address(host: str, port: int) -> tuple[str, int]:
    """The numbers of an address to listen at; 0 stands for any free port.

    It is tried out here: Granian shares a port with another server that listens there.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            found = probe.getsockname()
    except OSError as error:
        raise InvalidInput(
            f"the service cannot listen at {host}, port {port}: {error.strerror}. Try another "
            "--port."
        ) from None
    return str(found[0]), int(found[1])


def url_of(address: tuple[str, int]) -> str:
    """The address of the page.

    >>> url_of(("::1", 8000))
    'http://[::1]:8000/'
    """
    host, port = address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def run(
    load: Callable[[], Any], ready: str, address: tuple[str, int], log_level: str = "info"
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that were begun are answered first.

    Args:
        load: Makes the ASGI application, in the process that serves it. It is pickled where
            processes are not forked.
        ready: What is printed once requests are answered.
        address: Where to listen.
        log_level: The least level of lines in the log.
    """
    granian = _extras.require("granian", "server")
    constants = _extras.require("granian.constants", "server")
    http = _extras.require("granian.http", "server")
    # No process that is begun from here imports files of the working folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    server = granian.Granian(
        "latesum.service",
        address=address[0],
        port=address[1],
        interface=constants.Interfaces.ASGI,
        http=constants.HTTPModes.http1,
        websockets=False,
        backpressure=_connections(),
        http1_settings=http.HTTP1Settings(
            header_read_timeout=_MAX_HEAD_MILLISECONDS, max_buffer_size=_MAX_HEAD_BYTES
        ),
        log_level=_extras.require("granian.log", "server").LogLevels.warning,
        log_dictconfig=logging_config(log_level),
        workers_kill_timeout=_MAX_LAST_REQUESTS,
    )
    server.serve(target_loader=functools.partial(_load, load, ready, address), wrap_loader=False)


def _load(load: Callable[[], Any], ready: str, address: tuple[str, int]) -> Any:
    """The application, in the process that serves it, which ends with the one that began it."""
    app = load()
    # What was imported stays: to look through it again and again costs every request.
    gc.collect()
    gc.freeze()
    # The loop that answers requests shares the interpreter with threads that compute statuses.
    sys.setswitchinterval(_SWITCH_SECONDS)
    for work in (functools.partial(_announce, ready, address), _end_with_parent):
        threading.Thread(target=work, daemon=True).start()
    return app


def _announce(ready: str, address: tuple[str, int]) -> None:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0])
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection((host, address[1]), timeout=1).close()
            print(ready, flush=True)
            return
        time.sleep(0.02)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _connections() -> int:
    """How many connections there are files for; the system may give this process more files."""
    try:
        import resource
    except ImportError:  # pragma: no cover - a system that has no such limit
        return MAX_CONNECTIONS
    needed = MAX_CONNECTIONS + _OTHER_FILES
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (limit, hard) and limit < needed:
        limit = min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return MAX_CONNECTIONS
    found = max(1, limit - _OTHER_FILES)
    log("few connections", logging.WARNING, connections=found, open_files=limit)
    return found
