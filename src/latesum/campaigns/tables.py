"""What a campaign knows, as tables for other tools: its buckets, its decisions, its estimates.

The table of buckets can be imported again (`latesum campaign import`) and says the same.
"""

from __future__ import annotations

from typing import Literal

from latesum._render import finite
from latesum.campaigns.state import CampaignState
from latesum.campaigns.view import Status
from latesum.files.written import ColumnType, TableOut

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
#: Of a campaign with regions.
_REGION: dict[str, ColumnType] = {"region": "text"}
_DECISIONS: dict[str, ColumnType] = {
    "bucket": "text",
    "number": "whole",
    "option": "text",
    "purpose": "text",
    "source": "text",
    "rounds_asked": "whole",
    "decided_at": "time",
    "block": "whole",
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
    "periods": "whole",
    "rounds": "whole",
    "status": "text",
    "probability_best": "number",
}


def decisions_table(state: CampaignState) -> TableOut:
    """Every decision of a campaign.

    Args:
        state: What its log adds up to.
    """
    regional = bool(state.config.regions)
    return TableOut(
        {**_DECISIONS, **_REGION} if regional else _DECISIONS,
        [
            (
                each.label,
                each.bucket,
                each.option,
                each.purpose,
                each.source,
                each.rounds,
                each.at,
                each.number,
                each.reason,
                *([each.region] if regional else []),
            )
            for part in state.parts.values()
            for each in part.decisions.values()
        ],
    )


def estimates_table(status: Status) -> TableOut:
    """What is believed of each option; an endless limit of an interval is none.

    Args:
        status: Of the campaign.
    """
    return TableOut(
        _ESTIMATES,
        [
            (
                row.name,
                row.mean,
                finite(row.low),
                finite(row.high),
                status.level,
                status.unit,
                row.buckets,
                row.periods,
                row.rounds,
                row.status,
                row.probability_best,
            )
            for row in status.options
        ],
    )


def buckets_table(status: Status) -> TableOut:
    """Every bucket of a campaign.

    Args:
        status: Of the campaign.
    """
    regional = bool(status.regions)
    return TableOut(
        {**_BUCKETS, **_REGION} if regional else _BUCKETS,
        [
            (
                row.label,
                row.bucket,
                row.shown,
                row.decided,
                row.purpose,
                row.source,
                row.rounds,
                row.total,
                row.status,
                row.state,
                row.used_total,
                row.share,
                row.revisions,
                row.too_late,
                row.early,
                row.reason,
                *([row.region] if regional else []),
            )
            for row in status.timeline
        ],
    )
