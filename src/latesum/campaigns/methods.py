"""The two kinds of methods: a policy, and the model of markets. Each is told the rows of a
campaign.

A row is what was shown in a bucket of a region and what is known of its total at a moment
(`observations_at`). Both methods are functions of the rows: a revised total, a late one or a
bucket that showed something else is just another row, and a replay of the log gives the same
decisions.

- A policy is told plays: `told_plays` makes them of the rows, `Replay` tells them, `ask` decides.
- The model of `switchback` takes the rows as they are, and decides for all regions together.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, NamedTuple

from latesum._render import counted, rate_text
from latesum.campaigns.buckets import span_text
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.learning import bucket_word
from latesum.campaigns.state import CampaignState, Shown
from latesum.campaigns.vocabulary import Purpose, Source
from latesum.markets import MarketConfig, RegionChoice, RegionRow
from latesum.markets import decide as decide_market
from latesum.policies import Play, Policy
from latesum.policies.estimates import Units

#: The share of a bucket that a block need not be a bucket longer for.
_NOT_WORTH_A_BUCKET = 0.1
_CHECKPOINT_EVERY = 32
#: What a policy is told in order: a play, or (a number alone) that an option was taken away.
Told = Play | int
#: What people pinned or paused, by region: the option, where it comes from, and the reason.
Ordered = dict[str, tuple[int, Source, str]]


class Observation(NamedTuple):
    """A bucket of a region as it is known at a moment.

    Args:
        region: The region; empty in a campaign without regions.
        bucket: The bucket's number.
        rounds: Its rounds; None if they were not reported.
        shown: What was really shown: an option's number, or the share of each of several.
        total: Its total, where it is known by now.
        missing: Whether the total will never be known.
    """

    region: str
    bucket: int
    rounds: int | None
    shown: Shown
    total: float | None
    missing: bool


def observations_at(
    state: CampaignState, now: datetime, before: int | None = None
) -> list[Observation]:
    """The rows of all decided buckets, or of those before one, as they are known at a moment.

    Args:
        state: What the log adds up to.
        now: The moment.
        before: The bucket that is decided; without it, all.
    """
    rows = []
    for region, part in state.parts.items():
        completeness = Completeness(part, now)
        for bucket in part.decisions:
            if before is not None and bucket >= before:
                break
            known, rounds = completeness.known(bucket), part.value(bucket).rounds
            missing = known.state == "missing"
            rows.append(
                Observation(region, bucket, rounds, part.shares(bucket), known.total, missing)
            )
    return rows


class Choice(NamedTuple):
    """A decision that is about to be written down."""

    arm: int
    purpose: Purpose
    source: Source
    rounds: int | None
    reason: str
    number: int

    def body(self, label: str) -> dict[str, Any]:
        """As the log keeps it."""
        return {
            "label": label,
            "option": self.arm,
            "purpose": self.purpose,
            "number": self.number,
            "source": self.source,
            "rounds": self.rounds,
            "reason": self.reason,
        }


# Policies.


def told_plays(
    state: CampaignState,
    now: datetime,
    before: int | None = None,
) -> list[Told]:
    """What the policy is told at this moment of all decided buckets, or those before one.

    - A known total is told with the purpose of its decision, a pending one as None.
    - A bucket whose total is missing is told as an override without a total, so that no policy
      waits for it; a bucket that showed something else than decided is told as an override.
    - A bucket of no rounds is no play: what arrived in it is added to the bucket before it, whose
      late rewards these are most likely.
    - The number of a block is the bucket in which it began, as its decision says. Where
      something else was shown, the number rises where the option changes, and after a removal.
    """
    config = state.config
    removals = sorted(state.removed.items(), key=lambda removal: removal[1])
    told: list[Told] = []
    last: tuple[int, int, Purpose] | None = None
    for row in observations_at(state, now, before):
        bucket, decision = row.bucket, state.decisions[row.bucket]
        while removals and removals[0][1] <= bucket:
            told.append(removals.pop(0)[0])
            last = None
        rounds = config.expected_rounds if row.rounds is None else row.rounds
        total = None if row.total is None else config.scaled(row.total, rounds)
        if rounds == 0:
            _add_to_last(told, total)
            continue
        arm = state.shown(bucket)
        as_decided = arm == decision.arm and not row.missing
        purpose: Purpose = decision.purpose if as_decided else "override"
        number = bucket
        if as_decided:
            number = decision.number
        elif last is not None and (arm, purpose) == last[1:]:
            number = last[0]
        told.append(Play(arm, rounds, total, purpose, number))
        last = (number, arm, purpose)
    told.extend(arm for arm, _ in removals)
    return told


def _add_to_last(told: list[Told], total: float | None) -> None:
    if told and total is not None:
        last = told[-1]
        if isinstance(last, Play) and last.total is not None:
            told[-1] = last._replace(total=last.total + total)


class Replay:
    """A campaign's policy as it follows the log: it goes back only as far as something has changed.

    Where the configuration was changed it is another policy, which is told the whole log, as if it
    had been there from the beginning.
    """

    def __init__(self) -> None:
        self._config: CampaignConfig | None = None
        self._told: list[Told] = []
        self._checkpoints: list[tuple[int, Policy]] = []

    def after(self, config: CampaignConfig, told: list[Told]) -> Policy:
        """The policy of this configuration that was told all this, the same as a fresh one would be."""
        if self._config is not config and self._config != config:
            self._told, self._checkpoints = [], [(0, config.build_policy())]
        self._config = config
        same = 0
        for one, other in zip(self._told, told, strict=False):
            if one != other:
                break
            same += 1
        while self._checkpoints[-1][0] > same:
            self._checkpoints.pop()
        count, saved = self._checkpoints[-1]
        policy = saved.copy()
        for each in told[count:]:
            if isinstance(each, Play):
                policy.tell(*each)
            else:
                policy.drop(each)
            count += 1
            if count % _CHECKPOINT_EVERY == 0:
                self._checkpoints.append((count, policy.copy()))
        self._told = told
        return policy


def choose_by_policy(
    state: CampaignState, replay: Replay, bucket: int, now: datetime, ordered: Ordered
) -> dict[str, Choice]:
    """What a policy shows in a bucket; people come before it. It never waits."""
    told = told_plays(state, now, bucket)
    policy = at_next_block(state, replay.after(state.config, told), told)
    asked = policy.ask()
    if "" in ordered:
        arm, source, reason = ordered[""]
    else:
        arm, source = asked.arm, "policy"
        reason = _say_block(state.config, arm, asked.rounds, policy.reason())
    purpose: Purpose = asked.purpose if arm == asked.arm else "override"
    # A block that goes on keeps its number; a new one has that of the bucket in which it begins.
    number = policy.number_for(arm, purpose)
    goes_on = bool(told) and isinstance(told[-1], Play) and told[-1].number == number
    chosen = Choice(arm, purpose, source, asked.rounds, reason, number if goes_on else bucket)
    return {"": chosen}


def at_next_block(state: CampaignState, policy: Policy, told: list[Told]) -> Policy:
    """The policy at the block that the next bucket is for: a block is a number of whole buckets.

    Once as many buckets were shown as a block was expected to take, less than half a bucket that is
    left of it counts as played: a whole bucket for the rest would be spent on nothing.

    Args:
        state: What the log adds up to.
        policy: The policy, which was told all of `told`.
        told: What it was told.
    """
    asked, last = policy.ask(), told[-1] if told else None
    expected = state.config.expected_rounds
    if not isinstance(last, Play) or asked.number != last.number or 2 * asked.rounds >= expected:
        return policy
    block = [each for each in state.decisions.values() if each.number == asked.number]
    planned = block[0].rounds if block else None
    if planned is None or len(block) < math.ceil(planned / expected - _NOT_WORTH_A_BUCKET):
        return policy
    following = policy.copy()
    following.tell(asked.arm, asked.rounds, None, asked.purpose, asked.number)
    return following


def _say_block(config: CampaignConfig, arm: int, rounds: int, why: str) -> str:
    """What a policy asked for, in whole buckets, and why."""
    buckets = max(1, math.ceil(rounds / config.expected_rounds - _NOT_WORTH_A_BUCKET))
    return f"{config.options[arm]} for {counted(buckets, bucket_word(config))}, {why}."


def units_of(config: CampaignConfig) -> Units:
    """How a policy's numbers are written in a campaign: in its own unit, and rounds as time."""
    low, high = config.range
    return Units(
        mean=lambda value: rate_text(config.per_round(value), config.range),
        difference=lambda value: rate_text(value * (high - low), config.range),
        rounds=lambda rounds: span_text(rounds / config.expected_rounds, config.buckets.every),
    )


