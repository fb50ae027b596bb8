"""The rules by which a log is read, and their versions.

A decision follows from the log by rules: which totals count at a moment, and what the policy is told
of them. When the rules change, decisions that were taken must not come out otherwise. Each decision
therefore keeps the version by which it was taken in its own entry of the log (`"rules"`; an entry
without it is of version 1), and what reads the log again for that decision, a replay or an
explanation, reads it by that version. The first decision by another version than the one before it
also says which that was (`"rules_before"`). What is known *now*, and the next decision, are by
`RULES_VERSION`.

Because the version is part of the decision's entry, it is written with it or not at all, and
processes of an older and a newer latesum may write to one campaign: a decision of the older one
is simply one of the older version.

What the versions mean:

1.  A provisional total that was recorded before its bucket had ended is not used until it is recorded
    again after the end. Where totals fill up, a total is read by the age at which it was recorded
    last: it is full if that was at the end of the curve or later, and not used if the curve does not
    say which share was in at that age.
2.  An early total is used once its bucket is over. What `usable_after` demands is counted from the
    end of the bucket, if the total was recorded before it. Where totals fill up, a total that
    was not revised is full at the end of the curve if it was recorded again and again until less
    than a bucket before that end, or if no share is known for the age at which it was recorded last
    (the curve begins later, or none can be fitted). A total that was recorded once, or not to the
    end, at an age for which there is a share, goes on being scaled up by that share: that it
    was not revised says only that it was not looked at. A curve is also fitted to totals that were
    followed until less than a bucket before the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latesum._checks import InvalidInput

#: The version by which decisions are taken now.
RULES_VERSION = 2


def rules_of(body: Mapping[str, Any]) -> int:
    """The version by which the decision with this body was taken.

    >>> rules_of({"label": "2026-03-01", "option": 0}), rules_of({"option": 0, "rules": 2})
    (1, 2)
    """
    version: int = body.get("rules", 1)
    return version


def check_rules(version: object) -> None:
    """Refuse a version that this latesum does not know.

    >>> check_rules(1)
    >>> check_rules(99)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: this campaign's log has decisions by rules of version 99, ...
    """
    if not (type(version) is int and 1 <= version <= RULES_VERSION):
        raise InvalidInput(
            f"this campaign's log has decisions by rules of version {version!r}, and this latesum "
            f"knows the versions 1 to {RULES_VERSION}; use a newer latesum."
        )
