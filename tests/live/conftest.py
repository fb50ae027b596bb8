"""The stores that every test of a store runs on, a clock to be set, and a campaign to begin with."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from latesum.live import Campaign, Store

sys.path.insert(0, str(Path(__file__).parent))

from postgres_server import NoPostgres, running_server


@pytest.fixture(scope="session")
def postgres():
    try:
        with running_server() as server:
            yield server
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["sqlite", "postgresql"])
def store_address(request, tmp_path):
    """The address of an empty store of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campaigns.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def store(store_address):
    with Store(store_address) as opened:
        yield opened


class SetClock:
    """A clock that stands still until it is set."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now

    def pass_by(self, **span):
        self.now += timedelta(**span)


@pytest.fixture
def clock():
    return SetClock(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))  # a Monday


@pytest.fixture
def new_campaign(tmp_path, clock):
    """Make a campaign in a file, with anything set otherwise."""
    store = Store(tmp_path / "own.db")

    def make(name="banner", options=("A", "B", "C"), policy="odaaf", parameters=None, **changed):
        settings = {
            "every": "day",
            "expected_rounds": 5000,
            "time_basis": "arrival",
            "seed": 1,
            "store": store,
            "clock": clock,
        }
        if parameters is None:
            parameters = {"horizon": 450_000, "mean_delay": 1500}
        return Campaign.create(name, options, policy, parameters, **{**settings, **changed})

    yield make
    store.close()
