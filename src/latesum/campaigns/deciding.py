"""From the log to the next decision: the policy is told what was played, as it is known now."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum._render import counted
from latesum.campaigns.buckets import When
from latesum.campaigns.caches import PolicyCache, Told
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.learning import bucket_word
from latesum.campaigns.state import CampaignState, Decision
from latesum.campaigns.vocabulary import Purpose, Source
from latesum.errors import NotPossible
from latesum.policies import Play, Policy

#: The share of a bucket that a block need not be a bucket longer for.
_NOT_WORTH_A_BUCKET = 0.1


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
    - The number of a block is the bucket in which it began, as its decision says. Where something else
      was shown, the number rises where the option changes, and after a removal.
    """
    settings = state.settings
    completeness = Completeness(state, now)
    removals = sorted(state.removed.items(), key=lambda removal: removal[1])
    told: list[Told] = []
    last: tuple[int, int, Purpose] | None = None
    for bucket, decision in state.decisions.items():
        if before is not None and bucket >= before:
            break
        while removals and removals[0][1] <= bucket:
            told.append(removals.pop(0)[0])
            last = None
        rounds, known = completeness.rounds(bucket), completeness.known(bucket)
        total = None if known.total is None else settings.scaled(known.total, rounds)
        if rounds == 0:
            _add_to_last(told, total)
            continue
        arm = state.shown(bucket)
        as_decided = arm == decision.arm and known.state != "missing"
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


def choose(
    state: CampaignState,
    policies: PolicyCache,
    bucket: int,
    now: datetime,
    region: str = "",
) -> Choice:
    """The option for the next bucket of a region, from what is known now.

    It never waits.
    """
    settings = state.settings
    if settings.is_market:
        return _choose_in_market(state, policies, bucket, now, region)
    last = state.decisions.get(bucket - 1)
    if _goes_on(settings, state, last, bucket):
        assert last is not None
        reason = f"{last.option} runs to the end of the {_block_name(settings)} it began."
        return Choice(last.arm, last.purpose, "aligned", None, reason, last.number)
    told = told_plays(state, now, bucket)
    policy = at_next_block(state, policies.after(settings, told), told)
    asked = policy.ask()
    arm = asked.arm
    source: Source = "policy"
    ordered = _people_first(settings, state, last, "The campaign")
    if ordered is not None:
        arm, source, reason = ordered
    else:
        reason = _say_block(settings, arm, asked.rounds, policy.reason())
    purpose: Purpose = asked.purpose if arm == asked.arm else "override"
    # A block that goes on keeps its number; a new one has that of the bucket in which it begins.
    number = policy.number_for(arm, purpose)
    goes_on = bool(told) and isinstance(told[-1], Play) and told[-1].number == number
    return Choice(arm, purpose, source, asked.rounds, reason, number if goes_on else bucket)


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
    expected = state.settings.expected_rounds
    if not isinstance(last, Play) or asked.number != last.number or 2 * asked.rounds >= expected:
        return policy
    block = [each for each in state.decisions.values() if each.number == asked.number]
    planned = block[0].rounds if block else None
    if planned is None or len(block) < math.ceil(planned / expected - _NOT_WORTH_A_BUCKET):
        return policy
    following = policy.copy()
    following.tell(asked.arm, asked.rounds, None, asked.purpose, asked.number)
    return following


def _say_block(settings: CampaignConfig, arm: int, rounds: int, why: str) -> str:
    """What a policy asked for, in whole buckets, and why."""
    buckets = max(1, math.ceil(rounds / settings.expected_rounds - _NOT_WORTH_A_BUCKET))
    return f"{settings.options[arm]} for {counted(buckets, bucket_word(settings))}, {why}."


def explain_policy(state: CampaignState, policy: Policy, told: list[Told]) -> list[str]:
    """What a policy has found out, and what it asks for next, in buckets.

    Args:
        state: What the log adds up to.
        policy: The policy, which was told all of `told`.
        told: What it was told.
    """
    following = at_next_block(state, policy, told)
    asked = following.ask()
    said = _say_block(state.settings, asked.arm, asked.rounds, following.reason())
    return [*policy.findings(), f"Next: {said}"]


def _people_first(
    settings: CampaignConfig, part: CampaignState, last: Decision | None, what: str
) -> tuple[int, Source, str] | None:
    """What people pinned or paused, with the reason; None if the policy decides."""
    if part.pin is not None:
        option = settings.options[part.pin.arm]
        return part.pin.arm, "pinned", f"{option} is pinned: {part.pin.reason}"
    if part.paused is not None and last is not None and last.arm not in part.removed:
        reason = part.paused.body["reason"]
        return last.arm, "paused", f"{what} is paused, so {last.option} stays: {reason}"
    return None


