"""`latesum webhook new | list | remove`: where alerts of the service are sent."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from latesum.cli.campaign_options import Given, StoreAddress, opened_store, user_name
from latesum.cli.options import AsJson

app = typer.Typer(no_args_is_help=True, add_completion=False)
Networks = Annotated[
    list[str] | None, typer.Option("--webhook-network", help="A private network that is meant.")
]


@app.callback()
def choose_store(store: StoreAddress = None) -> None:
    """Where `latesum serve` sends alerts."""
    Given.store = store


@app.command("new")
def new_webhook(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    address: Annotated[str, typer.Argument(help="https, and public.")],
    network: Networks = None,
) -> None:
    """Send alerts to an address; prints the secret that signs them, once."""
    from latesum.service.configuration import read_networks
    from latesum.service.webhooks import Webhooks

    with opened_store() as store:
        made = Webhooks(store, read_networks(network or ())).new(name, address, by=user_name(None))
    print(made.secret)


@app.command("list")
def list_webhooks(as_json: AsJson = False) -> None:
    """Where alerts are sent; what may be secret in an address is left out."""
    from latesum.service.webhooks import Webhooks

    with opened_store() as store:
        found = Webhooks(store).all()
    if as_json:
        rows = [{"id": each.id, "name": each.name, "address": each.shown_address} for each in found]
        print(json.dumps(rows, indent=2))
        return
    for each in found:
        print(f"{each.id}  {each.name}: {each.shown_address}")
    if not found:
        print("No alerts are sent; `latesum webhook new` says where to.")


@app.command("remove")
def remove_webhook(webhook: Annotated[str, typer.Argument(help="Its id.")]) -> None:
    """Send nothing more there."""
    from latesum.service.webhooks import Webhooks

    with opened_store() as store:
        Webhooks(store).remove(webhook)
    print(f"{webhook} gets no more alerts.")