def explain_policy(state: CampaignState, policy: Policy, told: list[Told]) -> list[str]:
    """What a policy has found out, and what it asks for next, in buckets.

    Args:
        state: What the log adds up to.
        policy: The policy, which was told all of `told`.
        told: What it was told.
    """
    following = at_next_block(state, policy, told)
    asked = following.ask()
    said = _say_block(state.config, asked.arm, asked.rounds, following.reason())
    return [*policy.findings(units_of(state.config)), f"Next: {said}"]


# The model of markets.


class MarketRows(NamedTuple):
    """A campaign as a market: the rows and config that its model is told, counted from `first`.

    Args:
        rows: What was shown and came in, with the history; bucket 0 is the campaign's `first`.
        config: The market's.
        first: The first bucket that was asked for, in the campaign's count.
        asked: The buckets that were asked for, counted from `first`.
    """

    rows: list[RegionRow]
    config: MarketConfig
    first: int
    asked: list[int]


def market_rows(state: CampaignState, now: datetime, before: int | None = None) -> MarketRows:
    """What the model is told at this moment of all decided buckets, or those before one.

    Args:
        state: What the log adds up to.
        now: Totals are as they are known then.
        before: The bucket that is decided; without it, all.
    """
    config = state.config
    asked = _asked(state, before)
    first = asked[0] if asked else before or (state.last or 0) + 1
    counts = config.parameters.get("amounts", "counts") == "counts"
    rows = _past_rows(config, first)
    rounds_known = any(row.rounds is not None for row in rows)
    for region, bucket, rounds, shown, total, _ in observations_at(state, now, before):
        rounds_known = rounds_known or rounds is not None
        # Below zero by refunds or noise; the model counts sales.
        sold = max(total, 0.0) if total is not None and counts else total
        rows.append(RegionRow(region, bucket - first, rounds, _by_name(shown, config), sold))
    market = config.build_market(first, rounds_known=rounds_known)
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


