"""DUCB, compiled: plays that count by the chance that they have arrived."""

from __future__ import annotations

import math

from latesum.attributed import layout_kernels as at
from latesum.attributed.index_kernels import poisson_upper
from latesum.attributed.inline_kernels import inlined


@inlined
def choose_weighted(whole, settings, tallies, arms, survival, edges):  # type: ignore[no-untyped-def]
    """DUCB: each play counts by the chance that it has arrived (N~ of the paper)."""
    n_arms = tallies.shape[1]
    now = whole[at.ROUNDS] + 1  # the paper's t
    if now <= n_arms:
        best = tallies[at.FIRST_PLAYS, now - 1]
    else:
        logarithm = (1.0 + settings[at.EPSILON]) * math.log(float(now))
        best = -1
        largest = -math.inf
        for arm in range(n_arms):
            plays = float(tallies[at.PLAYS, arm])
            expected = plays - tallies[at.MISSING, arm] / at.CHANCE_UNITS
            if expected <= 0.0:
                index = math.inf
            elif whole[at.POISSON_KL] == 1:
                index = poisson_upper(arms[at.TOTAL, arm] / expected, logarithm / expected)
            else:
                index = (arms[at.TOTAL, arm] + math.sqrt(plays * logarithm / 2.0)) / expected
            if index > largest:
                best, largest = arm, index
            elif index == math.inf and tallies[at.PLAYS, arm] < tallies[at.PLAYS, best]:
                best = arm
    _age_plays(whole, tallies, survival, edges, now, best)
    return best


@inlined
def _age_plays(whole, tallies, survival, edges, now, arm):  # type: ignore[no-untyped-def]
    """Bring MISSING to the next round.

    A run of one arm over the rounds [a, b) misses S(now - a) - S(now - b), where S sums the
    chances of a longer delay over the lags. One round later it misses survival(now - a) more and
    survival(now - b) less: only the changes of arm within the window have to be looked at.
    """
    mask = edges.shape[1] - 1
    window = whole[at.WINDOW]
    before = whole[at.LAST_ARM]
    if arm != before:
        place = whole[at.END_EDGE] & mask
        edges[at.EDGE_ROUND, place] = now
        edges[at.EDGE_FROM, place] = before
        edges[at.EDGE_TO, place] = arm
        whole[at.END_EDGE] += 1
        whole[at.LAST_ARM] = arm
    first = whole[at.FIRST_EDGE]
    while first < whole[at.END_EDGE] and now - edges[at.EDGE_ROUND, first & mask] >= window:
        first += 1
    whole[at.FIRST_EDGE] = first
    for edge in range(first, whole[at.END_EDGE]):
        place = edge & mask
        lag = now - edges[at.EDGE_ROUND, place]
        entered = edges[at.EDGE_TO, place]
        left = edges[at.EDGE_FROM, place]
        tallies[at.MISSING, entered] += survival[entered, lag]
        if left >= 0:
            tallies[at.MISSING, left] -= survival[left, lag]
