"""Runs that are played by compiled code, from the first stretch to the last.

They draw what the loop of `lab.play.Game` draws and end in the same state: what is compiled is the
policy's rule, which its `ask` and `tell` call too, and the kernel of `World.play`. Python tells the
last stretch, and takes part in one with a reward that is later than its table of delays; and it plays what
a policy has no kernel for, such as the first stretches of Unmix while it knows nothing of the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from latesum.lab.plays import Plays
from latesum.policies import Policy
from latesum.policies.ars_ucb import ARSUCB
from latesum.policies.base import Purpose
from latesum.policies.fixed import FixedSplit, Oracle, RoundRobin
from latesum.policies.flow import Flow
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.policies.unmix import Unmix
from latesum.world.problem import World

#: The policies that are all kernel. Not their subclasses: these may do something else.
COMPILED: frozenset[type[Policy]] = frozenset(
    (ODAAF, ODAAFB, ODAAFV, NaiveODAAF, Flow, ARSUCB, FixedSplit, RoundRobin, Oracle, Unmix)
)


#: What is played next: arm, rounds, purpose and number, if there are some rounds left.
NextPlay = Callable[[int], tuple[int, int, Purpose, int]]


def play_whole(
    policy: Policy, world: Any, bucket: int, until: int, ask: NextPlay
) -> tuple[Plays, bool] | None:
    """Play the next `until` rounds: the plays, and whether the last is not told yet.

    None where that needs Python.

    Args:
        policy: What decides.
        world: Where it plays.
        bucket: The rounds between two decisions.
        until: How many rounds there are.
        ask: What Python would play next.
    """
    if type(policy) not in COMPILED or type(world) is not World or not policy._compiled_goes_on():
        return None
    parts = world.for_kernel()
    words = world.draws.words()
    if parts is None or words is None:
        return None
    from latesum.lab import run_kernels as kernels  # compiled at first use

    plays, left = Plays(policy._highest + 1), until
    while True:
        state = policy._for_kernel()
        if state is None:
            arm, rounds, name, number = ask(left)
            total = world.play(arm, rounds)
            plays.add(arm, rounds, total, name, number)
            left -= rounds
            if not left:
                return plays, True
            policy.tell(arm, rounds, total, name, number)
            continue
        quiet = world.nothing_later_before - world.rounds_played
        why, count, played, highest, unplayed, *rest = kernels.play_stretches(
            state, policy.rounds_told, left, bucket, *parts, world.draws.words(), quiet,
            policy._opened(), policy._highest, *plays.for_kernel(),
        )  # fmt: skip
        world.draws.drawn()
        if count > len(plays):
            plays.noted(count)
            policy._learned_elsewhere(plays, played, highest, unplayed)
        world.rounds_played += played
        left -= played
        if why == kernels.DRAWN:
            plays.noted(count + 1)
            arm, rounds = int(plays.arms[-1]), int(plays.rounds[-1])
            plays.totals[-1] = world.finish(arm, rounds, *rest)
            left -= rounds
            if not left:
                return plays, True
            policy.tell(*plays[-1])
        elif why == kernels.NO_ROOM:
            plays.make_room()
            policy._make_room()
        else:
            policy._go_on()
