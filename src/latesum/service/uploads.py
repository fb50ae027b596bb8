"""Taking in an upload: rows in JSON or a file, all or none, with a verdict for each row, as it is answered.

It is done in a thread or by a process of its own (`job.py`); nothing here knows of requests.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from latesum._checks import shortened
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.importing import Imported, import_totals
from latesum.campaigns.recording import Recorded
from latesum.errors import MAX_PROBLEMS, BadRows, MissingExtra
from latesum.files import FileForm
from latesum.files.table import in_row
from latesum.files.totals import Row, read_history
from latesum.service.errors import Refused
from latesum.service.models import MOST_ROWS, BulkRow
from latesum.service.sentences import of_problem

Model = TypeVar("Model", bound=BaseModel)
JSON = "application/json"
#: In bytes: an upload of up to this is read in a thread, a larger one by a process of its own.
MAX_SMALL = 20_000


class Upload(NamedTuple):
    """What was sent, and by whom.

    Args:
        kind: The type of the body: JSON, or that of a file.
        form: How a file is written, as `FileForm.to_json` has it.
        by: Who sent it.
        overwrite_final, allow_out_of_range, skip_unknown: As for `import_totals`.
        dry_run: Whether nothing is to be written.
        remember: Whether the next file is read as this one.
    """

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
    """The status and the content of the answer to an upload, which is recorded unless it is a dry run."""
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
            most_rows=MOST_ROWS,
            overwrite_final=sent.overwrite_final,
            allow_out_of_range=sent.allow_out_of_range,
            skip_unknown=sent.skip_unknown,
        )
    except MissingExtra as missing:
        raise Refused(415, f"this service cannot read such a file: {missing}.") from None
    return _answer(found, sent)


def take_history(body: bytes, sent: Upload) -> tuple[int, dict[str, Any]]:
    """The status and the content of the answer to a file of rows before the start; nothing is kept."""
    form = FileForm.from_json(sent.form)
    try:
        found = read_history(
            body, form, regions=False if form.add_up else None, most_rows=MOST_ROWS
        )
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
    if not 1 <= len(sent["rows"]) <= MOST_ROWS:
        raise Refused(
            422, f"rows: there must be 1 to {MOST_ROWS:,} of them, not {len(sent['rows']):,}."
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
                    of_problem(each, _where(field, place, *each["loc"])) for each in problems
                ]
        if len(details) >= MAX_PROBLEMS:
            break
    if details:
        raise Refused(422, details[0], details[:MAX_PROBLEMS])
    return rows


def _where(*parts: object) -> str:
    return ".".join(shortened(str(part)) for part in parts)


def _answer(found: Imported, sent: Upload) -> tuple[int, dict[str, Any]]:
    rows = [{**verdict_json(result), "row": line} for line, result in found.rows]
    if found.written or sent.dry_run:
        content: dict[str, Any] = {
            "written": found.written,
            "ignored": found.ignored,
            "notes": found.notes,
            "rows": rows,
        }
        return 200, content
    bad = [(line, result) for line, result in found.rows if result.stops(sent.skip_unknown)]
    content = {
        "error": "nothing was written, because of rows that are conflicting or of unknown buckets.",
        "details": [f"row {line}: {row.note or row.verdict}" for line, row in bad[:MAX_PROBLEMS]],
        "rows": rows,
    }
    return 409, content


def verdict_json(result: Recorded) -> dict[str, Any]:
    """A verdict as it is sent."""
    return {**result._asdict(), "marks": list(result.marks)}
