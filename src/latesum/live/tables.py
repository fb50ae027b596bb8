"""What a campaign knows, as tables for other tools: its buckets, its decisions, its estimates.

The table of buckets can be imported again (`latesum campaign import`) and says the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from latesum._checks import known_name
from latesum.files.written import ColumnType, TableOut

if TYPE_CHECKING:
    from latesum.live.campaign import Campaign

TableName = Literal["buckets", "decisions", "estimates"]
TABLES: tuple[TableName, ...] = ("buckets", "decisions", "estimates")

_BUCKETS: dict[str, ColumnType] = {
    "bucket": "text",
    "number": "whole",
    "shown": "text",
    "decided": "text",
    "purpose": "text",
    "source": "text",
    "rounds": "whole",
    "total": "number",
    "status": "text",
    "state": "text",
    "used_total": "number",
    "share": "number",
    "revisions": "whole",
    "too_late": "whole",
    "early": "truth",
    "reason": "text",
}
_DECISIONS: dict[str, ColumnType] = {
    "bucket": "text",
    "number": "whole",
    "option": "text",
    "purpose": "text",
    "source": "text",
    "rounds_asked": "whole",
    "decided_at": "time",
    "stretch": "whole",
    "rules": "whole",
    "reason": "text",
}
_ESTIMATES: dict[str, ColumnType] = {
    "option": "text",
    "mean": "number",
    "low": "number",
    "high": "number",
    "level": "number",
    "unit": "text",
    "buckets": "whole",
    "visits": "whole",
    "rounds": "whole",
    "place": "text",
}


def _finite(limit: float) -> float | None:
    """A limit of an interval; an endless one is none, which every tool can read."""
    return limit if math.isfinite(limit) else None


def campaign_table(campaign: Campaign, name: str, level: float = 0.95) -> TableOut:
    """A table of a campaign as it is now.

    Args:
        campaign: The campaign.
        name: "buckets", "decisions" or "estimates".
        level: How sure the intervals of the estimates are.
    """
    known_name(name, TABLES, "table of a campaign")
    if name == "decisions":
        return TableOut(
            _DECISIONS,
            [
                (
                    each.label, each.bucket, each.option, each.purpose, each.source, each.rounds,
                    each.at, each.number, each.rules, each.reason,
                )
                for each in campaign.ledger().decisions.values()
            ],
        )  # fmt: skip
    status = campaign.status(level)
    if name == "estimates":
        return TableOut(
            _ESTIMATES,
            [
                (
                    row.name, row.mean, _finite(row.low), _finite(row.high), level, status.unit, row.buckets,
                    row.visits, row.rounds, row.place,
                )
                for row in status.options
            ],
        )  # fmt: skip
    return TableOut(
        _BUCKETS,
        [
            (
                row.label, row.bucket, row.option, row.decided, row.purpose, row.source, row.rounds,
                row.total, row.status, row.state, row.used_total, row.share, row.revisions,
                row.too_late, row.early, row.reason,
            )
            for row in status.timeline
        ],
    )  # fmt: skip
