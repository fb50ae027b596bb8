"""`latesum.Client`: a thin client of the service, which may be retried without harm.

Everything that it sends may be sent twice: totals are set and not added, a decision is taken once,
a campaign is made once by its name, and every action has a key under which it happens once. So when
an answer is lost the client asks again, and nothing is counted twice.
"""

from __future__ import annotations

import math
import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

from latesum import _extras
from latesum._checks import InvalidInput
from latesum.errors import ServiceError, Unreachable

__all__ = ["Client", "ServiceError", "Shown", "Unreachable"]

if TYPE_CHECKING:
    import httpx

    from latesum.campaigns.recording import Recorded
    from latesum.files import FileForm
    from latesum.policies.base import Purpose

#: The token, unless it is handed over; never an argument of a command, which others can see.
TOKEN_VARIABLE = "LATESUM_TOKEN"

Bucket = int | str | date | datetime
_AGAIN = (429, 502, 503, 504)
_LONGEST_PAUSE = 10.0
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


class Shown(NamedTuple):
    """The option for a bucket. `fallback`: the service was not reached, this is what you declared.

    `winner` is the option that can be kept from now on, once there is one.
    """

    option: str
    bucket: int | None = None
    label: str = ""
    purpose: Purpose | None = None
    reason: str = ""
    ends: datetime | None = None
    fallback: bool = False
    winner: str | None = None


