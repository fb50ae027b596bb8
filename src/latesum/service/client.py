"""`latesum.Client`: a thin client of the service, which may be retried without harm.

Everything that it sends may be sent twice: totals are set and not added, a decision is taken once,
a campaign is made once by its name, and every action has a key under which it happens once. So when
an answer is lost the client asks again, and nothing is counted twice.
"""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from latesum import _extras
from latesum._checks import InvalidInput
from latesum.errors import ServiceError, Unreachable

if TYPE_CHECKING:
    import httpx

#: The token, unless it is handed over; never an argument of a command, which others can see.
TOKEN_VARIABLE = "LATESUM_TOKEN"
_MAX_PAUSE = 10.0
#: Seconds after which a fallback is used, and for which the service is then not asked again.
_FALLBACK_AFTER = 0.8
_DOWN_FOR = 1.0
#: Seconds for which an idle connection is kept; the service closes one after five.
_KEPT_OPEN = 3.0
#: By the ending of a file, where it is not text.
_KINDS = {
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".parquet": "application/vnd.apache.parquet",
    ".pq": "application/vnd.apache.parquet",
}


class Client:
    """Talks to a `latesum serve`, in the JSON that `/v1/openapi.json` describes.

    Args:
        address: Such as "http://127.0.0.1:8000".
        token: By default that in the environment's LATESUM_TOKEN.
        attempts: How often a request is sent that gets no answer or is told to wait, after growing
            pauses.
        timeout: The seconds to wait for an answer.
        transport: That of `httpx`, in place of the network.
        sleep: How to wait.
    """

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        attempts: int = 6,
        timeout: float = 10.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        token = token or os.environ.get(TOKEN_VARIABLE)
        if not token:
            raise InvalidInput(f"a token is needed: hand it over, or set {TOKEN_VARIABLE}.")
        self._httpx = _extras.require("httpx", "server")
        self._http = self._httpx.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
            limits=self._httpx.Limits(keepalive_expiry=_KEPT_OPEN),
        )
        self._attempts, self._sleep = attempts, sleep
        self._kept: dict[tuple[str, str | None], tuple[float, dict[str, Any]]] = {}
        self._down_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def option(
        self,
        campaign: str,
        bucket: object = None,
        *,
        region: str | None = None,
        fallback: str | None = None,
    ) -> dict[str, Any]:
        """The option to show, under `option`; kept for as long as the service says.

        Args:
            campaign: The campaign.
            bucket: A number, date or time; by default now.
            region: The region, in a campaign that has some.
            fallback: The option to show when the service does not answer as it should within a
                second. For the next second the service is not asked again. A refusal, such as of a
                token, is raised nevertheless.
        """
        kept = self._kept.get((campaign, region)) if bucket is None else None
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        asked = {"bucket": None if bucket is None else _text(bucket), "region": region}
        params = {name: value for name, value in asked.items() if value is not None}
        path, declared = _path(campaign, "option"), {"option": fallback, "fallback": True}
        if fallback is not None and time.monotonic() < self._down_until:
            return declared
        try:
            seconds = None if fallback is None else _FALLBACK_AFTER
            answer, found = self._ask("GET", path, seconds, params=params)
            shown: dict[str, Any] = {**found, "option": found["option"], "fallback": False}
        except (KeyError, TypeError, ServiceError) as error:
            if not isinstance(error, ServiceError):
                error = _not_the_service(answer)
            if fallback is None or error.status < 500:
                raise error from None
            self._down_until = time.monotonic() + _DOWN_FOR
            return declared
        if bucket is None:
            self._kept[campaign, region] = (time.monotonic() + _max_age(answer), shown)
        return shown

    def record(
        self, campaign: str, bucket: object, *, region: str | None = None, **known: Any
    ) -> dict[str, Any]:
        """Set what is known of a bucket; when this returns, it is durable.

        Args:
            campaign: The campaign.
            bucket: A number, date or time.
            region: The region, in a campaign that has some.
            known: `rounds`, `total`, and what else `Campaign.record` takes.
        """
        where = () if region is None else ("regions", region)
        path = _path(campaign, *where, "buckets", _text(bucket))
        found: dict[str, Any] = self.send("PUT", path, json=known)
        return found

    def upload(
        self, campaign: str, rows: Iterable[Mapping[str, Any]] | Path, **how: Any
    ) -> list[dict[str, Any]]:
        """Set many buckets, all or none; the verdict of each row.

        Args:
            campaign: The campaign.
            rows: A CSV, Excel or Parquet file, or rows with `bucket`, `rounds`, `total`, ...
            how: What the service takes beside them, such as `dry_run=True`, `preset="google-ads"`
                or `columns="rounds=Clicks,total=Conversions"`.
        """
        body: dict[str, Any]
        if isinstance(rows, Path):
            kind = _KINDS.get(rows.suffix.lower(), "text/csv")
            body = {"content": rows.read_bytes(), "headers": {"Content-Type": kind}}
        else:
            sent = [{**row, "bucket": _text(row["bucket"])} for row in rows]
            body = {"json": {"rows": sent}}
        found = self.send("POST", _path(campaign, "totals"), params=how, **body)
        verdicts: list[dict[str, Any]] = found["rows"]
        return verdicts

    def send(self, method: str, path: str, **sent: Any) -> Any:
        """Any other request, as `httpx` takes it: what was answered, or `ServiceError`.

        Args:
            method: Such as "POST".
            path: Such as "/v1/campaigns/banner/actions/pause".
            sent: Such as `json={"reason": "a holiday"}`.
        """
        return self._ask(method, path, **sent)[1]

    def _ask(
        self, method: str, path: str, seconds: float | None = None, **sent: Any
    ) -> tuple[httpx.Response, Any]:
        """An answer and what it says; within these seconds, if they are given."""
        if method == "POST":  # an action happens once under its key, however often it is sent
            sent["headers"] = {"Idempotency-Key": secrets.token_hex(16), **sent.get("headers", {})}
        answer = (
            self._try(method, path, **sent)
            if seconds is None
            else self._within(seconds, method, path, **sent)
        )
        try:
            return answer, answer.json()
        except ValueError:
            raise _not_the_service(answer) from None

    def _within(self, seconds: float, *arguments: str, **sent: Any) -> httpx.Response:
        """As `_try`, or `Unreachable` if there is no answer after these seconds.

        Timeouts of a request bound its parts, and finding the address of a name not at all; so it
        is sent by a thread, which is left alone when it takes longer.
        """
        found: Future[httpx.Response] = Future()

        def ask() -> None:
            try:
                end = time.monotonic() + seconds
                found.set_result(self._try(*arguments, end=end, timeout=seconds, **sent))
            except BaseException as error:
                found.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        try:
            return found.result(seconds)
        except FutureTimeout:
            raise Unreachable(503, f"there was no answer within {seconds:g} s.", []) from None

    def _try(
        self, method: str, path: str, *, end: float | None = None, **sent: Any
    ) -> httpx.Response:
        """The answer, or `ServiceError` with the sentence; asks again when one is lost."""
        pause, last = 0.1, "it does not answer"
        for attempt in range(self._attempts):
            if attempt:
                # Clients that were cut off together must not all come back at the same time.
                wait = pause * random.uniform(0.5, 1.5)
                if end is not None and time.monotonic() + wait > end:
                    break
                self._sleep(wait)
                pause = min(2 * pause, _MAX_PAUSE)
            try:
                answer: httpx.Response = self._http.request(method, path, **sent)
            except self._httpx.TransportError as error:
                last = str(error) or type(error).__name__
                continue
            if answer.is_success:
                return answer
            if answer.status_code not in (429, 502, 503, 504):
                raise _refusal(answer)
            last = str(_refusal(answer))
            told = answer.headers.get("retry-after", "")
            pause = max(pause, min(float(told) if told.isdigit() else 0.0, _MAX_PAUSE))
        raise Unreachable(503, f"the service was asked {attempt + 1} times: {last}.", [])

    def create(self, campaign: str, **config: Any) -> dict[str, Any]:
        """Set up a campaign; if it is there and just the same, nothing happens.

        Args:
            campaign: Its name.
            config: What `Campaign.create` takes, as JSON values.
        """
        made: dict[str, Any] = self.send("PUT", _path(campaign), json=config)
        return made


def _path(campaign: str, *parts: str) -> str:
    return "/".join(["/v1/campaigns", *(quote(part, safe="") for part in (campaign, *parts))])


def _text(bucket: object) -> str:
    return bucket.isoformat() if isinstance(bucket, date) else str(bucket)


def _max_age(answer: httpx.Response) -> float:
    for part in answer.headers.get("cache-control", "").split(","):
        name, _, value = part.strip().partition("=")
        if name == "max-age" and value.isdigit():
            return float(value)
    return 0.0


def _refusal(answer: httpx.Response) -> ServiceError:
    """What to raise for an answer that is no success."""
    try:
        found = answer.json()
        return ServiceError(answer.status_code, str(found["error"]), list(found["details"]))
    except (ValueError, KeyError, TypeError):
        return _not_the_service(answer)


def _not_the_service(answer: httpx.Response) -> Unreachable:
    """Something else has answered, such as a proxy with a page of its own."""
    kind = answer.headers.get("content-type", "no content")
    said = f"{answer.status_code} with {kind}"
    return Unreachable(503, f"the address was answered with {said}, not by the service.", [])
