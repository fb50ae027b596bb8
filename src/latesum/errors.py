"""What latesum raises."""

from __future__ import annotations

from latesum._checks import InvalidInput
from latesum._extras import MissingExtra

__all__ = ["InvalidInput", "MissingExtra", "NotConforming"]


class NotConforming(AssertionError):
    """A policy or a delay of one's own breaks the protocol; the message says where."""
