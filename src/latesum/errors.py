"""What latesum raises."""

from __future__ import annotations


class NotConforming(AssertionError):
    """A policy or a delay of one's own breaks the protocol; the message says where."""
