"""Authentication: no route is reached without a token, whatever routes there are.

It is a middleware of the whole application and not a part of its routes, so that a route that was
not protected on purpose is protected nevertheless. Only `/livez` needs no token. `/login` takes the
token out of a form, begins a session, and puts the session's own secret in a cookie that scripts
cannot read and other sites cannot send.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from latesum import _render
from latesum.campaigns.store import Store
from latesum.service.configuration import Configuration
from latesum.service.errors import ClientLeft, Refused, refusal_of
from latesum.service.logs import log
from latesum.service.metrics import Metrics
from latesum.service.tokens import Sessions, Token, Tokens

T = TypeVar("T")
#: Over HTTPS the cookie is bound to this host and cannot be set by a neighbor of it.
COOKIE = "latesum"
SECURE_COOKIE = "__Host-latesum"
#: Our page sends it. Other sites cannot set it, so an action by cookie that has it was meant.
PAGE_HEADER = "x-latesum-page"
OPEN = ("/livez",)
_SAFE = ("GET", "HEAD", "OPTIONS")
_LONGEST_LOGIN = 2_000
#: In bytes and seconds: the body of a request that needs none, and a login's time without a token.
_MAX_UNUSED_BODY = 10_000
_MAX_SHORT_SECONDS = 3.0
_LET_GO = 0.1
#: Keys whose requests are counted for a rate limit.
_MOST_REMEMBERED = 10_000
#: In bytes; unless it is an upload, a body is checked in the loop that answers all requests.
_LARGEST_UNLESS_UPLOAD = 100_000
#: Requests that are worked on at once; more are refused, so that these are answered soon.
MAX_REQUESTS = 256
#: In the log: the letters of an address, and lines per second about requests that were refused.
_MAX_LOGGED_PATH = 200
_MAX_REFUSAL_LINES = 20
_REFUSALS = (400, 401, 404, 405, 408, 413, 429, 503)
#: The address that a browser sees must be the one that the service knows of.
_PROXY = "; where a proxy ends HTTPS, name it by --proxy."
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"same-origin")]


class Holders:
    """Who holds a valid token, and who has a session: looked up by the hash of what was sent."""

    def __init__(self, store: Store, lasts: timedelta, thread: Executor) -> None:
        self._tokens = Tokens(store)
        self._sessions = Sessions(store)
        self._lasts = lasts
        self._thread = thread
        self._waiting = 0

    async def find(self, secret: str, *, by_cookie: bool = False) -> Token | None:
        """The holder of a token, or of a session, that is valid."""
        if self._waiting >= MAX_REQUESTS:
            raise _busy()
        self._waiting += 1
        try:
            return await self._run((self._sessions if by_cookie else self._tokens).find, secret)
        finally:
            self._waiting -= 1

    async def begin_session(self, token: Token) -> str:
        """The secret of a new session."""
        return await self._run(self._sessions.new, token, self._lasts)

    async def end_session(self, secret: str) -> None:
        """End a session."""
        await self._run(self._sessions.end, secret)

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


class RateLimit:
    """A bucket of tickets for each key: it fills at a rate, and every request takes one.

    >>> limit = RateLimit(1.0, at_once=2)
    >>> [limit.wait("shop", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> limit.wait("shop", now=1.0)
    0.0
    """

    def __init__(self, per_second: float, at_once: float | None = None) -> None:
        self.per_second = per_second
        self.at_once = max(1.0, per_second * 2 if at_once is None else at_once)
        self._tickets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_left(self, key: str, now: float | None = None) -> float:
        """The seconds until there is a ticket; 0 if there is one, which is not taken."""
        now = time.monotonic() if now is None else now
        tickets, since = self._tickets.get(key, (self.at_once, now))
        tickets = min(self.at_once, tickets + (now - since) * self.per_second)
        return 0.0 if tickets >= 1 else (1 - tickets) / self.per_second

    def wait(self, key: str, now: float | None = None) -> float:
        """Take a ticket: 0 if there is one, otherwise the seconds until there will be."""
        now = time.monotonic() if now is None else now
        if left := self.seconds_left(key, now):
            return left
        tickets, since = self._tickets.get(key, (self.at_once, now))
        tickets = min(self.at_once, tickets + (now - since) * self.per_second)
        self._tickets[key] = (tickets - 1, now)
        if len(self._tickets) > _MOST_REMEMBERED:
            self._tickets.popitem(last=False)  # the one that came first; a flood forgets itself
        return 0.0


class AuthMiddleware:
    """Lets requests with a valid token pass, within the rate limits, and logs every request."""

    def __init__(
        self, app: ASGIApp, holders: Holders, metrics: Metrics, configuration: Configuration
    ) -> None:
        self._app = app
        self._holders = holders
        self._session_seconds = max(1, int(configuration.session_hours * 3600))
        self._metrics = metrics
        self._largest = configuration.largest_body
        self._body_seconds = configuration.body_seconds
        self._short_seconds = min(_MAX_SHORT_SECONDS, configuration.body_seconds)
        self._limit = RateLimit(configuration.requests_per_second)
        self._unauthenticated = RateLimit(configuration.unauthenticated_per_second)
        self._refusal_lines = RateLimit(_MAX_REFUSAL_LINES)
        self._unlogged = 0
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
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
                    self._metrics.refused.labels(str(refused.status)).inc()
                await refused.answer()(scope, receive, sending)
        finally:
            self._keep_log(scope, status, time.perf_counter() - began)

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in a request whose body was read: one that only waits for it keeps nobody out."""
        if self._under_way >= MAX_REQUESTS:
            raise _busy()
        self._under_way += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1

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
        _slow_down(self._unauthenticated.seconds_left(_address_of(scope)))
        secret, by_cookie = read_secret(scope)
        token = None if secret is None else await self._holders.find(secret, by_cookie=by_cookie)
        if token is None:
            return self._ask_for_token(scope, headers, had_secret=secret is not None), receive
        _slow_down(self._limit.wait(token.id))
        from_our_page = PAGE_HEADER in headers and _same_origin(scope, headers)
        if by_cookie and method not in _SAFE and not from_our_page:
            raise Refused(403, f"only the service's own page may act by cookie{_PROXY}")
        scope["token"] = token
        largest, seconds = min(self._largest, _LARGEST_UNLESS_UPLOAD), self._body_seconds
        if method in _SAFE:
            largest, seconds = min(largest, _MAX_UNUSED_BODY), self._short_seconds
        elif _LARGE.fullmatch(path):
            largest = self._largest
        return self._work, _replay(await _read_body(receive, headers, largest, seconds), receive)

    def _ask_for_token(self, scope: Scope, headers: Headers, *, had_secret: bool) -> Response:
        _slow_down(self._unauthenticated.wait(_address_of(scope)))
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
        _slow_down(self._unauthenticated.wait(_address_of(scope)))
        if not _same_origin(scope, headers):
            raise Refused(403, f"only the service's own page may log in{_PROXY}")
        body = await _read_body(receive, headers, _LONGEST_LOGIN, self._short_seconds)
        secret = parse_qs(body.decode("latin-1")).get("token", [""])[0].strip()
        token = await self._holders.find(secret)
        if token is None:
            return login_page(401, "There is no such token.")
        session = await self._holders.begin_session(token)
        log("logged in", token=token.id, who=token.name)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            cookie_name(scope),
            session,
            max_age=self._session_seconds,
            httponly=True,
            samesite="strict",
            secure=scope["scheme"] == "https",
        )
        return answer

    def _keep_log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method, token = scope["method"], scope.get("token")
        self._metrics.request(method, route, status, seconds)
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


def _busy() -> Refused:
    return Refused(503, "too many requests are under way; try again in a second.", retry_after="1")


def _slow_down(wait: float) -> None:
    """Refuse a request that comes too soon."""
    if wait:
        seconds = str(max(1, round(wait + 0.5)))
        raise Refused(429, f"too many requests; try again in {seconds} s.", retry_after=seconds)


#: What may have a file in its body, or the rows of one.
_LARGE = re.compile(r"/v1/(campaigns/[^/]+(/totals)?|histories|plans/regions)")


async def _read_body(receive: Receive, headers: Headers, largest: int, seconds: float) -> bytes:
    """The whole body, if it is not too large; no more than that is ever kept.

    A client that leaves in the middle has not sent a shorter body: a part of a file is a file with
    other values.
    """
    too_large = Refused(
        413, f"the body is larger than {largest:,} bytes; send it in parts.", connection="close"
    )
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > largest:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientLeft
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > largest:
                    raise too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        # The server closes the connection only if it has let go of the body before the answer.
        await asyncio.sleep(_LET_GO)
        raise Refused(
            408,
            f"the body took longer than {seconds:g} s; send it faster, or in parts.",
            connection="close",
        ) from None


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
