"""Improved UCB, compiled: phases and eliminations."""

from __future__ import annotations

import math

from latesum.attributed import layout_kernels as at
from latesum.attributed.inline_kernels import inlined


@inlined
def choose_phased(whole, settings, tallies, arms):  # type: ignore[no-untyped-def]
    """Improved UCB: active arms in turn up to the phase's plays; then eliminate and halve."""
    n_arms = tallies.shape[1]
    while whole[at.COMMITTED] < 0:
        for arm in range(n_arms):
            if tallies[at.ACTIVE, arm] == 1 and tallies[at.PLAYS, arm] < whole[at.PHASE_PLAYS]:
                return arm
        _end_phase(whole, settings, tallies, arms)
    return whole[at.COMMITTED]


@inlined
def _end_phase(whole, settings, tallies, arms):  # type: ignore[no-untyped-def]
    n_arms = tallies.shape[1]
    tolerance = settings[at.TOLERANCE]
    logarithm = math.log(settings[at.HORIZON] * tolerance * tolerance)
    best = -1
    largest = -math.inf
    for arm in range(n_arms):
        if tallies[at.ACTIVE, arm] == 1 and whole[at.PHASE_PLAYS] > 0:
            mean = arms[at.TOTAL, arm] / arms[at.COUNT, arm]
            if mean > largest:
                best, largest = arm, mean
    if best < 0:
        whole[at.COMMITTED] = 0  # a horizon too short for any phase
        return
    width = math.sqrt(max(logarithm, 0.0) / (2.0 * whole[at.PHASE_PLAYS]))
    left = 0
    for arm in range(n_arms):
        if tallies[at.ACTIVE, arm] == 1:
            if arms[at.TOTAL, arm] / arms[at.COUNT, arm] + width < largest - width:
                tallies[at.ACTIVE, arm] = 0
            else:
                left += 1
    tolerance /= 2.0
    scaled = settings[at.HORIZON] * tolerance * tolerance
    # The phases of the paper end at m = floor(log2(T / e) / 2): while T * tolerance^2 >= e.
    if left == 1 or scaled < math.e:
        whole[at.COMMITTED] = best
        return
    settings[at.TOLERANCE] = tolerance
    needed = math.ceil(2.0 * math.log(scaled) / (tolerance * tolerance))
    whole[at.PHASE_PLAYS] = max(whole[at.PHASE_PLAYS], int(needed))
