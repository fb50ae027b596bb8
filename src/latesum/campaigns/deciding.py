"""Decisions: rows in, one choice per region out.

A row is what was shown in a bucket of a region and what is known of its total at a time
(`observations_at`). There are two kinds of methods, and both are functions of the rows: a revised
total, a late one or a bucket that showed something else is just another row, and a replay of the
log gives the same decisions.

- A policy: `plays_at` makes plays of the rows, `Replay` gives them to the policy, `ask` decides.
- The model of `switchback` takes the rows as they are, and decides for all regions together.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from latesum._checks import InvalidInput
from latesum._render import counted, rate_text
from latesum.campaigns.buckets import When, span_text
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.rows import Observation
from latesum.campaigns.state import CampaignState, Decision, Source
from latesum.policies import Play, Policy
from latesum.policies.base import Purpose
from latesum.policies.estimates import Units

if TYPE_CHECKING:
    from latesum.markets import LateOption, MarketConfig, RegionChoice, RegionRow

#: At most this many buckets without a decision are filled in; more look like a wrong clock.
_MAX_GAP = 100_000
#: The share of a bucket that a block need not be a bucket longer for.
_NOT_WORTH_A_BUCKET = 0.1
_CHECKPOINT_EVERY = 32
#: What a policy is given in order: a play, or (a number alone) that an option was taken away.
PlayOrRemoval = Play | int


def observations_at(
    state: CampaignState, now: datetime, before: int | None = None
) -> list[Observation]:
    """The rows of all decided buckets, or of those before one, as they are known at a time."""
    return [
        completeness.observation(bucket)
        for part in state.parts.values()
        for completeness in [Completeness(part, now)]
        for bucket in part.decisions
        if before is None or bucket < before
    ]


def decide(
    state: CampaignState, bucket: int, now: datetime, replay: Replay | None = None
) -> dict[str, Decision]:
    """The option for the next bucket in every region, from what is known now.

    All buckets before it are decided. `replay` is the policy as it followed the log so far, which
    saves time.
    """
    last = state.decisions.get(bucket - 1)
    if last is not None and _is_aligned(state, last, bucket):
        reason = f"{last.option} runs to the end of the week it began."
        return {"": _go_on(state, last, "aligned", reason, now)}
    if state.config.is_market:
        return _decide_market(state, bucket, now)
    return {"": _decide_policy(state, bucket, now, replay or Replay())}


def _chosen(
    part: CampaignState, bucket: int, now: datetime, arm: int, purpose: Purpose, reason: str
) -> Decision:
    """What a method asks for in a region; people come before the method."""
    last = part.decisions.get(bucket - 1)
    if part.pin is not None:
        option = part.config.options[part.pin.arm]
        said = f"{option} is pinned: {part.pin.reason}"
        made = shown_so(part, bucket, part.pin.arm, "pinned", said, now)
    elif part.paused is not None and last is not None and last.arm not in part.removed:
        where, why = part.region or "The campaign", part.paused.body["reason"]
        said = f"{where} is paused, so {last.option} stays: {why}"
        made = shown_so(part, bucket, last.arm, "paused", said, now)
    else:
        made = shown_so(part, bucket, arm, "policy", reason, now)
    return made._replace(purpose=purpose) if made.arm == arm else made


def _is_aligned(state: CampaignState, last: Decision, bucket: int) -> bool:
    """Whether a bucket is the rest of a whole week."""
    if state.config.align is None or state.pin is not None or state.paused is not None:
        return False
    if last.source in ("pinned", "paused", "reported", "finished") or last.arm in state.removed:
        return False
    week = state.config.buckets.week
    return week(bucket) == week(last.bucket)


# What a bucket needs to be decided, and buckets that no one asked for.


def bucket_to_decide(state: CampaignState, when: When | None, now: datetime) -> int:
    """The bucket that is asked for; refused where it cannot be decided now."""
    buckets, first = state.config.buckets, state.first or 1
    bucket = buckets.number(now if when is None else when)
    if bucket < first:
        raise InvalidInput(
            f"the campaign begins with {buckets.label(first)}; {buckets.label(bucket)} is before "
            "it. What was shown then can be recorded, not decided."
        )
    if bucket > buckets.number(now) + 1:
        raise InvalidInput(
            f"{buckets.label(bucket)} is too far ahead to decide on: at most the "
            f"{buckets.every} after the present one, {buckets.label(buckets.number(now) + 1)}."
        )
    return bucket


def check_gap(missed: int) -> None:
    """Refuse to fill in more buckets than a campaign can have missed."""
    if missed > _MAX_GAP:
        raise InvalidInput(
            f"{missed:,} buckets have passed since the last decision; is the clock right?"
        )


def final_decision(state: CampaignState, bucket: int, region: str = "") -> Decision:
    """The option for a bucket of a finished campaign; it is not in the log."""
    assert state.finished is not None
    body, at = state.finished.body, state.finished.at
    reason = f"The campaign is finished: {body['reason']}"
    chosen = shown_so(state, bucket, body["option"], "finished", reason, at)
    return chosen._replace(purpose="commit", region=region)


def carry(part: CampaignState, bucket: int, now: datetime) -> Decision:
    """No one asked for a bucket: what ran went on, and the block ran long."""
    last = part.decisions[bucket - 1]
    reason = f"No one asked, so {last.option} is taken to have gone on."
    return _go_on(part, last, "carried", reason, now)


def _go_on(
    part: CampaignState, last: Decision, source: Source, reason: str, now: datetime
) -> Decision:
    made = shown_so(part, last.bucket + 1, last.arm, source, reason, now)
    return made._replace(purpose=last.purpose, number=last.number)


def shown_so(
    part: CampaignState, bucket: int, arm: int, source: Source, reason: str, at: datetime
) -> Decision:
    """A bucket of which it is known what is shown, without a method."""
    label, option = part.config.buckets.label(bucket), part.config.options[arm]
    return Decision(
        bucket, label, option, arm, "override", source, None, reason, at, None, bucket, part.region
    )


# Policies.


def plays_at(state: CampaignState, now: datetime, before: int | None = None) -> list[PlayOrRemoval]:
    """What the policy is given at this time of all decided buckets, or those before one.

    - A known total has the purpose of its decision, a pending one is None.
    - A bucket whose total is missing is an override without a total, so that no policy waits for
      it; a bucket that showed something else than decided is an override.
    - A bucket of no rounds is no play: what arrived in it is added to the bucket before it, whose
      late rewards these are most likely.
    - The number of a block is the bucket in which it began, as its decision says. Where
      something else was shown, the number rises where the option changes, and after a removal.
    """
    config = state.config
    removals = sorted(state.removed.items(), key=lambda removal: removal[1])
    plays: list[PlayOrRemoval] = []
    for row in observations_at(state, now, before):
        decision = state.decisions[row.bucket]
        while removals and removals[0][1] <= row.bucket:
            plays.append(removals.pop(0)[0])
        rounds = config.expected_rounds if row.rounds is None else row.rounds
        total = None if row.total is None else config.scaled(row.total, rounds)
        last = plays[-1] if plays and isinstance(plays[-1], Play) else None
        if rounds == 0:
            if last is not None and last.total is not None and total is not None:
                plays[-1] = last._replace(total=last.total + total)
            continue
        arm = state.shown(row.bucket)
        if arm == decision.arm and row.state != "missing":
            plays.append(Play(arm, rounds, total, decision.purpose, decision.number))
            continue
        goes_on = last is not None and (last.arm, last.purpose) == (arm, "override")
        number = last.number if last is not None and goes_on else row.bucket
        plays.append(Play(arm, rounds, total, "override", number))
    return [*plays, *(arm for arm, _ in removals)]


class Replay:
    """A campaign's policy as it follows the log: it goes back only as far as something has changed.

    Where the configuration was changed it is another policy, which learns from the whole log, as if
    it had been there from the beginning.
    """

    def __init__(self) -> None:
        self._config: CampaignConfig | None = None
        self._plays: list[PlayOrRemoval] = []
        self._checkpoints: list[tuple[int, Policy]] = []

    def after(self, config: CampaignConfig, plays: list[PlayOrRemoval]) -> Policy:
        """The policy of this configuration after all these plays, as a fresh one would be."""
        if self._config is not config and self._config != config:
            self._plays, self._checkpoints = [], [(0, config.build_policy())]
        pairs = enumerate(zip(self._plays, plays, strict=False))
        same = min(len(self._plays), len(plays))
        same = next((place for place, (one, other) in pairs if one != other), same)
        while self._checkpoints[-1][0] > same:
            self._checkpoints.pop()
        start, saved = self._checkpoints[-1]
        policy = saved.copy()
        for count, each in enumerate(plays[start:], start + 1):
            if isinstance(each, Play):
                policy.tell(*each)
            else:
                policy.drop(each)
            if count % _CHECKPOINT_EVERY == 0:
                self._checkpoints.append((count, policy.copy()))
        self._config, self._plays = config, plays
        return policy


def _decide_policy(state: CampaignState, bucket: int, now: datetime, replay: Replay) -> Decision:
    plays = plays_at(state, now, bucket)
    policy = at_next_block(state, replay.after(state.config, plays), plays)
    block, last = policy.ask(), plays[-1] if plays else None
    reason = policy.explain(units_of(state.config))[-1].removeprefix("Next: ")
    made = _chosen(state, bucket, now, block.arm, block.purpose, reason)
    # A block that goes on keeps its number; a new one has that of the bucket it begins in.
    number = policy.number_for(made.arm, made.purpose)
    goes_on = isinstance(last, Play) and last.number == number
    return made._replace(rounds=block.rounds, number=number if goes_on else bucket)


def at_next_block(state: CampaignState, policy: Policy, plays: list[PlayOrRemoval]) -> Policy:
    """The policy at the block that the next bucket is for: a block is a number of whole buckets.

    Once as many buckets were shown as a block was expected to take, less than half a bucket that
    remains of it counts as played: a whole bucket for the rest would be spent on nothing.
    """
    asked, last = policy.ask(), plays[-1] if plays else None
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


def units_of(config: CampaignConfig) -> Units:
    """How a policy's numbers are written in a campaign: in its own unit, and rounds as time."""
    low, high = config.range

    def whole_buckets(rounds: int) -> str:
        buckets = max(1, math.ceil(rounds / config.expected_rounds - _NOT_WORTH_A_BUCKET))
        return counted(buckets, config.buckets.every)

    return Units(
        mean=lambda value: rate_text(config.per_round(value), config.range),
        difference=lambda value: rate_text(value * (high - low), config.range),
        rounds=lambda rounds: span_text(rounds / config.expected_rounds, config.buckets.every),
        block=whole_buckets,
    )


