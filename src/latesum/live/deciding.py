"""From the log to the next decision: the policy is told what was played, as it is known now."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from latesum.live.ledger import Decision, Ledger
from latesum.live.maturity import Maturity
from latesum.live.settings import Settings
from latesum.policies import Play, Policy
from latesum.policies.base import Purpose, rounds_text

#: What a policy is told in order: a play, or (a number alone) that an option was taken away.
Told = Play | int
_CHECKPOINT_EVERY = 32


def told_plays(
    settings: Settings, ledger: Ledger, now: datetime, before: int | None = None
) -> list[Told]:
    """What the policy is told at this moment of all decided buckets, or those before one.

    - A known total is told with the purpose of its decision, a pending one as None.
    - A bucket that is missing for good is told as an override without a total, so that no policy
      waits for it; a bucket that showed something else than decided is told as an override.
    - A bucket of no rounds is no play: what arrived in it is added to the bucket before it, whose
      late rewards these are most likely.
    - The number of a stretch is the bucket in which it began, as its decision says. Where a decision
      does not say it, or something else was shown, the number rises where the option or the purpose as
      told changes, and after a drop.
    """
    maturity = Maturity(settings, ledger, now)
    drops = sorted(ledger.dropped.items(), key=lambda drop: drop[1])
    told: list[Told] = []
    last: tuple[Any, ...] | None = None
    for bucket, decision in ledger.decisions.items():
        if before is not None and bucket >= before:
            break
        while drops and drops[0][1] <= bucket:
            told.append(drops.pop(0)[0])
            last = None
        rounds, known = maturity.rounds(bucket), maturity.known(bucket)
        total = None if known.total is None else settings.scaled(known.total, rounds)
        if rounds == 0:
            _add_to_last(told, total)
            continue
        arm = ledger.shown(bucket)
        as_decided = arm == decision.arm and known.state != "missing"
        purpose: Purpose = decision.purpose if as_decided else "override"
        number, goes_on = bucket, (arm, purpose, as_decided and decision.stays)
        if as_decided and decision.number is not None:
            number = decision.number
        elif last is not None and goes_on == last[1:]:
            number = last[0]
        told.append(Play(arm, rounds, total, purpose, number))
        last = (number, *goes_on)
    told.extend(arm for arm, _ in drops)
    return told


def _add_to_last(told: list[Told], total: float | None) -> None:
    if told and total is not None:
        last = told[-1]
        if isinstance(last, Play) and last.total is not None:
            told[-1] = last._replace(total=last.total + total)


class Planner:
    """A policy that follows the log: it goes back only as far as something has changed."""

    def __init__(self, policy: Policy) -> None:
        self._told: list[Told] = []
        self._checkpoints: list[tuple[int, Policy]] = [(0, policy.fresh())]

    def after(self, told: list[Told]) -> Policy:
        """The policy that was told all this, the same as a fresh one would be."""
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


class Choice(NamedTuple):
    """A decision that is about to be written down."""

    arm: int
    purpose: Any
    source: Any
    rounds: int | None
    reason: str
    number: int | None

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
    settings: Settings, ledger: Ledger, planner: Planner, bucket: int, now: datetime
) -> Choice:
    """The option for the next bucket, from what is known now. It never waits."""
    last = ledger.decisions.get(bucket - 1)
    if _goes_on(settings, ledger, last, bucket):
        assert last is not None
        reason = f"{last.option} runs to the end of the {_block_name(settings)} it began."
        return Choice(last.arm, last.purpose, "aligned", None, reason, last.number)
    told = told_plays(settings, ledger, now, bucket)
    policy = planner.after(told)
    asked = policy.ask()
    arm, source = asked.arm, "policy"
    if ledger.order is not None:
        arm, source = ledger.order.arm, "override"
        reason = f"{settings.options[arm]} as ordered: {ledger.order.why}"
    elif ledger.hold is not None and last is not None and last.arm not in ledger.dropped:
        arm, source = last.arm, "held"
        reason = f"The campaign is held, so {last.option} stays: {ledger.hold.body['why']}"
    else:
        reason = f"{settings.options[arm]} for {rounds_text(asked.rounds)}, {policy.reason()}."
    purpose = asked.purpose if arm == asked.arm else "override"
    # A stretch that goes on keeps its number; a new one has that of the bucket in which it begins.
    number = policy.number_for(arm, purpose)
    goes_on = bool(told) and isinstance(told[-1], Play) and told[-1].number == number
    return Choice(arm, purpose, source, asked.rounds, reason, number if goes_on else bucket)


def carry(last: Decision) -> Choice:
    """Nobody asked for a bucket: what ran went on, and the stretch ran long."""
    reason = f"Nobody asked, so {last.option} is taken to have gone on."
    return Choice(last.arm, last.purpose, "carried", None, reason, last.number)


def _goes_on(settings: Settings, ledger: Ledger, last: Decision | None, bucket: int) -> bool:
    if settings.align is None or last is None or ledger.order is not None:
        return False
    if ledger.hold is not None or last.source in ("override", "held"):
        return False
    block = settings.buckets.block
    same = block(bucket, settings.align) == block(last.bucket, settings.align)
    return same and last.arm not in ledger.dropped


def _block_name(settings: Settings) -> str:
    return "week" if settings.align == "week" else f"{settings.align} buckets"
