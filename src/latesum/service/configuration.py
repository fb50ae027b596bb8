"""What a service is started with."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from latesum._checks import InvalidInput
from latesum.campaigns.campaign import Clock, system_clock

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Configuration:
    """Limits and clocks of a service; the defaults suit a service of a few applications."""

    #: The longest body of a request, in bytes; a longer one is refused with 413.
    largest_body: int = 1_000_000
    #: Requests per second without a valid token, for each address they come from.
    unauthenticated_per_second: float = 20.0
    #: How long the body of a request may take, in seconds.
    body_seconds: float = 30.0
    #: Proxies that stand before the service: addresses or networks. What they say of a client's
    #: address is believed.
    proxies: tuple[str, ...] = ()
    #: How long someone who has logged in stays so, in hours.
    session_hours: float = 24.0
    #: How long the status of a campaign may be shown again before it is made again, in seconds.
    status_kept: float = 1.0
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