class Client:
    """Talks to a `latesum serve`.

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
        headers = {"Authorization": f"Bearer {token}"}
        self._http = self._httpx.Client(
            base_url=address,
            headers=headers,
            timeout=timeout,
            transport=transport,
            limits=self._httpx.Limits(keepalive_expiry=_KEPT_OPEN),
        )
        self._attempts = attempts
        self._sleep = sleep
        self._kept: dict[tuple[str, str | None], tuple[float, Shown]] = {}
        self._down_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    # Campaigns.

    def create(self, campaign: str, **config: Any) -> dict[str, Any]:
        """Set up a campaign; if it is there and just the same, nothing happens.

        Args:
            config: What `Campaign.create` takes, as JSON values.
        """
        made: dict[str, Any] = self._json("PUT", _path(campaign), json=config)
        return made

    def campaigns(self) -> list[dict[str, Any]]:
        """All campaigns, with their state."""
        found: list[dict[str, Any]] = self._json("GET", "/v1/campaigns")["campaigns"]
        return found

    def option(
        self,
        campaign: str,
        bucket: Bucket | None = None,
        *,
        region: str | None = None,
        fallback: str | None = None,
    ) -> Shown:
        """The option to show; kept for as long as the service says.

        Args:
            fallback: What is returned, within a second, when the service does not answer as it
                should, so that an application always has something to show. For the next second the
                service is not asked again. A refusal, such as of a token, is raised nevertheless.
        """
        kept = self._kept.get((campaign, region)) if bucket is None else None
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        parameters = {} if bucket is None else {"bucket": _text(bucket)}
        if region is not None:
            parameters["region"] = region
        path = _path(campaign, "option")
        if fallback is None:
            answer = self._send("GET", path, params=parameters)
            shown = _shown(answer)
        else:
            if time.monotonic() < self._down_until:
                return Shown(fallback, fallback=True)
            try:
                answer = self._send_within(_FALLBACK_AFTER, "GET", path, params=parameters)
                shown = _shown(answer)
            except ServiceError as error:
                if error.status < 500:
                    raise
                self._down_until = time.monotonic() + _DOWN_FOR
                return Shown(fallback, fallback=True)
        if bucket is None:
            self._kept[campaign, region] = (time.monotonic() + _max_age(answer), shown)
        return shown

    # Totals.

    def record(
        self,
        campaign: str,
        bucket: Bucket,
        *,
        rounds: int | None = None,
        total: float | None = None,
        status: str | None = None,
        shown: str | None = None,
        region: str | None = None,
        overwrite_final: bool = False,
        allow_out_of_range: bool = False,
    ) -> Recorded:
        """Set what is known of a bucket; when this returns, it is durable.

        Args:
            status: "provisional", "final" or "missing".
            shown: What was shown, if not what was decided.
            overwrite_final: Correct a final value.
            allow_out_of_range: The total is right, though out of its range.
        """
        body = {
            "rounds": rounds,
            "total": total,
            "status": status,
            "shown": shown,
            "overwrite_final": overwrite_final,
            "allow_out_of_range": allow_out_of_range,
        }
        given = {key: value for key, value in body.items() if value not in (None, False)}
        where = () if region is None else ("regions", region)
        found = self._json("PUT", _path(campaign, *where, "buckets", _text(bucket)), json=given)
        return _verdict(found)

    def upload(
        self,
        campaign: str,
        rows: Iterable[Mapping[str, Any]] | Path,
        *,
        dry_run: bool = False,
        skip_unknown: bool = False,
        overwrite_final: bool = False,
        allow_out_of_range: bool = False,
        form: FileForm | None = None,
        only_this_file: bool = False,
    ) -> list[Recorded]:
        """Set many buckets, all or none.

        Args:
            rows: A CSV, Excel or Parquet file, or rows with `bucket`, `rounds`, `total`, ...
            dry_run: Only say what would happen.
            skip_unknown: Leave out unknown buckets.
            overwrite_final: Correct final values.
            allow_out_of_range: Totals out of range are right.
            form: How a file is written (`latesum.files.FileForm`); the campaign remembers it.
            only_this_file: The campaign does not remember it.
        """
        parameters: dict[str, Any] = {
            "dry_run": dry_run,
            "skip_unknown": skip_unknown,
            "overwrite_final": overwrite_final,
            "allow_out_of_range": allow_out_of_range,
            "only_this_file": only_this_file,
        }
        if form is not None:
            parameters |= {**form.to_json(), "columns": form.columns_text or None}
        body: dict[str, Any]
        if isinstance(rows, Path):
            kind = _KINDS.get(rows.suffix.lower(), "text/csv")
            body = {"content": rows.read_bytes(), "headers": {"Content-Type": kind}}
        else:
            sent = [{**row, "bucket": _plain(row["bucket"])} for row in rows]
            body = {"json": {"rows": sent}}
        found = self._json("POST", _path(campaign, "totals"), params=parameters, **body)
        return [_verdict(row) for row in found["rows"]]

    # Looking.

    def status(self, campaign: str) -> dict[str, Any]:
        """Everything that the page shows."""
        found: dict[str, Any] = self._json("GET", _path(campaign, "status"))
        return found

    def estimates(self, campaign: str, level: float = 0.95) -> list[dict[str, Any]]:
        """What is believed of each option."""
        answer = self._json("GET", _path(campaign, "estimates"), params={"level": level})
        found: list[dict[str, Any]] = answer["estimates"]
        return found

    def explain(self, campaign: str, bucket: Bucket | None = None) -> list[str]:
        """Why: now, or when the decision for a bucket was taken."""
        parameters = {} if bucket is None else {"bucket": _text(bucket)}
        answer = self._json("GET", _path(campaign, "explanation"), params=parameters)
        found: list[str] = answer["sentences"]
        return found

    def history(self, campaign: str) -> list[dict[str, Any]]:
        """The whole log, oldest event first."""
        events: list[dict[str, Any]] = []
        more = True
        while more:
            after = events[-1]["sequence"] if events else 0
            parameters = {"after": after, "limit": 1000}
            part = self._json("GET", _path(campaign, "history"), params=parameters)
            events += part["events"]
            more = part["more"]
        return events

    # Operators.

    def act(self, campaign: str, action: str, *, reason: str, **arguments: Any) -> str:
        """Do an operator action once; what to know about it.

        Args:
            action: One of `latesum.campaigns.actions.ACTIONS`, such as "pause" or "restore-option".
            reason: Why; it is kept in the history.
            arguments: What the action takes, such as `option="red"`, or `config={"align": "week"}`.
        """
        headers = {"Idempotency-Key": secrets.token_hex(16)}  # one for all attempts
        path = _path(campaign, "actions", action)
        body = {"reason": reason, **arguments}
        answer = self._json("POST", path, json=body, headers=headers)
        return str(answer.get("note", ""))

    # Sending.

    def _json(self, method: str, path: str, **sent: Any) -> Any:
        answer = self._send(method, path, **sent)
        try:
            return answer.json()
        except ValueError:
            raise _not_the_service(answer) from None

    def _send_within(self, seconds: float, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer, or `Unreachable` if there is none after these seconds.

        Timeouts of a request bound its parts, and finding the address of a name not at all; so it
        is sent by a thread, which is left alone when it takes longer.
        """
        found: Future[httpx.Response] = Future()
        end = time.monotonic() + seconds

        def send() -> None:
            try:
                found.set_result(self._send(method, path, end=end, timeout=seconds, **sent))
            except BaseException as error:
                found.set_exception(error)

        threading.Thread(target=send, daemon=True).start()
        try:
            return found.result(seconds)
        except FutureTimeout:
            raise Unreachable(503, f"there was no answer within {seconds:g} s.", []) from None

    def _send(
        self, method: str, path: str, *, end: float = math.inf, **sent: Any
    ) -> httpx.Response:
        """The answer, or `ServiceError` with the sentence; asks again when one is lost."""
        pause, last = 0.1, "it does not answer"
        for attempt in range(self._attempts):
            if attempt:
                # Clients that were cut off together must not all come back at the same moment.
                wait = pause * random.uniform(0.5, 1.5)
                if time.monotonic() + wait > end:
                    break
                self._sleep(wait)
                pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                answer: httpx.Response = self._http.request(method, path, **sent)
            except self._httpx.TransportError as error:
                last = str(error) or type(error).__name__
                continue
            if answer.status_code in _AGAIN:
                last = str(_refusal(answer))
                pause = max(pause, min(_retry_after(answer), _LONGEST_PAUSE))
                continue
            if not answer.is_success:
                raise _refusal(answer)
            return answer
        raise Unreachable(503, f"the service was asked {attempt + 1} times: {last}.", [])


def _path(campaign: str, *parts: str) -> str:
    return "/".join(["/v1/campaigns", *(quote(part, safe="") for part in (campaign, *parts))])


def _text(bucket: Bucket) -> str:
    return bucket.isoformat() if isinstance(bucket, date) else str(bucket)


def _plain(bucket: Bucket) -> int | str:
    return bucket if isinstance(bucket, int) else _text(bucket)


def _verdict(found: dict[str, Any]) -> Recorded:
    from latesum.campaigns.recording import Recorded  # an option is asked for without it

    row = Recorded(**{name: found[name] for name in Recorded._fields if name in found})
    return row._replace(marks=tuple(row.marks))


def _max_age(answer: httpx.Response) -> float:
    for part in answer.headers.get("cache-control", "").split(","):
        name, _, value = part.strip().partition("=")
        if name == "max-age" and value.isdigit():
            return float(value)
    return 0.0


def _shown(answer: httpx.Response) -> Shown:
    """The option that was answered."""
    try:
        found = answer.json()
        ends = None if found["ends"] is None else datetime.fromisoformat(found["ends"])
        named = ("option", "bucket", "label", "purpose", "reason", "winner")
        return Shown(**{name: found[name] for name in named}, ends=ends)
    except (ValueError, KeyError, TypeError):
        raise _not_the_service(answer) from None


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


def _retry_after(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0
