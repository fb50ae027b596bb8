"""Importing a file of totals: a verdict for every row, and all of them or none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.verdicts import NO_EXCEPTIONS, Allowed, CheckedRow, Recorded, Row, check_row
from latesum.errors import MAX_PROBLEMS, BadFile, BadRows, InvalidInput
from latesum.files import FileForm
from latesum.files.batches import CheckWanted, always_wanted, in_batches
from latesum.files.table import in_row
from latesum.files.totals import Totals, TotalsRow, added_rows, cannot_be_added, read_totals


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
    allowed: Allowed = NO_EXCEPTIONS,
    dry_run: bool = False,
    remember: bool = True,
    most_rows: int | None = None,
    check_wanted: CheckWanted = always_wanted,
) -> Imported:
    """Record a whole file: all of it, or nothing if a row stops it (`Recorded.stops`).

    Bad rows raise `BadFile` with row, column and remedy. How the file is written is remembered with
    the campaign once a file was taken in: the next one needs nothing to be said.

    Args:
        campaign: Where the totals belong.
        source: The file, or what it contains.
        form: How it is written; what it does not say is as it was for the last file.
        by: Who reports the totals.
        allowed: What the rows may do.
        dry_run: Write nothing; the verdicts say what would have been.
        remember: Whether the next file is read as this one; otherwise it is as if there had been none.
        most_rows: A longer file is refused.
        check_wanted: Called between rows; what it raises ends the import, and nothing is written.
    """
    remembered = campaign.file_form()
    given = remembered if form is None else form.after(remembered)
    try:
        result = _import(campaign, source, given, by, allowed, dry_run, most_rows, check_wanted)
    except InvalidInput as refused:
        if not dry_run:
            problems = refused.problems if isinstance(refused, BadFile) else [str(refused)]
            campaign.log_refused_import(problems[0], user=by or "unknown")
        raise
    if result.stopped and not dry_run:
        line, first = next((line, row) for line, row in result.rows if row.stops(allowed))
        campaign.log_refused_import(in_row(line, first.note), user=by or "unknown")
    if remember and result.written and result.form != remembered:
        campaign.remember_file_form(
            result.form, user=by or "unknown", reason="a file was imported so"
        )
    return result


def _import(
    campaign: Campaign,
    source: Path | bytes,
    form: FileForm,
    by: str | None,
    allowed: Allowed,
    dry_run: bool,
    most_rows: int | None,
    check_wanted: CheckWanted,
) -> Imported:
    config = campaign.config
    totals = read_totals(
        source,
        form,
        time_basis=config.time_basis,
        every=config.every,
        most_rows=most_rows,
        check_wanted=check_wanted,
        regions=bool(config.regions),
    )
    rows = _checked(campaign, totals, by, allowed, check_wanted, add_up=bool(form.add_up))
    try:
        results = campaign.record_many(
            [row for _, row in rows], dry_run=dry_run, check_wanted=check_wanted
        )
    except BadRows as refused:
        raise BadFile(
            [
                in_row(rows[place][0], str(bad), _column(totals, bad))
                for place, bad in refused.problems
            ]
        ) from None
    lines = [line for line, _ in rows]
    result = imported(lines, results, allowed, dry_run=dry_run, ignored=totals.ignored)
    return result._replace(notes=totals.notes, form=totals.form)


def _column(totals: Totals, bad: InvalidInput) -> str:
    return totals.columns.get(bad.field, bad.field)


def imported(
    lines: Iterable[int],
    results: list[Recorded],
    allowed: Allowed,
    *,
    dry_run: bool,
    ignored: tuple[str, ...] = (),
) -> Imported:
    """What became of rows that were recorded together, each with its place in what was sent."""
    stopped = any(result.stops(allowed) for result in results)
    return Imported(
        list(zip(lines, results, strict=True)), not (dry_run or stopped), stopped, ignored
    )


def _checked(
    campaign: Campaign,
    totals: Totals,
    by: str | None,
    allowed: Allowed,
    check_wanted: CheckWanted,
    *,
    add_up: bool,
) -> list[tuple[int, CheckedRow]]:
    config = campaign.current_config()
    buckets = config.buckets
    rows: list[tuple[TotalsRow, CheckedRow]] = []
    #: The place in `rows` of the first row of each bucket and region.
    first: dict[tuple[int, str], int] = {}
    problems = list[tuple[int, str]]()
    for given in in_batches(totals.rows, check_wanted):
        if len(problems) >= MAX_PROBLEMS:
            break
        line = given.line
        try:
            row = _check(given, by, allowed, config)
        except InvalidInput as bad:
            problems.append((line, in_row(line, str(bad), _column(totals, bad))))
            continue
        place = first.setdefault((row.bucket, row.region), len(rows))
        if place == len(rows):
            rows.append((given, row))
            continue
        earlier, checked = rows[place]
        label = " ".join((buckets.label(row.bucket), row.region)).strip()
        if not add_up:
            if checked == row:
                rows.append((given, row))
                continue
            problem: str = (
                f"{label} is in row {earlier.line} already, with other values; keep the right one of the "
                "two, or add up rows of the same bucket if they are parts of it (add-up)."
            )
        elif (added := added_rows(earlier, given)) is not None:
            rows[place] = added, _check(added, by, allowed, config)
            continue
        else:
            problem = cannot_be_added(label, earlier.line)
        problems.append((line, in_row(line, problem, totals.columns["bucket"])))
        rows.append((given, row))
    if problems or totals.problems:
        raise BadFile([sentence for _, sentence in sorted(problems + totals.problems)])
    return [(given.line, row) for given, row in rows]


def _check(
    given: TotalsRow, by: str | None, allowed: Allowed, config: CampaignConfig
) -> CheckedRow:
    return check_row(Row(*given[1:6], by, allowed, given.region), config)
