"""From the log to the decisions of `switchback`: the log as rows of a market, which it decides from.

The policy keeps nothing: what every region shows next is a function of the rows, the settings and
the seed (`latesum.markets`). So a revised total, a late one or a bucket that showed something else is
just another row, and a replay of the log gives the same decisions.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import NamedTuple

from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.state import CampaignState, Shown
from latesum.campaigns.vocabulary import Purpose
from latesum.markets import MarketConfig, RegionChoice, RegionRow, decide


class MarketRows(NamedTuple):
    """A campaign as a market: the rows and settings that its model is told, counted from `first`.

    Args:
        rows: What was shown and came in, with the history; bucket 0 is the campaign's `first`.
        settings: The market's.
        first: The first bucket that was asked for, in the campaign's count.
        asked: The buckets that were asked for, counted from `first`.
    """

    rows: list[RegionRow]
    settings: MarketConfig
    first: int
    asked: list[int]


class MarketChoice(NamedTuple):
    """What a region shows, before orders of operators: the option, and why."""

    arm: int
    purpose: Purpose
    reason: str


def market_rows(state: CampaignState, now: datetime, before: int | None = None) -> MarketRows:
    """What the model is told at this moment of all decided buckets, or those before one.

    Args:
        state: What the log adds up to.
        now: Totals are as they are known then.
        before: The bucket that is decided; without it, all.
    """
    settings = state.settings
    asked = _asked(state, before)
    first = asked[0] if asked else before or (state.last or 0) + 1
    counts = settings.parameters.get("amounts", "counts") == "counts"
    rows = _past_rows(settings, first)
    rounds_known = any(row.rounds is not None for row in rows)
    for region, part in state.parts.items():
        completeness = Completeness(part, now)
        for bucket in part.decisions:
            if before is not None and bucket >= before:
                break
            known, rounds = completeness.known(bucket), part.value(bucket).rounds
            rounds_known = rounds_known or rounds is not None
            total = known.total
            if total is not None and counts:
                total = max(total, 0.0)  # by refunds or noise; the model counts sales
            shown = _by_name(part.shares(bucket), settings)
            rows.append(RegionRow(region, bucket - first, rounds, shown, total))
    market = settings.build_market(first, rounds_known=rounds_known)
    return MarketRows(rows, market, first, [bucket - first for bucket in asked])


def _asked(state: CampaignState, before: int | None) -> list[int]:
    """The buckets that were decided and not merely reported or carried on."""
    return sorted(
        {
            bucket
            for part in state.parts.values()
            for bucket, decision in part.decisions.items()
            if decision.source not in ("reported", "carried", "finished")
            and (before is None or bucket < before)
        }
    )


def _past_rows(settings: CampaignConfig, first: int) -> list[RegionRow]:
    buckets = settings.buckets
    rows = []
    for place, past in enumerate(settings.history):
        # Numbered ones are in order, up to the start.
        in_order = place - len(settings.history) + 1
        number = buckets.number(past.label) if buckets.timed else in_order
        shown = _by_name(past.shares or past.arm, settings)
        rounds = past.rounds or None
        rows.append(RegionRow(past.region, number - first, rounds, shown, past.total))
    return rows


def _by_name(shown: Shown, settings: CampaignConfig) -> str | dict[str, float]:
    if isinstance(shown, int):
        return settings.options[shown]
    return {settings.options[arm]: share for arm, share in shown}


def choose_all(state: CampaignState, bucket: int, found: MarketRows) -> dict[str, MarketChoice]:
    """What the policy would show in every region in a bucket.

    Args:
        state: What the log adds up to.
        bucket: The bucket that is decided.
        found: What is known of the buckets before it, from `market_rows`.
    """
    options = state.settings.options
    barred = {
        region: [options[arm] for arm in part.removed] for region, part in state.parts.items()
    }
    choices = decide(
        found.rows, bucket - found.first, found.settings, barred=barred, asked=found.asked
    )
    new = _never_shown(state, found, choices)
    chosen = {}
    for region, choice in choices.items():
        if region in new:
            reason = f"{new[region]}, because it has not been shown yet."
            chosen[region] = MarketChoice(options.index(new[region]), "learn", reason)
            continue
        if choice.purpose == "dwell":
            choice = choice._replace(option=_chosen_last(state.parts[region], choice, bucket))
        purpose: Purpose = "commit" if choice.purpose == "best" else "learn"
        reason = _reason(choice, state.settings, found.first)
        chosen[region] = MarketChoice(options.index(choice.option), purpose, reason)
    return chosen


def _chosen_last(part: CampaignState, choice: RegionChoice, bucket: int) -> str:
    """What the policy chose last; an order, or what else was shown, ends with its own buckets."""
    for earlier in range(bucket - 1, 0, -1):
        decision = part.decisions.get(earlier)
        if (
            decision is not None
            and decision.source == "policy"
            and decision.arm not in part.removed
        ):
            return decision.option
    return choice.option


def _never_shown(
    state: CampaignState, found: MarketRows, choices: dict[str, RegionChoice]
) -> dict[str, str]:
    """Options that were added after the sweep, each in a region of its own where something changes now."""
    seen = {
        name
        for row in found.rows
        for name in ([row.shown] if isinstance(row.shown, str) else row.shown)
    }
    free = [region for region, choice in choices.items() if choice.purpose == "draw"]
    options = state.settings.options
    chosen = {}
    for arm, name in enumerate(options):
        if name in seen or name in {choice.option for choice in choices.values()}:
            continue
        able = [region for region in free if arm not in state.parts[region].removed]
        if able:
            chosen[able[0]] = name
            free.remove(able[0])
    return chosen


def _reason(choice: RegionChoice, settings: CampaignConfig, first: int) -> str:
    until = settings.buckets.label(choice.until + first)
    if choice.purpose == "sweep":
        return f"{choice.option} until {until}: every option is tried once first."
    if choice.purpose == "dwell":
        return f"{choice.option} goes on until {until}, when it is decided again."
    chance = "" if math.isnan(choice.chance) else f" ({choice.chance:.0%} by what is known)"
    if choice.purpose == "best":
        return f"{choice.option}, which looks best{chance}; the planned time is over."
    return f"{choice.option} until {until}, because it may be best{chance}."
