"""Runs that are played by compiled code, from the first block to the last.

They draw what the loop of `lab.play.Game` draws and end in the same state: what is compiled is the
policy's rule, which its `ask` and `tell` call too, and the kernel of `World.play`. Python tells the
last block, and takes part in one with a reward that is later than its table of delays; and it plays what
a policy has no kernel for, such as the first blocks of Unmix while it knows nothing of the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latesum.experiments.plays import Plays
from latesum.policies import Play, Policy
from latesum.policies.base import PURPOSES, Purpose
from latesum.policies.flow import Flow
from latesum.policies.unmix import Unmix
from latesum.simulation.buckets import BucketWorld
from latesum.simulation.problem import World

#: The policies that are all kernel. Not their subclasses: these may do something else.
COMPILED: frozenset[type[Policy]] = frozenset((Flow, Unmix))


#: What is played next: arm, rounds, purpose and number, if there are some rounds left.
NextPlay = Callable[[int], tuple[int, int, Purpose, int]]


def play_whole(policy: Policy, world: Any, bucket: int, until: int, ask: NextPlay) -> Plays | None:
    """Play the next `until` rounds: the plays, of which the last is not told yet.

    None where that needs Python.

    Args:
        policy: What decides.
        world: Where it plays.
        bucket: The rounds between two decisions.
        until: How many rounds there are.
        ask: What Python would play next.
    """
    if type(policy) not in COMPILED or type(world) not in (World, BucketWorld):
        return None
    if not policy._compiled_goes_on() or world.draws.words() is None:
        return None
    if world.for_kernel(bucket, until) is None:
        return None
    from latesum.experiments import run_kernels as kernels  # compiled at first use

    plays, left = Plays(policy._highest + 1), until
    while True:
        state = policy._for_kernel()
        if state is None:
            arm, rounds, name, number = ask(left)
            total = world.play(arm, rounds)
            plays.add(arm, rounds, total, name, number)
            left -= rounds
            if not left:
                return plays
            policy.tell(arm, rounds, total, name, number)
            continue
        quiet = world.nothing_later_before - world.rounds_played
        tables, under_way = _of(world, bucket, left)
        why, count, played, highest, unplayed, *rest = kernels.play_blocks(
            state, policy.rounds_told, left, bucket, tables, under_way, world.draws.words(),
            world.rounds_played, quiet, policy._opened(), policy._highest, *plays.for_kernel(),
        )  # fmt: skip
        world.played_by_kernel(played, under_way)
        if count > len(plays):
            plays.noted(count)
            policy._learned_elsewhere(plays, played, highest, unplayed)
        left -= played
        if why == kernels.DRAWN:
            plays.noted(count + 1)
            arm, rounds = int(plays.arms[-1]), int(plays.rounds[-1])
            plays.totals[-1] = world.finish(under_way, arm, rounds, *rest)
            left -= rounds
            if not left:
                return plays
            policy.tell(*plays[-1])
        elif why == kernels.NO_ROOM:
            plays.make_room()
            policy._make_room()
        else:
            policy._go_on()


class LateRun:
    """A run whose totals are known `lag` rounds late, played by compiled code.

    Args:
        policy: What decides.
        world: Where it plays.
    """

    def __init__(self, policy: Policy, world: World) -> None:
        from latesum.experiments import late_kernels  # compiled at first use

        self._at = at = late_kernels
        self._policy, self._world = policy, world
        self.plays = Plays(policy._highest + 1)
        protocol = np.zeros((2, at.PROTOCOL), dtype=np.int64)
        protocol[:, [at.TOLD, at.HIGHEST]] = policy.rounds_told, policy._highest
        state = policy._for_kernel()
        states = (state, *(another(state) for _ in range(3)))
        self._minds = [
            at.Mind(states[2 * each], states[2 * each + 1], protocol[each], np.zeros(1))
            for each in range(2)
        ]
        self._clock = np.zeros(at.CLOCK, dtype=np.int64)

    def play(self, until: int, bucket: int, lag: int) -> None:
        """Play until this many rounds have been played in all; the last block may be cut short.

        Args:
            until: How many.
            bucket: The rounds between two decisions, if there are more than one.
            lag: How long after its end the total of a block is known.
        """
        at, world, plays, clock = self._at, self._world, self.plays, self._clock
        start, drawn = world.rounds_played - int(clock[at.NOW]), False
        while True:
            *columns, _ = plays.for_kernel()
            tables, under_way = _of(world, bucket, until)
            why, *rest = at.play_late(
                *self._minds, at.Parts(*columns), clock, until, bucket, lag, tables, under_way,
                world.draws.words(), start, world.nothing_later_before - start, drawn,
            )  # fmt: skip
            played = start + int(clock[at.NOW]) - world.rounds_played
            world.played_by_kernel(played, under_way)
            plays.noted(int(clock[at.PARTS]))
            drawn = why == at.DRAWN
            if drawn:
                plays.noted(len(plays) + 1)
                arm, rounds = int(plays.arms[-1]), int(plays.rounds[-1])
                plays.totals[-1] = world.finish(under_way, arm, rounds, *rest)
            elif why == at.NO_ROOM:
                plays.make_room()
                self._make_room()
            else:
                return

    def _make_room(self) -> None:
        more = self._policy._roomier
        self._minds = [
            mind._replace(state=more(mind.state), before=more(mind.before)) for mind in self._minds
        ]

    def settle(self) -> tuple[list[Play], Policy | None]:
        """Let the policy know what it was told; what is not known yet, and the copy that decides."""
        at, clock = self._at, self._clock.tolist()
        ahead = self._policy.copy() if clock[at.AHEAD] else None
        for policy, mind in zip((self._policy, ahead), self._minds, strict=True):
            if policy is not None:
                row = mind.protocol.tolist()
                total = float(mind.open_total[0]) if row[at.OPEN_KNOWN] else None
                purpose = PURPOSES[row[at.OPEN_PURPOSE]]
                block = (
                    row[at.OPEN_ARM],
                    row[at.OPEN_ROUNDS],
                    total,
                    purpose,
                    row[at.OPEN_NUMBER],
                )
                policy._follow(
                    mind.state, mind.before, row[at.BEFORE], row[at.TOLD],
                    Play(*block) if row[at.OPEN_NUMBER] else None,
                    row[at.UNPLAYED], row[at.HIGHEST],
                )  # fmt: skip
        return list(self.plays)[clock[at.UNKNOWN] :], ahead


def late_run(policy: Policy, world: Any) -> LateRun | None:
    """What plays a run with late totals; None where that needs Python.

    Args:
        policy: What decides, between two blocks.
        world: Where it plays.
    """
    if type(policy) not in COMPILED or type(world) is not World:
        return None
    if policy.learns_from == "parts" or policy._open is not None or world.draws.words() is None:
        return None
    return None if world.for_kernel(1, 0) is None else LateRun(policy, world)


def _of(world: World | BucketWorld, bucket: int, rounds: int) -> tuple[Any, Any]:
    """What compiled code needs of a world that it can play in; its arrays are others where it needed room."""
    parts = world.for_kernel(bucket, rounds)
    assert parts is not None
    return parts


def another(state: Any) -> Any:
    """A copy of a named tuple that shares no array with it.

    Args:
        state: What a compiled rule knows.
    """
    return type(state)(
        *(
            each.copy() if isinstance(each, np.ndarray)
            else another(each) if isinstance(each, tuple) else each
            for each in state
        )
    )  # fmt: skip
