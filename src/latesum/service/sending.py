"""Sending what is in the outbox: signed, again until it is taken, and never in anyone's way.

Delivery is at least once. A message has the same id however often it is sent, in the header
`X-Latesum-Id`, so that its receiver can tell a repeat.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import hmac
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError, TimeoutError

from latesum import _extras
from latesum._checks import InvalidInput
from latesum.campaigns import schema
from latesum.campaigns.store import Store
from latesum.service.configuration import Network
from latesum.service.logs import LOGGER, log
from latesum.service.webhooks import Webhook, check_address, resolve, webhook_of_row

#: Seconds: how long a receiver may take, the first and the longest pause before it is tried again.
LONGEST = 10.0
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 600.0
#: After this time a message is given up.
GIVEN_UP_AFTER = timedelta(days=3)
#: A message that is being sent by a process that has ended is sent again after this many seconds.
_CLAIMED = 60.0
_AT_ONCE = 10
_outbox, _webhooks = schema.outbox, schema.webhooks


class Waiting(NamedTuple):
    """A message that is to be sent now."""

    id: str
    body: str
    attempts: int
    created_at: datetime
    webhook: Webhook


def signature(secret: str, timestamp: str, body: str) -> str:
    """What proves that a message is ours: HMAC-SHA256 of the time and the body.

    Args:
        secret: The webhook's secret.
        timestamp: Seconds since 1970, as in the header.
        body: As it is sent.

    >>> signature("s", "0", "{}")[:12]
    'v1=e79b1f685'
    """
    made = hmac.new(secret.encode(), f"{timestamp}.{body}".encode(), hashlib.sha256)
    return "v1=" + made.hexdigest()


class Sender:
    """Sends what waits in the outbox of a store.

    Args:
        store: Where the outbox is.
        networks: Private networks to which messages may be sent.
        threads: Where the store is asked and names are looked up.
        clock: What time it is.
    """

    def __init__(
        self,
        store: Store,
        networks: Sequence[Network],
        threads: Executor,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._engine = store.engine
        self._networks = networks
        self._threads = threads
        self._clock = clock
        self._certificates: Any = None

    async def keep_sending(self, every: float) -> None:
        """Send what waits, from time to time, until this is cancelled.

        Args:
            every: The seconds between two looks.
        """
        while True:
            try:
                await self.send_waiting()
            except (DBAPIError, TimeoutError) as error:
                LOGGER.debug("alerts cannot be sent just now", exc_info=error)
            except Exception as error:
                LOGGER.error("alerts cannot be sent", exc_info=error)
            await asyncio.sleep(every)

    async def send_waiting(self) -> int:
        """Send what is due; how many messages were taken."""
        waiting = await self._in_thread(self._claim)
        done = await asyncio.gather(*(self._send(each) for each in waiting))
        return sum(done)

    async def _in_thread(self, work: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _claim(self) -> list[Waiting]:
        """The messages that are due, one for each webhook; no other process sends them meanwhile."""
        now = self._clock()
        due = (_outbox.c.ended_at.is_(None), _outbox.c.next_at <= _text(now))
        query = select(_outbox).where(*due).order_by(_outbox.c.next_at).limit(200)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
            if not rows:
                return []
            webhooks = {
                row.id: webhook_of_row(row) for row in connection.execute(select(_webhooks))
            }
        first: dict[str, Any] = {}
        for row in rows:
            first.setdefault(row.webhook, row)
        found = []
        later = _text(now + timedelta(seconds=_CLAIMED))
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            for row in list(first.values())[:_AT_ONCE]:
                still = (_outbox.c.id == row.id, _outbox.c.next_at == row.next_at)
                claim = update(_outbox).where(*still, _outbox.c.ended_at.is_(None))
                taken = connection.execute(claim.values(next_at=later, attempts=row.attempts + 1))
                if taken.rowcount == 1:
                    created = datetime.fromisoformat(row.created_at)
                    webhook = webhooks[row.webhook]
                    found.append(Waiting(row.id, row.body, row.attempts + 1, created, webhook))
            connection.commit()
        return found

    async def _send(self, waiting: Waiting) -> bool:
        try:
            async with asyncio.timeout(LONGEST):
                problem = await self._post(waiting)
        except InvalidInput as refused:
            problem = str(refused)
        except Exception as error:  # whatever a receiver does must not end the sending
            problem = type(error).__name__
        await self._in_thread(self._ended, waiting, problem)
        level = logging.INFO if problem is None else logging.WARNING
        log(
            "alert sent" if problem is None else "alert not sent", level, alert=waiting.id,
            webhook=waiting.webhook.id, attempt=waiting.attempts, problem=problem,
        )  # fmt: skip
        return problem is None

    async def _post(self, waiting: Waiting) -> str | None:
        """Send a message; None if it was taken, otherwise what was wrong."""
        httpx = _extras.require("httpx", "server")
        parts = check_address(waiting.webhook.address, self._networks)
        ip = await self._in_thread(resolve, parts, self._networks)
        shown = f"[{ip}]" if ":" in ip else ip
        port = f":{parts.port}" if parts.port else ""
        target = parts._replace(netloc=shown + port, fragment="").geturl()
        timestamp = str(int(self._clock().timestamp()))
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "latesum",
            "X-Latesum-Id": waiting.id,
            "X-Latesum-Attempt": str(waiting.attempts),
            "X-Latesum-Timestamp": timestamp,
            "X-Latesum-Signature": signature(waiting.webhook.secret, timestamp, waiting.body),
        }
        sni = {"sni_hostname": parts.hostname} if parts.scheme == "https" else {}
        if self._certificates is None:  # reading all of them takes longer than a decision may wait
            self._certificates = await self._in_thread(
                functools.partial(httpx.create_ssl_context, trust_env=False)
            )
        # No proxy and no variables of the environment: it goes where it was checked to go.
        async with (
            httpx.AsyncClient(
                timeout=LONGEST, follow_redirects=False, trust_env=False, verify=self._certificates
            ) as client,
            client.stream(
                "POST", target, content=waiting.body.encode(), headers=headers, extensions=sni
            ) as answer,
        ):
            status = int(answer.status_code)  # the body is not read: it may never end
        if 200 <= status < 300:
            return None
        if 300 <= status < 400:
            return f"it answered {status}: redirects are not followed"
        return f"it answered {status}"

    def _ended(self, waiting: Waiting, problem: str | None) -> None:
        now = self._clock()
        values: dict[str, Any] = {"problem": problem}
        if problem is None:
            values |= {"ended_at": _text(now), "delivered": 1}
        elif now - waiting.created_at > GIVEN_UP_AFTER:
            values |= {"ended_at": _text(now)}
        else:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(waiting.attempts - 1, 20))
            values |= {"next_at": _text(now + timedelta(seconds=pause))}
        with self._engine.connect().execution_options(latesum_write=True) as connection:
            its = (_outbox.c.id == waiting.id, _outbox.c.ended_at.is_(None))
            connection.execute(update(_outbox).where(*its).values(**values))
            connection.commit()


class SendingTask:
    """The sender at work in the loop that answers requests.

    Args:
        sender: What sends.
        every: The seconds between two looks.
    """

    def __init__(self, sender: Sender, every: float) -> None:
        self._sender = sender
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._sender.keep_sending(self._every))

    async def stop(self) -> None:
        """End; what was being sent is sent again by the next service."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


def _text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
