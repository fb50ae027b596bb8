"""Webhooks: where alerts are sent. Addresses are checked when they are set and again when they are used.

An address is https and public. One in a network that the operator of the service has listed may be
private, and http. What a name stands for is looked up for every sending, and the connection goes to
the address that was checked: a name that means another address a moment later changes nothing.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import SplitResult, urlsplit

from sqlalchemy import insert, select, update

from latesum._checks import InvalidInput, known_name
from latesum.campaigns import schema
from latesum.campaigns.store import Store
from latesum.service.configuration import Network

#: What a message looks like: ours, or what Slack or Teams accept.
Shape = Literal["json", "slack", "teams"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
MOST_WEBHOOKS = 50
_LONGEST_ADDRESS = 2000
_NAME = re.compile(r"[\w.@ -]{1,64}")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_webhooks = schema.webhooks


class Webhook(NamedTuple):
    """Where alerts are sent, and the secret that signs them."""

    id: str
    name: str
    address: str
    shape: Shape
    secret: str
    created_at: datetime
    created_by: str

    @property
    def shown_address(self) -> str:
        """Where it is, without what may be a secret in its path."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}/…"


class Webhooks:
    """The webhooks of a store.

    Args:
        store: Where they are kept.
        networks: Private networks to which alerts may be sent.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(folder.name + "/campaigns.db") as store:
    ...     webhooks = Webhooks(store)
    ...     made = webhooks.new("chat", "https://hooks.example.com/T0/x", "slack", by="ada")
    ...     print(made.shown_address, [each.name for each in webhooks.all()])
    https://hooks.example.com/… ['chat']
    >>> folder.cleanup()
    """

    def __init__(self, store: Store, networks: Sequence[Network] = ()) -> None:
        self._engine = store.engine
        self._networks = networks

    def new(self, name: str, address: str, shape: str, *, by: str) -> Webhook:
        """Send alerts to an address from now on.

        Args:
            name: What it is called.
            address: Where alerts are sent.
            shape: What a message looks like.
            by: Who says so.
        """
        known_name(shape, SHAPES, "shape of a message")
        if not _NAME.fullmatch(name) or not name.strip():
            raise InvalidInput(
                f"a webhook's name is up to 64 letters, digits, spaces, dots and dashes, not {name!r}."
            )
        check_address(address, self._networks)
        if len(self.all()) >= MOST_WEBHOOKS:
            raise InvalidInput(f"there are {MOST_WEBHOOKS} webhooks already; remove one first.")
        row = {
            "id": secrets.token_hex(4),
            "name": name.strip(),
            "address": address,
            "shape": shape,
            "secret": secrets.token_urlsafe(32),
            "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "created_by": by[:64],
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
        """Send nothing more there, also of what waits.

        Args:
            id: The webhook's id.
        """
        known_name(id, [each.id for each in self.all()], "webhook")
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        outbox = schema.outbox
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(update(_webhooks).where(_webhooks.c.id == id).values(removed_at=now))
            connection.execute(
                update(outbox)
                .where(outbox.c.webhook == id, outbox.c.ended_at.is_(None))
                .values(ended_at=now, problem="the webhook was removed")
            )
            connection.commit()


def webhook_of_row(row: Any) -> Webhook:
    """A webhook as the database has it."""
    created = datetime.fromisoformat(row.created_at)
    return Webhook(row.id, row.name, row.address, row.shape, row.secret, created, row.created_by)


def check_address(address: str, networks: Sequence[Network] = ()) -> SplitResult:
    """The parts of an address to which alerts may be sent, or a refusal; no name is looked up here.

    Args:
        address: Where alerts are to be sent.
        networks: Private networks to which they may be sent.

    >>> check_address("https://127.0.0.1/hook")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: alerts are not sent to 127.0.0.1, which is not a public address; list its network with --webhook-network if it is meant.
    """
    wrong = "write the address of a webhook as https://host/path"
    if len(address) > _LONGEST_ADDRESS or not address.isprintable() or " " in address:
        raise InvalidInput(f"{wrong}, without spaces and not longer than {_LONGEST_ADDRESS}.")
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
        return parts
    _check_ip(literal, parts.scheme, networks)
    return parts


def resolve(parts: SplitResult, networks: Sequence[Network] = ()) -> str:
    """The address of the host of a webhook, if every address that its name has is allowed.

    Args:
        parts: Of the webhook's address.
        networks: Private networks to which alerts may be sent.
    """
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
    if not plain.is_global or plain.is_multicast or plain.is_reserved or _holds_another(plain):
        raise InvalidInput(
            f"alerts are not sent to {plain}, which is not a public address; list its network with "
            "--webhook-network if it is meant."
        )
    if scheme != "https":
        raise InvalidInput("alerts are sent over https only.")


def _holds_another(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address stands for another one, as those of 6to4, Teredo and NAT64 do."""
    if isinstance(address, ipaddress.IPv4Address):
        return False
    return bool(address.sixtofour or address.teredo or address in _NAT64)
