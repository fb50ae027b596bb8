# ruff: noqa: E402
"""A campaign on real data: its log, its stores, its pages."""

from latesum._extras import need

need("campaigns")  # before anything of it is imported

from latesum.campaigns.campaign import Campaign, system_clock
from latesum.campaigns.recording import Recorded
from latesum.campaigns.state import Decision, Event
from latesum.campaigns.store import Store
from latesum.errors import Conflicting, UnknownBucket, UnknownCampaign
from latesum.files.totals import Row

__all__ = [
    "Campaign",
    "Conflicting",
    "Decision",
    "Event",
    "Recorded",
    "Row",
    "Store",
    "UnknownBucket",
    "UnknownCampaign",
    "system_clock",
]
