"""Connections to SQLite and PostgreSQL, set up for durable, short write transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from latesum import _extras
from latesum._checks import InvalidInput

#: So long a writer waits for another one.
BUSY_SECONDS = 30


def checked_url(given: str | Path) -> URL:
    """The address of a store; a path means an SQLite file."""
    text = str(given)
    if "://" not in text:
        text = f"sqlite:///{text}"
    try:
        url = make_url(text)
    except ArgumentError:
        raise InvalidInput(
            "the address of the store cannot be read; write a path, or an address such as "
            "postgresql://user@host/database."
        ) from None
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        _extras.require("psycopg", "postgres")
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite" or not url.database or url.database == ":memory:":
        raise InvalidInput(
            f"campaigns are kept in an SQLite file or in PostgreSQL, not in {url.drivername!r}"
            + (" in memory, which would lose them." if url.drivername == "sqlite" else ".")
        )
    return url


def make_engine(url: URL) -> Engine:
    """An engine whose transactions are what the contract of a store needs."""
    try:
        if url.drivername == "sqlite":
            engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
            event.listen(engine, "connect", _set_up_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        return create_engine(url, pool_pre_ping=True)
    except (NoSuchModuleError, ImportError) as error:  # pragma: no cover - checked before
        raise InvalidInput(f"the store cannot be opened: {error}.") from None


def _set_up_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    connection.execute("PRAGMA journal_mode = WAL")  # readers never block the writer
    connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a transaction that began by reading could not be upgraded.
    write = connection.get_execution_options().get("latesum_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
