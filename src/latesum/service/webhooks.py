"""Webhooks: all campaigns are looked after, and changes of health are sent by signed requests.

Health changes with time alone: a day without a total is a finding that no request brings about.
What was last delivered of each campaign is kept with the webhook; while that differs from how a
campaign is, it is sent again. So nothing is lost when a receiver is down or a service ends,
and nothing is queued.

An address is https and public. One in a network that the operator of the service has listed may be
private, and http. It is checked when it is set and again when it is used: what a name stands for is
looked up for every message, and the connection goes to the address that was checked. A name that
means another address a moment later changes nothing.
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
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as StoreBusy

from latesum import _extras
from latesum._checks import InvalidInput
from latesum._render import plain
from latesum.campaigns import database
from latesum.campaigns.store import Store
from latesum.campaigns.view import Status
from latesum.service.cache import MAX_AGE, CampaignCache, severity_of
from latesum.service.errors import Refused
from latesum.service.logs import LOGGER, log
from latesum.service.server import Network
from latesum.service.tokens import check_name, now_text

MAX_WEBHOOKS = 50
_MAX_ADDRESS = 2000
#: Seconds that a receiver may take.
MAX_SECONDS = 10.0
#: Addresses that Python's own lists call public in some versions: NAT64, site-local, documentation,
#: and one at which a cloud tells its machines their secrets.
_NOT_PUBLIC = [
    ipaddress.ip_network(each)
    for each in ("64:ff9b::/96", "fec0::/10", "3fff::/20", "192.0.0.0/24")
]
#: Seconds between two campaigns: those who wait for an answer come first.
_PAUSE = 0.02
#: A finding about the store and not about a campaign: said of the first campaign only.
_OF_STORE = "store nearly full"
_column = database.webhooks.c


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

    def __init__(
        self, store: Store, networks: Sequence[Network] = (), site: str | None = None
    ) -> None:
        self._store, self._networks, self._site = store, networks, site
        self._certificates: Any = None

    def new(self, name: str, address: str, *, by: str) -> Webhook:
        """Send alerts to an address from now on."""
        name = check_name(name, "webhook")
        check_address(address, self._networks)
        if len(self.all()) >= MAX_WEBHOOKS:
            raise InvalidInput(f"there are {MAX_WEBHOOKS} webhooks already; remove one first.")
        secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
        made = Webhook(secrets.token_hex(4), name, address, secret, now, by[:64])
        row = {**made._asdict(), "created_at": now.isoformat(timespec="microseconds")}
        with self._store.transaction() as connection:
            connection.execute(insert(database.webhooks).values(**row))
        return made

    def all(self) -> list[Webhook]:
        """The webhooks that were not removed, oldest first."""
        columns = [_column[name] for name in Webhook._fields]
        query = select(*columns).where(_column.removed_at.is_(None))
        with self._store.engine.connect() as connection:
            rows = connection.execute(query.order_by(_column.created_at, _column.id))
            found = [Webhook(*row) for row in rows]
        return [
            each._replace(created_at=datetime.fromisoformat(str(each.created_at))) for each in found
        ]

    def remove(self, id: str) -> None:
        """Send nothing more there."""
        self._update(_column.id == id, removed_at=now_text())

    def keep_delivered(self, webhook: Webhook, delivered: str) -> None:
        """Keep what a webhook has taken, unless another service has delivered more."""
        its = (_column.id == webhook.id, _column.delivered == webhook.delivered)
        self._update(*its, delivered=delivered)

    def _update(self, *its: Any, **values: str) -> None:
        with self._store.transaction() as connection:
            connection.execute(update(database.webhooks).where(*its).values(**values))

    async def tell(self, statuses: Sequence[Status]) -> None:
        """Tell every webhook what has changed since it last took a message."""
        others = [
            replace(each, health=[finding for finding in each.health if finding.code != _OF_STORE])
            for each in statuses[1:]
        ]
        shown = [*statuses[:1], *others]
        webhooks = await asyncio.to_thread(self.all)
        await asyncio.gather(*(self._tell(webhook, shown) for webhook in webhooks))

    async def _tell(self, webhook: Webhook, statuses: Sequence[Status]) -> None:
        before = json.loads(webhook.delivered)
        delivered = {each.name: before[each.name] for each in statuses if each.name in before}
        for status in statuses:
            body = message(before.get(status.name), status, self._site)
            if body is not None:
                # The id is the same when a message is sent again.
                which = json.dumps([webhook.id, webhook.delivered, body], sort_keys=True)
                id = hashlib.sha256(which.encode()).hexdigest()[:32]
                at = datetime.now(UTC).isoformat(timespec="seconds")
                if await self.post(webhook, {"id": id, "at": at, **body}) is not None:
                    break  # the receiver is down: what is left is delivered next time
            delivered[status.name] = present(status)
        if delivered != before:
            await asyncio.to_thread(self.keep_delivered, webhook, json.dumps(delivered))

    async def post(self, webhook: Webhook, body: dict[str, Any]) -> str | None:
        """Send a message; None if it was taken, otherwise what was wrong, which is logged."""
        problem = None
        try:
            async with asyncio.timeout(MAX_SECONDS):
                status = await self._post(webhook, json.dumps(body, ensure_ascii=False))
            if not 200 <= status < 300:
                redirect = ": redirects are not followed" if 300 <= status < 400 else ""
                problem = f"it answered {status}{redirect}"
        except InvalidInput as refused:
            problem = str(refused)
        except Exception as error:  # whatever a receiver does must not end the sending
            problem = type(error).__name__
        level = logging.INFO if problem is None else logging.WARNING
        event = "alert sent" if problem is None else "alert not sent"
        log(event, level, alert=body.get("id"), webhook=webhook.id, problem=problem)
        return problem

    async def _post(self, webhook: Webhook, body: str) -> int:
        """Send it to the address that was checked and nowhere else: the status of the answer."""
        httpx = _extras.require("httpx", "server")
        parts = check_address(webhook.address, self._networks)
        ip = await resolve(parts, self._networks)
        port = f":{parts.port}" if parts.port else ""
        netloc = (f"[{ip}]" if ":" in ip else ip) + port
        timestamp = str(int(time.time()))
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "latesum",
            "X-Latesum-Timestamp": timestamp,
            "X-Latesum-Signature": signature(webhook.secret, timestamp, body),
        }
        if self._certificates is None:  # reading all of them takes longer than a decision may wait
            create = functools.partial(httpx.create_ssl_context, trust_env=False)
            self._certificates = await asyncio.to_thread(create)
        # No proxy and no variables of the environment: it goes where it was checked to go.
        connection = httpx.AsyncClient(
            timeout=MAX_SECONDS, follow_redirects=False, trust_env=False, verify=self._certificates
        )
        sent = connection.stream(
            "POST",
            parts._replace(netloc=netloc, fragment="").geturl(),
            content=body.encode(),
            headers=headers,
            extensions={"sni_hostname": parts.hostname} if parts.scheme == "https" else {},
        )
        async with connection, sent as answer:
            return int(answer.status_code)  # the body is not read: it may never end


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
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,253}", host):
            raise InvalidInput(f"{wrong}; a host has letters, digits, dots and dashes.") from None
        return parts
    _check_ip(literal, parts.scheme, networks)
    return parts


async def resolve(parts: SplitResult, networks: Sequence[Network] = ()) -> str:
    """The address of the host of a webhook, if every address that its name has is allowed."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise InvalidInput(f"the name {host} cannot be found.") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    for each in addresses:
        _check_ip(ipaddress.ip_address(each), parts.scheme, networks)
    return addresses[0]


