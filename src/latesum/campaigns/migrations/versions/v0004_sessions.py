"""The fourth version: sessions of people who have logged in, and alerts that are to be sent."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("token", sa.String(16), sa.ForeignKey("tokens.id"), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("expires_at", sa.String(32), nullable=False),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("shape", sa.String(16), nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("created_by", sa.String(64), nullable=False),
        sa.Column("removed_at", sa.String(32), nullable=True),
    )
    op.create_table(
        "alert_states",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("webhook", sa.String(16), sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("next_at", sa.String(32), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text, nullable=True),
        sa.Column("ended_at", sa.String(32), nullable=True),
        sa.Column("delivered", sa.Integer, nullable=False),
    )
    op.create_index("outbox_waiting", "outbox", ["ended_at", "next_at"])
