"""Webhooks: where changes of health are sent, by signed requests.

Addresses are checked when they are set and again when they are used.

An address is https and public. One in a network that the operator of the service has listed may be
private, and http. What a name stands for is looked up for every sending, and the connection goes to
the address that was checked: a name that means another address a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import hmac
import ipaddress
import json
import logging
import re
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

from sqlalchemy import insert, select, update

from latesum import _extras
from latesum._checks import InvalidInput, known_name, shortened
from latesum.campaigns import database
from latesum.campaigns.store import Store
from latesum.service.configuration import Network
from latesum.service.logs import log

T = TypeVar("T")

MAX_WEBHOOKS = 50
_MAX_ADDRESS = 2000
#: Seconds that a receiver may take.
MAX_SECONDS = 10.0
_NAME = re.compile(r"[\w.@ -]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}")
#: Addresses that Python's own lists call public in some versions: NAT64, site-local, documentation,
#: and one at which a cloud tells its machines their secrets.
_NOT_PUBLIC = [
    ipaddress.ip_network(each)
    for each in ("64:ff9b::/96", "fec0::/10", "3fff::/20", "192.0.0.0/24")
]
_webhooks = database.webhooks


class Webhook(NamedTuple):
    """Where alerts are sent, and the secret that signs them."""

    id: str
    name: str
    address: str
    secret: str
    created_at: datetime
    created_by: str
    #: What was last delivered of each campaign, as JSON.
    delivered: str = "{}"

    @property
    def shown_address(self) -> str:
        """Where it is, without what may be a secret in its path."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}/…"


class Webhooks:
    """The webhooks of a store.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(folder.name + "/campaigns.db") as store:
    ...     webhooks = Webhooks(store)
    ...     made = webhooks.new("chat", "https://hooks.example.com/T0/x", by="ada")
    ...     print(made.shown_address, [each.name for each in webhooks.all()])
    https://hooks.example.com/… ['chat']
    >>> folder.cleanup()
    """

    def __init__(self, store: Store, networks: Sequence[Network] = ()) -> None:
        self._engine = store.engine
        self._networks = networks

    def new(self, name: str, address: str, *, by: str) -> Webhook:
        """Send alerts to an address from now on."""
        if not _NAME.fullmatch(name) or not name.strip():
            raise InvalidInput(
                "a webhook's name is up to 64 letters, digits, spaces, dots and dashes, not "
                f"{shortened(name)!r}."
            )
        check_address(address, self._networks)
        if len(self.all()) >= MAX_WEBHOOKS:
            raise InvalidInput(f"there are {MAX_WEBHOOKS} webhooks already; remove one first.")
        row = {
            "id": secrets.token_hex(4),
            "name": name.strip(),
            "address": address,
            "secret": secrets.token_urlsafe(32),
            "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "created_by": by[:64],
            "delivered": "{}",
        }
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(insert(_webhooks).values(**row))
            connection.commit()
        return next(each for each in self.all() if each.id == row["id"])

    def all(self) -> list[Webhook]:
        """The webhooks that were not removed, oldest first."""
        query = select(_webhooks).where(_webhooks.c.removed_at.is_(None))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(_webhooks.c.created_at, _webhooks.c.id))
            return [webhook_of_row(row) for row in rows]

    def remove(self, id: str) -> None:
        """Send nothing more there."""
        known_name(id, [each.id for each in self.all()], "webhook")
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(update(_webhooks).where(_webhooks.c.id == id).values(removed_at=now))
            connection.commit()

    def keep_delivered(self, webhook: Webhook, delivered: str) -> None:
        """Keep what a webhook has taken, unless another service has delivered more."""
        its = (_webhooks.c.id == webhook.id, _webhooks.c.delivered == webhook.delivered)
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(update(_webhooks).where(*its).values(delivered=delivered))
            connection.commit()


def webhook_of_row(row: Any) -> Webhook:
    """A webhook as the database has it."""
    created = datetime.fromisoformat(row.created_at)
    return Webhook(
        row.id, row.name, row.address, row.secret, created, row.created_by, row.delivered
    )


