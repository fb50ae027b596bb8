"""Importing a file of totals: a verdict for every row, and all of them or none."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from latesum._checks import InvalidInput
from latesum.live.batches import CheckWanted, always_wanted, in_batches
from latesum.live.campaign import Campaign
from latesum.live.csv_file import BadFile, Totals, read_totals
from latesum.live.recording import MOST_PROBLEMS, BadField, BadRows, Recorded, Row, check_row


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
    dry_run: bool = False,
    skip_unknown: bool = False,
    even_if_final: bool = False,
    beyond_range: bool = False,
    most_rows: int | None = None,
    check_wanted: CheckWanted = always_wanted,
) -> Imported:
    """Record a whole file. Bad rows raise `BadFile` with row, column and remedy.

    A conflicting row, or one of an unknown bucket unless `skip_unknown`, leaves everything as it
    was, and so does a dry run; the verdicts say what would have been. A file of more than
    `most_rows` is refused. `check_wanted` is called between rows; what it raises ends the import,
    and nothing is written.
    """
    totals = read_totals(source, most_rows=most_rows, check_wanted=check_wanted)
    rows = _checked(campaign, totals, check_wanted)
    try:
        results = campaign.record_many(
            [row for _, row in rows], by=by, dry_run=dry_run, skip_unknown=skip_unknown,
            even_if_final=even_if_final, beyond_range=beyond_range, check_wanted=check_wanted,
        )  # fmt: skip
    except BadRows as refused:
        raise BadFile(
            [f"row {rows[place][0]}, column {bad.column}: {bad}" for place, bad in refused.problems]
        ) from None
    stopped = any(
        result.verdict == "conflicting" or (result.verdict == "unknown bucket" and not skip_unknown)
        for result in results
    )
    lines = [line for line, _ in rows]
    return Imported(
        list(zip(lines, results, strict=True)), not (dry_run or stopped), stopped, totals.ignored
    )


def _checked(
    campaign: Campaign, totals: Totals, check_wanted: CheckWanted
) -> list[tuple[int, Row]]:
    buckets = campaign.settings.buckets
    rows: list[tuple[int, Row]] = []
    first: dict[int, tuple[int, Row]] = {}
    problems = list[tuple[int, str]]()
    for line, row in in_batches(totals.rows, check_wanted):
        if len(problems) >= MOST_PROBLEMS:
            break
        try:
            try:
                number = buckets.number(row.bucket)
            except InvalidInput as refusal:
                raise BadField(totals.bucket_column, str(refusal)) from None
            row = check_row(row._replace(bucket=number), campaign.settings)
        except BadField as bad:
            problems.append((line, f"row {line}, column {bad.column}: {bad}"))
            continue
        earlier = first.setdefault(number, (line, row))
        if earlier[1] != row:
            sentence = (
                f"row {line}, column {totals.bucket_column}: {buckets.label(number)} is in row "
                f"{earlier[0]} already, with other values; keep the right one of the two."
            )
            problems.append((line, sentence))
        rows.append((line, row))
    if problems or totals.problems:
        raise BadFile([sentence for _, sentence in sorted(problems + totals.problems)])
    return rows
