"""Where campaigns are kept: SQLite or PostgreSQL, by one contract.

The contract, which one test case holds over every store:

1.  `create` makes a campaign, or refuses a name that is taken; two processes at once make one.
2.  `log` gives a campaign's events in order, without gaps, each exactly as it was written. A
    reader never blocks a writer and never sees a part of a transaction.
3.  `writing` lets one writer at a time into a campaign. What it appends is numbered on from the
    newest event and is there as a whole when the block ends, or not at all if it raises.
4.  A block that has ended is durable: it outlives `kill -9` of its process at once.
5.  A second decision for a bucket is refused by the store itself, whatever the caller forgot.
6.  A campaign that was deleted says who did it. Its name and number are never used again.
7.  Any number of processes may have the store open; opening makes its tables once.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from latesum._checks import InvalidInput, known_name
from latesum.campaigns.database import (
    FOLDER_VARIABLE,
    campaigns,
    checked_url,
    log,
    make_engine,
    make_tables,
)
from latesum.campaigns.state import Event
from latesum.errors import Deleted, UnknownCampaign

# Made once, because to build a statement takes longer than to run it.
# The configuration is read apart from the rest: it may have a history of 10,000 rows.
_LISTED = select(*(column for column in campaigns.c if column.name != "config"))
_HEAD = _LISTED.where(campaigns.c.id == bindparam("of"))
_HEAD_LOCKED = _HEAD.with_for_update()
_CONFIG = select(campaigns.c.config).where(campaigns.c.id == bindparam("of"))
_SET = update(campaigns).where(campaigns.c.id == bindparam("of"))
_SET_HEAD = _SET.values(head=bindparam("newest"))
_APPEND = insert(log)
_LOG_AFTER = (
    select(log)
    .where(log.c.campaign == bindparam("of"), log.c.sequence > bindparam("after"))
    .order_by(log.c.sequence)
)
#: With less than this left, in bytes, SQLite cannot make the files that it needs beside its own.
_FULL_DISK = 100_000
#: What to do about a failing database, by what it says of itself.
_FAILURES = {
    " full|no space": "The disk is full: make room there. What was acknowledged is kept.",
    "malformed|not a database|corrupt|invalid page": "The store is damaged: go back to a copy of "
    "it, or to what `latesum campaign export --all` wrote (`latesum campaign restore`).",
    "readonly|read-only|permission denied|unable to open": "It is read-only, gone, or not for this "
    "user: can files be made in its folder? Otherwise copy it, or choose another store.",
    "disk i/o error|input/output error": "The disk fails: look at it and try again.",
    "locked|busy|queuepool": "It is busy just now; try again.",
    "": "It cannot be used just now; try again.",
}


def failure_text(error: object) -> str:
    """What to do about a database that fails, in a sentence.

    >>> failure_text("database is locked")
    'It is busy just now; try again.'
    """
    said = str(getattr(error, "orig", None) or error).lower()
    return next(text for words, text in _FAILURES.items() if re.search(words, said))


class Stored(NamedTuple):
    """A campaign in the store: `head` is the sequence of its newest event."""

    id: int
    name: str
    created_at: datetime
    head: int


class Store:
    """A database of campaigns.

    Args:
        url: An SQLAlchemy address, or a path, which means an SQLite file.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(Path(folder.name) / "campaigns.db")
    >>> store.campaigns()
    []
    >>> store.close(); folder.cleanup()
    """

    def __init__(self, url: str | Path | None = None) -> None:
        self.url = checked_url(url)
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidInput(
                    f"the folder {self._folder} cannot be made: {error.strerror}. Keep campaigns "
                    f"elsewhere, by --store or ${FOLDER_VARIABLE}."
                ) from None
        self.engine = make_engine(self.url)
        try:
            make_tables(self.engine)
        except DBAPIError as error:
            self.engine.dispose()
            raise InvalidInput(f"{self.place} cannot be opened: {self.failure(error)}") from error

    @property
    def _folder(self) -> Path | None:
        """The folder of an SQLite file; None of PostgreSQL."""
        is_file = self.url.drivername == "sqlite"
        return Path(str(self.url.database)).absolute().parent if is_file else None

    @property
    def place(self) -> str:
        """Where the store is, for people; without a password."""
        if self._folder is not None:
            return str(self.url.database)
        host = self.url.host or self.url.query.get("host") or "this machine"
        return f"PostgreSQL database {self.url.database} on {host}"

    def free_bytes(self) -> int | None:
        """The space that is left on the disk of an SQLite file; None of PostgreSQL."""
        with contextlib.suppress(OSError):
            return None if self._folder is None else shutil.disk_usage(self._folder).free
        return None

    def failure(self, error: DBAPIError) -> str:
        """What the database says is wrong, and what to do about it, in sentences."""
        said, free = str(error.orig).strip().split("\n")[0].rstrip("."), self.free_bytes()
        is_full = "disk I/O" in said and free is not None and free < _FULL_DISK
        return f"{said}. {failure_text('disk is full' if is_full else said)}"

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(
        self, name: str, config: dict[str, Any], at: datetime, events: Iterable[Event] = ()
    ) -> Stored:
        """Make a campaign, with an empty log or with these events in it."""
        row = {"name": name, "created_at": _text(at), "config": _json(config), "head": 0}
        try:
            with self.transaction() as connection:
                connection.execute(insert(campaigns).values(**row))
                made = connection.execute(_LISTED.where(campaigns.c.name == name)).one()
                writer = Writer(connection, made.id)
                for event in events:
                    writer.append(event.at, event.kind, event.bucket, event.body, event.region)
                writer.flush()
        except IntegrityError:
            try:
                self.find(name)
            except Deleted as gone:
                raise Deleted(f"{gone.message.rstrip('.')}; choose another name.") from None
            text = f"there is a campaign {name!r} already; choose another name."
            raise InvalidInput(text) from None
        return self.find(name)

    def campaigns(self) -> list[Stored]:
        """All campaigns, oldest first; those that were deleted are left out."""
        return [_stored(row) for row in self._listed() if row.deleted is None]

    def tombstones(self) -> list[str]:
        """What became of the campaigns that were deleted, a sentence for each."""
        return [_epitaph(row) for row in self._listed() if row.deleted is not None]

    def _listed(self) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(_LISTED.order_by(campaigns.c.id)))

    def config(self, campaign: int) -> dict[str, Any]:
        """What a campaign was created with, as JSON values."""
        with self.engine.connect() as connection:
            found = connection.execute(_CONFIG, {"of": campaign}).scalar_one()
        config: dict[str, Any] = json.loads(found)
        return config

    def find(self, name: str) -> Stored:
        """The campaign of this name."""
        with self.engine.connect() as connection:
            row = connection.execute(_LISTED.where(campaigns.c.name == name)).one_or_none()
        if row is not None:
            _refuse_deleted(row)
            return _stored(row)
        names = [each.name for each in self.campaigns()]
        if not names:
            raise UnknownCampaign(
                f"there is no campaign {name!r}, nor any other, in {self.place}; "
                "`latesum campaign new` makes one."
            )
        try:
            known_name(name, names, "campaign")
        except InvalidInput as refusal:
            raise UnknownCampaign(str(refusal)) from None
        return self.find(name)  # another process has just made it

    def log(self, campaign: int, after: int = 0) -> list[Event]:
        """The events of a campaign with a sequence above `after`."""
        with self.engine.connect() as connection:
            return _read_log(connection, campaign, after)

    def head(self, campaign: int) -> int:
        """The sequence of the newest event of a campaign; refused if it was deleted."""
        with self.engine.connect() as connection:
            row = connection.execute(_HEAD, {"of": campaign}).one()
        _refuse_deleted(row)
        return int(row.head)

    @contextlib.contextmanager
    def writing(self, campaign: int) -> Iterator[Writer]:
        """Be the only writer of a campaign; at the end of the block all is written, or nothing."""
        with self.transaction() as connection:
            writer = Writer(connection, campaign)
            yield writer
            writer.flush()

    def check_writable(self) -> None:
        """Write something that changes nothing: a full disk or a lost server raises here."""
        with self.transaction() as connection:
            connection.exec_driver_sql("UPDATE schema SET version = version")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that writes, and is committed at the end of the block."""
        connection = self.engine.connect().execution_options(latesum_write=True)
        with connection, connection.begin():
            yield connection