# The model of markets.


class MarketRows(NamedTuple):
    """A campaign as a market: what was shown and came in, with the history, and its model.

    Bucket 0 of the rows is the campaign's `first`, the first that was asked for. Counted from
    there, `following` is the bucket that comes next, and `asked` are all that were asked for.
    """

    rows: list[RegionRow]
    following: int
    config: MarketConfig
    first: int
    asked: list[int]


def market_rows(state: CampaignState, now: datetime, before: int | None = None) -> MarketRows:
    """What the model is given at this time of all decided buckets, or those before one."""
    from latesum.markets import RegionRow

    config = state.config
    asked = sorted(
        {
            bucket
            for part in state.parts.values()
            for bucket, decision in part.decisions.items()
            if decision.source not in ("reported", "carried", "finished")
            and (before is None or bucket < before)
        }
    )
    following = before or (state.last or 0) + 1
    first = asked[0] if asked else following
    counts = config.parameters.get("amounts", "counts") == "counts"
    rows = []
    for row in [*config.history, *observations_at(state, now, before)]:
        named: str | dict[str, float]
        if isinstance(row.shown, int):
            named = config.options[row.shown]
        else:
            named = {config.options[arm]: share for arm, share in row.shown}
        total = row.total
        if total is not None and counts and row.bucket >= 1:
            total = max(total, 0.0)  # below zero by refunds or noise; the model counts sales
        rows.append(RegionRow(row.region, row.bucket - first, row.rounds, named, total))
    market = config.build_market(first, rounds_known=any(row.rounds is not None for row in rows))
    return MarketRows(rows, following - first, market, first, [each - first for each in asked])


