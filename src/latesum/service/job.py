"""Heavy work as a function of what was sent: files of totals, plans, forecasts.

A small file is read in a thread. All else is done by a process of its own (`jobs.py` begins it): it
reads the job from the standard input, does it, and writes its answer. The first line of the input
is JSON: the kind of job, what it needs, and its limits; the rest is a file. Each line of the output
is JSON: news, and at last the answer.
"""

from __future__ import annotations

import contextlib
import json
import logging.config
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from latesum._checks import shortened
from latesum._render import finite
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.importing import Imported, import_totals
from latesum.campaigns.store import Store
from latesum.campaigns.view import plain
from latesum.errors import MAX_PROBLEMS, BadRows, MissingExtra
from latesum.files import FileForm
from latesum.files.table import in_row
from latesum.files.totals import Row, read_history
from latesum.service.errors import Refused, problem_text, refusal_of
from latesum.service.logs import logging_config
from latesum.service.models import MAX_ROWS, BulkRow, PastRow

Tell = Callable[[dict[str, Any]], None]
Model = TypeVar("Model", bound=BaseModel)
JSON = "application/json"
#: In bytes: an upload of up to this is read in a thread.
MAX_SMALL = 20_000
#: Runs of each policy in a plan, and the policies that are tried: a verdict while someone waits.
#: `latesum plan` tries more, more often.
REPLICATIONS = 100
POLICIES = ("unmix", "half test")
#: Runs of each policy in a plan with regions.
REGION_REPLICATIONS = 40
#: How much nicer to others the process is than the service.
_NICENESS = 5


class Upload(NamedTuple):
    """What was sent, and by whom."""

    kind: str
    form: dict[str, Any]
    by: str = ""
    overwrite_final: bool = False
    allow_out_of_range: bool = False
    skip_unknown: bool = False
    dry_run: bool = False
    remember: bool = True


def is_small(body: bytes) -> bool:
    """Whether an upload is read in some milliseconds; a packed file may have any number of rows."""
    return len(body) <= MAX_SMALL and not body.startswith((b"PK", b"PAR1"))


def take_in(campaign: Campaign, body: bytes, sent: Upload) -> tuple[int, dict[str, Any]]:
    """The status and the content of the answer to an upload, which is recorded."""
    if sent.kind == JSON:
        return _answer(_import_rows(campaign, body, sent), sent)
    try:
        form = FileForm.from_json(sent.form)
        found = import_totals(
            campaign,
            body,
            form,
            by=sent.by,
            dry_run=sent.dry_run,
            remember=sent.remember,
            most_rows=MAX_ROWS,
            overwrite_final=sent.overwrite_final,
            allow_out_of_range=sent.allow_out_of_range,
            skip_unknown=sent.skip_unknown,
        )
    except MissingExtra as missing:
        raise Refused(415, f"this service cannot read such a file: {missing}.") from None
    return _answer(found, sent)


def take_history(body: bytes, sent: Upload) -> tuple[int, dict[str, Any]]:
    """The status and the content of the answer to a file of rows before the start."""
    form = FileForm.from_json(sent.form)
    try:
        found = read_history(body, form, regions=False if form.add_up else None, most_rows=MAX_ROWS)
    except MissingExtra as missing:
        raise Refused(415, f"this service cannot read such a file: {missing}.") from None
    labels = sorted(row.bucket for row in found.rows)
    content = {
        "rows": [row.as_history() for row in found.rows],
        "regions": found.regions,
        "first": labels[0],
        "last": labels[-1],
        "notes": found.notes,
    }
    return 200, content


