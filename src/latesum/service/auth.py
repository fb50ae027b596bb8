"""Authentication: no route is reached without a token, and none with too small a scope.

The token is looked for by a middleware of the whole application and not by its routes, so that a
route that was not protected on purpose is protected nevertheless. Only `/livez` and the form that
logs in need none: `/login` takes a token, begins a session, and puts the session's own secret in a
cookie that scripts cannot read and other sites cannot send. What the token must be allowed to do
is said by the route; one that says nothing needs the most.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from latesum import _render
from latesum.service import tokens
from latesum.service.errors import ClientLeft, Refused, refusal_of
from latesum.service.logs import Metrics, log
from latesum.service.tokens import Token, Tokens

#: Over HTTPS the cookie is bound to this host and cannot be set by a neighbor of it.
COOKIE = "latesum"
SECURE_COOKIE = "__Host-latesum"
#: Our page sends it. Other sites cannot set it, so an action by cookie that has it was meant.
PAGE_HEADER = "x-latesum-page"
#: What needs no token.
OPEN = (("GET", "/livez"), ("POST", "/login"))
#: Requests that are worked on at once, and seconds for which more wait before they are refused: to
#: refuse at once would invite all of them again.
MAX_REQUESTS, _MAX_WAIT = 256, 1.0
#: Requests of one token at once that may take long, such as statuses.
MAX_LONG_REQUESTS = 16
_SAFE = ("GET", "HEAD", "OPTIONS")
_METHODS = (*_SAFE, "POST", "PUT", "PATCH", "DELETE")
#: Bodies, in bytes: with a file or its rows; of any other request, which is checked in the loop
#: that answers all of them; of one that needs none, and of a login.
MAX_FILE, MAX_SMALL, MAX_UNUSED = 1_000_000, 100_000, 10_000
#: Seconds for a body, and for one that is not needed or of a login.
BODY_SECONDS, SHORT_SECONDS = 30.0, 3.0
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

Handler = TypeVar("Handler", bound=Callable[..., Any])
Handle = Callable[[Request], Coroutine[Any, Any, Response]]


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
    """Lets requests with a valid token pass, within a rate limit, and logs every request."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, metrics: Metrics, unauthenticated_per_second: float
    ) -> None:
        self._app, self._tokens, self._metrics = app, tokens, metrics
        #: A thread of its own: no request waits for another one's status to be let in.
        self._thread = ThreadPoolExecutor(1, "tokens")
        self._unauthenticated = RateLimit(unauthenticated_per_second)
        self._refusal_lines = RateLimit(_MAX_REFUSAL_LINES)
        self._unlogged = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or not. (The server takes no web sockets.)"""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
            answer = await self._admit(scope)
            await answer(scope, receive, sending)
        except Exception as error:
            if status:
                raise  # half of an answer was sent; the connection has to be closed
            await refusal_of(error).answer()(scope, receive, sending)
        finally:
            self._keep_log(scope, status, time.perf_counter() - began)

    async def _admit(self, scope: Scope) -> ASGIApp:
        """What answers a request: the application, or a page that asks for a token."""
        headers, method = Headers(scope=scope), scope["method"]
        asked = method, scope["path"]
        if asked == OPEN[0]:
            return self._app
        if len(headers.getlist("host")) != 1 or not headers["host"]:
            raise Refused(400, "a request has one Host.", connection="close")
        # Before anything is looked up: who guesses costs nobody time.
        is_login = asked in OPEN
        await self._slow_down(scope, take=is_login)
        if is_login:
            return self._app
        secret, by_cookie = read_secret(scope)
        if secret is not None:
            find = self._tokens.find_session if by_cookie else self._tokens.find
            loop = asyncio.get_running_loop()
            scope["token"] = await loop.run_in_executor(self._thread, find, secret)
        if scope.get("token") is None:
            await self._slow_down(scope)
            return _ask_for_token(scope, headers, had_secret=secret is not None)
        if by_cookie and method not in _SAFE:
            if PAGE_HEADER not in headers:
                raise Refused(403, f"only the service's own page may act by cookie{_PROXY}")
            check_origin(scope)
        return self._app

    async def _slow_down(self, scope: Scope, *, take: bool = True) -> None:
        """Refuse a request that comes too soon, and not at once: that would invite the next."""
        if wait := self._unauthenticated.wait(_address_of(scope), take=take):
            await asyncio.sleep(_LET_GO)
            seconds = str(max(1, round(wait + 0.5)))
            raise Refused(429, f"too many requests; try again in {seconds} s.", retry_after=seconds)

    def _keep_log(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method, token = scope["method"], scope.get("token")
        # A method is any word that someone sends; each label stays in memory.
        counted = method if method in _METHODS else "other"
        self._metrics.requests.labels(counted, route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
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


def check_origin(scope: Scope) -> None:
    """Refuse what does not come from a page of this service, as far as the browser says."""
    headers = Headers(scope=scope)
    own = f"{scope['scheme']}://{headers.get('host', '')}"
    same_site = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    if not same_site or headers.get("origin", own) != own:
        raise Refused(403, f"only the service's own page may log in or act by cookie{_PROXY}")


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


def _ask_for_token(scope: Scope, headers: Headers, *, had_secret: bool) -> Response:
    page = scope["method"] in _SAFE and "text/html" in headers.get("accept", "")
    if page and not scope["path"].startswith("/v1/"):
        return login_page("You were logged out; log in again." if had_secret else "")
    sentence = "the token is not valid."
    if not had_secret:
        sentence = (
            "a token is needed: send it as 'Authorization: Bearer <token>'. "
            "`latesum token new` makes one."
        )
    raise Refused(401, sentence, www_authenticate='Bearer realm="latesum"')


def login_page(problem: str) -> HTMLResponse:
    """The form that asks for a token. Its style is in it: files need a token."""
    style, policy = _login_style()
    page = _render.render("service/templates/login.html", style=Markup(style), problem=problem)
    headers = {"content-security-policy": policy, "cache-control": "no-store"}
    return HTMLResponse(page, 401, headers)


@cache
def _login_style() -> tuple[str, str]:
    """The style of the form, and a policy that allows it and nothing else."""
    style = _render.read("service/templates/login.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return style, (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def needs(
    scope: tokens.Scope, *, long: bool = False, file: bool = False
) -> Callable[[Handler], Handler]:
    """Mark what a token must be allowed to do to reach this.

    Args:
        scope: The least scope.
        long: Whether it only looks and may take long, so that it ends when its client leaves. (A
            record or an action that was begun is brought to its end.)
        file: Whether its body may be as large as a file.
    """

    def mark(handler: Handler) -> Handler:
        handler.__dict__.update(scope=scope, long=long, file=file)
        return handler

    return mark


def scope_of(handler: Callable[..., Any]) -> tokens.Scope:
    """What a token must be allowed to do."""
    return getattr(handler, "scope", "admin")


class ScopedRoute(APIRoute):
    """A route that reads the body within limits, and looks at the token's scope before it looks at
    the body.

    In the description it has the name of its handler.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
        settings["generate_unique_id_function"] = lambda route: route.name
        super().__init__(path, endpoint, **settings)

    def get_route_handler(self) -> Handle:
        """The handler, behind the check."""
        handle, needed = super().get_route_handler(), scope_of(self.endpoint)
        is_long = getattr(self.endpoint, "long", False)
        takes_file = getattr(self.endpoint, "file", False)

        async def guarded(request: Request) -> Response:
            token, state = request.scope["token"], request.app.state
            if request.method in _SAFE:
                request = await with_body(request, MAX_UNUSED, SHORT_SECONDS)
            else:
                largest = MAX_FILE if takes_file else MAX_SMALL
                request = await with_body(request, largest, BODY_SECONDS)
            if not token.may(needed):
                raise Refused(
                    403, f"this needs a token of scope {needed}; yours is for {token.scope}."
                )
            # Not before its body was read: who only waits for one keeps nobody out.
            async with _turn(state.working):
                if not is_long:
                    return await handle(request)
                return await _while_wanted(request, handle)

        return guarded