def _decide_market(state: CampaignState, bucket: int, now: datetime) -> dict[str, Decision]:
    """What `switchback` asks for in all regions together."""
    from latesum.markets import decide as decide_market

    found, options = market_rows(state, now, bucket), state.config.options
    barred = {
        region: [options[arm] for arm in part.removed] for region, part in state.parts.items()
    }
    choices = decide_market(
        found.rows, found.following, found.config, barred=barred, asked=found.asked
    )
    new = _never_shown(state, found, choices)
    chosen = {}
    for region, part in state.parts.items():
        choice = choices[region]
        purpose: Purpose = "learn"
        if region in new:
            option, reason = new[region], f"{new[region]}, because it has not been shown yet."
        else:
            if choice.purpose == "continue":
                choice = choice._replace(option=_chosen_last(part, choice, bucket))
            purpose = "commit" if choice.purpose == "best" else "learn"
            option, reason = choice.option, _reason(choice, state.config, found.first)
        made = _chosen(part, bucket, now, options.index(option), purpose, reason)
        last = part.decisions.get(bucket - 1)
        if last is not None and (last.arm, last.purpose) == (made.arm, made.purpose):
            made = made._replace(number=last.number)
        chosen[region] = made
    return chosen


def _chosen_last(part: CampaignState, choice: RegionChoice, bucket: int) -> str:
    """What the policy chose last; an order, or what else was shown, ends with its own buckets."""
    for decision in reversed(part.decisions.values()):
        chosen = decision.bucket < bucket and decision.source == "policy"
        if chosen and decision.arm not in part.removed:
            return decision.option
    return choice.option


