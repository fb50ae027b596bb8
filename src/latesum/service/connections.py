"""How many connections there may be, and how long each may take to say what it wants.

A connection that sends half of a request's head, or nothing, costs its sender nothing. So one that is
slow is closed; and where there are too many, the one that has waited longest gives way to the newest,
because a client that means it sends its head at once. Connections whose request is being worked on are
never closed for another's sake: if there are only such, the newest is refused.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from latesum import _extras
from latesum._checks import InvalidInput
from latesum.service.errors import ErrorAnswer
from latesum.service.logs import log

#: Seconds between two looks for connections that are too slow.
_LOOK_EVERY = 0.5
#: Seconds that a client may take to read an answer that was sent.
_LONGEST_READING = 60.0
#: Lines in the log per second; more refusals are counted in one line, or a flood would fill the disk.
_MOST_LINES = 20
#: Files that a process needs for all else: its store, its logs, its threads.
_OTHER_FILES = 128
#: Bytes of a request's head; a parser that is fed more holds up everyone.
_MAX_HEAD_BYTES = 64 * 1024
#: Connections that may wait to be accepted. They are accepted all at once, so each needs a file.
_MOST_WAITING = 1024

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Connection(Protocol):
    """What a gate needs to know of a connection."""

    address: str
    #: When it began to wait for a request's head.
    since: float
    #: Whether it has had an answer before.
    answered: bool

    def unsent(self) -> int:
        """The bytes of an answer that its client has not read."""

    def cut(self) -> None:
        """Close it now."""


class Gate:
    """The open connections: how many there are, of whom, and which of them wait for a head.

    Args:
        per_address: The most from one address, unless it is a proxy's.
        in_all: The most there may be.
        head_seconds: How long a request's head may take.
        proxies: The addresses and networks of proxies that stand before the service.
        count: Called with the reason for each connection that is refused or closed.
    """

    def __init__(
        self,
        per_address: int,
        in_all: int,
        head_seconds: float,
        proxies: Sequence[str] = (),
        count: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self._per_address = per_address
        self._in_all = in_all
        self._head_seconds = head_seconds
        self._proxies = read_networks(proxies)
        self._count = count
        self._open = 0
        self._addresses: Counter[str] = Counter()
        #: In the order in which they began to wait; those that never had an answer stand apart.
        self._new: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._log = _RefusalLog()

    def __len__(self) -> int:
        return self._open

    def enter(self, connection: Connection) -> bool:
        """Let a connection in, in place of another if there is no room; False if it is refused."""
        address = connection.address
        if self._addresses[address] >= self._per_address and not self._is_proxy(address):
            if not self._make_room(address):
                self._refuse(connection, "per address", "too many, all with requests under way")
                return False
        elif self._open >= self._in_all and not self._make_room(None):
            self._refuse(connection, "in all", "too many in all, with requests under way")
            return False
        self._open += 1
        self._addresses[address] += 1
        self.wait(connection)
        return True

    def wait(self, connection: Connection) -> None:
        """A connection waits for a head from now on."""
        connection.since = time.monotonic()
        (self._idle if connection.answered else self._new)[connection] = None

    def begin(self, connection: Connection) -> None:
        """A connection's head has come."""
        self._new.pop(connection, None)
        self._idle.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """A connection is closed."""
        self.begin(connection)
        self._open -= 1
        self._addresses[connection.address] -= 1
        if self._addresses[connection.address] <= 0:
            del self._addresses[connection.address]

    def look(self) -> None:
        """Close what is too slow."""
        now = time.monotonic()
        for waiting in (self._new, self._idle):
            for connection in list(waiting):
                waited = now - connection.since
                if waited < self._head_seconds:
                    break  # those after it began later
                if connection.unsent() and waited < _LONGEST_READING:
                    continue
                self._close(connection, "slow", f"no request within {self._head_seconds:g} s")

    async def keep_looking(self) -> None:
        """Look from time to time, until this is cancelled."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            self.look()

    def _make_room(self, address: str | None) -> bool:
        """Close the connection, of this address or of any, that has waited longest; False if none waits."""
        if address is None:
            code, most = "in all", f"{self._in_all} in all"
        else:
            code, most = "per address", f"{self._per_address} from one address"
        for waiting in (self._new, self._idle):
            for connection in waiting:
                if address in (None, connection.address):
                    self._close(connection, code, f"more than {most}, and it waited longest")
                    return True
        return False

    def _close(self, connection: Connection, code: str, reason: str) -> None:
        self._refuse(connection, code, reason)
        connection.cut()
        self.begin(connection)  # it does not wait any longer

    def _is_proxy(self, address: str) -> bool:
        if not self._proxies:
            return False
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False  # a socket of the file system has none
        return any(found in network for network in self._proxies)

    def _refuse(self, connection: Connection, code: str, reason: str) -> None:
        self._count(code)
        self._log.write(connection.address, reason)


class _RefusalLog:
    """A line for each refusal, and above `_MOST_LINES` a second one for how many there were."""

    def __init__(self) -> None:
        self._second = 0
        self._lines = 0
        self._unsaid = 0

    def write(self, address: str, reason: str) -> None:
        second = int(time.monotonic())
        if second != self._second:
            if self._unsaid:
                log("connections refused", logging.WARNING, number=self._unsaid)
            self._second, self._lines, self._unsaid = second, 0, 0
        if self._lines < _MOST_LINES:
            self._lines += 1
            log("connection refused", logging.WARNING, address=address, reason=reason)
        else:
            self._unsaid += 1


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


class Room(NamedTuple):
    """For how many connections a process has files: open ones, and ones that wait to be accepted."""

    connections: int
    waiting: int


def find_room(wanted: int) -> Room:
    """The room for the wanted connections, with as many files as the system lets this process have."""
    try:
        import resource
    except ImportError:  # pragma: no cover - a system that has no such limit
        return Room(wanted, _MOST_WAITING)
    needed = wanted + _MOST_WAITING + _OTHER_FILES
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (limit, hard) and limit < needed:
        limit = min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return Room(wanted, _MOST_WAITING)
    room = Room(min(wanted, limit // 2), min(_MOST_WAITING, limit // 4))
    if room.connections < wanted:
        log(
            "fewer connections than configured", logging.WARNING, connections=room.connections,
            configured=wanted, open_files=limit,
        )  # fmt: skip
    return room


def guarded_protocol(gate: Gate) -> type[asyncio.Protocol]:
    """The server's protocol for HTTP, behind a gate."""
    base: Any = _extras.require("uvicorn.protocols.http.httptools_impl", "server").HttpToolsProtocol

    class GuardedProtocol(base):  # type: ignore[misc]
        address = "unknown"
        since = 0.0
        answered = False
        _entered = False
        _in_head = True
        _head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.address = str(self.client[0]) if self.client else "a local socket"
            self._entered = gate.enter(self)
            if not self._entered:
                self.cut()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._entered:
                self._entered = False
                gate.leave(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if not self._entered:
                return
            self._head_bytes += len(data)
            super().data_received(data)
            # Only now: what came with the end of a head is a body.
            if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
                self._refuse("431 Request Header Fields Too Large", "the head is too long.")

        def on_headers_complete(self) -> None:
            self._in_head = False
            gate.begin(self)
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._in_head, self._head_bytes = True, 0
            super().on_message_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.answered = True
            if self._entered and not self.pipeline:
                gate.wait(self)

        def send_400_response(self, msg: str) -> None:
            self._refuse("400 Bad Request", "this is not a request in HTTP/1.1.")

        def _refuse(self, status: str, sentence: str) -> None:
            body = ErrorAnswer(error=sentence, details=[]).model_dump_json().encode()
            head = (
                f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()

        def unsent(self) -> int:
            return int(self.transport.get_write_buffer_size())

        def cut(self) -> None:
            self.transport.abort()

    return GuardedProtocol
