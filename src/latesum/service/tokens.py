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

from sqlalchemy import Select, bindparam, delete, func, insert, or_, select, update

from latesum._checks import InvalidInput, known_name, shortened
from latesum.campaigns import schema
from latesum.campaigns.store import Store

Scope = Literal["read", "record", "operate", "admin"]
#: From the least to the most: each may do what those before it may.
SCOPES: tuple[Scope, ...] = get_args(Scope)
_PREFIX = "latesum_"
_SESSION_PREFIX = "session_"
#: Sessions of one token; of more, the oldest end.
MAX_SESSIONS = 20
_NAME = re.compile(r"[\w.@ -]{1,64}")

_tokens, _sessions = schema.tokens, schema.sessions
# Made once, because to build a statement takes longer than to run it.
_BY_HASH = select(_tokens).where(
    _tokens.c.hash == bindparam("hash"), _tokens.c.revoked_at.is_(None)
)
_BY_SESSION = (
    select(_tokens)
    .join(_sessions, _sessions.c.token == _tokens.c.id)
    .where(
        _sessions.c.hash == bindparam("hash"),
        _sessions.c.expires_at > bindparam("now"),
        _tokens.c.revoked_at.is_(None),
    )
)


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


class Tokens:
    """The tokens of a store.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(folder.name + "/campaigns.db") as store:
    ...     tokens = Tokens(store)
    ...     secret = tokens.new("shop", "record")
    ...     found = tokens.find(secret)
    ...     print(found.name, found.may("read"), found.may("operate"))
    ...     _ = tokens.revoke(found.id)
    ...     print(tokens.find(secret))
    shop True False
    None
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._engine = store.engine

    def new(self, name: str, scope: str) -> str:
        """Make a token; what is returned is never shown again."""
        known_name(scope, SCOPES, "scope")
        if not _NAME.fullmatch(name) or not name.strip():
            raise InvalidInput(
                "a token's name is up to 64 letters, digits, spaces, dots and dashes, not "
                f"{shortened(name)!r}."
            )
        secret = _PREFIX + secrets.token_urlsafe(32)
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            self._insert(connection, name, scope, secret)
            connection.commit()
        return secret

    def first(self) -> str | None:
        """A token that may do everything, if there has never been any; otherwise None.

        Of several services that start at once, one makes it.
        """
        secret = _PREFIX + secrets.token_urlsafe(32)
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("LOCK TABLE tokens IN EXCLUSIVE MODE")
            if connection.execute(select(func.count()).select_from(_tokens)).scalar():
                return None
            self._insert(connection, "first", "admin", secret)
            connection.commit()
        return secret

    def _insert(self, connection: Any, name: str, scope: str, secret: str) -> None:
        row = {
            "id": secrets.token_hex(4),
            "name": name.strip(),
            "hash": hash_of(secret),
            "scope": scope,
            "created_at": _text(datetime.now(UTC)),
        }
        connection.execute(insert(_tokens).values(**row))

    def all(self) -> list[Token]:
        """Every token there has been, oldest first."""
        wanted = select(_tokens).order_by(_tokens.c.created_at, _tokens.c.id)
        with self._engine.connect() as connection:
            return [token_of_row(row) for row in connection.execute(wanted)]

    def find(self, secret: str) -> Token | None:
        """The token of a secret, if it is valid."""
        with self._engine.connect() as connection:
            row = connection.execute(_BY_HASH, {"hash": hash_of(secret)}).one_or_none()
        return None if row is None else token_of_row(row)

    def revoke(self, id_or_name: str) -> Token:
        """Make a token useless, given by its id or by a name that only it has."""
        living = [token for token in self.all() if token.revoked_at is None]
        found = [token for token in living if id_or_name in (token.id, token.name)]
        if not found:
            known_name(id_or_name, [token.id for token in living], "token")
        if len(found) > 1:
            ids = ", ".join(token.id for token in found)
            raise InvalidInput(f"{len(found)} tokens are called {id_or_name!r}; give an id: {ids}.")
        now = datetime.now(UTC)
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            change = {"revoked_at": _text(now)}
            connection.execute(update(_tokens).where(_tokens.c.id == found[0].id).values(**change))
            connection.commit()
        return found[0]._replace(revoked_at=now)


def token_of_row(row: Any) -> Token:
    revoked = None if row.revoked_at is None else datetime.fromisoformat(row.revoked_at)
    return Token(row.id, row.name, row.scope, datetime.fromisoformat(row.created_at), revoked)


class Session(NamedTuple):
    """What is known of a session; the secret in the browser is not."""

    id: str
    name: str
    token: str
    created_at: datetime
    expires_at: datetime


class Sessions:
    """The sessions of a store.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store(folder.name + "/campaigns.db") as store:
    ...     tokens, sessions = Tokens(store), Sessions(store)
    ...     token = tokens.find(tokens.new("ada", "read"))
    ...     secret = sessions.new(token, timedelta(hours=1))
    ...     print(sessions.find(secret).name)
    ...     sessions.end(secret)
    ...     print(sessions.find(secret))
    ada
    None
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._engine = store.engine
        #: Of a store that can only be read, by their hashes: the token and the end of each.
        self._in_memory: dict[str, tuple[Token, datetime]] | None = {} if store.read_only else None

    def new(self, token: Token, lasts: timedelta) -> str:
        """Begin a session; what is returned goes into the browser and is never shown again.

        Of a token that has many sessions the oldest end. Where the store can only be read, the
        session lives as long as this process.
        """
        secret = _SESSION_PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        if self._in_memory is not None:
            self._in_memory[hash_of(secret)] = (token, now + lasts)
            for oldest in list(self._in_memory)[: -MAX_SESSIONS * 10]:
                del self._in_memory[oldest]
            return secret
        row = {
            "id": secrets.token_hex(4),
            "hash": hash_of(secret),
            "token": token.id,
            "created_at": _text(now),
            "expires_at": _text(now + lasts),
        }
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(delete(_sessions).where(_sessions.c.expires_at < _text(now)))
            newest = (
                select(_sessions.c.id)
                .where(_sessions.c.token == token.id)
                .order_by(_sessions.c.created_at.desc(), _sessions.c.id)
                .limit(MAX_SESSIONS - 1)
            )
            older = (_sessions.c.token == token.id, _sessions.c.id.not_in(newest))
            connection.execute(delete(_sessions).where(*older))
            connection.execute(insert(_sessions).values(**row))
            connection.commit()
        return secret

    def find(self, secret: str) -> Token | None:
        """The token of a session that has not ended."""
        if self._in_memory is not None:
            found = self._in_memory.get(hash_of(secret))
            return None if found is None or found[1] <= datetime.now(UTC) else found[0]
        asked = {"hash": hash_of(secret), "now": _text(datetime.now(UTC))}
        with self._engine.connect() as connection:
            row = connection.execute(_BY_SESSION, asked).one_or_none()
        return None if row is None else token_of_row(row)

    def all(self) -> list[Session]:
        """The sessions that have not ended, oldest first."""
        columns = _sessions.c
        query = select(
            columns.id, _tokens.c.name, columns.token, columns.created_at, columns.expires_at
        ).join(_tokens)
        with self._engine.connect() as connection:
            rows = connection.execute(self._living(query).order_by(columns.created_at, columns.id))
            return [
                Session(*row[:3], *(datetime.fromisoformat(at) for at in row[3:])) for row in rows
            ]

    def end(self, secret_or_id: str) -> None:
        """End a session, given by its secret or by its id; one that has ended stays so."""
        if self._in_memory is not None:
            self._in_memory.pop(hash_of(secret_or_id), None)
            return
        its = or_(_sessions.c.hash == hash_of(secret_or_id), _sessions.c.id == secret_or_id)
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            connection.execute(delete(_sessions).where(its))
            connection.commit()

    def _living(self, query: Select[Any]) -> Select[Any]:
        now = _text(datetime.now(UTC))
        return query.where(_sessions.c.expires_at > now, _tokens.c.revoked_at.is_(None))


def _text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
