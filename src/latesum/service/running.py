"""Running the service until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from typing import Any

from latesum import _extras
from latesum._checks import InvalidInput, whole_number
from latesum.service.configuration import Configuration
from latesum.service.connections import Gate, find_room, guarded_protocol

#: How long requests may take to end after the service was asked to stop, in seconds.
_LAST_REQUESTS = 10


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address, or a refusal in a sentence."""
    port = whole_number(port, "the port")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(
            f"the service cannot listen at {host}, port {port}: {reason}. Try another --port."
        ) from None
    return found


def address_of(listening: socket.socket) -> str:
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


def run(
    app: Any,
    listening: socket.socket,
    configuration: Configuration,
    *,
    when_ready: Callable[[], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that were begun are answered first."""
    uvicorn = _extras.require("uvicorn", "server")
    metrics = app.state.campaigns.workers.metrics
    room = find_room(configuration.connections)
    gate = Gate(
        configuration.connections_per_address, room.connections, configuration.head_seconds,
        configuration.proxies, lambda reason: metrics.connections_refused.labels(reason).inc(),
    )  # fmt: skip

    class Server(uvicorn.Server):  # type: ignore[name-defined, misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                self.looking = asyncio.create_task(gate.keep_looking())
                # What was imported stays: to look through it again and again costs every request.
                gc.collect()
                gc.freeze()
                when_ready()

    settings = uvicorn.Config(
        app,
        http=guarded_protocol(gate),
        ws="none",
        log_config=None,  # `logs.set_up` has done it
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_LAST_REQUESTS,
        backlog=room.waiting,
        forwarded_allow_ips=list(configuration.proxies),
    )
    # The server hands the signal on when it has stopped; then there are stores and folders to close.
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        Server(settings).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
