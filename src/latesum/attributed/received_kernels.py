"""Delayed-UCB1, compiled: an index on what has been received."""

from __future__ import annotations

from latesum.attributed import layout_kernels as at
from latesum.attributed.index_kernels import arm_with_best_index
from latesum.attributed.inline_kernels import inlined


@inlined
def choose_received(whole, settings, tallies, arms):  # type: ignore[no-untyped-def]
    """Delayed-UCB1: the best index on what was received, with all rounds in the logarithm."""
    n_arms = tallies.shape[1]
    if whole[at.UNSEEN] > 0:
        # An arm of which nothing is known comes first; of several, the one played least.
        best = -1
        for arm in range(n_arms):
            if arms[at.COUNT, arm] == 0.0 and (
                best < 0 or tallies[at.PLAYS, arm] < tallies[at.PLAYS, best]
            ):
                best = arm
        whole[at.ASKED] = best
        return best
    leader = whole[at.ASKED]
    best = arm_with_best_index(whole[at.BASE], whole[at.ROUNDS], leader, n_arms, settings, arms)
    whole[at.ASKED] = best
    return best


@inlined
def receive_received(whole, arms, arm, reward):  # type: ignore[no-untyped-def]
    if arms[at.COUNT, arm] == 0.0:
        whole[at.UNSEEN] -= 1
    arms[at.COUNT, arm] += 1.0
    arms[at.TOTAL, arm] += reward
    arms[at.EXPIRY, arm] = -1.0