class _LimitedRequest(Request):
    """A request of whose body no more is read and kept than is allowed."""

    largest = 0

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The parts of the body."""
        length, size = self.headers.get("content-length", "0"), 0
        too_large = length.isdecimal() and int(length) > self.largest
        if not too_large:
            async for part in super().stream():
                size += len(part)
                if too_large := size > self.largest:
                    break
                yield part
        if too_large:
            raise Refused(
                413,
                f"the body is larger than {self.largest:,} bytes; send it in parts.",
                connection="close",
            )


async def with_body(request: Request, largest: int, seconds: float) -> Request:
    """The request with its body, which was read whole and within these limits.

    A client that leaves in the middle has not sent a shorter body: a part of a file is a file with
    other values.
    """
    limited = _LimitedRequest(request.scope, request.receive)
    limited.largest = largest
    try:
        async with asyncio.timeout(seconds):
            await limited.body()
    except ClientDisconnect:
        raise ClientLeft from None
    except TimeoutError:
        # The server closes the connection only if it has let go of the body before the answer.
        await asyncio.sleep(_LET_GO)
        raise Refused(
            408,
            f"the body took longer than {seconds:g} s; send it faster, or in parts.",
            connection="close",
        ) from None
    return limited


@contextlib.asynccontextmanager
async def _turn(working: asyncio.Semaphore) -> AsyncIterator[None]:
    """Wait for one's turn, but not for long."""
    try:
        async with asyncio.timeout(_MAX_WAIT):
            await working.acquire()
    except TimeoutError:
        raise Refused(
            503, "too many requests are in progress; try again in a second.", retry_after="1"
        ) from None
    try:
        yield
    finally:
        working.release()


async def _while_wanted(request: Request, handle: Handle) -> Response:
    """Handle a request while its client waits; what is queued for a thread is taken back."""
    in_progress, token = request.app.state.long_requests, request.scope["token"].id
    if in_progress[token] >= MAX_LONG_REQUESTS:
        raise Refused(429, "too many of your requests are in progress; try again.", retry_after="1")
    in_progress[token] += 1
    # After the body there is only one thing to receive: that the client has left.
    handling = asyncio.create_task(handle(request))
    leaving = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((handling, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not handling.done():
            raise ClientLeft
        return handling.result()
    finally:
        in_progress[token] -= 1
        handling.cancel()
        leaving.cancel()
        await asyncio.wait((handling, leaving))


async def _token(request: Request) -> Token:  # async, so that FastAPI needs no thread for it
    token: Token = request.scope["token"]
    return token


Who = Annotated[Token, Depends(_token)]
