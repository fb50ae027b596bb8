"""The example application, against a service of its own."""

import importlib.util
from pathlib import Path

import pytest
from service_process import ServiceProcess

from latesum.campaigns import Store
from latesum.service import Tokens
from latesum.service.client import Client

EXAMPLE = Path(__file__).parents[2] / "examples" / "service" / "shop.py"


@pytest.fixture
def shop():
    spec = importlib.util.spec_from_file_location("example_shop", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shop_shows_a_banner_with_and_without_the_service(shop, tmp_path):
    from datetime import datetime
    from zoneinfo import ZoneInfo

    with Store(tmp_path / "campaigns.db") as store:
        secret = Tokens(store).new("shop", "operate")
    service = ServiceProcess(tmp_path / "campaigns.db")
    with service, Client(service.url, secret, attempts=2, sleep=lambda _: None) as client:
        shop.set_up(client)
        shop.set_up(client)
        assert shop.banner(client) == "Welcome."
        today = datetime.now(ZoneInfo("Europe/Berlin")).date().isoformat()
        assert shop.tell(client, today, 5000, 1500) == "new"
        assert shop.tell(client, today, 5000, 1500) == "same"
        service.kill()
        assert shop.banner(client) == "Welcome."  # kept until the day ends
        with Client(service.url, secret, attempts=2, sleep=lambda _: None) as other:
            assert shop.banner(other) == shop.BANNERS[shop.DECLARED]
