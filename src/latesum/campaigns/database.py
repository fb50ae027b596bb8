"""The database of a store: where it is, its tables, and how it is connected to.

The tables are campaigns, one log for all that happens to them, and what the service keeps; they are
made on opening if there are none. Connections are set up for durable, short write transactions.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from pathlib import Path

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from latesum import _extras
from latesum._checks import InvalidInput

#: Set to a PostgreSQL address to keep campaigns there.
_DATABASE_VARIABLE = "LATESUM_DATABASE_URL"
#: Set to a folder to keep the SQLite file there.
FOLDER_VARIABLE = "LATESUM_DATA_DIR"
#: How long a writer waits for another one.
_BUSY_SECONDS = 30
_ADVISORY_LOCK = 7_153_001  # any number; all processes of latesum take the same one
#: The version of the tables; a store of another version is refused.
_VERSION = 1

metadata = MetaData()

# One row: the version of the tables.
_schema = Table("schema", metadata, Column("version", Integer, primary_key=True))

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("created_at", String(32), nullable=False),
    Column("config", Text, nullable=False),
    # The sequence of the newest event. Writers lock this row, so that events follow each other.
    Column("head", Integer, nullable=False),
    # Of a campaign that was deleted: when, by whom and why, as JSON. Its log is gone.
    Column("deleted", Text),
)

log = Table(
    "log",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id"), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("bucket", Integer),
    Column("body", Text, nullable=False),
    # Empty in a campaign without regions, and if the event is about all.
    Column("region", String(64), nullable=False, server_default=text("''")),
)
# One decision for a bucket of a region, however many processes ask at once. It is written out
# because the condition of an `Index` would load the dialect of PostgreSQL at every start.
event.listen(
    log,
    "after_create",
    DDL(
        "CREATE UNIQUE INDEX one_decision_for_a_bucket ON log (campaign, region, bucket) "
        "WHERE kind = 'decision'"
    ),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("scope", String(16), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("revoked_at", String(32)),
)

# Who has logged in to the page, until they log out: then the row is gone.
sessions = Table(
    "sessions",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("token", String(16), ForeignKey("tokens.id"), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32), nullable=False),
)

# Where alerts are sent. The secret signs them, so it is kept as it is.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("address", Text, nullable=False),
    Column("secret", String(64), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("created_by", String(64), nullable=False),
    Column("removed_at", String(32)),
    # What was last delivered of each campaign, as JSON; while that differs from how they are, it
    # is sent again.
    Column("delivered", Text, nullable=False, server_default=text("'{}'")),
)


def data_folder() -> Path:
    """The user's folder for data, as the system has it."""
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "latesum"


def checked_url(given: str | Path | None) -> URL:
    """The address of a store; a path means an SQLite file, None the user's own store."""
    if given is None:
        given = os.environ.get(_DATABASE_VARIABLE) or data_folder() / "campaigns.db"
    address = str(given) if "://" in str(given) else f"sqlite:///{given}"
    try:
        url = make_url(address)
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
    """An engine whose transactions are what the contract of a store needs.

    Its errors go to logs, so they never hold the parameters of a statement: some are secrets.
    """
    if url.drivername != "sqlite":
        return create_engine(url, pool_pre_ping=True, hide_parameters=True)
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    """Durable transactions, in which readers never block the writer.

    Where several processes change a new file to this journal at once, SQLite refuses all but one of
    them without waiting, whatever the busy timeout: each holds a lock for reading that the others
    would have to wait for. So it is tried again.
    """
    connection.isolation_level = None  # transactions are begun below, not by the driver
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
    last = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
        time.sleep(random.uniform(0.005, 0.05))  # at random, so that two do not meet again
    connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a transaction that began by reading could not be upgraded.
    write = connection.get_execution_options().get("latesum_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def make_tables(engine: Engine) -> None:
    """Make the tables of a new store, or check the version of those that are there.

    Several processes may do so at once.
    """
    with engine.connect() as connection:
        if _has_tables(connection):
            return
    with engine.connect().execution_options(latesum_write=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        if not _has_tables(connection):  # otherwise another process was faster
            metadata.create_all(connection)
            connection.execute(_schema.insert().values(version=_VERSION))


def _has_tables(connection: Connection) -> bool:
    """Whether a store has its tables; refused where they are not of this version."""
    there = inspect(connection)
    if not there.has_table(_schema.name):
        if there.has_table(campaigns.name):
            raise InvalidInput("this store was written by a latesum before 1.0; begin a new one.")
        return False
    version = connection.execute(select(_schema.c.version)).scalar()
    if version != _VERSION:
        raise InvalidInput(
            f"this store was written by another latesum (schema {version}, this one knows "
            f"{_VERSION}); use that one."
        )
    return True