def _past_rows(config: CampaignConfig, first: int) -> list[RegionRow]:
    buckets = config.buckets
    rows = []
    for place, past in enumerate(config.history):
        # Numbered ones are in order, up to the start.
        in_order = place - len(config.history) + 1
        number = buckets.number(past.label) if buckets.timed else in_order
        shown = _by_name(past.shares or past.arm, config)
        rounds = past.rounds or None
        rows.append(RegionRow(past.region, number - first, rounds, shown, past.total))
    return rows


def _by_name(shown: Shown, config: CampaignConfig) -> str | dict[str, float]:
    if isinstance(shown, int):
        return config.options[shown]
    return {config.options[arm]: share for arm, share in shown}


def choose_in_market(
    state: CampaignState, bucket: int, now: datetime, ordered: Ordered
) -> dict[str, Choice]:
    """What `switchback` shows in a bucket, in all regions together; people come before it."""
    config, found = state.config, market_rows(state, now, bucket)
    options = config.options
    barred = {
        region: [options[arm] for arm in part.removed] for region, part in state.parts.items()
    }
    choices = decide_market(
        found.rows, bucket - found.first, found.config, barred=barred, asked=found.asked
    )
    new = _never_shown(state, found, choices)
    chosen = {}
    for region, part in state.parts.items():
        asked: Purpose = "learn"
        choice = choices[region]
        if region in new:
            option, reason = new[region], f"{new[region]}, because it has not been shown yet."
        else:
            if choice.purpose == "dwell":
                choice = choice._replace(option=_chosen_last(part, choice, bucket))
            asked = "commit" if choice.purpose == "best" else "learn"
            option, reason = choice.option, _reason(choice, config, found.first)
        wanted: tuple[int, Source, str] = (options.index(option), "policy", reason)
        arm, source, reason = ordered.get(region, wanted)
        purpose: Purpose = asked if arm == wanted[0] else "override"
        last = part.decisions.get(bucket - 1)
        goes_on = last is not None and (last.arm, last.purpose) == (arm, purpose)
        number = last.number if last is not None and goes_on else bucket
        chosen[region] = Choice(arm, purpose, source, None, reason, number)
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
    """Options that were added after the sweep, each in a region of its own where something
    changes now."""
    seen = {
        name
        for row in found.rows
        for name in ([row.shown] if isinstance(row.shown, str) else row.shown)
    }
    free = [region for region, choice in choices.items() if choice.purpose == "draw"]
    options = state.config.options
    chosen = {}
    for arm, name in enumerate(options):
        if name in seen or name in {choice.option for choice in choices.values()}:
            continue
        able = [region for region in free if arm not in state.parts[region].removed]
        if able:
            chosen[able[0]] = name
            free.remove(able[0])
    return chosen


def _reason(choice: RegionChoice, config: CampaignConfig, first: int) -> str:
    until = config.buckets.label(choice.until + first)
    if choice.purpose == "sweep":
        return f"{choice.option} until {until}: every option is tried once first."
    if choice.purpose == "dwell":
        return f"{choice.option} goes on until {until}, when it is decided again."
    chance = "" if math.isnan(choice.chance) else f" ({choice.chance:.0%} by what is known)"
    if choice.purpose == "best":
        return f"{choice.option}, which looks best{chance}; the planned time is over."
    return f"{choice.option} until {until}, because it may be best{chance}."
