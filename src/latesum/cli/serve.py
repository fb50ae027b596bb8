"""`latesum serve`: campaigns behind HTTP, and a page."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum._checks import known_name
from latesum.cli.campaign_options import StoreAddress, check_address

if TYPE_CHECKING:
    from latesum.service import Configuration


def serve(
    host: Annotated[str, typer.Option(help="0.0.0.0 for all addresses.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free one.")] = 8000,
    store: StoreAddress = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="The address or network of a proxy whose X-Forwarded-For counts."),
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
    from latesum.service.server import find_address, read_networks, run, url_of

    known_name(log_level, ("debug", "info", "warning", "error"), "level of logs")
    configuration = Configuration(
        proxies=tuple(proxy or ()),
        webhook_networks=tuple(webhook_network or ()),
        site=None if site is None else site.rstrip("/"),
    )
    read_networks([*configuration.proxies, *configuration.webhook_networks])
    listening = find_address(host, port)
    place = None if store is None else check_address(store, "--store")
    named, first_token = _first_token(place)
    said = (f"latesum serves {named} at {url_of(listening)}", first_token, "Stop it with Ctrl-C.")
    load = functools.partial(_load, place, configuration)
    run(load, "\n".join(filter(None, said)), listening, log_level)


def _first_token(place: str | None) -> tuple[str, str | None]:
    """The name of the store, and what to say of its first token; None if there are tokens.

    A token that is not shown on a terminal would stay in a log, so it goes into a file.
    """
    from latesum.campaigns import Store
    from latesum.campaigns.database import data_folder
    from latesum.service import Tokens

    with Store(place) as store:
        secret = Tokens(store).first()
        database = store.url.database if store.url.drivername == "sqlite" else None
        named = store.place
    if secret is None:
        return named, None
    if sys.stdout.isatty():
        return named, f"Log in with this token, which is shown only once:\n\n    {secret}\n"
    file = (Path(database).absolute().parent if database else data_folder()) / "first-token"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(f"{secret}\n")
    return named, f"The first token, of scope admin, is in {file}; delete the file once read."


def _load(place: str | None, configuration: Configuration) -> Any:
    """The application, made whole in the process that serves it."""
    from granian.utils.proxies import wrap_asgi_with_proxy_headers

    from latesum.campaigns import Store
    from latesum.service.app import create_app
    from latesum.service.server import read_networks

    app = create_app(Store(place), configuration)
    proxies = [str(each) for each in read_networks(configuration.proxies)]
    return wrap_asgi_with_proxy_headers(app, proxies) if proxies else app
