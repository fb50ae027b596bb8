"""Importing a file of totals: a verdict for every row, and all of them or none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from latesum.errors import MOST_PROBLEMS, BadField, BadFile, BadRows
from latesum.live.batches import CheckWanted, always_wanted, in_batches
from latesum.live.campaign import Campaign
from latesum.live.csv_file import Totals, read_totals
from latesum.live.verdicts import NO_EXCEPTIONS, Allowed, CheckedRow, Recorded, check_row


class Imported(NamedTuple):
    """What became of each line, and whether anything was written.

    `stopped`: rows that are conflicting or unknown stop the import. `ignored`: unknown columns.
    """

    rows: list[tuple[int, Recorded]]
    written: bool
    stopped: bool = False
    ignored: tuple[str, ...] = ()

    def count(self, verdict: str) -> int:
        """How many rows have a verdict."""
        return sum(row.verdict == verdict for _, row in self.rows)


def import_totals(
    campaign: Campaign,
    source: Path | bytes,
    *,
    by: str | None = None,
    allowed: Allowed = NO_EXCEPTIONS,
    dry_run: bool = False,
    most_rows: int | None = None,
    check_wanted: CheckWanted = always_wanted,
) -> Imported:
    """Record a whole file: all of it, or nothing if a row stops it (`Recorded.stops`).

    Bad rows raise `BadFile` with row, column and remedy.

    Args:
        campaign: Where the totals belong.
        source: The file, or what it contains.
        by: Who reports the totals.
        allowed: What the rows may do.
        dry_run: Write nothing; the verdicts say what would have been.
        most_rows: A longer file is refused.
        check_wanted: Called between rows; what it raises ends the import, and nothing is written.
    """
    totals = read_totals(source, most_rows=most_rows, check_wanted=check_wanted)
    rows = _checked(campaign, totals, by, allowed, check_wanted)
    try:
        results = campaign.record_many(
            [row for _, row in rows], dry_run=dry_run, check_wanted=check_wanted
        )
    except BadRows as refused:
        raise BadFile(
            [f"row {rows[place][0]}, column {bad.column}: {bad}" for place, bad in refused.problems]
        ) from None
    lines = [line for line, _ in rows]
    return imported(lines, results, allowed, dry_run=dry_run, ignored=totals.ignored)


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
    campaign: Campaign, totals: Totals, by: str | None, allowed: Allowed, check_wanted: CheckWanted
) -> list[tuple[int, CheckedRow]]:
    settings = campaign.current_settings()
    buckets = settings.buckets
    rows: list[tuple[int, CheckedRow]] = []
    first: dict[int, tuple[int, CheckedRow]] = {}
    problems = list[tuple[int, str]]()
    for line, given in in_batches(totals.rows, check_wanted):
        if len(problems) >= MOST_PROBLEMS:
            break
        try:
            row = check_row(given._replace(by=by, allowed=allowed), settings)
        except BadField as bad:
            column = totals.bucket_column if bad.column == "bucket" else bad.column
            problems.append((line, f"row {line}, column {column}: {bad}"))
            continue
        earlier = first.setdefault(row.bucket, (line, row))
        if earlier[1] != row:
            sentence = (
                f"row {line}, column {totals.bucket_column}: {buckets.label(row.bucket)} is in row "
                f"{earlier[0]} already, with other values; keep the right one of the two."
            )
            problems.append((line, sentence))
        rows.append((line, row))
    if problems or totals.problems:
        raise BadFile([sentence for _, sentence in sorted(problems + totals.problems)])
    return rows
