"""A store of each kind, and a campaign to begin with."""

import pytest

from latesum.live import Campaign, Store


@pytest.fixture
def store(store_address):
    with Store(store_address) as opened:
        yield opened


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
            "status_quo": "none",
            "store": store,
            "clock": clock,
        }
        if parameters is None:
            parameters = {"horizon": 450_000, "mean_delay": 1500}
        return Campaign.create(
            **{"name": name, "options": options, "policy": policy, "parameters": parameters,
               **settings, **changed}
        )  # fmt: skip

    yield make
    store.close()
