"""A service in a thread, with a clock that the test sets, and a browser that looks at it."""

import asyncio
import contextlib
import socket
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from granian.server.embed import Server

from latesum.campaigns import Store
from latesum.service import SCOPES, Configuration, Tokens
from latesum.service.app import create_app
from latesum.service.server import find_address, url_of

LOOKS = [("light", 1280, 900), ("dark", 1280, 900), ("light", 390, 844), ("dark", 390, 844)]


class Days:
    """A clock that stands still until its day is set; the first one is a Monday."""

    day = 0

    def __call__(self):
        return datetime(2026, 3, 2, 8, 0, tzinfo=UTC) + timedelta(days=self.day)


class Site:
    """A running service: its address, its store, and a token of each scope."""

    def __init__(self, address, store, secrets, app):
        self.address = address
        self.store = store
        self.secrets = secrets
        self.app = app


@contextlib.contextmanager
def running_site(folder, clock, **configuration):
    """Serve a store until the block ends."""
    with Store(folder / "campaigns.db") as store:
        tokens = Tokens(store)
        secrets = {scope: tokens.new(scope, scope) for scope in SCOPES}
        # A new forecast after every total takes seconds, and most tests do not look at it.
        given = {"clock": clock, "page_every": 0.3, "forecast_every": 3600.0}
        app = create_app(store, Configuration(**{**given, **configuration}))
        address = find_address("127.0.0.1", 0)
        server = Server(app, *address, interface="asgi", http="1", websockets=False)
        loop = asyncio.new_event_loop()

        def serve():
            asyncio.set_event_loop(loop)
            loop.run_until_complete(server.serve())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        wait_for(address)
        yield Site(url_of(address), store, secrets, app)
        loop.call_soon_threadsafe(server.stop)
        thread.join(300)
        assert not thread.is_alive()


def wait_for(address):
    """Until something listens there."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection(address, timeout=60).close()
            return
        time.sleep(0.01)
    raise RuntimeError("nothing listens there")


class Visitor:
    """A browser that is logged in, and everything that it complained about."""

    def __init__(self, browser, address, token, scheme="light", width=1200, height=900):
        self.address = address
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}
        )
        self.width = width
        self.context.set_default_timeout(120_000)  # a slow machine is not an error
        self.page = self.context.new_page()
        self.complaints = []
        self.foreign = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._watch)
        self.page.goto(self.address)
        self.page.on("console", self._listen)
        self.page.fill("#token", token)
        self.page.click("text=Log in")
        self.page.wait_for_selector("#campaigns")
        assert token not in self.page.url

    def _watch(self, request):
        if not request.url.startswith((self.address, "data:")):
            self.foreign.append(request.url)

    def _listen(self, message):
        if message.type in ("error", "warning") and "409" not in message.text:
            self.complaints.append(message.text)

    def look(self, scheme, width, height):
        """Take another theme and window: much faster than another browser's, which loads everything again."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": height})
        self.width = width

    def leave(self):
        """Close the browser, which must have had nothing to complain about."""
        assert self.complaints == self.foreign == []
        self.context.close()

    def goto(self, path):
        self.page.goto(self.address.rstrip("/") + path)

    def follow(self, selector):
        """Click on what leads to another page, and wait until that one is whole."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def wait_for(self, selector, seconds=120):
        self.page.wait_for_selector(selector, timeout=1000 * seconds)

    def act(self, name, reason, seen=None, /, **fields):
        """Do an operator action, and wait until this is seen of it."""
        button = self.page.locator(f"[data-action={name}]")
        if not button.is_visible():
            self.page.click("details.more summary")
        button.click()
        for id, value in fields.items():
            locator = self.page.locator(f"#{id.replace('_', '-')}")
            if locator.evaluate("each => each.tagName") == "SELECT":
                locator.select_option(value)
            else:
                locator.fill(value)
        self.page.fill("#reason", reason)
        self.page.click("#confirm")
        self.page.wait_for_selector("#dialog", state="hidden")
        if seen is not None:
            self.page.wait_for_selector(seen)

    def check_look(self):
        """What axe finds, and whether the page is wider than the window."""
        assert violations(self.page) == []
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width


def violations(page):
    """What axe finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # What passes is not listed, which takes a third of the time.
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found]
