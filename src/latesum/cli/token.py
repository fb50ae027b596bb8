"""`latesum token`: who may use the service."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from latesum.cli.campaign_options import Given, StoreAddress, StoreGroup, opened_store
from latesum.cli.options import AsJson

token = typer.Typer(cls=StoreGroup, no_args_is_help=True, add_completion=False)


@token.callback()
def _tokens_of(store: StoreAddress = None) -> None:
    """Tokens for `latesum serve`; only their hashes are kept."""
    Given.store = store


@token.command("new")
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


@token.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """All tokens; what they are made of is not kept and cannot be shown."""
    from latesum._render import new_table, plain, terminal
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


@token.command("revoke")
def revoke_token(
    which: Annotated[
        str, typer.Argument(metavar="TOKEN", help="Its id, or its name if no other has it.")
    ],
) -> None:
    """Make a token useless; running services hear of it at once."""
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        revoked = Tokens(store).revoke(which)
    print(f"{revoked.id} ({revoked.name}) opens nothing any more.")
