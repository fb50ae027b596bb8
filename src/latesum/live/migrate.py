"""Bring a store to the newest version of the tables, on opening."""

from __future__ import annotations

from importlib import resources

from sqlalchemy import Connection, Engine, inspect, text

from latesum._checks import InvalidInput
from latesum.live.schema import SCHEMA_VERSION

_ADVISORY_LOCK = 7_153_001  # any number; all processes of latesum take the same one


def bring_up_to_date(engine: Engine) -> None:
    """Run the migrations that are missing; several processes may do so at once."""
    with engine.connect() as connection:
        if schema_version(connection) == SCHEMA_VERSION:
            return
    with engine.connect().execution_options(latesum_write=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        version = schema_version(connection)
        if version == SCHEMA_VERSION:
            return  # another process was faster
        if version is not None and version > SCHEMA_VERSION:
            raise InvalidInput(
                f"this store was written by a newer latesum (schema {version}, this one knows "
                f"{SCHEMA_VERSION}); update latesum."
            )
        _upgrade(connection)


def schema_version(connection: Connection) -> str | None:
    """The version of a store's tables; None if it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _upgrade(connection: Connection) -> None:
    from alembic import command  # imported late: half a second, needed once in a store's life
    from alembic.config import Config

    folder = resources.files("latesum.live") / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, SCHEMA_VERSION)
