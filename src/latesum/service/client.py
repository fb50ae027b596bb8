"""`latesum.Client`: a thin client of the service, which may be retried without harm.

Everything that it sends may be sent twice: totals are set and not added, a decision is taken once,
a campaign is made once by its name, and every action has a key under which it happens once. So when
an answer is lost the client asks again, and nothing is counted twice.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
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
#: Statuses of a service that is busy or starts again.
_ASK_AGAIN = (429, 502, 503, 504)
_MAX_PAUSE = 10.0
#: Where there is a fallback: seconds to connect and to wait for an answer, each, and seconds for
#: which the service is not asked again after it gave none.
_FALLBACK_AFTER = 0.4
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
        attempts: How often a request is sent that gets no answer or is asked to wait.
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
                second: it is asked once, and then not for a second. A refusal, such as of a token,
                is raised nevertheless. The second does not bound the lookup of the host's name:
                give an address where the resolver may hang.
        """
        until, kept = self._kept.get((campaign, region), (0.0, {}))
        if bucket is None and time.monotonic() < until:
            return kept
        declared = {"option": fallback, "fallback": True}
        if fallback is not None and time.monotonic() < self._down_until:
            return declared
        asked = {"bucket": None if bucket is None else _text(bucket), "region": region}
        params = {name: value for name, value in asked.items() if value is not None}
        once: dict[str, Any] = (
            {} if fallback is None else {"attempts": 1, "timeout": _FALLBACK_AFTER}
        )
        try:
            found, headers = self._send("GET", _path(campaign, "option"), params=params, **once)
            if "option" not in found:
                raise Unreachable(503, "another service has answered.", [])
        except ServiceError as error:
            if fallback is None or error.status < 500:
                raise
            self._down_until = time.monotonic() + _DOWN_FOR
            return declared
        shown = {**found, "fallback": False}
        age = re.search(r"max-age=(\d+)", headers.get("cache-control", ""))
        if bucket is None and age is not None:
            self._kept[campaign, region] = (time.monotonic() + int(age[1]), shown)
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
        params = {} if region is None else {"region": region}
        return self.send(
            "PUT", _path(campaign, "buckets", _text(bucket)), params=params, json=known
        )

    def upload(
        self, campaign: str, rows: Iterable[Mapping[str, Any]] | Path, **how: Any
    ) -> list[dict[str, Any]]:
        """Set many buckets, all or none; the verdict of each row.

        Args:
            campaign: The campaign.
            rows: A CSV, Excel or Parquet file, or rows with `bucket`, `rounds`, `total`, ...
            how: What the service takes beside them, such as `dry_run=True`, `decimal=","`
                or `columns="rounds=Clicks,total=Conversions"`.
        """
        body: dict[str, Any]
        if isinstance(rows, Path):
            kind = _KINDS.get(rows.suffix.lower(), "text/csv")
            body = {"content": rows.read_bytes(), "headers": {"Content-Type": kind}}
        else:
            body = {"json": {"rows": [{**row, "bucket": _text(row["bucket"])} for row in rows]}}
        verdicts: list[dict[str, Any]] = self.send(
            "POST", _path(campaign, "totals"), params=how, **body
        )["rows"]
        return verdicts

    def send(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        """Any other request, as `httpx` takes it: what was answered, or `ServiceError`.

        Args:
            method: Such as "POST".
            path: Such as "/v1/campaigns/banner/actions/pause".
            sent: Such as `json={"reason": "a holiday"}`.
        """
        return self._send(method, path, **sent)[0]

    def _send(
        self, method: str, path: str, *, attempts: int | None = None, **sent: Any
    ) -> tuple[dict[str, Any], httpx.Headers]:
        """What was answered, and its headers; asks again when an answer is lost."""
        if method == "POST":  # an action happens once under its key, however often it is sent
            sent["headers"] = {"Idempotency-Key": secrets.token_hex(16), **sent.get("headers", {})}
        attempts = attempts or self._attempts
        pause, last = 0.1, ""
        for attempt in range(attempts):
            if attempt:
                # Clients that were cut off together must not all come back at the same time.
                self._sleep(pause * random.uniform(0.5, 1.5))
                pause = min(2 * pause, _MAX_PAUSE)
            try:
                answer = self._http.request(method, path, **sent)
            except self._httpx.TransportError as error:
                last = str(error) or type(error).__name__
                continue
            found = _content(answer)
            if answer.is_success:
                return found, answer.headers
            if answer.status_code not in _ASK_AGAIN:
                raise ServiceError(answer.status_code, found["error"], found["details"])
            last, asked = found["error"], answer.headers.get("retry-after", "")
            pause = max(pause, min(float(asked) if asked.isdecimal() else 0.0, _MAX_PAUSE))
        raise Unreachable(503, f"the service was asked {attempts} times: {last}.", [])


def _content(answer: httpx.Response) -> dict[str, Any]:
    """What the service says; a proxy may have answered in its place, with a page of its own."""
    with contextlib.suppress(ValueError):
        found = answer.json()
        if isinstance(found, dict) and (answer.is_success or {"error", "details"} <= found.keys()):
            return found
    said = f"{answer.status_code} with {answer.headers.get('content-type', 'no content')}"
    sentence = f"the address was answered with {said}, not by the service."
    if answer.status_code in _ASK_AGAIN:
        return {"error": sentence, "details": []}
    raise Unreachable(503, sentence, [])


def _path(campaign: str, *parts: str) -> str:
    return "/".join(["/v1/campaigns", *(quote(part, safe="") for part in (campaign, *parts))])


def _text(bucket: object) -> str:
    return bucket.isoformat() if isinstance(bucket, date) else str(bucket)