def check_address(address: str, networks: Sequence[Network] = ()) -> SplitResult:
    """The parts of an address to which alerts may be sent, or a refusal; no name is looked up here.

    >>> check_address("https://hooks.example.com/x").hostname
    'hooks.example.com'
    """
    wrong = "write the address of a webhook as https://host/path"
    if len(address) > _MAX_ADDRESS or not address.isprintable() or " " in address:
        raise InvalidInput(f"{wrong}, without spaces and not longer than {_MAX_ADDRESS}.")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidInput(f"{wrong}.") from None
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.password:
        raise InvalidInput(f"{wrong}, without a name or password before the host.")
    if parts.scheme == "http" and not networks:
        raise InvalidInput("alerts are sent over https only.")
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        if not _HOST.fullmatch(host):
            raise InvalidInput(f"{wrong}; a host has letters, digits, dots and dashes.") from None
        return parts
    _check_ip(literal, parts.scheme, networks)
    return parts


def resolve(parts: SplitResult, networks: Sequence[Network] = ()) -> str:
    """The address of the host of a webhook, if every address that its name has is allowed."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise InvalidInput(f"the name {host} cannot be found.") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    for each in addresses:
        _check_ip(ipaddress.ip_address(each), parts.scheme, networks)
    return addresses[0]


def _check_ip(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    scheme: str,
    networks: Sequence[Network],
) -> None:
    plain = getattr(address, "ipv4_mapped", None) or address
    if any(plain.version == network.version and plain in network for network in networks):
        return
    if not plain.is_global or plain.is_multicast or plain.is_reserved or _is_special(plain):
        raise InvalidInput(
            f"alerts are not sent to {plain}, which is not a public address; list its network with "
            "--webhook-network if it is meant."
        )
    if scheme != "https":
        raise InvalidInput("alerts are sent over https only.")


def _is_special(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address stands for another one, as of 6to4 and Teredo, or is listed."""
    listed = any(address.version == each.version and address in each for each in _NOT_PUBLIC)
    six = isinstance(address, ipaddress.IPv6Address) and (address.sixtofour or address.teredo)
    return listed or bool(six)


def signature(secret: str, timestamp: str, body: str) -> str:
    """What proves that a message is ours: HMAC-SHA256 of the time and the body.

    >>> signature("s", "0", "{}")[:12]
    'v1=e79b1f685'
    """
    made = hmac.new(secret.encode(), f"{timestamp}.{body}".encode(), hashlib.sha256)
    return "v1=" + made.hexdigest()


class Poster:
    """Sends messages to webhooks, to the addresses that were checked and nowhere else."""

    def __init__(self, networks: Sequence[Network], thread: Executor) -> None:
        self._networks = networks
        self._thread = thread
        self._certificates: Any = None

    async def post(self, webhook: Webhook, body: dict[str, Any]) -> bool:
        """Send a message; whether it was taken. What was wrong is in the log."""
        problem = await self.problem(webhook, body)
        level = logging.INFO if problem is None else logging.WARNING
        event = "alert sent" if problem is None else "alert not sent"
        log(event, level, alert=body.get("id"), webhook=webhook.id, problem=problem)
        return problem is None

    async def problem(self, webhook: Webhook, body: dict[str, Any]) -> str | None:
        """Send a message; None if it was taken, otherwise what was wrong."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                return await self._post(webhook, json.dumps(body, ensure_ascii=False))
        except InvalidInput as refused:
            return str(refused)
        except Exception as error:  # whatever a receiver does must not end the sending
            return type(error).__name__

    async def _post(self, webhook: Webhook, body: str) -> str | None:
        httpx = _extras.require("httpx", "server")
        parts = check_address(webhook.address, self._networks)
        ip = await self._in_thread(resolve, parts, self._networks)
        shown = f"[{ip}]" if ":" in ip else ip
        port = f":{parts.port}" if parts.port else ""
        target = parts._replace(netloc=shown + port, fragment="").geturl()
        timestamp = str(int(time.time()))
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "latesum",
            "X-Latesum-Timestamp": timestamp,
            "X-Latesum-Signature": signature(webhook.secret, timestamp, body),
        }
        sni = {"sni_hostname": parts.hostname} if parts.scheme == "https" else {}
        if self._certificates is None:  # reading all of them takes longer than a decision may wait
            self._certificates = await self._in_thread(
                functools.partial(httpx.create_ssl_context, trust_env=False)
            )
        # No proxy and no variables of the environment: it goes where it was checked to go.
        async with (
            httpx.AsyncClient(
                timeout=MAX_SECONDS,
                follow_redirects=False,
                trust_env=False,
                verify=self._certificates,
            ) as client,
            client.stream(
                "POST", target, content=body.encode(), headers=headers, extensions=sni
            ) as answer,
        ):
            status = int(answer.status_code)  # the body is not read: it may never end
        if 200 <= status < 300:
            return None
        redirect = ": redirects are not followed" if 300 <= status < 400 else ""
        return f"it answered {status}{redirect}"

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
