"""For how long the service's loop answers no one: its pauses while files come in and sockets are slow.

    python benchmarks/loop_pauses.py
    python docs/tables.py --take pauses-results    # into docs/results and the pages

The service runs in this process, with a task in its loop that wakes up every two milliseconds and notes how much too late it
was. All clients are in a process of their own. A pause of the loop is what every request waits for, whatever else it
needs, so it is the part of a long answer that the service is to blame for. On a busy machine the
pauses are longer: beside each stands what the same task met while the service had nothing to do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from latesum.experiments.summaries import write_summary
from service import CAMPAIGN, SLOW_SOCKETS, UPLOADS

_TICK = 0.002


class Heart:
    """Notes the pauses of the loop that it runs in."""

    def __init__(self) -> None:
        self.late: list[float] = []

    async def beat(self) -> None:
        """Wake up again and again."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_TICK)
            self.late.append(time.perf_counter() - began - _TICK)

    def told(self) -> dict[str, float]:
        """The pauses since it was last asked, in milliseconds."""
        late, self.late = sorted(self.late), []
        return {
            "median_ms": 1000 * late[len(late) // 2],
            "p99_ms": 1000 * late[int(len(late) * 0.99)],
            "longest_ms": 1000 * late[-1],
        }


def serve(folder: Path, heart: Heart) -> tuple[str, str, Any]:
    """A service in a thread: its address, a token, and its server."""
    import uvicorn

    from latesum.campaigns import Campaign, Store
    from latesum.service import Configuration, Tokens
    from latesum.service.app import create_app
    from latesum.service.connections import Gate, guarded_protocol
    from latesum.service.running import address_of, listen

    store = Store(folder / "campaigns.db")
    Campaign.create(name="numbered", **{**CAMPAIGN, "every": "number"}, store=store)  # type: ignore[arg-type]
    for bucket in range(1, 201):
        Campaign.open("numbered", store=store).decide(bucket)
    app = create_app(store, Configuration(requests_per_second=1e6))
    gate = Gate(200, 1000, 10.0, ["127.0.0.1"])
    listening = listen("127.0.0.1", 0)
    settings = uvicorn.Config(app, http=guarded_protocol(gate), ws="none", log_config=None)
    server = uvicorn.Server(settings)
    ready = threading.Event()
    begin = server.startup

    async def startup(sockets: Any = None) -> None:
        await begin(sockets)
        app.state.tasks = [
            asyncio.create_task(each) for each in (gate.keep_looking(), heart.beat())
        ]
        ready.set()

    server.startup = startup  # type: ignore[method-assign]
    threading.Thread(target=server.run, args=([listening],), daemon=True).start()
    ready.wait()
    return address_of(listening).rstrip("/"), Tokens(store).new("all", "admin"), server


def attack(
    address: str, token: str, kinds: Sequence[str], seconds: float,
    campaign: str = "numbered", sender: str = "127.0.0.1",
) -> None:  # fmt: skip
    """What the service has to do meanwhile: files of many `rows`, `wide` ones, `sockets` with slow heads."""
    import aiohttp

    rows = "".join(f"{number % 200 + 1},1500\n" for number in range(10_000))
    wide = "bucket,total," + ",".join(f"c{n}" for n in range(20_000)) + "\n1,1" + ",7" * 20_000
    files = {"rows": f"bucket,total\n{rows}".encode(), "wide": wide.encode()}

    async def upload(session: Any, file: bytes) -> None:
        path, headers = (
            f"/v1/campaigns/{campaign}/totals?dry_run=true",
            {"Content-Type": "text/csv"},
        )
        while True:
            async with session.post(path, data=file, headers=headers) as answer:
                await answer.read()

    async def slow() -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        while True:
            try:
                reader, writer = await asyncio.open_connection(
                    host, int(port), local_addr=(sender, 0)
                )
                writer.write(b"GET / HTTP/1.1\r\nX: ")
                await reader.read()
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(1)

    async def run() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(address, headers=headers) as session:
            sockets = SLOW_SOCKETS if "sockets" in kinds else 0
            tasks = [asyncio.create_task(slow()) for _ in range(sockets)]
            sent = [files[kind] for kind in kinds if kind in files]
            tasks += [asyncio.create_task(upload(session, each)) for each in sent * UPLOADS]
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())


def measure(seconds: float) -> dict[str, dict[str, float]]:
    """The pauses beside each kind of client."""
    found = {}
    heart = Heart()
    spawning = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        address, token, server = serve(Path(folder), heart)
        for kind in ("nothing", "rows", "wide", "sockets"):
            process = spawning.Process(target=attack, args=(address, token, [kind], seconds))
            process.start()
            time.sleep(4)  # until the clients have begun, and the process that reads files
            heart.told()
            time.sleep(max(seconds - 5, 1))
            found[kind] = heart.told()
            process.join()
        server.should_exit = True
        time.sleep(1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("pauses-results"))
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # every slow socket that is closed is a line
    found = measure(given.seconds)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    titles = {
        "nothing": "nothing to do",
        "rows": f"{UPLOADS} clients with files of 10,000 rows",
        "wide": f"{UPLOADS} clients with files of 20,000 columns",
        "sockets": f"{SLOW_SOCKETS:,} sockets that send half of a head",
    }
    for kind, row in found.items():
        print(
            f"{titles[kind]}: median {row['median_ms']:.1f} ms, 99th percentile {row['p99_ms']:.1f} ms, "
            f"longest {row['longest_ms']:.1f} ms"
        )
    rows = [
        {
            "beside": titles[kind],
            "files": "in a process",
            **{name: row[name] for name in ("p99_ms", "longest_ms")},
        }
        for kind, row in found.items()
    ]
    print(write_summary(given.out / "pauses.csv", rows, same=["beside", "files"]))


if __name__ == "__main__":
    main()
