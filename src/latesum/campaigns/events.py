"""One line of a campaign's log."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One line of the log.

    Args:
        sequence: Its place in the log.
        at: When it was written.
        kind: "decision", "record" or the name of an operator action.
        bucket: The bucket that it is about, if it is about one.
        body: What it says, as JSON values.
        region: The region that it is about; empty if that is all, or the campaign has none.
    """

    sequence: int
    at: datetime
    kind: str
    bucket: int | None
    body: dict[str, Any]
    region: str = ""
