"""What a campaign knows, as tables for other tools: its buckets, its decisions, its estimates.

The table of buckets can be imported again (`latesum campaign import`) and says the same.
"""

from __future__ import annotations

from typing import Literal, get_args

from latesum._render import finite
from latesum.campaigns.state import CampaignState
from latesum.campaigns.view import Status
from latesum.files.written import ColumnType, TableOut

TableName = Literal["buckets", "decisions", "estimates"]
TABLES: tuple[TableName, ...] = get_args(TableName)
#: What columns hold that are no text.
_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(("number", "rounds", "rounds_asked", "revisions"), "whole"),
    **dict.fromkeys(("buckets", "periods", "block"), "whole"),
    **dict.fromkeys(("total", "used_total", "share", "mean", "low", "high", "level"), "number"),
    "probability_best": "number",
    "early": "truth",
    "decided_at": "time",
}
#: The columns; where the field of a record has another name, it stands after a colon.
_COLUMNS: dict[TableName, str] = {
    "buckets": "bucket:label number:bucket shown decided purpose source rounds total status state "
    "used_total share revisions early reason",
    "decisions": "bucket:label number:bucket option purpose source rounds_asked:rounds "
    "decided_at:at block:number reason",
    "estimates": "option:name mean low high level unit buckets periods rounds status "
    "probability_best",
}


def make_table(name: TableName, known: CampaignState | Status) -> TableOut:
    """The decisions of a state, or every bucket or every option of a status.

    An endless limit of an interval is none.
    """
    if isinstance(known, CampaignState):
        regional = bool(known.config.regions)
        parts = known.parts.values()
        rows = [each._asdict() for part in parts for each in part.decisions.values()]
    elif name == "buckets":
        regional, rows = bool(known.regions), [each._asdict() for each in known.timeline]
    else:
        more = {"level": known.level, "unit": known.unit}
        regional, rows = False, [{**each._asdict(), **more} for each in known.options]
    named = [each.partition(":") for each in [*_COLUMNS[name].split(), *["region"] * regional]]
    return TableOut(
        {column: _TYPES.get(column, "text") for column, _, _ in named},
        [tuple(finite(row[field or column]) for column, _, field in named) for row in rows],
    )
