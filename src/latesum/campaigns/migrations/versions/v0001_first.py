"""The first version: campaigns and their log."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("head", sa.Integer, nullable=False),
        sa.Column("moved_to", sa.Text),
    )
    op.create_table(
        "log",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("bucket", sa.Integer),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("log_by_bucket", "log", ["campaign", "bucket"])
    op.create_index(
        "one_decision_for_a_bucket",
        "log",
        ["campaign", "bucket"],
        unique=True,
        sqlite_where=sa.text("kind = 'decision'"),
        postgresql_where=sa.text("kind = 'decision'"),
    )
