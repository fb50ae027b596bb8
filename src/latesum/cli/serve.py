"""`latesum serve`: campaigns behind HTTP, and a page."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.cli.campaign_options import address

if TYPE_CHECKING:
    from latesum.service import Configuration

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
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="A proxy before the service, an address or network: its X-Forwarded-For counts."
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
    """Campaigns over HTTP, and a page that shows what runs and why."""
    from latesum.service import Configuration
    from latesum.service.configuration import read_networks
    from latesum.service.server import find_address, run, url_of

    known_name(log_level, _LEVELS, "level of logs")
    configuration = Configuration(
        largest_body=whole_number(largest_body, "--largest-body", at_least=1),
        requests_per_second=finite_number(requests_per_second, "--requests-per-second", above=0),
        proxies=tuple(proxy or ()),
        webhook_networks=tuple(webhook_network or ()),
        site=None if site is None else site.rstrip("/"),
    )
    read_networks([*configuration.proxies, *configuration.webhook_networks])
    if demo and store is not None:
        raise InvalidInput("the demo has a store of its own; leave --store out.")
    listening = find_address(host, port)
    with contextlib.ExitStack() as stack:
        place = None if store is None else address(store, "--store")
        if demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="latesum-demo-"))
            place = str(Path(folder) / "campaigns.db")
        served = _Service(
            place,
            configuration,
            seconds_per_day if demo else None,
            url_of(listening),
            _first_token(place, demo),
        )
        run(served, listening, log_level)


def _first_token(place: str | Path | None, demo: bool) -> str | None:
    """What to say of the first token of a new store; None if there are tokens.

    A token that is not shown on a terminal would stay in a log, so it goes into a file.
    """
    from latesum.campaigns import Store
    from latesum.campaigns.database import data_folder
    from latesum.service import Tokens

    with Store(place) as store:
        secret = None if store.read_only else Tokens(store).first()
        database = store.url.database if store.url.drivername == "sqlite" else None
    if secret is None:
        return None
    if demo or sys.stdout.isatty():
        return f"Log in with this token, which is shown only once:\n\n    {secret}\n"
    file = (Path(database).absolute().parent if database else data_folder()) / "first-token"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(f"{secret}\n")
    return f"The first token, which may do everything, is in {file}; delete the file once read."


@dataclasses.dataclass
class _Service:
    """What `latesum serve` serves; made whole in the process that serves it."""

    place: str | Path | None
    configuration: Configuration
    seconds_per_day: float | None
    url: str
    first_token: str | None

    def load(self) -> Any:
        """The application, with the demo's campaign if there is one."""
        from granian.utils.proxies import wrap_asgi_with_proxy_headers

        from latesum.campaigns import Store
        from latesum.service.app import create_app
        from latesum.service.configuration import read_networks

        self.opened = Store(self.place)
        configuration = self.configuration
        if self.seconds_per_day is not None:
            from latesum.cli.serve_demo import DemoCampaign

            self.demo = DemoCampaign(self.opened, self.seconds_per_day)
            configuration = dataclasses.replace(
                configuration,
                clock=self.demo.clock,
                speed=self.demo.clock.speed,
                status_kept=0.3,
                page_every=1.0,
                forecast_every=5.0,
            )
        app = create_app(self.opened, configuration)
        if not configuration.proxies:
            return app
        proxies = [str(each) for each in read_networks(configuration.proxies)]
        return wrap_asgi_with_proxy_headers(app, proxies)

    def announce(self) -> None:
        """Say where it is, and let the demo begin."""
        print(f"latesum serves {self.opened.place} at {self.url}")
        if self.first_token is not None:
            print(self.first_token)
        if self.seconds_per_day is not None:
            self.demo.start()
            print("The demo is a shop that tries three banners; it has a winner in a minute.")
        print("Stop it with Ctrl-C.", flush=True)
