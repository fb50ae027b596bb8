"""What a service is started with."""

from __future__ import annotations

from dataclasses import dataclass

from latesum.campaigns.campaign import Clock, system_clock


@dataclass(frozen=True)
class Configuration:
    """Limits and clocks of a service; the defaults suit a service of a few applications."""

    #: The longest body of a request, in bytes; a longer one is refused with 413.
    largest_body: int = 1_000_000
    #: Requests per second for each token, and how many may come at once; more are refused with 429.
    requests_per_second: float = 5_000.0
    #: Requests per second without a valid token, for each address they come from.
    unauthenticated_per_second: float = 20.0
    #: Connections from one address, unless it is a proxy's, and in all; of more, the one that has waited
    #: longest for a request is closed.
    connections_per_address: int = 200
    connections: int = 1_000
    #: How long a request's head and its body may take, in seconds.
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    #: Proxies that stand before the service: addresses or networks. What they say of a client's
    #: address is believed, and they may have any number of connections.
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    #: How long a revoked token, or a session that another process ended, may still be believed, in seconds.
    tokens_kept: float = 2.0
    #: How long someone who has logged in stays so, in hours.
    session_hours: float = 24.0
    #: How long the status of a campaign may be shown again before it is made anew, in seconds.
    status_kept: float = 1.0
    #: How often the page asks for what is new, in seconds.
    page_every: float = 2.0
    #: Private networks to which alerts may be sent, also over http.
    webhook_networks: tuple[str, ...] = ()
    #: The address of the page as others see it, for links in alerts.
    site: str | None = None
    #: How often the outbox of alerts is looked at, in seconds.
    send_every: float = 2.0
    #: How often all campaigns are looked after, in seconds.
    watch_every: float = 20.0
    #: The least seconds between two forecasts of a campaign that is looked at.
    forecast_every: float = 30.0
    clock: Clock = system_clock
    #: How many times faster than the world's the clock runs; the demo's does.
    speed: float = 1.0
