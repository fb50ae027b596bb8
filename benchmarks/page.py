"""How long a browser takes to draw the page of a long campaign.

    pip install 'latesum[server]' playwright
    python benchmarks/page.py --buckets 10000

A campaign of hours is served, and headless Chromium opens its page with the whole run. Counted is
the time from the request to the first answer, to the page being drawn with its charts,
and what the scripts that draw took of it; of three loads, the fastest and the slowest. With
`--regions 4` the campaign has regions.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from grown import grow

from service import Served

_READ = """() => {
  const [page] = performance.getEntriesByType("navigation");
  return {
    answered: page.responseStart, drawn: page.domComplete,
    bytes: page.encodedBodySize, loaded: page.responseEnd,
  };
}"""


def measure(buckets: int, regions: int, loads: int = 3) -> list[dict[str, float]]:
    """The times of some loads, in milliseconds, and the size of the page in bytes."""
    from playwright.sync_api import sync_playwright

    from latesum.campaigns import Store

    with tempfile.TemporaryDirectory() as text, Served(Path(text)) as served:
        with Store(served.store) as store:
            grow(
                store,
                "long",
                every="hour",
                buckets=buckets,
                known=buckets - 1,
                regions=regions,
                stay=24,
                late="about 6 hours",
                policy={"policy": "round-robin", "parameters": {"block": 5000}},
            )
        with sync_playwright() as running:
            browser = running.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page()
            page.set_default_timeout(600_000)
            page.goto(served.address)
            page.fill("#token", served.token)
            page.click("text=Log in")
            page.wait_for_selector("#campaigns")
            page.goto(f"{served.address}/campaigns/long?span=all")  # the status is made once
            found = []
            for _ in range(loads):
                page.goto(f"{served.address}/campaigns/long?span=all")
                found.append(page.evaluate(_READ))
            browser.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--buckets", type=int, default=10_000)
    parser.add_argument("--regions", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.buckets, given.regions)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    times = {
        "first byte": [each["answered"] for each in found],
        "from there to drawn": [each["drawn"] - each["answered"] for each in found],
        "from the request to drawn": [each["drawn"] for each in found],
    }
    print(
        f"{given.buckets:,} buckets, {given.regions} region(s), {found[0]['bytes'] / 1000:.0f} kB"
    )
    for what, each in times.items():
        print(f"  {what}: {min(each):,.0f} to {max(each):,.0f} ms")


if __name__ == "__main__":
    main()
