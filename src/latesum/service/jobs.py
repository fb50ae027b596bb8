"""Heavy work: files of totals, plans and forecasts, each a function of what was sent.

A small file is read in a thread. All else is done by a process of its own: a thread that computes
would hold up the loop that answers requests, and could not be ended. The process has limits of
memory and time, gives way to the service, is killed at its deadline or when its client leaves, and
harms no other one. It reads the job from the standard input: a line of JSON, and the file. It
writes the status of the answer, and its content.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging.config
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from starlette.responses import Response

from latesum._render import plain
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.deciding import market_rows, plays_at
from latesum.campaigns.importing import Imported, import_totals
from latesum.campaigns.store import Store
from latesum.errors import MAX_PROBLEMS, BadRows
from latesum.files import FileForm
from latesum.files.totals import in_row
from latesum.files.totals import read_history as read_past
from latesum.service.errors import Refused, refusal_of, send
from latesum.service.logs import logging_config

if TYPE_CHECKING:
    from latesum.planning.forecast import Forecast

Kind = Literal["totals", "history", "plan", "forecast"]
Given = dict[str, Any]
JSON = "application/json"
#: Processes at once, and jobs that wait or run: in all and of one token.
MAX_RUNNING = 2
MAX_WAITING = 32
MAX_WAITING_OF_ONE = 8
#: In bytes: an upload of up to this is read in a thread.
MAX_SMALL = 20_000
#: Rows of one upload: more than a year of hours.
MAX_ROWS = 10_000
#: Continuations of a market, at least; of one region there are four times the usual number.
_MIN_REPLICATIONS = 10
#: How much nicer to others the process is than the service.
_NICENESS = 5


class Limits(NamedTuple):
    """What a job may use: seconds by the clock, seconds of CPU, and bytes of memory."""

    seconds: float
    cpu: int
    memory: int


FILES = Limits(60.0, 15, 400_000_000)
SIMULATIONS = Limits(300.0, 120, 1_000_000_000)
LIMITS: dict[Kind, Limits] = {
    "totals": FILES,
    "history": FILES,
    "plan": SIMULATIONS,
    "forecast": SIMULATIONS,
}


class Jobs:
    """The jobs of a service: one at a time for each token, and few in all."""

    def __init__(self, limits: dict[Kind, Limits] | None = None) -> None:
        self._limits = limits or LIMITS
        self.thread = ThreadPoolExecutor(1, "file")
        self._running = asyncio.Semaphore(MAX_RUNNING)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting = Counter[str]()

    async def in_thread(self, work: Callable[..., Response], *given: Any) -> Response:
        """Read a small file."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, work, *given)

    async def run(self, kind: Kind, given: Given, body: bytes = b"", *, owner: str) -> Response:
        """Do a job; where the one who waits is canceled, its process is killed."""
        waiting, own = self._waiting.total(), self._waiting[owner]
        if waiting >= MAX_WAITING or own >= MAX_WAITING_OF_ONE:
            raise Refused(
                429,
                "too many files or simulations are in progress; try again later.",
                retry_after="10",
            )
        self._waiting[owner] += 1
        try:
            async with self._turns[owner], self._running:
                return await self._run(kind, given, body)
        finally:
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner], self._turns[owner]

    async def _run(self, kind: Kind, given: Given, body: bytes) -> Response:
        limits = self._limits[kind]
        head = {"kind": kind, "given": plain(given), "cpu": limits.cpu, "memory": limits.memory}
        # -P: no file of the folder that the service was started in is imported.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "latesum.service.jobs"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        try:
            async with asyncio.timeout(limits.seconds):
                written, _ = await process.communicate(json.dumps(head).encode() + b"\n" + body)
                if process.returncode == 0:
                    status, _, content = written.decode().partition("\n")
                    return send(content, int(status))
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        raise Refused(
            422,
            f"this takes more than {limits.seconds:g} s or {limits.memory // 10**6} MB; "
            + ("send it in parts." if body else "try smaller values."),
        )


def is_small(body: bytes) -> bool:
    """Whether a file can be read in a thread; a packed one may have any number of rows."""
    return 0 < len(body) <= MAX_SMALL and not body.startswith((b"PK", b"PAR1"))


@contextlib.contextmanager
def _opened(given: Given) -> Iterator[Campaign]:
    """The campaign that a job is about, at the time of the request."""
    now = datetime.fromisoformat(given["now"])
    with (
        Store(given["store"]) as store,
        Campaign.open(given["campaign"], store=store, clock=lambda: now) as campaign,
    ):
        yield campaign


def _totals(given: Given, body: bytes) -> Response:
    form = None if given["form"] is None else FileForm(**given["form"])
    with _opened(given) as campaign:
        return take_totals(campaign, body, given["is_json"], form, given["how"])


