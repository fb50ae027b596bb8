"""The tables: campaigns, one log for all that happens to them, and what the service keeps."""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    event,
    text,
)

#: The version of the tables; a store of another version is refused.
SCHEMA_VERSION = 1

metadata = MetaData()

# One row: the version of the tables.
schema = Table("schema", metadata, Column("version", Integer, primary_key=True))

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("created_at", String(32), nullable=False),
    Column("config", Text, nullable=False),
    # The sequence of the newest event. Writers lock this row, so that events follow each other.
    Column("head", Integer, nullable=False),
    # The sequence of the event by which the campaign was put into the archive, while it is there.
    Column("archived", Integer),
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
    # The region that the event is about; empty in a campaign without regions, and if it is about
    # all.
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
