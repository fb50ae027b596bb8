"""Alembic's way in: the connection is handed over by `latesum.campaigns.database`."""

from alembic import context

if hasattr(context, "config"):  # only while Alembic runs, not when the file is merely imported
    context.configure(connection=context.config.attributes["connection"])
    context.run_migrations()
