"""The door: nothing behind it is reached without a token, whatever routes there are.

It stands in front of the whole application and not at its routes, so that a route that somebody
forgets to protect is protected all the same. Only `/livez` is in front of it. `/login` takes the
token out of a form and puts it in a cookie that scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from concurrent.futures import Executor
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from fastapi import Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy.exc import DBAPIError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from latesum.service.configuration import Configuration
from latesum.service.errors import ClientLeft, error_answer, unexpected
from latesum.service.limits import RateLimit
from latesum.service.login import login_page
from latesum.service.logs import log
from latesum.service.metrics import Metrics
from latesum.service.tokens import Token, Tokens, hash_of

COOKIE = "latesum"
#: Other sites cannot set it without our leave; so an act by cookie was meant by our page.
PAGE_HEADER = "x-latesum-page"
OPEN = ("/livez",)
_SAFE = ("GET", "HEAD", "OPTIONS")
_LONGEST_LOGIN = 2_000
#: In bytes; a body is read and checked in the loop that answers everyone, unless it is an upload.
_LARGEST_UNLESS_UPLOAD = 100_000
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class TokenBook:
    """The valid tokens, read again when they are older than a moment or a token is not among them."""

    def __init__(self, tokens: Tokens, kept: float, threads: Executor) -> None:
        self._tokens = tokens
        self._kept = kept
        self._threads = threads
        self._valid: dict[str, Token] = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def find(self, secret: str) -> Token | None:
        """The token, if it is valid."""
        key = hash_of(secret)
        asked = time.monotonic()
        found = self._valid.get(key) if asked - self._read_at < self._kept else None
        if found is not None:
            return found
        async with self._reading:
            if self._read_at < asked:  # else somebody has just read them
                now = time.monotonic()
                loop = asyncio.get_running_loop()
                self._valid = await loop.run_in_executor(self._threads, self._tokens.valid)
                self._read_at = now
        return self._valid.get(key)


class Door:
    """Lets in who has a token, within the limits, and keeps the log of who came."""

    def __init__(
        self, app: ASGIApp, book: TokenBook, metrics: Metrics, configuration: Configuration
    ) -> None:
        self._app = app
        self._book = book
        self._metrics = metrics
        self._largest = configuration.largest_body
        self._limit = RateLimit(configuration.requests_per_second)
        self._strangers = RateLimit(configuration.strangers_per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        scope["request_id"] = request_id = secrets.token_hex(6)
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [*_HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            answer, receive = await self._admit(scope, receive)
            if answer is not None:
                self._metrics.refused.labels(str(answer.status_code)).inc()
                await answer(scope, receive, sending)
            else:
                await self._app(scope, receive, sending)
        except ClientLeft as left:
            await error_answer(left.status, str(left))(scope, receive, sending)
        except Exception as error:
            if status:
                raise  # half of an answer was sent; the connection has to be closed
            await unexpected(error)(scope, receive, sending)
        finally:
            self._keep_log(scope, status, time.perf_counter() - began)

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[Response | None, Receive]:
        path, method = scope["path"], scope["method"]
        if path in OPEN:
            return None, receive
        headers = Headers(scope=scope)
        if path == "/login" and method == "POST":
            return await self._log_in(scope, receive, headers), receive
        secret, by_cookie = _secret(headers)
        try:
            token = None if secret is None else await self._book.find(secret)
        except DBAPIError:
            return error_answer(
                503, "the store cannot be reached just now.", retry_after="1"
            ), receive
        if token is None:
            return self._stranger(scope, headers, had_secret=secret is not None), receive
        wait = self._limit.wait(token.id)
        if wait:
            return _slow_down(wait), receive
        if by_cookie and method not in _SAFE and PAGE_HEADER not in headers:
            return error_answer(403, "only the service's own page may act by cookie."), receive
        scope["token"] = token
        if method in _SAFE:
            return None, receive
        upload = path.startswith("/v1/") and path.endswith("/totals")
        largest = self._largest if upload else min(self._largest, _LARGEST_UNLESS_UPLOAD)
        body = await _read_body(receive, headers, largest)
        if body is None:
            sentence = f"the body is larger than {largest:,} bytes" + (
                "; send it in parts." if upload else "."
            )
            return error_answer(413, sentence, connection="close"), receive
        return None, _replay(body, receive)

    def _stranger(self, scope: Scope, headers: Headers, *, had_secret: bool) -> Response:
        wait = self._strangers.wait(_address(scope))
        if wait:
            return _slow_down(wait)
        page = scope["method"] in _SAFE and "text/html" in headers.get("accept", "")
        if page and not scope["path"].startswith("/v1/"):
            return login_page(401, "This token is not valid any more." if had_secret else "")
        sentence = "the token is not valid." if had_secret else (
            "a token is needed: send it as 'Authorization: Bearer <token>'. "
            "`latesum token new` makes one."
        )  # fmt: skip
        return error_answer(401, sentence, www_authenticate='Bearer realm="latesum"')

    async def _log_in(self, scope: Scope, receive: Receive, headers: Headers) -> Response:
        wait = self._strangers.wait(_address(scope))
        if wait:
            return _slow_down(wait)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return error_answer(403, "only the service's own page may log in.")
        body = await _read_body(receive, headers, _LONGEST_LOGIN)
        if body is None:
            return error_answer(413, "that is too long for a token.", connection="close")
        secret = parse_qs(body.decode("latin-1")).get("token", [""])[0].strip()
        token = await self._book.find(secret)
        if token is None:
            return login_page(401, "There is no such token.")
        answer = RedirectResponse("/", 303)
        secure = Request(scope).url.scheme == "https"
        answer.set_cookie(COOKIE, secret, httponly=True, samesite="strict", secure=secure)
        return answer

    def _keep_log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method, token = scope["method"], scope.get("token")
        self._metrics.request(method, route, status, seconds)
        # Reading goes on all day: of that only what failed is of interest.
        level = logging.DEBUG if method in _SAFE and status < 400 else logging.INFO
        log(
            "request", level, method=method, path=scope["path"], status=status,
            milliseconds=round(seconds * 1000, 2), token=token and token.id,
            who=token and token.name, request=scope["request_id"],
        )  # fmt: skip


def _secret(headers: Headers) -> tuple[str | None, bool]:
    """The token that a request brings, and whether in a cookie."""
    authorization = headers.get("authorization", "")
    if authorization:
        kind, _, secret = authorization.partition(" ")
        return (secret.strip() if kind.lower() == "bearer" else ""), False
    if "cookie" in headers:
        try:
            cookie = SimpleCookie(headers["cookie"]).get(COOKIE)
        except CookieError:
            cookie = None
        if cookie is not None:
            return cookie.value, True
    return None, False


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("unknown",))[0])


def _slow_down(wait: float) -> JSONResponse:
    seconds = str(max(1, round(wait + 0.5)))
    return error_answer(429, f"too many requests; try again in {seconds} s.", retry_after=seconds)


async def _read_body(receive: Receive, headers: Headers, largest: int) -> bytes | None:
    """The whole body, or None if it is too large; no more than that is ever kept.

    A client that leaves in the middle has not sent a shorter body: a part of a file is a file with
    other values.
    """
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > largest:
        return None
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            return None
        if not message.get("more_body", False):
            break
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replaying() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replaying
