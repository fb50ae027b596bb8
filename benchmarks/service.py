"""How fast the service answers: the option for now, and durable records, against Optuna's ask/tell.

    pip install 'latesum[server,benchmarks]'
    python benchmarks/service.py

The service is a process of its own on loopback; the client (aiohttp, 16 connections) shares the
machine's cores with it. Records are acknowledged after a full synchronization of SQLite's log to
the disk. Optuna runs its first 200 trials with the RandomSampler on SQLite in the same run. The
option is also asked for while eight clients send one file of 10,000 rows after the other, and while
1,000 sockets send half of a request's head, again and again as they are closed; and the CPU that a
file of 40,000 columns takes is compared with that of one of 40. Where nginx is installed, both are
asked for through HTTPS that ends there too, as docs/how-to/service.md sets it up.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import speed

from latesum.experiments.store import write_summary

CONNECTIONS = 16
UPLOADS = 8
SLOW_SOCKETS = 1_000
CAMPAIGN = {
    "options": ["red", "blue", "green"],
    "policy": "odaaf",
    "parameters": {"horizon": 5_000_000, "mean_delay": 1000},
    "every": "hour",
    "expected_rounds": 5000,
    "time_basis": "arrival",
}


class Served:
    """A `latesum serve` of its own."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "campaigns.db"
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "latesum.cli",
                "serve",
                "--port",
                "0",
                "--store",
                self.store,
                "--log-level",
                "error",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        said = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said += line
            if "Stop it" in line:
                break
        words = said.split()
        self.address = next(word for word in words if word.startswith("http://")).rstrip("/")
        self.token = (folder / "first-token").read_text().strip()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


@contextlib.contextmanager
def behind_tls(served: Served, folder: Path) -> Iterator[str | None]:
    """The address of the same service by HTTPS, which ends at nginx; None where there is none."""
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if nginx is None or shutil.which("openssl") is None:
        yield None
        return
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "certificate.pem",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ],
        check=True,
        capture_output=True,
    )
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{name}_temp_path {folder}/{name};" for name in names)
    (folder / "nginx.conf").write_text(
        f"""pid {folder}/nginx.pid; error_log stderr error; daemon off;
        {"user root;" if os.geteuid() == 0 else ""} events {{ }}
        http {{ access_log off; {places}
          upstream latesum {{ server {served.address.removeprefix("http://")}; keepalive 32; }}
          server {{
            listen 127.0.0.1:{port} ssl; keepalive_requests 1000000;
            ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
            location / {{
              proxy_pass http://latesum; proxy_http_version 1.1;
              proxy_set_header Host $http_host; proxy_set_header Connection "";
              proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
            }}
          }}
        }}"""
    )
    process = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"])
    try:
        time.sleep(1)
        yield f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextlib.asynccontextmanager
async def slow_sockets(served: Served, number: int) -> AsyncIterator[None]:
    """Sockets that send half of a request's head; a closed one is opened again a second later."""
    host, _, port = served.address.removeprefix("http://").partition(":")

    async def one() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(host, int(port))
                writer.write(b"GET / HTTP/1.1\r\nX: ")
                await reader.read()
                writer.close()
            await asyncio.sleep(1)

    tasks = [asyncio.create_task(one()) for _ in range(number)]
    await asyncio.sleep(2 if tasks else 0)
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def load_beside_slow_sockets(
    served: Served, seconds: float, request: Any
) -> dict[str, float]:
    """As `load`, with sixteen connections, beside many that send half of a head."""
    async with slow_sockets(served, SLOW_SOCKETS):
        return await load(served, seconds, request)


