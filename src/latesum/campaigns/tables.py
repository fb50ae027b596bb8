"""What a campaign knows, as tables for other tools: its buckets, its decisions, its estimates.

The table of buckets can be imported again (`latesum campaign import`) and says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from latesum._render import finite
from latesum.campaigns.state import CampaignState
from latesum.campaigns.view import Status
from latesum.files.written import ColumnType, TableOut

TableName = Literal["buckets", "decisions", "estimates"]
TABLES: tuple[TableName, ...] = ("buckets", "decisions", "estimates")
#: What columns hold that are no text.
_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(("number", "rounds", "rounds_asked", "revisions", "too_late"), "whole"),
    **dict.fromkeys(("buckets", "periods", "block"), "whole"),
    **dict.fromkeys(("total", "used_total", "share", "mean", "low", "high", "level"), "number"),
    "probability_best": "number",
    "early": "truth",
    "decided_at": "time",
}
#: The columns; where the field of a record has another name, it stands after a colon.
_BUCKETS = (
    "bucket:label number:bucket shown decided purpose source rounds total status state used_total "
    "share revisions too_late early reason"
)
_DECISIONS = (
    "bucket:label number:bucket option purpose source rounds_asked:rounds decided_at:at "
    "block:number reason"
)
_ESTIMATES = "option:name mean low high level unit buckets periods rounds status probability_best"


def decisions_table(state: CampaignState) -> TableOut:
    """Every decision of a campaign."""
    rows = (row._asdict() for part in state.parts.values() for row in part.decisions.values())
    return _table(_DECISIONS, rows, regional=bool(state.config.regions))


def estimates_table(status: Status) -> TableOut:
    """What is believed of each option; an endless limit of an interval is none."""
    more = {"level": status.level, "unit": status.unit}
    return _table(_ESTIMATES, ({**row._asdict(), **more} for row in status.options))


def buckets_table(status: Status) -> TableOut:
    """Every bucket of a campaign."""
    rows = (row._asdict() for row in status.timeline)
    return _table(_BUCKETS, rows, regional=bool(status.regions))


def _table(columns: str, rows: Iterable[dict[str, Any]], *, regional: bool = False) -> TableOut:
    named = [each.partition(":") for each in [*columns.split(), *["region"] * regional]]
    return TableOut(
        {name: _TYPES.get(name, "text") for name, _, _ in named},
        [tuple(finite(row[field or name]) for name, _, field in named) for row in rows],
    )
