"""The third version: campaigns can be changed, archived and deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column(
        "campaigns", sa.Column("changed", sa.Integer, nullable=False, server_default=sa.text("0"))
    )
    op.add_column("campaigns", sa.Column("archived", sa.Integer, nullable=True))
    op.add_column("campaigns", sa.Column("deleted", sa.Text, nullable=True))
