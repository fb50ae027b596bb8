"""Sending a request until it is answered. Only for requests that may be sent twice."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from latesum import _extras
from latesum.errors import ServiceError, Unreachable

if TYPE_CHECKING:
    import httpx

_AGAIN = (429, 502, 503, 504)
_LONGEST_PAUSE = 10.0


class Sender:
    """A connection to a service that asks again, after growing pauses, when an answer is lost."""

    def __init__(
        self,
        address: str,
        token: str,
        *,
        attempts: int,
        timeout: float,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._httpx = _extras.require("httpx", "server")
        self._http = self._httpx.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
        )
        self._attempts = attempts
        self._sleep = sleep

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def json(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        """The answer's content."""
        found: dict[str, Any] = self.send(method, path, **sent).json()
        return found

    def send(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer, or `ServiceError` with the service's sentence."""
        pause, last = 0.1, "it does not answer"
        for attempt in range(self._attempts):
            if attempt:
                # Clients that were cut off together must not all come back at the same moment.
                self._sleep(pause * random.uniform(0.5, 1.5))
                pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                answer: httpx.Response = self._http.request(method, path, **sent)
            except self._httpx.TransportError as error:
                last = str(error) or type(error).__name__
                continue
            if answer.status_code in _AGAIN:
                last = _sentence(answer)[0]
                pause = max(pause, min(_retry_after(answer), _LONGEST_PAUSE))
                continue
            if answer.status_code >= 400:
                raise ServiceError(answer.status_code, *_sentence(answer))
            return answer
        raise Unreachable(503, f"the service was asked {self._attempts} times: {last}.", [])


def _sentence(answer: httpx.Response) -> tuple[str, list[str]]:
    try:
        found = answer.json()
        return str(found["error"]), list(found.get("details", []))
    except (ValueError, KeyError, TypeError):
        return f"the service answered {answer.status_code}", []


def _retry_after(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0
