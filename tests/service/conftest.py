"""A service in this process, and clients with tokens of each scope."""

import logging
import shutil
import sys
import warnings
from pathlib import Path

import pytest

from latesum.campaigns import Store
from latesum.service import SCOPES, Configuration, Tokens
from latesum.service.app import create_app
from latesum.service.auth import COOKIE
from latesum.service.logs import LOGGER, JsonLines

sys.path.insert(0, str(Path(__file__).parent))

from receiver import Receiver
from service_settings import SETTINGS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its choice of a library for requests
    from starlette.testclient import TestClient


class Service:
    """A service with its tokens; `as_("read")` is a client of that scope."""

    def __init__(self, store, **configuration):
        self.store = store
        self.clock = configuration.get("clock")
        tokens = Tokens(store)
        self.secrets = {scope: tokens.new(scope, scope) for scope in SCOPES}
        self.app = create_app(store, Configuration(**configuration))
        self.stranger = TestClient(self.app, raise_server_exceptions=False)

    def as_(self, scope):
        """A client with a token."""
        return _Client(self.stranger, {"Authorization": f"Bearer {self.secrets[scope]}"})

    def log_in(self, scope):
        """The session that the page of someone with this token gets, as a cookie."""
        form = {"token": self.secrets[scope]}
        answer = self.stranger.post("/login", data=form, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        session = answer.cookies[COOKIE]
        self.stranger.cookies.clear()
        return session

    def by_session(self, session, **headers):
        """A browser with this session."""
        return _Client(self.stranger, {"Cookie": f"{COOKIE}={session}", **headers})


class _Client:
    def __init__(self, client, headers):
        self._client = client
        self.headers = headers

    def act(self, campaign, action, headers=None, **body):
        """Do an operator action."""
        path, sent = f"{campaign}/actions/{action}", {"reason": "a test", **body}
        return self.post(path, json=sent, headers=headers or {})

    def upload(self, campaign, file, kind="text/csv", **params):
        """Send a file of totals."""
        headers = {"Content-Type": kind}
        return self.post(f"{campaign}/totals", content=file, headers=headers, params=params)

    def __getattr__(self, method):
        def send(path, **sent):
            headers = {**self.headers, **sent.pop("headers", {})}
            return self._client.request(method.upper(), path, headers=headers, **sent)

        return send


@pytest.fixture
def make_service(store_file, clock):
    """Make a service with anything configured otherwise."""
    opened = []

    def make(**configuration):
        store = Store(store_file(f"campaigns{len(opened)}.db"))
        service = Service(store, **{"clock": clock, **configuration})
        service.stranger.__enter__()
        opened.append(service)
        return service

    yield make
    for service in opened:
        service.stranger.__exit__(None, None, None)


@pytest.fixture
def service(make_service):
    return make_service()


@pytest.fixture(scope="module")
def lasting_service(tables_file, tmp_path_factory):
    """One for all tests of a file, whose processes are begun once; its clock is that of the machine."""
    path = tmp_path_factory.mktemp("lasting") / "campaigns.db"
    with Store(shutil.copyfile(tables_file, path)) as store:
        service = Service(store)
        with service.stranger:
            yield service


@pytest.fixture
def operator(service):
    return service.as_("operate")


@pytest.fixture
def campaign(operator):
    """A campaign that began a month ago."""
    assert operator.put("/v1/campaigns/banner", json=SETTINGS).status_code == 201
    return "/v1/campaigns/banner"


@pytest.fixture
def daily(operator):
    """A campaign of days."""
    config = {**SETTINGS, "start": "2026-03-02"}
    assert operator.put("/v1/campaigns/daily", json=config).status_code == 201
    return "/v1/campaigns/daily"


@pytest.fixture
def lines():
    """The lines of the log, as they would be written."""
    written = []

    class Keep(logging.Handler):
        def emit(self, record):
            written.append(JsonLines().format(record))

    handler = Keep()
    LOGGER.addHandler(handler)
    before = LOGGER.level
    LOGGER.setLevel(logging.DEBUG)
    yield written
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(before)


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


CHROMIUM = next(
    (
        path
        for path in ("/usr/bin/chromium", shutil.which("chromium"), shutil.which("google-chrome"))
        if path and Path(path).exists()
    ),
    None,
)


@pytest.fixture(scope="module")  # as long as it lives no other event loop can run in this thread
def browser():
    if CHROMIUM is None:
        pytest.skip("Chromium was not found: install it, or put it on the path.")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