def _choose_in_market(
    state: CampaignState, policies: PolicyCache, bucket: int, now: datetime, region: str
) -> Choice:
    """The same for `switchback`, which decides for all regions together."""
    part = state.parts[region]
    last = part.decisions.get(bucket - 1)
    asked = policies.market_choices(state, bucket, now)[region]
    ordered = _people_first(state.settings, part, last, region or "The campaign")
    arm, source, reason = ordered or (asked.arm, "policy", asked.reason)
    purpose: Purpose = asked.purpose if arm == asked.arm else "override"
    goes_on = last is not None and (last.arm, last.purpose) == (arm, purpose)
    number = last.number if last is not None and goes_on else bucket
    return Choice(arm, purpose, source, None, reason, number)


def bucket_to_decide(state: CampaignState, when: When | None, now: datetime) -> int:
    """The bucket that is asked for; refused where it cannot be decided now."""
    buckets = state.settings.buckets
    if when is not None:
        bucket = buckets.number(when)
    elif buckets.timed:
        bucket = buckets.number(now)
    elif state.last is None:
        bucket = 1
    else:
        bucket = state.last + (1 if state.recorded(state.last) else 0)
    first = state.first or 1
    if bucket < first:
        raise InvalidInput(
            f"the campaign begins with {buckets.label(first)}; {buckets.label(bucket)} is before it. "
            "What was shown then can be recorded, not decided."
        )
    if buckets.timed and bucket > buckets.number(now) + 1:
        raise InvalidInput(
            f"{buckets.label(bucket)} is too far ahead to decide on: at most the "
            f"{buckets.every} after the present one, {buckets.label(buckets.number(now) + 1)}."
        )
    check_next(state, bucket)
    return bucket


def check_open(state: CampaignState) -> None:
    """Refuse to decide in a campaign that was put into the archive before it began."""
    if state.archived is not None and state.finished is None:
        raise NotPossible("the campaign is in the archive; reopen it first.")


def check_next(state: CampaignState, bucket: int) -> None:
    """Refuse to leave out numbered buckets."""
    following = (state.last or 0) + 1
    if not state.settings.buckets.timed and bucket > following:
        raise InvalidInput(f"bucket {bucket} cannot be decided yet; the next one is {following}.")


def final_decision(state: CampaignState, bucket: int, region: str = "") -> Decision:
    """The option for a bucket of a finished campaign; it is not in the log."""
    assert state.finished is not None
    settings = state.settings
    arm = state.finished.body["option"]
    label = settings.buckets.label(bucket)
    reason = f"The campaign is finished: {state.finished.body['reason']}"
    return Decision(
        bucket, label, settings.options[arm], arm, "commit", "finished", None, reason,
        state.finished.at, None, bucket, region=region,
    )  # fmt: skip


def carry(last: Decision) -> Choice:
    """No one asked for a bucket: what ran went on, and the block ran long."""
    reason = f"No one asked, so {last.option} is taken to have gone on."
    return Choice(last.arm, last.purpose, "carried", None, reason, last.number)


def after_the_end(state: CampaignState, bucket: int) -> Choice:
    """What ran in a bucket of a campaign that was finished, and is reopened now."""
    finished = state.finished
    assert finished is not None
    arm = finished.body["option"]
    reason = f"The campaign was finished, so {state.settings.options[arm]} was shown."
    return Choice(arm, "override", "finished", None, reason, bucket)


def fill_in(settings: CampaignConfig, arm: int, bucket: int) -> Choice:
    """What ran in a bucket before the first question, as it was reported afterwards."""
    reason = f"Reported afterwards: {settings.options[arm]} was shown before the first question."
    return Choice(arm, "override", "reported", None, reason, bucket)


def _goes_on(
    settings: CampaignConfig, state: CampaignState, last: Decision | None, bucket: int
) -> bool:
    if settings.align is None or last is None or state.pin is not None:
        return False
    if state.paused is not None or last.source in (
        "pinned", "paused", "reported", "finished",
    ):  # fmt: skip
        return False
    block = settings.buckets.block
    same = block(bucket, settings.align) == block(last.bucket, settings.align)
    return same and last.arm not in state.removed


def _block_name(settings: CampaignConfig) -> str:
    return "week" if settings.align == "week" else f"{settings.align} buckets"
