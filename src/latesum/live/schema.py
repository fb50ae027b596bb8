"""The tables: campaigns, one log for all that happens to them, and the tokens of the service.

`migrations/` makes and changes them; this is what the newest version looks like.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table, Text, text

#: The newest migration; a store of another version is brought to it, or refused if it is newer.
SCHEMA_VERSION = "0003"

metadata = MetaData()

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("created_at", String(32), nullable=False),
    Column("settings", Text, nullable=False),
    # The sequence of the newest entry. Writers lock this row, so that entries follow each other.
    Column("head", Integer, nullable=False),
    Column("moved_to", Text),
    # The sequence of the newest entry that changed what the campaign is set up with; 0 if none did.
    Column("changed", Integer, nullable=False, server_default=text("0")),
    # The sequence of the entry by which the campaign was put into the archive, while it is there.
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
    Index("log_by_bucket", "campaign", "bucket"),
    # One decision for a bucket, however many processes ask at once. PostgreSQL has the same condition, by
    # the migrations; named here it would load that dialect at every start, asyncio and all.
    Index(
        "one_decision_for_a_bucket",
        "campaign",
        "bucket",
        unique=True,
        sqlite_where=text("kind = 'decision'"),
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