def take_totals(
    campaign: Campaign, body: bytes, is_json: bool, form: FileForm | None, how: Given
) -> Response:
    """Record a file, or rows in JSON, with a verdict for each row."""
    if is_json:
        found = _import_rows(campaign, body, how)
    else:
        found = import_totals(campaign, body, form, most_rows=MAX_ROWS, **how)
    rows = [{**result._asdict(), "row": line} for line, result in found.rows]
    if found.written or how["dry_run"]:
        named = {"written": found.written, "ignored": found.ignored, "notes": found.notes}
        return send({**named, "rows": rows})
    bad = [(line, result) for line, result in found.rows if result.stops(how["skip_unknown"])]
    refused = Refused(
        409,
        "nothing was written, because of rows that are conflicting or of unknown buckets.",
        [f"row {line}: {row.note or row.verdict}" for line, row in bad[:MAX_PROBLEMS]],
    )
    return send({**refused.content, "rows": rows}, 409)


def _import_rows(campaign: Campaign, body: bytes, how: dict[str, Any]) -> Imported:
    """As `import_totals`, of rows in JSON."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(422, "the body is not JSON.") from None
    if not isinstance(sent, dict) or sent.keys() != {"rows"} or not isinstance(sent["rows"], list):
        raise Refused(422, 'the body must be an object such as {"rows": [...]}, and no more.')
    if not 1 <= len(sent["rows"]) <= MAX_ROWS:
        raise Refused(
            422, f"rows: there must be 1 to {MAX_ROWS:,} of them, not {len(sent['rows']):,}."
        )
    rows = _objects(sent["rows"], "rows")
    try:
        results = campaign.record_many(rows, **how)
    except BadRows as refused:
        problems = refused.problems[:MAX_PROBLEMS]
        details = [in_row(index + 1, str(bad), bad.field) for index, bad in problems]
        raise Refused(422, details[0], details) from None
    stopped = any(result.stops(how["skip_unknown"]) for result in results)
    written = not (stopped or how["dry_run"])
    return Imported(list(enumerate(results, start=1)), written, stopped)


def _objects(rows: list[Any], field: str) -> list[dict[str, Any]]:
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Refused(422, f"{field}.{index}: it must be an object.")
    return rows


def _history(given: Given, body: bytes) -> Response:
    return take_history(body, FileForm(**given["form"]))


def take_history(body: bytes, form: FileForm) -> Response:
    """The rows of a file of totals before the start."""
    regions = False if form.add_up else None
    found = read_past(body, form, regions=regions, most_rows=MAX_ROWS)
    labels = sorted(row.bucket for row in found.rows)
    answer = {
        "rows": [row.as_history() for row in found.rows],
        "regions": found.regions,
        "first": labels[0],
        "last": labels[-1],
        "notes": found.notes,
    }
    return send(answer)


def _plan(given: Given, _: bytes) -> Response:
    from latesum.planning import plan

    _objects(given.get("history", []), "history")
    return send(plan(**given, workers=1).to_json())


def _forecast(given: Given, _: bytes) -> Response:
    with _opened(given) as campaign:
        return send(forecast_rest(campaign)._asdict())


def forecast_rest(campaign: Campaign, **how: Any) -> Forecast:
    """Simulate the rest of a campaign that runs, and of which totals are known."""
    from latesum.planning.forecast import REPLICATIONS, forecast

    status, state = campaign.status(), campaign.state()
    config, timeline = state.config, status.timeline
    last_known = max(row.bucket for row in timeline if row.state == "known")
    lag = {row.bucket for row in timeline if row.state == "pending" and row.bucket > last_known}
    given: Given = {"lag": len(lag), "rounds": config.expected_rounds, "seed": config.seed}
    if not config.is_market:
        return forecast(config.build_policy(), plays_at(state, status.now), **{**given, **how})
    market, regions = market_rows(state, status.now), max(len(config.regions), 1)
    given |= {
        "barred": {
            region: [config.options[arm] for arm in sorted(part.removed)]
            for region, part in state.parts.items()
        },
        "asked": market.asked,
        "replications": max(_MIN_REPLICATIONS, min(REPLICATIONS, 4 * REPLICATIONS // regions)),
    }
    return forecast(market.config, market.rows, **{**given, **how})


KINDS: dict[Kind, Callable[[Given, bytes], Response]] = {
    "totals": _totals,
    "history": _history,
    "plan": _plan,
    "forecast": _forecast,
}


def main() -> None:
    """Do the job that comes by the standard input, within its limits where the system has some."""
    head = json.loads(sys.stdin.buffer.readline())
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CPU, (head["cpu"], head["cpu"]))
        resource.setrlimit(resource.RLIMIT_DATA, (head["memory"], head["memory"]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.config.dictConfig(logging_config("error"))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    try:
        answer = KINDS[head["kind"]](head["given"], sys.stdin.buffer.read())
    except Exception as error:
        answer = refusal_of(error).answer()
    with answers:
        answers.write(f"{answer.status_code}\n{bytes(answer.body).decode()}")


if __name__ == "__main__":
    main()
