# mypy: ignore-errors
"""The loop of `lab.play.Game` where totals are known late, compiled.

What is known by now is told to the policy. Decisions are taken by a copy of it, which is told all else
as pending, and which decides on until a total becomes known. Both are a state, the state before the
block that is still open, and the protocol of `Policy`: `tell` here is `Policy.tell` for a policy that
learns from whole blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latesum._compile import allocation_free, inlined
from latesum.experiments.run_kernels import can_learn, learn, next_block, play_part
from latesum.experiments.state_kernels import copy_state
from latesum.policies.purpose_kernels import BRIDGE
from latesum.simulation.kernels import DONE

#: Why the loop ended: all rounds are played; there is no room for one more block; or one was drawn in
#: which something further off than a table of delays has a part.
PLAYED, NO_ROOM, DRAWN = range(3)

# Places in a policy's `protocol`.
TOLD = 0  # the rounds that it was told
BEFORE = 1  # those before the open block
UNPLAYED = 2
HIGHEST = 3
OPEN_NUMBER = 4  # 0: no block is open
OPEN_ARM = 5
OPEN_ROUNDS = 6
OPEN_PURPOSE = 7
OPEN_KNOWN = 8
PROTOCOL = 9

# Places in `clock`.
NOW = 0  # the rounds played
PARTS = 1  # how many parts of blocks were noted
UNKNOWN = 2  # the first of them whose total is not known yet ...
KNOWN_ROUNDS = 3  # ... and the rounds of those before it
AHEAD = 4  # 1 while the copy that decides is up to date
CLOCK = 5


class Mind(NamedTuple):
    """A policy in the middle of a run."""

    state: Any
    before: Any  # its state before the open block
    protocol: Any
    open_total: Any  # one number


class Parts(NamedTuple):
    """What was played, in columns."""

    arms: Any
    rounds: Any
    totals: Any
    purposes: Any
    numbers: Any


@allocation_free
def tell(mind, arm, rounds, total, known, purpose, number):
    """What `Policy.tell` does."""
    protocol, open_total = mind.protocol, mind.open_total
    is_open = (
        protocol[OPEN_NUMBER] == number
        and protocol[OPEN_ARM] == arm
        and protocol[OPEN_PURPOSE] == purpose
    )
    if not is_open:
        asked_arm, asked, asked_purpose = next_block(mind.state, protocol[TOLD])
        as_asked = asked_arm == arm and asked_purpose == purpose
        protocol[UNPLAYED] = asked - rounds if as_asked else 0
        protocol[HIGHEST] = max(protocol[HIGHEST], number)
    else:
        protocol[UNPLAYED] -= rounds
    if is_open and protocol[OPEN_KNOWN] == known:  # the block is learned whole
        copy_state(mind.state, mind.before)
        protocol[TOLD] = protocol[BEFORE]
        rounds += protocol[OPEN_ROUNDS]
        total = open_total[0] + total
    else:
        copy_state(mind.before, mind.state)
        protocol[BEFORE] = protocol[TOLD]
    protocol[OPEN_NUMBER], protocol[OPEN_ARM], protocol[OPEN_ROUNDS] = number, arm, rounds
    protocol[OPEN_PURPOSE], protocol[OPEN_KNOWN] = purpose, known
    open_total[0] = total
    protocol[TOLD] += rounds
    learn(mind.state, protocol[TOLD], arm, rounds, total, known, np.int64(purpose))


@inlined
def ask(mind):
    """What `Policy.ask` answers: arm, rounds, purpose, number."""
    protocol = mind.protocol
    arm, rounds, purpose = next_block(mind.state, protocol[TOLD])
    goes_on = (
        protocol[UNPLAYED] > 0
        and protocol[OPEN_ARM] == arm
        and protocol[OPEN_PURPOSE] == purpose
    )  # fmt: skip
    return arm, rounds, purpose, protocol[OPEN_NUMBER] if goes_on else protocol[HIGHEST] + 1


@inlined
def _learn_what_is_known(policy, parts, clock, lag):
    """Tell the totals that are known by now; False where there is no room for one more."""
    while clock[UNKNOWN] < clock[PARTS]:
        part = clock[UNKNOWN]
        if clock[KNOWN_ROUNDS] + parts.rounds[part] + lag > clock[NOW]:
            break
        if not can_learn(policy.state):
            return False
        tell(
            policy, parts.arms[part], parts.rounds[part], parts.totals[part], True,
            parts.purposes[part], parts.numbers[part],
        )  # fmt: skip
        clock[KNOWN_ROUNDS] += parts.rounds[part]
        clock[UNKNOWN] = part + 1
        clock[AHEAD] = 0
    return True


@inlined
def _look_ahead(policy, ahead, parts, clock):
    """Let the copy know what the policy does, and of the rest what was played; False without room."""
    copy_state(ahead, policy)
    part = clock[UNKNOWN]
    while part < clock[PARTS]:
        arm, purpose, number = parts.arms[part], parts.purposes[part], parts.numbers[part]
        rounds = 0
        while (
            part < clock[PARTS]
            and parts.arms[part] == arm
            and parts.purposes[part] == purpose
            and parts.numbers[part] == number
        ):
            rounds += parts.rounds[part]
            part += 1
        if not can_learn(ahead.state):
            return False
        tell(ahead, arm, rounds, 0.0, False, purpose, number)
    clock[AHEAD] = 1
    return True


@inlined
def _rounds_to_news(parts, clock, lag, number):
    """How long until the total of another block than `number` becomes known; 0 if none is awaited."""
    ends = clock[KNOWN_ROUNDS]
    for part in range(clock[UNKNOWN], clock[PARTS]):
        ends += parts.rounds[part]
        if parts.numbers[part] != number:
            return ends + lag - clock[NOW]
    return 0


@allocation_free
def play_late(
    policy, ahead, parts, clock, until, bucket, lag, tables, under_way, words, start, quiet, drawn
):
    """Play until round `until`, and note each part of a block; why it ended, and of a part that was drawn and
    not noted, which is in the row after those noted, what `play_bernoulli` returns.

    Nature had played `start` rounds before. Before round `quiet` nothing arrives that is further off than a table. With `drawn`, there is a part that
    was drawn before, and all that arrived in it is known by now.
    """
    while True:
        if not drawn:
            if clock[NOW] == until:
                return PLAYED, DONE, 0.0, 0, 0
            if clock[PARTS] == len(parts.arms):
                return NO_ROOM, DONE, 0.0, 0, 0
            if not _learn_what_is_known(policy, parts, clock, lag):
                return NO_ROOM, DONE, 0.0, 0, 0
            if clock[UNKNOWN] == clock[PARTS]:
                arm, asked, purpose, number = ask(policy)
            else:
                if not clock[AHEAD] and not _look_ahead(policy, ahead, parts, clock):
                    return NO_ROOM, DONE, 0.0, 0, 0
                if not can_learn(ahead.state):
                    return NO_ROOM, DONE, 0.0, 0, 0
                arm, asked, purpose, number = ask(ahead)
            if bucket > 1:
                length = bucket
            else:
                length = asked
                wait = _rounds_to_news(parts, clock, lag, number)
                if wait > 0:
                    length = wait if purpose == BRIDGE and asked == 1 else min(asked, wait)
            length = min(length, until - clock[NOW])
            to_do, arrived, late, far = play_part(
                tables, under_way, words, arm, length, start + clock[NOW] + length
            )
            part = clock[PARTS]
            parts.arms[part], parts.rounds[part], parts.totals[part] = arm, length, arrived
            parts.purposes[part], parts.numbers[part] = purpose, number
            if to_do != DONE or clock[NOW] + length >= quiet:
                return DRAWN, to_do, arrived, late, far
        drawn = False
        part = clock[PARTS]
        clock[NOW] += parts.rounds[part]
        clock[PARTS] = part + 1
        if clock[AHEAD]:
            tell(
                ahead, parts.arms[part], parts.rounds[part], 0.0, False, parts.purposes[part],
                parts.numbers[part],
            )  # fmt: skip