class Writer:
    """The only one who writes to a campaign at this moment.

    What is appended goes to the database together, before something is read or the block ends: a
    statement costs more than what it does. So all that is read includes it.
    """

    def __init__(self, connection: Connection, campaign: int) -> None:
        self._connection, self._campaign = connection, campaign
        self._appended: list[Event] = []
        # The lock of this row on PostgreSQL; on SQLite, BEGIN IMMEDIATE has locked the file
        # already.
        row = connection.execute(_HEAD_LOCKED, {"of": campaign}).one()
        _refuse_deleted(row)
        self.head: int = row.head

    def log(self, after: int = 0) -> list[Event]:
        """The events above `after`."""
        self.flush()
        return _read_log(self._connection, self._campaign, after)

    def append(
        self, at: datetime, kind: str, bucket: int | None, body: dict[str, Any], region: str = ""
    ) -> Event:
        """Add the next event."""
        self.head += 1
        event = Event(self.head, at.astimezone(UTC), kind, bucket, body, region)
        self._appended.append(event)
        return event

    def flush(self) -> None:
        """Write what was appended; `Store.writing` does it at the end of the block."""
        if not self._appended:
            return
        rows = [
            {
                **event._asdict(),
                "campaign": self._campaign,
                "at": _text(event.at),
                "body": _json(event.body),
            }
            for event in self._appended
        ]
        self._connection.execute(_APPEND, rows)
        self._connection.execute(_SET_HEAD, {"of": self._campaign, "newest": self.head})
        self._appended = []

    def delete(self, at: datetime, user: str, reason: str) -> None:
        """Delete the campaign's log and config; when, by whom and why stays."""
        self.flush()
        said = {"at": _text(at), "user": user, "reason": reason, "events": self.head}
        self._connection.execute(delete(log).where(log.c.campaign == self._campaign))
        gone = _SET.values(config="{}", deleted=_json(said))
        self._connection.execute(gone, {"of": self._campaign})


def _read_log(connection: Connection, campaign: int, after: int) -> list[Event]:
    return [
        Event(
            row.sequence,
            datetime.fromisoformat(row.at),
            row.kind,
            row.bucket,
            json.loads(row.body),
            row.region,
        )
        for row in connection.execute(_LOG_AFTER, {"of": campaign, "after": after})
    ]


def _refuse_deleted(row: Any) -> None:
    if row.deleted is not None:
        raise Deleted(f"{_epitaph(row)}.")


def _epitaph(row: Any) -> str:
    said = json.loads(row.deleted)
    who = f"was deleted on {said['at'][:10]} by {said['user']}"
    return f"campaign {row.name!r} {who}: {said['reason']}".rstrip(".")


def _stored(row: Any) -> Stored:
    return Stored(row.id, row.name, datetime.fromisoformat(row.created_at), row.head)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
