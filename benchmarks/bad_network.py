"""What others wait for while the service is attacked: slow heads on 1,000 sockets, and eight wide files at once.

    pip install 'latesum[server,benchmarks]'
    python benchmarks/bad_network.py
    python docs/tables.py --take network-results    # into docs/results and the pages

Three processes on loopback: the service as `latesum serve` runs it, the attackers, and one that asks `/livez`, each time on a
new connection, and for the option for now, on connections that are kept, a fixed number of times per second, whether or
not the answers before have come. Each attack is measured apart, and both at once:

- sockets send half of a request's head and no more; one that is closed is opened again a second later,
- eight clients send a file of 20,000 columns (129 kB) again and again, as a dry run, or one of 10,000 rows.

On a machine that does other work answers take longer, whatever program serves. So beside them stand the pauses of the service's own loop, which no
answer can be faster than, those of the loop that asks, which is to blame for nothing, and the CPU of the service's process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from loop_pauses import Heart, attack

from latesum.experiments.summaries import write_summary
from service import SLOW_SOCKETS, UPLOADS, grow_in

ROUTES = ("/livez", "option")
#: Attacks by their names: as `loop_pauses.attack` takes them, and what the table says.
ATTACKS = {
    "nothing": ((), "nothing"),
    "sockets": (("sockets",), f"{SLOW_SOCKETS:,} sockets with slow heads"),
    "wide": (("wide",), f"{UPLOADS} files of 20,000 columns at once"),
    "both": (("sockets", "wide"), "both"),
    "rows": (("rows",), f"{UPLOADS} files of 10,000 rows at once"),
}
#: The goal, in milliseconds.
LIMIT = 50.0
_SETTLE = 4.0
_MOST_WAITING = 500


def serve(folder: Path, told: Any) -> None:
    """The service, in a process of its own: says where it is, and then, when asked, its pauses and its CPU."""
    from latesum.campaigns import Store
    from latesum.service import Configuration, Tokens
    from latesum.service.app import create_app
    from latesum.service.running import address_of, listen, run

    logging.disable(logging.CRITICAL)  # every slow socket that is closed is a line
    heart = Heart()
    store = Store(folder / "campaigns.db")
    token = Tokens(store).new("all", "admin")
    configuration = Configuration(requests_per_second=1e6)
    app = create_app(store, configuration)
    listening = listen("127.0.0.1", 0)

    def answer() -> None:
        while told.recv():
            told.send({"pauses": heart.told(), "cpu": time.process_time()})

    def when_ready() -> None:
        app.state.beating = asyncio.create_task(heart.beat())
        told.send((address_of(listening).rstrip("/"), token))
        threading.Thread(target=answer, daemon=True).start()

    run(app, listening, configuration, when_ready=when_ready)


async def ask(address: str, token: str, seconds: float, rate: float) -> dict[str, Any]:
    """Ask for both routes `rate` times per second each; how long answers took, in milliseconds."""
    import aiohttp

    times: dict[str, list[float]] = {route: [] for route in ROUTES}
    failures = dict.fromkeys(ROUTES, 0)
    paths = {"/livez": "/livez", "option": "/v1/campaigns/grown/option"}
    sent = {"/livez": {"Connection": "close"}, "option": {"Authorization": f"Bearer {token}"}}
    heart = Heart()
    beating = asyncio.create_task(heart.beat())
    waiting: set[asyncio.Task[None]] = set()
    connector = aiohttp.TCPConnector(limit=0)
    longest = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(address, connector=connector, timeout=longest) as session:

        async def one(route: str) -> None:
            began = time.perf_counter()
            try:
                async with session.get(paths[route], headers=sent[route]) as answer:
                    await answer.read()
                    ok = answer.status == 200
            except (aiohttp.ClientError, TimeoutError, OSError):
                ok = False
            failures[route] += not ok
            times[route].append(1000 * (time.perf_counter() - began))

        for route in ROUTES:  # connections are opened, and the token is known
            await one(route)
            times[route].clear()
        heart.told()
        began = time.perf_counter()
        for number in range(int(seconds * rate)):
            await asyncio.sleep(max(began + number / rate - time.perf_counter(), 0))
            for route in ROUTES if len(waiting) < _MOST_WAITING else ():
                task = asyncio.create_task(one(route))
                waiting.add(task)
                task.add_done_callback(waiting.discard)
        await asyncio.gather(*waiting)
    pauses = heart.told()
    beating.cancel()
    return {
        "asking": pauses,
        **{
            route: {
                "number": len(each),
                "failed": failures[route],
                "median_ms": sorted(each)[len(each) // 2],
                "p99_ms": sorted(each)[int(len(each) * 0.99)],
                "longest_ms": max(each),
            }
            for route, each in times.items()
        },
    }


def measure(
    attacks: list[str], seconds: float, rate: float, sender: str
) -> dict[str, dict[str, Any]]:
    """What was found beside each attack."""
    spawning = multiprocessing.get_context("spawn")
    found = {}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        grow_in(folder / "campaigns.db", "grown", 100)
        ours, theirs = spawning.Pipe()
        service = spawning.Process(target=serve, args=(folder, theirs))
        service.start()
        address, token = ours.recv()

        def told() -> Any:
            ours.send(True)
            return ours.recv()

        for name in attacks:
            kinds, _ = ATTACKS[name]
            given = (address, token, kinds, seconds + _SETTLE + 2, "grown", sender)
            attackers = spawning.Process(target=attack, args=given)
            attackers.start()
            time.sleep(_SETTLE)  # until they have begun, and the process that reads files
            before, began = told(), time.perf_counter()
            asked = asyncio.run(ask(address, token, seconds, rate))
            passed, after = time.perf_counter() - began, told()
            cpu = (after["cpu"] - before["cpu"]) / passed
            found[name] = {**asked, "pauses": after["pauses"], "cpu_share": cpu}
            attackers.join()
        service.terminate()
        service.join()
    return found


def table(found: dict[str, dict[str, Any]]) -> str:
    """All of it in one table."""
    lines = [
        "| beside | `/livez` median | 99% | longest | option median | 99% | longest | failed | the service's pauses, 99% | longest | pauses of who asks, 99% | longest | CPU |",
        "|---|" + "---|" * 12,
    ]
    for name, row in found.items():
        cells = [ATTACKS[name][1]]
        for route in ROUTES:
            cells += [
                f"{row[route][each]:.1f} ms" for each in ("median_ms", "p99_ms", "longest_ms")
            ]
        asked = sum(row[route]["number"] for route in ROUTES)
        cells += [f"{sum(row[route]['failed'] for route in ROUTES)} of {asked:,}"]
        cells += [f"{row['pauses'][each]:.1f} ms" for each in ("p99_ms", "longest_ms")]
        cells += [f"{row['asking'][each]:.1f} ms" for each in ("p99_ms", "longest_ms")]
        cells.append(f"{100 * row['cpu_share']:.0f}%")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS), help=", ".join(ATTACKS))
    parser.add_argument("--seconds", type=float, default=15.0, help="for each attack")
    parser.add_argument("--rate", type=float, default=50.0, help="per second and route")
    parser.add_argument(
        "--sender", default="127.0.0.1",
        help="the address of the attackers; 127.0.0.2 is not a listed proxy, so it has 200 connections",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("network-results"))
    given = parser.parse_args()
    if unknown := [each for each in given.attacks if each not in ATTACKS]:
        parser.error(f"there is no attack {unknown[0]!r}; there are {', '.join(ATTACKS)}")
    found = measure(given.attacks, given.seconds, given.rate, given.sender)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"{os.cpu_count()} cores{load}, {given.seconds:g} s each, {given.rate:g} per second and route"
    )
    print(table(found))
    rows = [
        {
            "beside": ATTACKS[name][1], "livez_p99_ms": row["/livez"]["p99_ms"], "option_p99_ms": row["option"]["p99_ms"],
            "longest_ms": max(row[route]["longest_ms"] for route in ROUTES), "pauses_p99_ms": row["pauses"]["p99_ms"],
            "cpu": row["cpu_share"], "failed": sum(row[route]["failed"] for route in ROUTES),
        }
        for name, row in found.items()
    ]  # fmt: skip
    print(write_summary(given.out / "network.csv", rows, same=["beside"]))
    worst = max(row[route]["p99_ms"] for row in found.values() for route in ROUTES)
    held = "held" if worst < LIMIT else "not held"
    print(f"99th percentile under {LIMIT:g} ms: {held}, the largest is {worst:.1f} ms")


if __name__ == "__main__":
    main()
