# ruff: noqa: E402
"""A campaign on real data: its log, its stores, its pages."""

from latesum._extras import need

need("live")  # before anything of it is imported

from latesum.errors import BadField, Conflicting, Moved, UnknownBucket, UnknownCampaign
from latesum.live.campaign import Campaign, system_clock
from latesum.live.entries import Entry
from latesum.live.ledger import Decision
from latesum.live.store import Store
from latesum.live.verdicts import Recorded, Row

__all__ = [
    "BadField",
    "Campaign",
    "Conflicting",
    "Decision",
    "Entry",
    "Moved",
    "Recorded",
    "Row",
    "Store",
    "UnknownBucket",
    "UnknownCampaign",
    "system_clock",
]
