"""Sentences that several policies say, and a policy as a notebook shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from latesum import _render
from latesum.policies.plays import Estimate, Purpose


def _rounds_text(rounds: float) -> str:
    return _render.counted(f"{rounds:,.0f}" if rounds >= 100 else f"{rounds:.3g}", "round")


class Units(NamedTuple):
    """How a policy's numbers are written; a campaign has units of its own.

    Args:
        mean: Writes a mean reward, which is between 0 and 1.
        difference: Writes a difference of two means.
        rounds: Writes a number of rounds.
    """

    mean: Callable[[float], str] = "{:.3f}".format
    difference: Callable[[float], str] = "{:g}".format
    rounds: Callable[[float], str] = _rounds_text


#: Rewards between 0 and 1, and rounds.
PLAIN = Units()


def usual_reason(purpose: Purpose, known: int | None) -> str:
    """Why an arm is played for a purpose; `known` rounds of it, None if nothing is known at all.

    >>> usual_reason("learn", 100)
    'to learn more about it'
    """
    if purpose == "override":
        return "as ordered"
    if known is None and purpose == "commit":
        return "though nothing is known yet: the rounds to learn from are over"
    if known is None:
        reason = "because nothing is known yet"
        return f"to learn about it, {reason}" if purpose == "learn" else reason
    if purpose == "learn":
        return "to learn more about it" if known else "to learn about it"
    if purpose == "bridge":
        return "while late rewards of other options fade out"
    return "because it is the answer"


def say_estimate(option: str, mean: float, worth: float, bound: float, units: Units) -> str:
    """What is believed of an arm, how well it is known, and how good it might be."""
    return (
        f"{option} has a mean of about {units.mean(mean)}, equivalent to "
        f"{_render.counted(f'{worth:,.0f}', 'observation')} without delay; it may be as good as "
        f"{units.mean(min(bound, 1.0))}."
    )


def say_status_quo(mean: float, units: Units) -> str:
    """What is believed of what ran before the start."""
    return f"The status quo had a mean of about {units.mean(mean)}."


def as_html(typed: str, sentences: list[str], estimates: Iterable[Estimate]) -> str:
    """A policy as a notebook shows it: what one would type, what it says, what it believes."""
    table = _render.new_table(None, ["arm", "mean", "95% limits", "rounds", "in play"])
    for row in estimates:
        mean = "?" if row.mean is None else f"{row.mean:.4g}"
        limits = "" if row.mean is None else f"{row.low:.3g} to {row.high:.3g}"
        table.add_row(row.name, mean, limits, f"{row.plays:,}", "yes" if row.active else "no")
    return _render.heading(typed) + _render.sentences(sentences) + _render.table(table)
