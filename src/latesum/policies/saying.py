"""Sentences that several policies say."""

from __future__ import annotations

from latesum._sentences import sentence
from latesum.policies.plays import Purpose


def usual_reason(purpose: Purpose, known: int | None) -> str:
    """Why an arm is played for a purpose; `known` rounds of it, None if nothing is known at all.

    >>> usual_reason("learn", 100)
    'to learn more about it'
    """
    if purpose == "override":
        return "as ordered"
    if known is None and purpose == "commit":
        return sentence(
            "though nothing is known yet: the rounds to learn from are over",
            kind="nothing known at the end",
        )
    if known is None:
        reason = "because nothing is known yet"
        return f"to learn about it, {reason}" if purpose == "learn" else reason
    if purpose == "learn":
        return "to learn more about it" if known else "to learn about it"
    if purpose == "bridge":
        return "while late rewards of other options fade out"
    return "because it is the answer"


def say_estimate(option: str, mean: float, worth: float, bound: float) -> str:
    """What is believed of an arm, how well it is known, and how good it might be."""
    return sentence(
        "{option} has a mean of about {mean:mean}, as sure as from {worth:rounds} without delay; "
        "it might be as good as {bound:mean}.",
        kind="estimate",
        option=option,
        mean=float(mean),
        worth=float(worth),
        bound=min(float(bound), 1.0),
    )


def say_before(mean: float) -> str:
    """What is believed of what ran before the start."""
    return sentence(
        "What ran before had a mean of about {mean:mean}.", kind="before", mean=float(mean)
    )