async def load(
    served: Served, seconds: float, request: Any, beside: Any = None, address: str | None = None
) -> dict[str, float]:
    """Sixteen connections, one request after the other on each; `request(session, n)` sends one.

    `beside` is sent by eight more at the same time, and not measured. `address` is that of a proxy.
    """
    import aiohttp

    times: list[float] = []
    headers = {"Authorization": f"Bearer {served.token}"}
    connector = aiohttp.TCPConnector(limit=CONNECTIONS + UPLOADS, ssl=False)
    async with aiohttp.ClientSession(
        address or served.address, headers=headers, connector=connector
    ) as session:
        await request(session, 0)
        end = time.perf_counter() + seconds

        async def one(number: int) -> None:
            while (began := time.perf_counter()) < end:
                await request(session, number)
                times.append(time.perf_counter() - began)
                number += CONNECTIONS

        async def another() -> None:
            while True:
                await beside(session, 0)

        others = [asyncio.create_task(another()) for _ in range(UPLOADS if beside else 0)]
        began = time.perf_counter()
        await asyncio.gather(*(one(number) for number in range(1, CONNECTIONS + 1)))
        passed = time.perf_counter() - began
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    times.sort()
    return {
        "per_second": len(times) / passed,
        "median_ms": 1000 * times[len(times) // 2],
        "p99_ms": 1000 * times[int(len(times) * 0.99)],
    }


def option_request(name: str) -> Any:
    """Ask for the option for now."""

    async def send(session: Any, _: int) -> None:
        async with session.get(f"/v1/campaigns/{name}/option") as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()

    return send


async def alive_request(session: Any, _: int) -> None:
    """Ask whether it is alive, on a connection of its own."""
    async with session.get("/livez", headers={"Connection": "close"}) as answer:
        assert answer.status == 200, await answer.text()


def record_request(name: str, buckets: int) -> Any:
    """Set another value for a bucket each time, so that every request writes."""
    sent = iter(range(1, 10**9))

    async def send(session: Any, number: int) -> None:
        bucket = number % buckets + 1
        body = {"rounds": 5000, "total": next(sent) % 4000 + 0.5}
        async with session.put(f"/v1/campaigns/{name}/buckets/{bucket}", json=body) as answer:
            assert answer.status == 200, await answer.text()
            assert (await answer.json())["verdict"] in ("new", "revised", "same")

    return send


def upload_request(name: str, buckets: int) -> Any:
    """Ask what would become of a file of 10,000 rows."""
    rows = "".join(f"{number % buckets + 1},1500\n" for number in range(10_000))
    file = f"bucket,total\n{rows}".encode()

    async def send(session: Any, _: int) -> None:
        path = f"/v1/campaigns/{name}/totals?dry_run=true"
        async with session.post(path, data=file, headers={"Content-Type": "text/csv"}) as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()

    return send


def cost_of_columns(store: Path, name: str, columns: int, times: int = 50) -> float:
    """The CPU seconds that a file of one row takes, refused or not; the middle of some."""
    from latesum.campaigns import Campaign
    from latesum.campaigns.importing import import_totals
    from latesum.errors import BadFile

    names = ",".join(["bucket", "total", *(f"c{number}" for number in range(columns - 2))])
    file = f"{names}\n1,1500{',7' * (columns - 2)}\n".encode()
    seconds = []
    with Campaign.open(name, store=store) as campaign:
        for _ in range(times):
            began = time.process_time()
            with contextlib.suppress(BadFile):
                import_totals(campaign, file, dry_run=True)
            seconds.append(time.process_time() - began)
    return sorted(seconds)[times // 2]


def grow(served: Served, name: str, buckets: int) -> None:
    """A campaign in the store of a service, as `grow_in` makes it."""
    grow_in(served.store, name, buckets)


def grow_in(place: Path, name: str, buckets: int) -> None:
    """A campaign of hours whose log has `buckets` buckets, decided and recorded, up to now."""
    from datetime import UTC, datetime, timedelta

    from latesum.campaigns import Campaign, Row, Store

    start = datetime.now(UTC) - timedelta(hours=buckets - 1)
    now = [start]
    with Store(place) as store:
        campaign = Campaign.create(
            name=name, **CAMPAIGN, start=start.isoformat(), store=store, clock=lambda: now[0]
        )
        for bucket in range(1, buckets + 1):
            now[0] = start + timedelta(hours=bucket - 1)
            campaign.decide(bucket)
            if bucket > 1:
                campaign.record_many([Row(bucket - 1, 5000, 1500.0)])


def optuna_trials(folder: Path, trials: int = 200) -> float | None:
    """Optuna's ask/tell a second, or None where it is not installed."""
    try:
        import optuna
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=f"sqlite:///{folder / 'optuna.db'}", sampler=optuna.samplers.RandomSampler(seed=1)
    )
    began = time.perf_counter()
    for number in range(trials):
        trial = study.ask()
        trial.suggest_categorical("option", ["red", "blue", "green"])
        study.tell(trial, float(number))
    return trials / (time.perf_counter() - began)


def in_turn(served: Served, seconds: float, sizes: list[int], request: Any) -> dict[int, Any]:
    """The middle of three looks at each size, taken in turn."""
    looks: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    for _ in range(3):
        for size in sizes:
            looks[size].append(asyncio.run(load(served, seconds, request(size))))
    return {
        size: sorted(each, key=lambda look: look["per_second"])[1] for size, each in looks.items()
    }


def measure(seconds: float, sizes: list[int]) -> dict[str, Any]:
    """All figures."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        with Served(folder) as served:
            for size in sizes:
                grow(served, f"grown{size}", size)
            found["options"] = in_turn(
                served, seconds, sizes, lambda size: option_request(f"grown{size}")
            )
            largest = max(sizes)
            name = f"grown{largest}"
            found["options_beside_uploads"] = asyncio.run(
                load(served, seconds, option_request(name), upload_request(name, largest))
            )
            found["options_beside_slow_sockets"] = asyncio.run(
                load_beside_slow_sockets(served, seconds, option_request(name))
            )
            found["alive_beside_slow_sockets"] = asyncio.run(
                load_beside_slow_sockets(served, seconds, alive_request)
            )
            found["options_through_tls"] = found["records_through_tls"] = None
            with behind_tls(served, folder) as address:
                if address is not None:
                    for what, request in (
                        ("options_through_tls", option_request(name)),
                        ("records_through_tls", record_request(name, largest)),
                    ):
                        found[what] = asyncio.run(load(served, seconds, request, address=address))
            found["columns"] = cost_of_columns(served.store, name, 40_000) / cost_of_columns(
                served.store, name, 40
            )
            found["optuna_per_second"] = optuna_trials(folder)
            found["records"] = in_turn(
                served, seconds, sizes, lambda size: record_request(f"grown{size}", size)
            )
    if found["optuna_per_second"]:
        least = min(each["per_second"] for each in found["records"].values())
        found["records_over_optuna"] = least / found["optuna_per_second"]
    return found


def rows_of(found: dict[str, Any]) -> list[dict[str, object]]:
    """The figures by the length of the log, one row each, for the pages."""
    about = {
        "optuna_per_second": found["optuna_per_second"],
        "connections": CONNECTIONS,
        **speed.when_and_where(),
    }
    return [
        {
            "buckets": size,
            "options_per_second": row["per_second"],
            "options_p99_ms": row["p99_ms"],
            "records_per_second": found["records"][size]["per_second"],
            "records_p99_ms": found["records"][size]["p99_ms"],
            **about,
        }
        for size, row in found["options"].items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("service-results"))
    given = parser.parse_args()
    found = measure(given.seconds, given.sizes)
    path = write_summary(given.out / "service.csv", rows_of(found), same=["buckets"])
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for what, title in (("options", "the option for now"), ("records", "durable records")):
        print(f"{title}, {CONNECTIONS} connections")
        for size, row in found[what].items():
            print(
                f"  a log of {size:>5,} buckets: {row['per_second']:>7,.0f} a second, "
                f"median {row['median_ms']:.1f} ms, 99th percentile {row['p99_ms']:.1f} ms"
            )
    for what, title in (
        ("options_beside_uploads", f"the option for now beside {UPLOADS} uploads"),
        ("options_beside_slow_sockets", f"the option for now beside {SLOW_SOCKETS:,} slow sockets"),
        ("alive_beside_slow_sockets", "/livez beside them, each on a new connection"),
        ("options_through_tls", "the option for now through HTTPS that ends at nginx"),
        ("records_through_tls", "durable records through it"),
    ):
        row = found[what]
        if row is None:
            print(f"{title}: nginx is not installed")
            continue
        print(
            f"{title}: {row['per_second']:,.0f} a second, "
            f"median {row['median_ms']:.1f} ms, 99th percentile {row['p99_ms']:.1f} ms"
        )
    print(f"a file of 40,000 columns: {found['columns']:.2f} times the CPU of one of 40")
    optuna = found["optuna_per_second"]
    if optuna is None:
        print("Optuna is not installed: pip install 'latesum[benchmarks]'")
    else:
        print(f"Optuna's ask/tell on SQLite: {optuna:.1f} a second")
        print(f"durable records over Optuna: {found['records_over_optuna']:.1f} times")
    print(f"Written to {path}.")


if __name__ == "__main__":
    main()
