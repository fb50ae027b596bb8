"""`latesum token` and `latesum webhook`: who may use the service, and where it sends alerts."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from latesum.cli.campaign_options import Given, StoreAddress, StoreGroup, opened_store, user_name
from latesum.cli.options import AsJson

tokens = typer.Typer(cls=StoreGroup, no_args_is_help=True, add_completion=False)
webhooks = typer.Typer(cls=StoreGroup, no_args_is_help=True, add_completion=False)


@tokens.callback()
def _tokens_of(store: StoreAddress = None) -> None:
    """Tokens for `latesum serve`; only their hashes are kept."""
    Given.store = store


@tokens.command("new")
def new_token(
    name: Annotated[str, typer.Argument(help="Whose it is; actions are signed with it.")],
    scope: Annotated[
        str, typer.Option(help="read; record (and read); operate (campaigns); admin (everything).")
    ] = "read",
) -> None:
    """Make a token and print it, once."""
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        print(Tokens(store).new(name, scope))


@tokens.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """All tokens; what they are made of is not kept and cannot be shown."""
    from latesum._render import new_table, terminal
    from latesum.campaigns.view import plain
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        found = Tokens(store).all()
    if as_json:
        print(json.dumps(plain(found), indent=2))
        return
    if not found:
        print("There are no tokens; `latesum token new` makes one.")
        return
    columns = ["id", "name", "scope", "made", "revoked"]
    table = new_table(None, columns, texts=columns)
    for id, name, scope, *times in found:
        shown = (f"{time:%Y-%m-%d %H:%M}" if time else "" for time in times)
        table.add_row(id, name, scope, *shown)
    terminal().print(table)


@tokens.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Its id, or its name if no other has it.")],
) -> None:
    """Make a token useless; running services hear of it at once."""
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        revoked = Tokens(store).revoke(token)
    print(f"{revoked.id} ({revoked.name}) opens nothing any more.")


@webhooks.callback()
def _webhooks_of(store: StoreAddress = None) -> None:
    """Where `latesum serve` sends alerts."""
    Given.store = store


@webhooks.command("new")
def new_webhook(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    address: Annotated[str, typer.Argument(help="https, and public.")],
    webhook_network: Annotated[
        list[str] | None, typer.Option(help="A private network that is allowed.")
    ] = None,
) -> None:
    """Send alerts to an address; prints the secret that signs them, once."""
    from latesum.service.configuration import read_networks
    from latesum.service.webhooks import Webhooks

    networks = read_networks(webhook_network or ())
    with opened_store() as store:
        print(Webhooks(store, networks).new(name, address, by=user_name(None)).secret)


@webhooks.command("list")
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


@webhooks.command("remove")
def remove_webhook(webhook: Annotated[str, typer.Argument(help="Its id.")]) -> None:
    """Send nothing more there."""
    from latesum.service.webhooks import Webhooks

    with opened_store() as store:
        Webhooks(store).remove(webhook)
    print(f"{webhook} gets no more alerts.")
