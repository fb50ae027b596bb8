"""The fifth version: entries are about a region; a campaign without regions has one without a name."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column(
        "log", sa.Column("region", sa.String(64), nullable=False, server_default=sa.text("''"))
    )
    op.drop_index("one_decision_for_a_bucket", "log")
    op.create_index(
        "one_decision_for_a_bucket",
        "log",
        ["campaign", "region", "bucket"],
        unique=True,
        sqlite_where=sa.text("kind = 'decision'"),
        postgresql_where=sa.text("kind = 'decision'"),
    )