def _check_ip(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, scheme: str, networks: Sequence[Network]
) -> None:
    plain = getattr(address, "ipv4_mapped", None) or address
    if any(plain.version == network.version and plain in network for network in networks):
        return
    special = plain.is_multicast or plain.is_reserved
    special |= any(plain.version == each.version and plain in each for each in _NOT_PUBLIC)
    if isinstance(plain, ipaddress.IPv6Address):  # these stand for other addresses
        special |= plain.sixtofour is not None or plain.teredo is not None
    if special or not plain.is_global:
        raise InvalidInput(
            f"alerts are not sent to {plain}, which is not a public address; list its network with "
            "--webhook-network if it is meant."
        )
    if scheme != "https":
        raise InvalidInput("alerts are sent over https only.")


def signature(secret: str, timestamp: str, body: str) -> str:
    """What proves that a message is ours: HMAC-SHA256 of the time and the body.

    >>> signature("s", "0", "{}")[:12]
    'v1=e79b1f685'
    """
    made = hmac.new(secret.encode(), f"{timestamp}.{body}".encode(), hashlib.sha256)
    return "v1=" + made.hexdigest()


def present(status: Status) -> dict[str, Any]:
    """What webhooks hear of a campaign, as it is kept: findings, the winner, whether it is over."""
    codes = sorted(each.code for each in status.health if each.level in ("alarm", "warning"))
    return {"findings": codes, "winner": status.winner, "over": status.state == "finished"}


def message(
    before: dict[str, Any] | None, status: Status, site: str | None
) -> dict[str, Any] | None:
    """What is sent of a campaign after what was last delivered; None if there is nothing to say.

    The first time only what is wrong is said: the campaign may be over for long.
    """
    now = present(status)
    known = {**now, "findings": []} if before is None else before
    codes = set(now["findings"]) - set(known["findings"])
    new = [each for each in status.health if each.code in codes]
    said = [each.sentence for each in new]
    if known["findings"] and not now["findings"]:
        said.append("All is well again.")
    if now["over"] and not known["over"]:
        said.append(status.headline)
    elif now["winner"] not in (None, known["winner"]):
        said.append(f"{status.winner} is the winner.")
    if not said:
        return None
    return {
        "campaign": status.name,
        "state": status.state,
        "health": severity_of(status),
        "winner": status.winner,
        "new": plain(new),
        "text": " ".join(said),
        "link": None if site is None else f"{site}/campaigns/{status.name}",
    }


async def watch(campaigns: CampaignCache, webhooks: Webhooks) -> None:
    """Look after every campaign, and tell every webhook what has changed, until canceled."""
    while True:
        try:
            statuses = await campaigns.statuses(max_age=MAX_AGE, pause=_PAUSE)
            await webhooks.tell(statuses)
        except (DBAPIError, StoreBusy, Refused) as error:
            # The store fails or the service is busy; those who ask for something hear of it.
            LOGGER.debug("campaigns cannot be looked after just now", exc_info=error)
        except Exception as error:
            LOGGER.error("campaigns cannot be looked after", exc_info=error)
        await asyncio.sleep(campaigns.configuration.watch_every)
