"""`latesum serve`: campaigns behind HTTP, and a page."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.cli.campaign_options import address

_LEVELS = ("debug", "info", "warning", "error")


def serve(
    host: Annotated[str, typer.Option(help="0.0.0.0 for all; by default this machine.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="0 for any free one.")] = 8000,
    store: Annotated[
        str | None,
        typer.Option(
            help="A file or a PostgreSQL address; otherwise $LATESUM_DATABASE_URL, or a file."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a made-up campaign in fast motion.")
    ] = False,
    seconds_per_day: Annotated[float, typer.Option(help="How long a day of the demo lasts.")] = 0.6,
    requests_per_second: Annotated[
        float, typer.Option(help="The most for each token; more get 429.")
    ] = 5000.0,
    largest_body: Annotated[int, typer.Option(help="In bytes; more gets 413.")] = 1_000_000,
    connections: Annotated[
        int, typer.Option(help="The most in all; of more, what waits longest is closed.")
    ] = 1000,
    connections_per_address: Annotated[
        int, typer.Option(help="The most from one address that is not a proxy's.")
    ] = 200,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="A proxy before the service: an address or network; by default this machine."
        ),
    ] = None,
    webhook_network: Annotated[
        list[str] | None, typer.Option(help="A private network to which alerts may be sent.")
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="The page's address as others see it, for links in alerts.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve campaigns over HTTP, and a page that shows what runs and why."""
    from latesum.campaigns import Store
    from latesum.service import Configuration, Tokens
    from latesum.service.app import create_app
    from latesum.service.connections import read_networks
    from latesum.service.logs import set_up
    from latesum.service.running import address_of, listen, run

    set_up(known_name(log_level, _LEVELS, "level of logs"))
    configuration = Configuration(
        largest_body=whole_number(largest_body, "--largest-body", at_least=1),
        requests_per_second=finite_number(requests_per_second, "--requests-per-second", above=0),
        connections=whole_number(connections, "--connections", at_least=1),
        connections_per_address=whole_number(
            connections_per_address, "--connections-per-address", at_least=1
        ),
    )
    if proxy is not None:
        configuration = dataclasses.replace(configuration, proxies=tuple(proxy))
    configuration = dataclasses.replace(
        configuration, webhook_networks=tuple(webhook_network or ()),
        site=None if site is None else site.rstrip("/"),
    )  # fmt: skip
    read_networks(configuration.proxies)
    read_networks(configuration.webhook_networks)
    listening = listen(host, port)
    with contextlib.ExitStack() as stack:
        stack.callback(listening.close)
        shown = None
        if demo:
            if store is not None:
                raise InvalidInput("the demo has a store of its own; leave --store out.")
            from latesum.cli.serve_demo import DemoCampaign

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="latesum-demo-"))
            opened = stack.enter_context(Store(Path(folder) / "campaigns.db"))
            shown = stack.enter_context(DemoCampaign(opened, seconds_per_day))
            configuration = dataclasses.replace(
                configuration, clock=shown.clock, speed=shown.clock.speed, status_kept=0.3,
                page_every=1.0, forecast_every=5.0,
            )  # fmt: skip
        else:
            opened = stack.enter_context(
                Store(None if store is None else address(store, "--store"))
            )
        secret = Tokens(opened).first()

        def announce() -> None:
            print(f"latesum serves {opened.place} at {address_of(listening)}")
            if secret is not None:
                print(f"Log in with this token, which is shown only once:\n\n    {secret}\n")
            if shown is not None:
                shown.start()
                print("The demo is a shop that tries three banners; it has a winner in a minute.")
            print("Stop it with Ctrl-C.", flush=True)

        app = create_app(opened, configuration)
        run(app, listening, configuration, when_ready=announce)
