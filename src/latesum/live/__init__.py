"""A campaign on real data: its log, its stores, its pages."""

from latesum.live.campaign import Campaign, system_clock
from latesum.live.ledger import Decision, Entry
from latesum.live.store import Moved, Store, UnknownCampaign
from latesum.live.verdicts import BadField, Conflicting, Recorded, Row, UnknownBucket

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
