"""Decisions: from the state of a campaign to one choice per region, and what a bucket needs for
it."""

from __future__ import annotations

from datetime import datetime

from latesum._checks import InvalidInput
from latesum.campaigns.buckets import When
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.methods import Choice, Replay, choose_by_policy, choose_in_market
from latesum.campaigns.state import CampaignState, Decision
from latesum.campaigns.vocabulary import Source
from latesum.errors import NotPossible


def decide(
    state: CampaignState, bucket: int, now: datetime, replay: Replay | None = None
) -> dict[str, Choice]:
    """The option for the next bucket in every region, from what is known now.

    Args:
        state: What the log adds up to; all buckets before this one are decided.
        bucket: The bucket.
        now: Totals are as they are known then.
        replay: The policy as it followed the log so far, which saves time.
    """
    config = state.config
    last = state.decisions.get(bucket - 1)
    if last is not None and _goes_on(config, state, last, bucket):
        reason = f"{last.option} runs to the end of the {_block_name(config)} it began."
        return {"": Choice(last.arm, last.purpose, "aligned", None, reason, last.number)}
    ordered = {
        region: order
        for region, part in state.parts.items()
        if (order := _ordered(part, region, bucket)) is not None
    }
    if config.is_market:
        return choose_in_market(state, bucket, now, ordered)
    return choose_by_policy(state, replay or Replay(), bucket, now, ordered)


def _ordered(part: CampaignState, region: str, bucket: int) -> tuple[int, Source, str] | None:
    """What people pinned or paused in a region, with the reason; None if the method decides."""
    last = part.decisions.get(bucket - 1)
    if part.pin is not None:
        option = part.config.options[part.pin.arm]
        return part.pin.arm, "pinned", f"{option} is pinned: {part.pin.reason}"
    if part.paused is not None and last is not None and last.arm not in part.removed:
        reason = part.paused.body["reason"]
        return (
            last.arm,
            "paused",
            f"{region or 'The campaign'} is paused, so {last.option} stays: {reason}",
        )
    return None


def bucket_to_decide(state: CampaignState, when: When | None, now: datetime) -> int:
    """The bucket that is asked for; refused where it cannot be decided now."""
    buckets = state.config.buckets
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
            f"the campaign begins with {buckets.label(first)}; {buckets.label(bucket)} is before "
            "it. "
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
    if not state.config.buckets.timed and bucket > following:
        raise InvalidInput(f"bucket {bucket} cannot be decided yet; the next one is {following}.")


def final_decision(state: CampaignState, bucket: int, region: str = "") -> Decision:
    """The option for a bucket of a finished campaign; it is not in the log."""
    assert state.finished is not None
    config = state.config
    arm = state.finished.body["option"]
    label = config.buckets.label(bucket)
    reason = f"The campaign is finished: {state.finished.body['reason']}"
    return Decision(
        bucket,
        label,
        config.options[arm],
        arm,
        "commit",
        "finished",
        None,
        reason,
        state.finished.at,
        None,
        bucket,
        region=region,
    )


def carry(last: Decision) -> Choice:
    """No one asked for a bucket: what ran went on, and the block ran long."""
    reason = f"No one asked, so {last.option} is taken to have gone on."
    return Choice(last.arm, last.purpose, "carried", None, reason, last.number)


def after_the_end(state: CampaignState, bucket: int) -> Choice:
    """What ran in a bucket of a campaign that was finished, and is reopened now."""
    finished = state.finished
    assert finished is not None
    arm = finished.body["option"]
    reason = f"The campaign was finished, so {state.config.options[arm]} was shown."
    return Choice(arm, "override", "finished", None, reason, bucket)


def fill_in(config: CampaignConfig, arm: int, bucket: int) -> Choice:
    """What ran in a bucket before the first question, as it was reported afterwards."""
    reason = f"Reported afterwards: {config.options[arm]} was shown before the first question."
    return Choice(arm, "override", "reported", None, reason, bucket)


def _goes_on(config: CampaignConfig, state: CampaignState, last: Decision, bucket: int) -> bool:
    if config.align is None or state.pin is not None:
        return False
    if state.paused is not None or last.source in (
        "pinned",
        "paused",
        "reported",
        "finished",
    ):
        return False
    block = config.buckets.block
    same = block(bucket, config.align) == block(last.bucket, config.align)
    return same and last.arm not in state.removed


def _block_name(config: CampaignConfig) -> str:
    return "week" if config.align == "week" else f"{config.align} buckets"
