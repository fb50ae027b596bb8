"""The database of a store: where it is, how it is connected to, and which tables it has.

Connections are set up for durable, short write transactions. On opening, the tables are made if
there are none.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from latesum import _extras
from latesum._checks import InvalidInput
from latesum.campaigns.schema import SCHEMA_VERSION, campaigns, metadata, schema

#: Set to a PostgreSQL address to keep campaigns there.
DATABASE_VARIABLE = "LATESUM_DATABASE_URL"
#: Set to a folder to keep the SQLite file there.
FOLDER_VARIABLE = "LATESUM_DATA_DIR"
#: How long a writer waits for another one.
BUSY_SECONDS = 30
_ADVISORY_LOCK = 7_153_001  # any number; all processes of latesum take the same one


def data_folder() -> Path:
    """The user's folder for data, as the system has it."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "latesum"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "latesum"
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "latesum"


def default_url() -> str:
    """The address of the store: `LATESUM_DATABASE_URL`, or a file in the user's data folder."""
    return os.environ.get(DATABASE_VARIABLE) or f"sqlite:///{data_folder() / 'campaigns.db'}"


def checked_url(given: str | Path) -> URL:
    """The address of a store; a path means an SQLite file."""
    address = str(given)
    if "://" not in address:
        address = f"sqlite:///{address}"
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


def is_read_only(url: URL) -> bool:
    """Whether an address is that of an SQLite file that is there and cannot be written."""
    if url.drivername != "sqlite" or not url.database:
        return False
    file = Path(url.database).absolute()
    # Whether it is there is asked first: another process may make it between the questions.
    return file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


def make_engine(url: URL, *, read_only: bool = False) -> Engine:
    """An engine whose transactions are what the contract of a store needs.

    Its errors go to logs, so they never hold the parameters of a statement: some are secrets.
    """
    try:
        if url.drivername == "sqlite" and read_only:
            place = Path(str(url.database)).absolute()
            waiting = place.with_name(place.name + "-wal")
            if waiting.exists() and waiting.stat().st_size:
                raise InvalidInput(
                    f"{place} can only be read, and {waiting.name} beside it holds what was "
                    "written "
                    "last; copy both to a place where they can be written, and open the copy."
                )
            # No one can write to it, so that SQLite needs no files beside it to be safe.
            file = place.as_uri() + "?mode=ro&immutable=1"
            return create_engine(
                "sqlite://",
                creator=lambda: sqlite3.connect(file, uri=True, check_same_thread=False),
                poolclass=NullPool,
                hide_parameters=True,
            )
        if url.drivername == "sqlite":
            engine = create_engine(
                url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True
            )
            event.listen(engine, "connect", _set_up_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        return create_engine(url, pool_pre_ping=True, hide_parameters=True)
    except (NoSuchModuleError, ImportError) as error:  # pragma: no cover - checked before
        raise InvalidInput(f"the store cannot be opened: {error}.") from None


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    _use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut
    connection.execute("PRAGMA foreign_keys = ON")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let readers never block the writer.

    Where several processes change a new file to this journal at once, SQLite refuses all but one of
    them without waiting, whatever the busy timeout: each holds a lock for reading that the others
    would have to wait for. So it is tried again.
    """
    last = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
        time.sleep(random.uniform(0.005, 0.05))  # at random, so that two do not meet again


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a transaction that began by reading could not be upgraded.
    write = connection.get_execution_options().get("latesum_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def make_tables(engine: Engine, *, read_only: bool = False) -> None:
    """Make the tables of a new store, or check the version of those that are there.

    Several processes may do so at once.
    """
    with engine.connect() as connection:
        if _has_tables(connection):
            return
    if read_only:
        raise InvalidInput("this store can only be read, and it has no tables yet.")
    with engine.connect().execution_options(latesum_write=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        if not _has_tables(connection):  # otherwise another process was faster
            metadata.create_all(connection)
            connection.execute(schema.insert().values(version=SCHEMA_VERSION))


def _has_tables(connection: Connection) -> bool:
    """Whether a store has its tables; refused where they are not of this version."""
    there = inspect(connection)
    if not there.has_table(schema.name):
        if there.has_table(campaigns.name):
            raise InvalidInput("this store was written by a latesum before 1.0; begin a new one.")
        return False
    version = connection.execute(select(schema.c.version)).scalar()
    if version != SCHEMA_VERSION:
        raise InvalidInput(
            f"this store was written by another latesum (schema {version}, this one knows "
            f"{SCHEMA_VERSION}); use that one."
        )
    return True
