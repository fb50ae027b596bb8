"""The process of one job (`jobs.py`): reads it from the standard input, does it, and writes its answer.

The first line of the input is JSON: the kind of job, what it needs, and its limits; the rest is a file. Each line of
the output is JSON: news, and at last the answer.
"""

from __future__ import annotations

import contextlib
import json
import logging.config
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

from latesum._render import finite
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.store import Store
from latesum.service.errors import Refused, answer_to
from latesum.service.logs import logging_config
from latesum.service.models import PastRow
from latesum.service.uploads import Upload, read_rows, take_history, take_in

Tell = Callable[[dict[str, Any]], None]
#: Runs of each policy in a plan, and the policies that are tried: a verdict while someone waits.
#: `latesum plan` tries more, more often.
REPLICATIONS = 100
POLICIES = ("unmix", "half test")
#: Runs of each policy in a plan with regions.
REGION_REPLICATIONS = 40
#: How much nicer to others the process is than the service.
_NICENESS = 5


def do(kind: str, given: dict[str, Any], body: bytes, tell: Tell) -> tuple[int, Any]:
    """The status and the content of the answer to a job, also of one that is refused.

    Args:
        kind: What to do.
        given: What it needs.
        body: A file.
        tell: Takes what is known before the answer is complete.
    """
    try:
        return _KINDS[kind](given, body, tell)
    except MemoryError:
        return answered(Refused(422, "this needs too much memory; send it in parts."))
    except Exception as error:
        return answered(error)


def answered(error: Exception) -> tuple[int, Any]:
    """What an error is answered with."""
    answer = answer_to(error)
    return answer.status_code, json.loads(bytes(answer.body))


def _totals(given: dict[str, Any], body: bytes, _: Tell) -> tuple[int, Any]:
    now = datetime.fromisoformat(given["now"])
    with (
        Store(given["store"]) as store,
        Campaign.open(given["campaign"], store=store, clock=lambda: now) as campaign,
    ):
        return take_in(campaign, body, Upload(**given["sent"]))


def _history(given: dict[str, Any], body: bytes, _: Tell) -> tuple[int, Any]:
    return take_history(body, Upload(**given["sent"]))


def _plan(given: dict[str, Any], _: bytes, tell: Tell) -> tuple[int, Any]:
    from latesum.planning import plan

    found = plan(
        **given,
        policies=POLICIES,
        replications=REPLICATIONS,
        workers=1,
        on_interim=lambda interim: tell(interim.to_json()),
    )
    return 200, found.to_json()


def _region_plan(given: dict[str, Any], _: bytes, tell: Tell) -> tuple[int, Any]:
    from latesum.planning import plan

    rows = [row.model_dump() for row in read_rows(given.pop("history"), PastRow, "history")]
    found = plan(
        **given,
        history=rows,
        replications=REGION_REPLICATIONS,
        workers=1,
        on_interim=lambda interim: tell(interim.to_json()),
    )
    return 200, found.to_json()


def _forecast(given: dict[str, Any], _: bytes, __: Tell) -> tuple[int, Any]:
    from latesum.service.forecasting import Question, forecast

    return 200, forecast(Question(**given))


def _market_forecast(given: dict[str, Any], _: bytes, __: Tell) -> tuple[int, Any]:
    from latesum.service.market_forecasting import MarketQuestion, market_forecast

    return 200, market_forecast(MarketQuestion(**given))


_KINDS: dict[str, Callable[[dict[str, Any], bytes, Tell], tuple[int, Any]]] = {
    "totals": _totals,
    "history": _history,
    "plan": _plan,
    "region plan": _region_plan,
    "forecast": _forecast,
    "market forecast": _market_forecast,
}


def _limit(cpu: int, memory: int) -> None:
    """Bound what this process may use, where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Do the job that comes by the standard input."""
    head = json.loads(sys.stdin.buffer.readline())
    _limit(head["cpu"], head["memory"])
    body = sys.stdin.buffer.read()
    logging.config.dictConfig(logging_config("error"))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer

    def write(said: dict[str, Any]) -> None:
        print(json.dumps(said), file=answers, flush=True)

    status, content = do(
        head["kind"], head["given"], body, lambda news: write({"news": finite(news)})
    )
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write({"status": status, "content": text})


if __name__ == "__main__":
    main()
