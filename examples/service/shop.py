"""A shop that asks the service which banner to show, and records what was sold. See README.md."""

from __future__ import annotations

import os
import sys
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from latesum.errors import ServiceError
from latesum.service.client import Client

SERVICE = os.environ.get("LATESUM_SERVICE", "http://127.0.0.1:8000")
CAMPAIGN = "banner"
BANNERS = {"plain": "Welcome.", "bold": "WELCOME!", "kind": "Good to see you."}
#: What is shown when the service does not answer.
DECLARED = "plain"


def set_up(client: Client) -> None:
    """Make the campaign; done twice, it is made once."""
    config = {
        "options": list(BANNERS),
        "policy": "odaaf",
        "parameters": {"horizon": "90 days", "mean_delay": "36 hours"},
        "every": "day",
        "zone": "Europe/Berlin",
        "expected_rounds": 5000,
        "time_basis": "arrival",
        "unit": "sales",
    }
    client.send("PUT", f"/v1/campaigns/{CAMPAIGN}", json=config)


def banner(client: Client) -> str:
    """The text of today's banner."""
    return BANNERS[client.option(CAMPAIGN, fallback=DECLARED)["option"]]


def tell(client: Client, day: str, visitors: int, sales: float) -> str:
    """Record what arrived on a day; sent again, it changes nothing."""
    return str(client.record(CAMPAIGN, day, rounds=visitors, total=sales)["verdict"])


def serve_page(client: Client, port: int = 8080) -> None:
    """The shop's page."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = f"<!doctype html><title>Shop</title><h1>{escape(banner(client))}</h1>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

    print(f"The shop: http://127.0.0.1:{port}/")
    ThreadingHTTPServer(("127.0.0.1", port), Page).serve_forever()


def main(arguments: list[str]) -> None:
    """Do one of the jobs."""
    # A visitor does not wait for a service that is down: two quick attempts, then the fallback.
    with Client(SERVICE, attempts=2, timeout=1.0) as client:
        match arguments:
            case ["set-up"]:
                set_up(client)
            case ["page"]:
                serve_page(client)
            case ["tell", day, visitors, sales]:
                print(tell(client, day, int(visitors), float(sales)))
            case _:
                sys.exit("usage: shop.py set-up | page | tell DAY VISITORS SALES")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ServiceError, ValueError) as refusal:
        sys.exit(f"shop: {refusal}")
