"""`latesum token new | list | revoke`: who may use the service."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from latesum.cli.campaign_options import Given, StoreAddress, opened_store
from latesum.cli.options import AsJson

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def choose_store(store: StoreAddress = None) -> None:
    """Tokens for `latesum serve`; only their hashes are kept."""
    Given.store = store


@app.command("new")
def new_token(
    name: Annotated[str, typer.Argument(help="Whose it is; acts are signed with it.")],
    scope: Annotated[
        str, typer.Option(help="read; record (and read); operate (campaigns); admin (everything).")
    ] = "read",
) -> None:
    """Make a token and print it, once."""
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        print(Tokens(store).new(name, scope))


@app.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """All tokens; what they are made of is not kept and cannot be shown."""
    from latesum._render import new_table, terminal
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        tokens = Tokens(store).all()
    if as_json:
        rows = [
            {
                **token._asdict(),
                "created_at": token.created_at.isoformat(),
                "revoked_at": token.revoked_at and token.revoked_at.isoformat(),
            }
            for token in tokens
        ]
        print(json.dumps(rows, indent=2))
        return
    table = new_table(None, ["id", "name", "scope", "made", "revoked"])
    for column in table.columns:
        column.justify = "left"
    for token in tokens:
        revoked = "" if token.revoked_at is None else f"{token.revoked_at:%Y-%m-%d %H:%M}"
        made = f"{token.created_at:%Y-%m-%d %H:%M}"
        table.add_row(token.id, token.name, token.scope, made, revoked)
    if tokens:
        terminal().print(table)
    else:
        print("There are no tokens; `latesum token new` makes one.")


@app.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Its id, or its name if no other has it.")],
) -> None:
    """Make a token useless; running services hear of it at once."""
    from latesum.service.tokens import Tokens

    with opened_store() as store:
        revoked = Tokens(store).revoke(token)
        print(f"{revoked.id} ({revoked.name}) opens nothing any more.")
