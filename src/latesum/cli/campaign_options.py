"""What commands about campaigns have in common: the store, the clock, the campaign."""

from __future__ import annotations

import contextlib
import getpass
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from latesum._checks import InvalidInput

if TYPE_CHECKING:
    from latesum.campaigns import Campaign, Store

CampaignName = Annotated[
    str | None,
    typer.Option(
        "--campaign", "-c", envvar="LATESUM_CAMPAIGN", help="Needed if there are several."
    ),
]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the history.")]
User = Annotated[str | None, typer.Option(help="Who; by default your user name.")]
DryRun = Annotated[bool, typer.Option(help="Only say what would happen.")]
Region = Annotated[str | None, typer.Option(help="One region; by default all.")]
StoreAddress = Annotated[
    str | None,
    typer.Option(help="A file or a PostgreSQL address; else $LATESUM_DATABASE_URL, or a file."),
]


class Given:
    """The options of the whole group: where campaigns are kept, and what time it is."""

    store: str | None = None
    now: datetime | None = None


class StoreGroup(TyperGroup):
    """Commands before or after which `--store` and `--now` may stand."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the options of the group in front."""
        front, rest, words = list[str](), list[str](), iter(args)
        for word in words:
            if word == "--":
                rest += [word, *words]
            elif word in ("--store", "--now"):
                front += [word, *itertools.islice(words, 1)]
            else:
                (front if word.startswith(("--store=", "--now=")) else rest).append(word)
        return super().parse_args(ctx, [*front, *rest])


def choose_store(
    store: StoreAddress = None,
    now: Annotated[
        str | None,
        typer.Option(envvar="LATESUM_NOW", help="Pretend that it is this time (UTC), to rehearse."),
    ] = None,
) -> None:
    """Run campaigns: what to show next, from totals that come late."""
    Given.store, Given.now = store, None
    if now is not None:
        try:
            time = datetime.fromisoformat(now)
        except ValueError:
            raise InvalidInput(
                f"--now takes a time such as '2026-03-01 09:00', not {now!r}."
            ) from None
        Given.now = time.replace(tzinfo=UTC) if time.tzinfo is None else time


def clock() -> datetime:
    """The time now, or the one that was asked to be pretended."""
    return Given.now or datetime.now(UTC)


def user_name(user: str | None) -> str:
    """Who acts."""
    try:
        return user or getpass.getuser()
    except (KeyError, OSError):  # no such user, as in some containers
        return "unknown"


def check_address(text: str, option: str) -> str:
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
    """The store that `--store` names."""
    from sqlalchemy.exc import DBAPIError

    from latesum.campaigns import Store

    with Store(None if Given.store is None else check_address(Given.store, "--store")) as store:
        try:
            yield store
        except DBAPIError as error:  # a full disk, a damaged file, a server that went away
            raise InvalidInput(
                f"{store.place} failed: {store.failure(error)} "
                "What was not yet said to be done was not done."
            ) from None


@contextlib.contextmanager
def opened(name: str | None) -> Iterator[Campaign]:
    """The campaign of this name, or the only one there is."""
    from latesum.campaigns import Campaign

    with opened_store() as store:
        if name is None:
            there = [each.name for each in store.campaigns()]
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
