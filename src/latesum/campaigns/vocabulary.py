"""The words of a campaign, each written once."""

from __future__ import annotations

from typing import Literal, get_args

from latesum.policies.base import Purpose

__all__ = [
    "STATUSES",
    "CampaignStatus",
    "HealthLevel",
    "OptionStatus",
    "Purpose",
    "RecordStatus",
    "Source",
    "TotalState",
    "Verdict",
]

#: Who chose an option: the policy; no one asked (carried on); an operator, by a pause or a pin;
#: the rest of a whole week; an operator, by the end of the campaign; it was reported afterwards.
Source = Literal["policy", "carried", "paused", "pinned", "aligned", "finished", "reported"]
#: What a record says about a total; one that is missing will never be known, which is not zero.
RecordStatus = Literal["provisional", "final", "missing"]
STATUSES: tuple[RecordStatus, ...] = get_args(RecordStatus)
#: What became of a record.
Verdict = Literal["new", "same", "revised", "conflicting", "too late", "unknown bucket"]
#: How far a bucket's total is: the bucket runs, its total is awaited, known, or missing.
TotalState = Literal["running", "pending", "known", "missing"]
#: How a campaign is; one that is unreadable is in the store, and cannot be opened here.
CampaignStatus = Literal[
    "not begun", "running", "paused", "pinned", "finished", "archived", "unreadable"
]
#: How bad a finding about a campaign is.
HealthLevel = Literal["alarm", "warning", "note"]
#: How an option does beside the others.
OptionStatus = Literal["winner", "candidate", "behind", "removed"]
