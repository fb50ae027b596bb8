"""Tokens: who may use the service, and for what. Only their hashes are kept.

A token is 256 random bits, so its SHA-256 cannot be turned back by guessing; a slow hash, made for
passwords that people choose, would only slow down every request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import func, insert, select, update

from latesum._checks import InvalidInput, known_name
from latesum.campaigns import schema
from latesum.campaigns.store import Store

Scope = Literal["read", "record", "operate", "admin"]
#: From the least to the most: each may do what those before it may.
SCOPES: tuple[Scope, ...] = get_args(Scope)
_PREFIX = "latesum_"
_NAME = re.compile(r"[\w.@ -]{1,64}")

_tokens = schema.tokens


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
    ...     found = tokens.valid()[hash_of(secret)]
    ...     print(found.name, found.may("read"), found.may("operate"))
    ...     _ = tokens.revoke(found.id)
    ...     print(tokens.valid())
    shop True False
    {}
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._engine = store.engine

    def new(self, name: str, scope: str) -> str:
        """Make a token; what is returned is never shown again."""
        known_name(scope, SCOPES, "scope")
        if not _NAME.fullmatch(name) or not name.strip():
            raise InvalidInput(
                f"a token's name is up to 64 letters, digits, spaces, dots and dashes, not {name!r}."
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
            "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
        }
        connection.execute(insert(_tokens).values(**row))

    def all(self) -> list[Token]:
        """Every token there has been, oldest first."""
        wanted = select(_tokens).order_by(_tokens.c.created_at, _tokens.c.id)
        with self._engine.connect() as connection:
            return [token_of_row(row) for row in connection.execute(wanted)]

    def valid(self) -> dict[str, Token]:
        """The tokens that are not revoked, by their hashes."""
        wanted = select(_tokens).where(_tokens.c.revoked_at.is_(None))
        with self._engine.connect() as connection:
            return {row.hash: token_of_row(row) for row in connection.execute(wanted)}

    def find(self, secret: str) -> Token:
        """The token of a secret that is valid."""
        return self.valid()[hash_of(secret)]

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
            change = {"revoked_at": now.isoformat(timespec="microseconds")}
            connection.execute(update(_tokens).where(_tokens.c.id == found[0].id).values(**change))
            connection.commit()
        return found[0]._replace(revoked_at=now)


def token_of_row(row: Any) -> Token:
    revoked = None if row.revoked_at is None else datetime.fromisoformat(row.revoked_at)
    return Token(row.id, row.name, row.scope, datetime.fromisoformat(row.created_at), revoked)
