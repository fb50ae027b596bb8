"""The list of many campaigns: CPU per request, for the page, its refresh and the HTTP API.

    pip install 'latesum[server]'
    python benchmarks/campaign_list.py --campaigns 200 --days 60

The service runs in this process, without a network, so the CPU is that of the application and of
the client that asks. Each campaign has a decision and a total for every day, and one in ten has had
no total for two weeks. The first request makes all summaries, as the service does by itself after
its start; then each address is asked for 20 times. With `--regions 3` they have regions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from grown import grow

ADDRESSES = ("/", "/live", "/v1/campaigns", "/?search=number-17", "/?page=4")


async def measure(store: Any, times: int) -> dict[str, float]:
    """The CPU of a request to each address, in milliseconds, and of the first one."""
    import httpx

    from latesum.service import Configuration, Tokens
    from latesum.service.app import create_app

    headers = {"Authorization": f"Bearer {Tokens(store).new('reader', 'admin')}"}
    app = create_app(store, Configuration(watch_every=3600.0))
    transport = httpx.ASGITransport(app)
    found = {}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://list", headers=headers, timeout=600
    ) as client:
        began = time.process_time()
        assert (await client.get("/live")).status_code == 200
        found["the first"] = 1000 * (time.process_time() - began)
        for address in ADDRESSES:
            began = time.process_time()
            for _ in range(times):
                answer = await client.get(address)
                assert answer.status_code == 200, answer.text
            found[address] = 1000 * (time.process_time() - began) / times
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--regions", type=int, default=1)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    from latesum.campaigns import Store

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "campaigns.db") as store:
        for number in range(given.campaigns):
            grow(
                store,
                f"number-{number}",
                every="day",
                buckets=given.days + 1,
                regions=given.regions,
                stay=5,
                known=given.days - 14 if number % 10 == 0 else given.days,
                late="about 2 days",
                seed=number,
                policy={"policy": "odaaf", "parameters": {"horizon": 900_000, "mean_delay": 1000}},
            )
        found = asyncio.run(measure(store, given.times))
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(
        f"{given.campaigns} campaigns of {given.days} days, {given.regions} region(s), CPU per request"
    )
    for address, milliseconds in found.items():
        print(f"  {address}: {milliseconds:,.1f} ms")


if __name__ == "__main__":
    main()
