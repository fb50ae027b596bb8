"""A store of each kind, and a campaign to begin with."""

import importlib.util
import sys
from pathlib import Path

import pytest

from latesum.campaigns import Campaign, Store

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def load_example(monkeypatch):
    """Load a script of `examples/` as a module, with the modules beside it for this test only."""
    before = set(sys.modules)

    def load(folder, name):
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in set(sys.modules) - before:
        if str(EXAMPLES) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, store_file):
    """An empty store of each kind."""
    if request.param == "sqlite":
        address = store_file()
    else:
        tables = request.getfixturevalue("tables_database")
        address = request.getfixturevalue("postgres").new_database(tables)
    with Store(address) as opened:
        yield opened


@pytest.fixture
def new_campaign(store_file, clock):
    """Make a campaign in a file, with anything set otherwise."""
    store = Store(store_file("own.db"))

    def make(name="banner", options=("A", "B", "C"), policy="odaaf", parameters=None, **changed):
        config = {
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
            **{
                "name": name,
                "options": options,
                "policy": policy,
                "parameters": parameters,
                **config,
                **changed,
            }
        )

    yield make
    store.close()