def _never_shown(
    state: CampaignState, found: MarketRows, choices: dict[str, RegionChoice]
) -> dict[str, str]:
    """Options that were added after the sweep, each in a region of its own where something
    changes now."""
    seen = {choice.option for choice in choices.values()}
    for row in found.rows:
        seen.update([row.shown] if isinstance(row.shown, str) else row.shown)
    free = [region for region, choice in choices.items() if choice.purpose == "draw"]
    chosen = {}
    for arm, name in enumerate(state.config.options):
        able = [region for region in free if arm not in state.parts[region].removed]
        if name not in seen and able:
            chosen[able[0]] = name
            free.remove(able[0])
    return chosen


def say_late(late: LateOption, every: str) -> str:
    """That an option may be the best and only late.

    >>> from latesum.markets import LateOption
    >>> say_late(LateOption("A gift", 2.13, 6, 0.12), "day").partition(";")[0]
    "'A gift' may be about 2.1 times as late as the others"
    """
    more = counted(late.buckets, f"more {every}")
    return (
        f"{late.option!r} may be about {late.times:.2g} times as late as the others; whether it is "
        f"late or worse cannot be told before it is shown for {more} in a row (probability that it "
        f"is late and the best: {late.chance:.0%})."
    )


def _reason(choice: RegionChoice, config: CampaignConfig, first: int) -> str:
    option = choice.option
    shown = f"{option} up to and including {config.buckets.label(choice.until + first - 1)}"
    if choice.purpose == "sweep":
        return f"{shown}: every option gets a first turn."
    if choice.purpose == "continue":
        return f"{shown}; then it is decided again."
    if choice.late is not None:
        return f"{shown}: {say_late(choice.late, config.buckets.every)}"
    chance = "" if math.isnan(choice.chance) else f" (probability: {choice.chance:.0%})"
    if choice.purpose == "best":
        return f"{option}, which looks best{chance}; the planned time is over."
    return f"{shown}, because it may be the best{chance}."
