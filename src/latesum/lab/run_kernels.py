# mypy: ignore-errors
"""The loop of `lab.play.Game`, compiled: stretch after stretch, until something needs Python.

A policy is its state, a named tuple of arrays, and two functions of it; the type of the state says
which. A further policy needs a line in `_RULES`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.extending import overload

from latesum._compile import compiled
from latesum.policies import ars_kernels, choice_kernels, fixed_kernels, odaaf_kernels
from latesum.world.kernels import DONE, play_bernoulli

#: Why the loop ended: there is no room for one more stretch; or one was drawn that is the last, or in
#: which something further off than a table of delays has a part.
NO_ROOM, DRAWN = range(2)


class _Rule(NamedTuple):
    next_stretch: Any  # (state, told) -> arm, rounds, purpose
    learn: Any  # (state, told, arm, rounds, total, known, purpose)
    can_learn: Any = None  # (state) -> whether there is room for one more stretch


_RULES = {
    odaaf_kernels.OdaafState: _Rule(odaaf_kernels.next_stretch, odaaf_kernels.learn),
    choice_kernels.FlowState: _Rule(
        choice_kernels.next_stretch, choice_kernels.learn, choice_kernels.can_learn
    ),
    ars_kernels.ArsState: _Rule(ars_kernels.next_stretch, ars_kernels.learn),
    fixed_kernels.SplitState: _Rule(fixed_kernels.next_of_split, fixed_kernels.learn_averages),
    fixed_kernels.RobinState: _Rule(fixed_kernels.next_in_turn, fixed_kernels.learn_in_turn),
    fixed_kernels.OracleState: _Rule(fixed_kernels.next_of_oracle, fixed_kernels.learn_averages),
}


def next_stretch(state, told):
    """The stretch that a policy asks for."""


def learn(state, told, arm, rounds, total, known, purpose):
    """What a policy makes of a stretch."""


def can_learn(state):
    """Whether a policy has room for one more stretch."""


@overload(next_stretch, inline="always")
def _next_stretch_of(state, told):
    rule = _RULES[state.instance_class].next_stretch
    return lambda state, told: rule(state, told)


@overload(learn, inline="always")
def _learn_of(state, told, arm, rounds, total, known, purpose):
    rule = _RULES[state.instance_class].learn
    return lambda state, told, arm, rounds, total, known, purpose: rule(
        state, told, arm, rounds, total, known, purpose
    )


@overload(can_learn, inline="always")
def _can_learn_of(state):
    rule = _RULES[state.instance_class].can_learn
    if rule is None:
        return lambda state: True
    return lambda state: rule(state)


@compiled
def play_stretches(
    state, told, left, bucket, tables, under_way, rng, quiet, arms, rounds, totals, purposes, count
):
    """Play `left` rounds, and note each stretch but the last, which is drawn and not told.

    `told` is the rounds that the policy was told, and before `quiet` more rounds are over nothing
    arrives that is further off than a table. Returns why it ended, the stretches noted, the rounds
    played in them, and of a stretch that was drawn and not told: arm, rounds, purpose, what is left
    to do, what arrived, and the two numbers of `play_bernoulli`.
    """
    played = 0
    while True:
        if count == len(arms) or not can_learn(state):
            return NO_ROOM, count, played, 0, 0, 0, DONE, 0.0, 0, 0
        arm, asked, purpose = next_stretch(state, told + played)
        length = min(-(-asked // bucket) * bucket, left - played)
        to_do, arrived, late, far = play_bernoulli(tables, under_way, rng, arm, length)
        ends = played + length
        if to_do != DONE or ends >= quiet or ends == left:
            return DRAWN, count, played, arm, length, purpose, to_do, arrived, late, far
        played = ends
        learn(state, told + played, arm, length, arrived, True, purpose)
        arms[count], rounds[count], totals[count], purposes[count] = arm, length, arrived, purpose
        count += 1
