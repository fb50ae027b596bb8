"""Importing a file of totals: a verdict for every row, and all of them or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import CampaignConfig, check_row
from latesum.campaigns.recording import Recorded
from latesum.errors import MAX_PROBLEMS, BadFile, BadRows, InvalidInput
from latesum.files import FileForm
from latesum.files.totals import FileTable, Row, added_rows, in_row, read_totals


class Imported(NamedTuple):
    """What became of each line, and whether anything was written.

    `stopped`: rows that are conflicting or unknown stop the import. `ignored`: unknown columns.
    `notes`: what people should know of the file. `form`: how it was read.
    """

    rows: list[tuple[int, Recorded]]
    written: bool
    stopped: bool = False
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    form: FileForm = FileForm()


def import_totals(
    campaign: Campaign,
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    by: str | None = None,
    skip_unknown: bool = False,
    dry_run: bool = False,
    most_rows: int | None = None,
    **how: Any,
) -> Imported:
    """Record a whole file: all of it, or nothing if a row stops it (`Recorded.stops`).

    Bad rows raise `BadFile` with row, column and remedy. How the file is written is remembered with
    the campaign once a file was taken in: the next one needs nothing to be said.

    Args:
        campaign: Where the totals belong.
        source: The file, or what it contains.
        form: How it is written; by default as the last file that was remembered.
        by: Who reports the totals.
        skip_unknown: As for `Campaign.record_many`, and so are `dry_run` and `how`.
        most_rows: A longer file is refused.
    """
    state, user = campaign.state(), by or "unknown"
    remembered, config = state.file_form, state.config
    try:
        totals = read_totals(
            source,
            remembered if form is None else form,
            every=config.every,
            most_rows=most_rows,
            regions=bool(config.regions),
        )
        rows = _checked(config, totals)
        try:
            results = campaign.record_many(
                rows, by=by, skip_unknown=skip_unknown, dry_run=dry_run, **how
            )
        except BadRows as refused:
            raise BadFile(
                [_problem(totals, rows[at], bad) for at, bad in refused.problems]
            ) from None
    except InvalidInput as refusal:
        if not dry_run:
            problems = refusal.problems if isinstance(refusal, BadFile) else [str(refusal)]
            campaign.log_refused_import(problems[0], user=user)
        raise
    lines = [(row.line, result) for row, result in zip(rows, results, strict=True)]
    stopping = [(line, result) for line, result in lines if result.stops(skip_unknown)]
    written = not (stopping or dry_run)
    if stopping and not dry_run:
        line, first = stopping[0]
        campaign.log_refused_import(in_row(line, first.note), user=user)
    if written and totals.form != remembered:
        campaign.remember_file_form(totals.form, user=user, reason="a file was imported so")
    return Imported(
        lines, written, bool(stopping), totals.ignored, tuple(totals.notes), totals.form
    )


def _problem(totals: FileTable, row: Row, bad: InvalidInput) -> str:
    return in_row(row.line, str(bad), totals.column(bad.field))


def _checked(config: CampaignConfig, totals: FileTable) -> list[Row]:
    """The rows of a file, with the parts of a bucket added up if the form says so."""
    rows: list[Row] = []
    #: The index in `rows` of the first row of each bucket and region.
    first: dict[tuple[object, str | None], int] = {}
    problems = list(totals.problems)
    for given in totals.rows:
        if len(problems) >= MAX_PROBLEMS:
            break
        try:
            row = check_row(given, config)
        except InvalidInput as bad:
            problems.append((given.line, _problem(totals, given, bad)))
            continue
        index = first.setdefault((row.bucket, row.region), len(rows))
        earlier = rows[index] if index < len(rows) else row
        label = f"{config.buckets.label(config.buckets.number(row.bucket))} {row.region}".strip()
        try:
            if totals.form.add_up and earlier is not row:
                rows[index] = added_rows(earlier, row, label)
            elif earlier._replace(line=row.line) == row:
                rows.append(row)
            else:
                raise InvalidInput(
                    f"{label} is in row {earlier.line} already, with other values; keep the right "
                    "one of the two, or add up rows of the same bucket if they are parts of it "
                    "(add-up)."
                )
        except InvalidInput as bad:
            problem = in_row(row.line, str(bad), totals.column("bucket"))
            problems.append((row.line, problem))
    if problems:
        raise BadFile([sentence for _, sentence in sorted(problems)])
    return rows
