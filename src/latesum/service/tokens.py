"""Tokens and sessions: who may use the service, and for what. Only hashes are kept.

A token is 256 random bits, so its SHA-256 cannot be turned back by guessing; a slow hash, made for
passwords that people choose, would only slow down every request.

A token that is typed in at the page stays with the server. The browser gets a secret of the
session's own, which opens nothing once the session has ended: by logging out, by its age, or
because its token was revoked.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from latesum._checks import InvalidInput, known_name, shortened
from latesum.campaigns import database
from latesum.campaigns.store import Store

Scope = Literal["read", "record", "operate", "admin"]
#: From the least to the most: each may do what those before it may.
SCOPES: tuple[Scope, ...] = get_args(Scope)
#: Sessions of one token; of more, the oldest end.
MAX_SESSIONS = 20

_token, _session = database.tokens.c, database.sessions.c
# Made once, because to build a statement takes longer than to run it.
_TOKENS = select(_token.id, _token.name, _token.scope, _token.created_at, _token.revoked_at)
_BY_HASH = _TOKENS.where(_token.hash == bindparam("hash"), _token.revoked_at.is_(None))
_LIVING = (_session.expires_at > bindparam("now"), _token.revoked_at.is_(None))
_BY_SESSION = _TOKENS.join(database.sessions).where(_session.hash == bindparam("hash"), *_LIVING)


class Token(NamedTuple):
    """What is known of a token; the token itself is not."""

    id: str
    name: str
    scope: Scope
    created_at: datetime
    revoked_at: datetime | None

    def may(self, scope: Scope) -> bool:
        """Whether the token reaches as far as this scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def hash_of(secret: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode()).hexdigest()


def now_text() -> str:
    """The time as tables have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def check_name(name: str, whose: str) -> str:
    """The name of a token or a webhook."""
    if not re.fullmatch(r"[\w.@ -]{1,64}", name) or not name.strip():
        raise InvalidInput(
            f"a {whose}'s name is up to 64 letters, digits, spaces, dots and dashes, not "
            f"{shortened(name)!r}."
        )
    return name.strip()


def _read(row: Any) -> Token:
    id, name, scope, created, revoked = row
    ended = None if revoked is None else datetime.fromisoformat(revoked)
    return Token(id, name, scope, datetime.fromisoformat(created), ended)


class Tokens:
    """The tokens of a store, and their sessions.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(folder.name + "/campaigns.db") as store:
    ...     tokens = Tokens(store)
    ...     secret = tokens.new("shop", "record")
    ...     found = tokens.find(secret)
    ...     print(found.name, found.may("read"), found.may("operate"))
    ...     session = tokens.new_session(found, timedelta(hours=1))
    ...     print(tokens.find_session(session).name)
    ...     _ = tokens.revoke(found.id)
    ...     print(tokens.find(secret), tokens.find_session(session))
    shop True False
    shop
    None None
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def new(self, name: str, scope: str) -> str:
        """Make a token; what is returned is never shown again."""
        known_name(scope, SCOPES, "scope")
        name = check_name(name, "token")
        with self._store.transaction() as connection:
            return self._insert(connection, name, scope)

    def first(self) -> str | None:
        """A token that may do everything, if there has never been any; otherwise None.

        Of several services that start at once, one makes it.
        """
        with self._store.transaction() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("LOCK TABLE tokens IN EXCLUSIVE MODE")
            if connection.execute(select(func.count()).select_from(database.tokens)).scalar():
                return None
            return self._insert(connection, "first", "admin")

    def _insert(self, connection: Connection, name: str, scope: str) -> str:
        secret = "latesum_" + secrets.token_urlsafe(32)
        row = {"id": secrets.token_hex(4), "name": name, "scope": scope, "created_at": now_text()}
        connection.execute(insert(database.tokens).values(**row, hash=hash_of(secret)))
        return secret

    def all(self) -> list[Token]:
        """Every token there has been, oldest first."""
        with self._store.engine.connect() as connection:
            rows = connection.execute(_TOKENS.order_by(_token.created_at, _token.id))
            return [_read(row) for row in rows]

    def find(self, secret: str) -> Token | None:
        """The token of a secret, if it is valid."""
        with self._store.engine.connect() as connection:
            row = connection.execute(_BY_HASH, {"hash": hash_of(secret)}).one_or_none()
        return None if row is None else _read(row)

    def revoke(self, id_or_name: str) -> Token:
        """Make a token useless, given by its id or by a name that only it has."""
        living = [token for token in self.all() if token.revoked_at is None]
        found = [token for token in living if id_or_name in (token.id, token.name)]
        if not found:
            known_name(id_or_name, [token.id for token in living], "token")
        if len(found) > 1:
            ids = ", ".join(token.id for token in found)
            raise InvalidInput(f"{len(found)} tokens are called {id_or_name!r}; give an id: {ids}.")
        its, now = _token.id == found[0].id, now_text()
        with self._store.transaction() as connection:
            connection.execute(update(database.tokens).where(its).values(revoked_at=now))
        return found[0]._replace(revoked_at=datetime.fromisoformat(now))

    def new_session(self, token: Token, lasts: timedelta) -> str:
        """Begin a session; what is returned goes into the browser and is never shown again.

        Of a token that has many sessions the oldest end.
        """
        secret, now = "session_" + secrets.token_urlsafe(32), now_text()
        ends = datetime.now(UTC) + lasts
        its = _session.token == token.id
        newest = (
            select(_session.id)
            .where(its)
            .order_by(_session.created_at.desc(), _session.id)
            .limit(MAX_SESSIONS - 1)
        )
        row = {"id": secrets.token_hex(4), "token": token.id, "hash": hash_of(secret)}
        times = {"created_at": now, "expires_at": ends.isoformat(timespec="microseconds")}
        with self._store.transaction() as connection:
            connection.execute(delete(database.sessions).where(_session.expires_at < now))
            connection.execute(delete(database.sessions).where(its, _session.id.not_in(newest)))
            connection.execute(insert(database.sessions).values(**row, **times))
        return secret

    def find_session(self, secret: str) -> Token | None:
        """The token of a session that has not ended."""
        asked = {"hash": hash_of(secret), "now": now_text()}
        with self._store.engine.connect() as connection:
            row = connection.execute(_BY_SESSION, asked).one_or_none()
        return None if row is None else _read(row)

    def end_session(self, secret: str) -> None:
        """End a session; one that has ended stays so."""
        with self._store.transaction() as connection:
            its = _session.hash == hash_of(secret)
            connection.execute(delete(database.sessions).where(its))
