"""Runs that are played by compiled code, from the first stretch to the last.

They draw what the loop of `lab.play.Game` draws and end in the same state: what is compiled is the
policy's rule, which its `ask` and `tell` call too, and the kernel of `World.play`. Python tells the
last stretch, and takes part in one with a reward that is later than its table of delays.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from latesum.lab.plays import Plays
from latesum.policies import Policy
from latesum.policies.ars_ucb import ARSUCB
from latesum.policies.base import PURPOSES
from latesum.policies.fixed import FixedSplit, Oracle, RoundRobin
from latesum.policies.flow import Flow
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.world.problem import World

#: The policies that are all kernel. Not their subclasses: these may do something else.
COMPILED: frozenset[type[Policy]] = frozenset(
    (ODAAF, ODAAFB, ODAAFV, NaiveODAAF, Flow, ARSUCB, FixedSplit, RoundRobin, Oracle)
)


def play_whole(policy: Policy, world: Any, bucket: int, until: int) -> Plays | None:
    """Play the next `until` rounds; None where that needs Python.

    Args:
        policy: What decides.
        world: Where it plays.
        bucket: The rounds between two decisions.
        until: How many rounds there are.
    """
    if type(policy) not in COMPILED or type(world) is not World or policy._unplayed > 0:
        return None
    parts = world.for_kernel()
    if parts is None:
        return None
    from latesum.lab import run_kernels as kernels  # compiled at first use

    plays, left = Plays(policy._highest + 1), until
    nature = world._rng
    drawing = _shared_generator(nature)
    while left:
        if drawing is not nature:
            drawing.bit_generator.state = nature.bit_generator.state
        quiet = world.nothing_later_before - world.rounds_played
        before = len(plays)
        why, count, played, arm, rounds, purpose, *rest = kernels.play_stretches(
            policy._state, policy.rounds_told, left, bucket, *parts, drawing, quiet,  # type: ignore[attr-defined]
            *plays.for_kernel(),
        )  # fmt: skip
        if drawing is not nature:
            nature.bit_generator.state = drawing.bit_generator.state
        plays.noted(count)
        policy._learned_elsewhere(count - before, played)
        world.rounds_played += played
        left -= played
        if why == kernels.NO_ROOM:
            plays.make_room()
            policy._make_room()
            continue
        total = world.finish(arm, rounds, *rest)
        policy.tell(arm, rounds, total, PURPOSES[purpose], plays.next_number)
        plays.add(arm, rounds, total, PURPOSES[purpose])
        left -= rounds
    return plays


class _Shared(threading.local):
    """A generator per thread: handing compiled code one that it has not met costs 40 microseconds."""

    def __init__(self) -> None:
        self.generator = np.random.Generator(np.random.PCG64(0))


_shared = _Shared()


def _shared_generator(rng: np.random.Generator) -> np.random.Generator:
    return _shared.generator if type(rng.bit_generator) is np.random.PCG64 else rng
