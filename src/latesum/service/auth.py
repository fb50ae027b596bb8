"""Authentication: no route is reached without a token, whatever routes there are.

It is a middleware of the whole application and not a part of its routes, so that a route that was
not protected on purpose is protected nevertheless. Only `/livez` needs no token. `/login` takes the
token out of a form, begins a session, and puts the session's own secret in a cookie that scripts
cannot read and other sites cannot send.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from latesum import _render
from latesum.service.cache import Workers
from latesum.service.configuration import Configuration
from latesum.service.errors import ClientLeft, Refused, refusal_of
from latesum.service.logs import log
from latesum.service.tokens import Sessions, Tokens

#: Over HTTPS the cookie is bound to this host and cannot be set by a neighbor of it.
COOKIE = "latesum"
SECURE_COOKIE = "__Host-latesum"
#: Our page sends it. Other sites cannot set it, so an action by cookie that has it was meant.
PAGE_HEADER = "x-latesum-page"
OPEN = ("/livez",)
#: Requests that are worked on at once, and seconds for which more wait before they are refused: to
#: refuse at once would invite all of them again.
MAX_REQUESTS, _MAX_WAIT = 256, 1.0
_SAFE = ("GET", "HEAD", "OPTIONS")
#: Bodies, in bytes: of a login, of a request that needs none, and of one that is no upload, which
#: is checked in the loop that answers all requests.
_MAX_LOGIN, _MAX_UNUSED, _MAX_SMALL = 2_000, 10_000, 100_000
#: What may have a file in its body, or the rows of one.
_LARGE = re.compile(r"/v1/(campaigns/[^/]+(/totals)?|histories|plans)")
#: Seconds for the body of a login or of a request that needs none.
_MAX_SHORT_SECONDS = 3.0
#: Seconds before a refusal that a client would answer with the same request again.
_LET_GO = 0.1
#: Keys whose requests are counted for a rate limit.
_MAX_KEYS = 10_000
#: In the log: the letters of an address, and lines per second about requests that were refused.
_MAX_LOGGED_PATH = 200
_MAX_REFUSAL_LINES = 20
_REFUSALS = (400, 401, 404, 405, 408, 413, 429, 503)
#: The address that a browser sees must be the one that the service knows of.
_PROXY = "; where a proxy ends HTTPS, name it by --proxy."
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin")]


class RateLimit:
    """A bucket of tickets for each key: it fills at a rate, and every request takes one.

    >>> limit = RateLimit(1.0)
    >>> [limit.wait("shop", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> limit.wait("shop", now=1.0)
    0.0
    """

    def __init__(self, per_second: float) -> None:
        self._per_second, self._most = per_second, max(1.0, per_second * 2)
        self._tickets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, now: float | None = None, *, take: bool = True) -> float:
        """The seconds until there is a ticket; 0 if there is one, which is taken or not."""
        now = time.monotonic() if now is None else now
        tickets, since = self._tickets.get(key, (self._most, now))
        tickets = min(self._most, tickets + (now - since) * self._per_second)
        if tickets < 1:
            return (1 - tickets) / self._per_second
        if take:
            self._tickets[key] = (tickets - 1, now)
            if len(self._tickets) > _MAX_KEYS:
                self._tickets.popitem(last=False)  # the first that came: a flood forgets itself
        return 0.0


class AuthMiddleware:
    """Lets requests with a valid token pass, within the rate limits, and logs every request."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        sessions: Sessions,
        workers: Workers,
        configuration: Configuration,
    ) -> None:
        self._app = app
        self._tokens, self._sessions = tokens, sessions
        self._workers, self._configuration = workers, configuration
        self._short_seconds = min(_MAX_SHORT_SECONDS, configuration.body_seconds)
        self._unauthenticated = RateLimit(configuration.unauthenticated_per_second)
        self._refusal_lines = RateLimit(_MAX_REFUSAL_LINES)
        self._unlogged = 0
        self._working = asyncio.Semaphore(MAX_REQUESTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or not. (The server takes no web sockets.)"""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        scope["request_id"] = request_id = secrets.token_hex(6)
        status, admitted = 0, False

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [*_HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            try:
                app, receive = await self._admit(scope, receive)
                admitted = True
                await app(scope, receive, sending)
            except Exception as error:
                if status:
                    raise  # half of an answer was sent; the connection has to be closed
                refused = refusal_of(error)
                if not admitted:
                    self._workers.metrics.refused.labels(str(refused.status)).inc()
                await refused.answer()(scope, receive, sending)
        finally:
            self._keep_log(scope, status, time.perf_counter() - began)

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body was read: one that only waits for it keeps nobody out."""
        async with _turn(self._working):
            await self._app(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[ASGIApp, Receive]:
        """What answers a request, with its body; who has no token is refused, or asked for it."""
        path, method = scope["path"], scope["method"]
        if path in OPEN:
            return self._app, receive
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not headers["host"]:
            raise Refused(400, "a request has one Host.", connection="close")
        if path == "/login" and method == "POST":
            return await self._log_in(scope, receive, headers), receive
        # Before anything is looked up: who guesses costs nobody time.
        await _slow_down(self._unauthenticated.wait(_address_of(scope), take=False))
        secret, by_cookie = read_secret(scope)
        find = self._sessions.find if by_cookie else self._tokens.find
        token = None
        if secret is not None:
            async with _turn(self._working):
                token = await self._workers.run(self._workers.tokens, find, secret)
        if token is None:
            asking = self._ask_for_token(scope, headers, had_secret=secret is not None)
            return await asking, receive
        from_our_page = PAGE_HEADER in headers and _same_origin(scope, headers)
        if by_cookie and method not in _SAFE and not from_our_page:
            raise Refused(403, f"only the service's own page may act by cookie{_PROXY}")
        scope["token"] = token
        largest, seconds = self._configuration.largest_body, self._configuration.body_seconds
        if method in _SAFE:
            largest, seconds = min(largest, _MAX_UNUSED), self._short_seconds
        elif not _LARGE.fullmatch(path):
            largest = min(largest, _MAX_SMALL)
        return self._work, _replay(await _read_body(receive, headers, largest, seconds), receive)

    async def _ask_for_token(self, scope: Scope, headers: Headers, *, had_secret: bool) -> Response:
        await _slow_down(self._unauthenticated.wait(_address_of(scope)))
        page = scope["method"] in _SAFE and "text/html" in headers.get("accept", "")
        if page and not scope["path"].startswith("/v1/"):
            return login_page(401, "You were logged out; log in again." if had_secret else "")
        sentence = "the token is not valid."
        if not had_secret:
            sentence = (
                "a token is needed: send it as 'Authorization: Bearer <token>'. "
                "`latesum token new` makes one."
            )
        raise Refused(401, sentence, www_authenticate='Bearer realm="latesum"')

    async def _log_in(self, scope: Scope, receive: Receive, headers: Headers) -> Response:
        await _slow_down(self._unauthenticated.wait(_address_of(scope)))
        if not _same_origin(scope, headers):
            raise Refused(403, f"only the service's own page may log in{_PROXY}")
        body = await _read_body(receive, headers, _MAX_LOGIN, self._short_seconds)
        secret = parse_qs(body.decode("latin-1")).get("token", [""])[0].strip()
        run, thread = self._workers.run, self._workers.tokens
        token = await run(thread, self._tokens.find, secret)
        if token is None:
            return login_page(401, "There is no such token.")
        lasts = timedelta(hours=self._configuration.session_hours)
        session = await run(thread, self._sessions.new, token, lasts)
        log("logged in", token=token.id, who=token.name)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            cookie_name(scope),
            session,
            max_age=max(1, int(lasts.total_seconds())),
            httponly=True,
            samesite="strict",
            secure=scope["scheme"] == "https",
        )
        return answer

    def _keep_log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method, token = scope["method"], scope.get("token")
        metrics = self._workers.metrics
        metrics.requests.labels(method, route, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        # Reading goes on all day: of that only what failed is of interest.
        level = logging.DEBUG if method in _SAFE and status < 400 else logging.INFO
        if status in _REFUSALS and self._refusal_lines.wait(""):
            self._unlogged += 1  # a flood must not fill the disk
            return
        unlogged, self._unlogged = self._unlogged, 0
        log(
            "request",
            level,
            method=method[:20],
            path=scope["path"][:_MAX_LOGGED_PATH],
            status=status,
            milliseconds=round(seconds * 1000, 2),
            token=token and token.id,
            who=token and token.name,
            address=_address_of(scope),
            request=scope["request_id"],
            **({"refusals_not_logged": unlogged} if unlogged else {}),
        )


@contextlib.asynccontextmanager
async def _turn(of: asyncio.Semaphore) -> AsyncIterator[None]:
    """Wait for one's turn, but not for long."""
    try:
        async with asyncio.timeout(_MAX_WAIT):
            await of.acquire()
    except TimeoutError:
        raise Refused(
            503, "too many requests are in progress; try again in a second.", retry_after="1"
        ) from None
    try:
        yield
    finally:
        of.release()


def _address_of(scope: Scope) -> str:
    """The address of the client; behind a listed proxy, as the proxy says it."""
    return str((scope.get("client") or ("unknown",))[0])


def _same_origin(scope: Scope, headers: Headers) -> bool:
    """Whether a request comes from a page of this service, as far as the browser says."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin == f"{scope['scheme']}://{headers.get('host', '')}"


def cookie_name(scope: Scope) -> str:
    """The name of the cookie of a session."""
    return SECURE_COOKIE if scope["scheme"] == "https" else COOKIE


def read_secret(scope: Scope) -> tuple[str | None, bool]:
    """The token that a request brings, or the session's secret if it is in a cookie."""
    headers = Headers(scope=scope)
    authorization = headers.get("authorization", "")
    if authorization:
        kind, _, secret = authorization.partition(" ")
        return (secret.strip() if kind.lower() == "bearer" else ""), False
    found = cookie_parser(headers.get("cookie", "")).get(cookie_name(scope))
    return found, found is not None


async def _slow_down(wait: float) -> None:
    """Refuse a request that comes too soon, and not at once: that would invite the next."""
    if wait:
        await asyncio.sleep(_LET_GO)
        seconds = str(max(1, round(wait + 0.5)))
        raise Refused(429, f"too many requests; try again in {seconds} s.", retry_after=seconds)


async def _read_body(receive: Receive, headers: Headers, largest: int, seconds: float) -> bytes:
    """The whole body, if it is not too large; no more than that is ever kept.

    A client that leaves in the middle has not sent a shorter body: a part of a file is a file with
    other values.
    """
    length = headers.get("content-length", "0")
    too_large = length.isdigit() and int(length) > largest
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more and not too_large:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeft
                body += message.get("body", b"")
                too_large, more = len(body) > largest, message.get("more_body", False)
    except TimeoutError:
        # The server closes the connection only if it has let go of the body before the answer.
        await asyncio.sleep(_LET_GO)
        raise Refused(
            408,
            f"the body took longer than {seconds:g} s; send it faster, or in parts.",
            connection="close",
        ) from None
    if too_large:
        raise Refused(
            413, f"the body is larger than {largest:,} bytes; send it in parts.", connection="close"
        )
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replaying() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replaying


def login_page(status: int, problem: str = "") -> HTMLResponse:
    """The form that asks for a token. Its style is in it: files need a token."""
    style, policy = _login_style()
    page = _render.render("service/templates/login.html", style=Markup(style), problem=problem)
    headers = {"content-security-policy": policy, "cache-control": "no-store"}
    return HTMLResponse(page, status, headers)


@cache
def _login_style() -> tuple[str, str]:
    """The style of the form, and a policy that allows it and nothing else."""
    style = _render.read("service/templates/login.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return style, (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
