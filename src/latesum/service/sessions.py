"""Sessions: who has logged in to the page. The server can end each, and only their hashes are kept.

A token that is typed in stays with the server. The browser gets a secret of the session's own, which
opens nothing once the session has ended: by logging out, by its age, or because its token was revoked.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, insert, or_, select

from latesum._checks import known_name
from latesum.campaigns import schema
from latesum.campaigns.store import Store
from latesum.service.tokens import Token, hash_of, token_of_row

_PREFIX = "session_"
_sessions, _tokens = schema.sessions, schema.tokens


class Session(NamedTuple):
    """What is known of a session; the secret in the browser is not."""

    id: str
    name: str
    token: str
    created_at: datetime
    expires_at: datetime


class Sessions:
    """The sessions of a store.

    Args:
        store: Where they are kept.

    >>> import tempfile
    >>> from latesum.service.tokens import Tokens
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(folder.name + "/campaigns.db") as store:
    ...     tokens, sessions = Tokens(store), Sessions(store)
    ...     token = tokens.find(tokens.new("ada", "read"))
    ...     secret = sessions.new(token, timedelta(hours=1))
    ...     print(sessions.valid()[hash_of(secret)].name)
    ...     sessions.end(secret)
    ...     print(sessions.valid())
    ada
    {}
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._engine = store.engine

    def new(self, token: Token, lasts: timedelta) -> str:
        """Begin a session; what is returned goes into the browser and is never shown again."""
        secret = _PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        row = {
            "id": secrets.token_hex(4),
            "hash": hash_of(secret),
            "token": token.id,
            "created_at": _text(now),
            "expires_at": _text(now + lasts),
        }
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(delete(_sessions).where(_sessions.c.expires_at < _text(now)))
            connection.execute(insert(_sessions).values(**row))
            connection.commit()
        return secret

    def valid(self) -> dict[str, Token]:
        """The tokens of the sessions that have not ended, by the hashes of the sessions."""
        query = select(_sessions.c.hash.label("session_hash"), _tokens).join(_tokens)
        with self._engine.connect() as connection:
            found = connection.execute(self._living(query))
            return {row.session_hash: token_of_row(row) for row in found}

    def all(self) -> list[Session]:
        """The sessions that have not ended, oldest first."""
        columns = _sessions.c
        query = select(
            columns.id, _tokens.c.name, columns.token, columns.created_at, columns.expires_at
        ).join(_tokens)
        with self._engine.connect() as connection:
            rows = connection.execute(self._living(query).order_by(columns.created_at, columns.id))
            return [
                Session(
                    row.id, row.name, row.token, datetime.fromisoformat(row.created_at),
                    datetime.fromisoformat(row.expires_at),
                )
                for row in rows
            ]  # fmt: skip

    def end(self, secret_or_id: str) -> None:
        """End a session, given by its secret or by its id; one that has ended stays so."""
        its = or_(_sessions.c.hash == hash_of(secret_or_id), _sessions.c.id == secret_or_id)
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(delete(_sessions).where(its))
            connection.commit()

    def end_id(self, id: str) -> None:
        """End a session, given by its id; refused if there is none."""
        known_name(id, [each.id for each in self.all()], "session")
        self.end(id)

    def _living(self, query: Select[Any]) -> Select[Any]:
        now = _text(datetime.now(UTC))
        return query.where(_sessions.c.expires_at > now, _tokens.c.revoked_at.is_(None))


def _text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
