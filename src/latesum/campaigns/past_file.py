"""Reading a file of rows before the start: the history that a campaign is set up with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from latesum.campaigns.batches import CheckWanted, always_wanted
from latesum.campaigns.totals_file import read_totals
from latesum.errors import BadFile
from latesum.files import FileForm
from latesum.files.presets import Dated


class PastFile(NamedTuple):
    """A history that was read.

    Args:
        rows: As `CampaignConfig.history` takes them: names with values.
        regions: The regions in it, in the order in which they come.
        notes: What people should know about the file.
    """

    rows: list[dict[str, Any]]
    regions: list[str]
    notes: tuple[str, ...]


def read_past(
    source: Path | bytes,
    form: FileForm | None = None,
    *,
    time_basis: Dated | None = None,
    regions: bool | None = None,
    most_rows: int | None = None,
    check_wanted: CheckWanted = always_wanted,
) -> PastFile:
    """The rows of a file of totals before the start.

    Args:
        source: The file, or its content.
        form: How the file is written, where that cannot be seen.
        time_basis: By what the totals should be dated; presets know by what theirs are.
        regions: Whether a column says which region a row is of; by default, if there is one.
        most_rows: A file of more rows is refused; without it there is no limit.
        check_wanted: Called before every batch of rows; what it raises ends the reading.

    >>> found = read_past(b"date,region,total\\n2026-03-01,north,31\\n2026-03-01,south,12\\n")
    >>> found.regions, found.rows[0]["total"]
    (['north', 'south'], 31.0)
    """
    totals = read_totals(
        source, form, time_basis=time_basis, regions=regions, most_rows=most_rows,
        check_wanted=check_wanted,
    )  # fmt: skip
    if totals.problems:
        raise BadFile([sentence for _, sentence in totals.problems])
    has_regions = "region" in totals.columns
    rows = [
        {
            "bucket": row.bucket, "rounds": row.rounds, "total": row.total, "shown": row.shown,
            **({"region": row.region} if has_regions else {}),
        }
        for _, row in totals.rows
    ]  # fmt: skip
    found = dict.fromkeys(str(row["region"]) for row in rows if row.get("region"))
    return PastFile(rows, list(found), totals.notes)
