"""What all commands of `latesum campaign` have in common: the store, the clock, the campaign."""

from __future__ import annotations

import contextlib
import getpass
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from latesum._checks import InvalidInput

if TYPE_CHECKING:
    from latesum.campaigns import Campaign, Store

CampaignName = Annotated[
    str | None,
    typer.Option(
        "--campaign",
        "-c",
        envvar="LATESUM_CAMPAIGN",
        help="Which one; needed if there are several.",
    ),
]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the history.")]
User = Annotated[str | None, typer.Option(help="Who; by default your user name.")]
Region = Annotated[
    str | None, typer.Option(help="The region, in a campaign that has some; otherwise all.")
]
StoreAddress = Annotated[
    str | None,
    typer.Option(
        help="A file or a PostgreSQL address; otherwise $LATESUM_DATABASE_URL, or a file in your "
        "data folder."
    ),
]


class Given:
    """The options in front of the command: where campaigns are kept, and what time it is."""

    store: str | None = None
    now: datetime | None = None


def choose_store(
    store: StoreAddress = None,
    now: Annotated[
        str | None,
        typer.Option(
            envvar="LATESUM_NOW", help="Pretend that it is this time (UTC), to rehearse a campaign."
        ),
    ] = None,
) -> None:
    """Run campaigns: what to show next, from totals that come late."""
    Given.store = store
    Given.now = None if now is None else _read_now(now)


def _read_now(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"--now takes a time such as '2026-03-01 09:00', not {text!r}."
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def clock() -> datetime:
    """The time now, or the one that was asked to be pretended."""
    return Given.now or datetime.now(UTC)


def user_name(user: str | None) -> str:
    """Who acts."""
    try:
        return user or getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        return "unknown"


def address(text: str, option: str) -> str:
    """An address from the command line, where all users of the machine could see a password."""
    user_part = text.partition("://")[2].rpartition("@")[0]
    if ":" in user_part or "password=" in text.lower():
        raise InvalidInput(
            f"{option} must not hold a password, which others could see; use PGPASSWORD, ~/.pgpass "
            "or LATESUM_DATABASE_URL."
        )
    return text


@contextlib.contextmanager
def opened_store() -> Iterator[Store]:
    """The store that the options in front of the command name."""
    from sqlalchemy.exc import DBAPIError

    from latesum.campaigns import Store

    with Store(None if Given.store is None else address(Given.store, "--store")) as store:
        try:
            yield store
        except DBAPIError as error:  # a full disk, a damaged file, a server that went away
            raise InvalidInput(
                f"{store.place} failed: {store.failure(error)} What was not yet said to be done "
                "was not "
                "done."
            ) from None


@contextlib.contextmanager
def opened(name: str | None) -> Iterator[Campaign]:
    """The campaign of this name, or the only one there is."""
    from latesum.campaigns import Campaign

    with opened_store() as store:
        if name is None:
            there = [each.name for each in store.campaigns() if not each.archived]
            if len(there) != 1:
                found = f"there are {', '.join(there)}" if there else "there is none"
                raise InvalidInput(
                    f"say which campaign with --campaign; {found} in {store.place}."
                    + ("" if there else " `latesum campaign new` makes one.")
                )
            name = there[0]
        yield Campaign.open(name, store=store, clock=clock)


def write_text(path: Path, text: str) -> None:
    """Write a file, or say why not."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from None


def read_text(path: Path) -> str:
    """Read a file, or say why not."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from None