def _import_rows(campaign: Campaign, body: bytes, upload: Upload) -> Imported:
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
    read = read_rows(sent["rows"], BulkRow, "rows")
    rows = [Row(**each.model_dump()) for each in read]
    try:
        results = campaign.record_many(
            rows,
            by=upload.by,
            dry_run=upload.dry_run,
            overwrite_final=upload.overwrite_final,
            allow_out_of_range=upload.allow_out_of_range,
            skip_unknown=upload.skip_unknown,
        )
    except BadRows as refused:
        details = [in_row(place + 1, str(bad), bad.field) for place, bad in refused.problems]
        raise Refused(422, details[0], details) from None
    stopped = any(result.stops(upload.skip_unknown) for result in results)
    written = not (stopped or upload.dry_run)
    return Imported(list(enumerate(results, start=1)), written, stopped)


def read_rows(sent: list[Any], model: type[Model], field: str) -> list[Model]:
    """Rows, validated one by one and no further than the first few bad ones.

    A body may be wrong in 100,000 places, and to say so of each would take longer than anything
    that is right.
    """
    rows, details = list[Model](), list[str]()
    for place, row in enumerate(sent):
        if isinstance(row, dict) and len(row) > len(model.model_fields):
            unknown = next(name for name in row if name not in model.model_fields)
            details.append(f"{field}.{place}: there is no field {shortened(unknown)!r}.")
        else:
            try:
                rows.append(model.model_validate(row))
            except ValidationError as error:
                problems = error.errors(include_input=False)
                details += [
                    problem_text(each, _where(field, place, *each["loc"])) for each in problems
                ]
        if len(details) >= MAX_PROBLEMS:
            break
    if details:
        raise Refused(422, details[0], details[:MAX_PROBLEMS])
    return rows


def _where(*parts: object) -> str:
    return ".".join(shortened(str(part)) for part in parts)


def _answer(found: Imported, sent: Upload) -> tuple[int, dict[str, Any]]:
    rows = [{**result._asdict(), "row": line} for line, result in found.rows]
    if found.written or sent.dry_run:
        named = {"written": found.written, "ignored": found.ignored, "notes": found.notes}
        return 200, {**named, "rows": rows}
    bad = [(line, result) for line, result in found.rows if result.stops(sent.skip_unknown)]
    refused = Refused(
        409,
        "nothing was written, because of rows that are conflicting or of unknown buckets.",
        [f"row {line}: {row.note or row.verdict}" for line, row in bad[:MAX_PROBLEMS]],
    )
    return 409, {**refused.content, "rows": rows}


def do(kind: str, given: dict[str, Any], body: bytes, tell: Tell) -> tuple[int, Any]:
    """The status and the content of the answer to a job, also of one that is refused."""
    try:
        return _KINDS[kind](given, body, tell)
    except MemoryError:
        refused = Refused(422, "this needs too much memory; send it in parts.")
    except Exception as error:
        refused = refusal_of(error)
    return refused.status, refused.content


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

    history = given.get("history")
    if history is None:
        how: dict[str, Any] = {"policies": POLICIES, "replications": REPLICATIONS}
    else:
        rows = [row.model_dump() for row in read_rows(history, PastRow, "history")]
        how = {"history": rows, "replications": REGION_REPLICATIONS}
    found = plan(**{**given, **how}, workers=1, on_interim=lambda interim: tell(interim.to_json()))
    return 200, found.to_json()


def _forecast(given: dict[str, Any], _: bytes, __: Tell) -> tuple[int, Any]:
    from latesum.campaigns.config import CampaignConfig
    from latesum.planning.forecast import forecast

    config = CampaignConfig.from_json(given.pop("config"))
    market = given.pop("market")
    method = config.build_policy() if market is None else config.build_market(**market)
    rounds, seed = config.expected_rounds, config.seed
    return 200, forecast(method, **given, rounds=rounds, seed=seed)._asdict()


_KINDS: dict[str, Callable[[dict[str, Any], bytes, Tell], tuple[int, Any]]] = {
    "totals": _totals,
    "history": _history,
    "plan": _plan,
    "forecast": _forecast,
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
    text = json.dumps(plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write({"status": status, "content": text})


if __name__ == "__main__":
    main()
