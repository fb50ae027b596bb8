"""Importing a file of totals: a verdict for every row, and all of them or none."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from latesum.campaigns.campaign import Campaign
from latesum.campaigns.recording import Recorded, check_row
from latesum.errors import MAX_PROBLEMS, BadFile, BadRows, InvalidInput
from latesum.files import FileForm
from latesum.files.table import in_row
from latesum.files.totals import Row, Totals, added_rows, cannot_be_added, read_totals


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

    def count(self, verdict: str) -> int:
        """How many rows have a verdict."""
        return sum(row.verdict == verdict for _, row in self.rows)


def import_totals(
    campaign: Campaign,
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    by: str | None = None,
    overwrite_final: bool = False,
    allow_out_of_range: bool = False,
    skip_unknown: bool = False,
    dry_run: bool = False,
    remember: bool = True,
    most_rows: int | None = None,
) -> Imported:
    """Record a whole file: all of it, or nothing if a row stops it (`Recorded.stops`).

    Bad rows raise `BadFile` with row, column and remedy. How the file is written is remembered with
    the campaign once a file was taken in: the next one needs nothing to be said.

    Args:
        campaign: Where the totals belong.
        source: The file, or what it contains.
        form: How it is written; what it does not say is as it was for the last file.
        by: Who reports the totals.
        overwrite_final: Whether final values may be changed.
        allow_out_of_range: Whether totals may lie outside their range.
        skip_unknown: Whether rows of unknown buckets are left out.
        dry_run: Write nothing; the verdicts say what would have been.
        remember: Whether the next file is read as this one; otherwise as if there had been none.
        most_rows: A longer file is refused.
    """
    remembered = campaign.file_form()
    user, config = by or "unknown", campaign.current_config()
    try:
        totals = read_totals(
            source,
            remembered if form is None else form.after(remembered),
            time_basis=config.time_basis,
            every=config.every,
            most_rows=most_rows,
            regions=bool(config.regions),
        )
        rows = _checked(campaign, totals)
        try:
            results = campaign.record_many(
                rows,
                by=by,
                overwrite_final=overwrite_final,
                allow_out_of_range=allow_out_of_range,
                skip_unknown=skip_unknown,
                dry_run=dry_run,
            )
        except BadRows as refused:
            raise BadFile(
                [_problem(totals, rows[index], bad) for index, bad in refused.problems]
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
    if remember and written and totals.form != remembered:
        campaign.remember_file_form(totals.form, user=user, reason="a file was imported so")
    return Imported(lines, written, bool(stopping), totals.ignored, totals.notes, totals.form)


def _problem(totals: Totals, row: Row, bad: InvalidInput) -> str:
    return in_row(row.line, str(bad), totals.columns.get(bad.field, bad.field))


def _checked(campaign: Campaign, totals: Totals) -> list[Row]:
    """The rows of a file, with the parts of a bucket added up if the form says so."""
    config = campaign.current_config()
    rows: list[Row] = []
    #: The index in `rows` of the first row of each bucket and region.
    first: dict[tuple[object, str | None], int] = {}
    problems = list[tuple[int, str]]()
    for given in totals.rows:
        if len(problems) >= MAX_PROBLEMS:
            break
        try:
            row = check_row(given, config)
        except InvalidInput as bad:
            problems.append((given.line, _problem(totals, given, bad)))
            continue
        index = first.setdefault((row.bucket, row.region), len(rows))
        if index == len(rows):
            rows.append(row)
            continue
        earlier = rows[index]
        label = f"{config.buckets.label(config.buckets.number(row.bucket))} {row.region or ''}"
        if totals.form.add_up:
            added = added_rows(earlier, row)
            if added is not None:
                rows[index] = added
                continue
            problem = cannot_be_added(label.strip(), earlier.line)
        elif earlier._replace(line=row.line) == row:
            rows.append(row)
            continue
        else:
            problem = (
                f"{label.strip()} is in row {earlier.line} already, with other values; keep the "
                "right one of the two, or add up rows of the same bucket if they are parts of it "
                "(add-up)."
            )
        problems.append((row.line, in_row(row.line, problem, totals.columns["bucket"])))
        rows.append(row)
    if problems or totals.problems:
        raise BadFile([sentence for _, sentence in sorted(problems + totals.problems)])
    return rows
