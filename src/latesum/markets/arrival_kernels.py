"""The arrival mix, compiled: which options' visitors the arrivals of a bucket come from."""

from __future__ import annotations

import numpy as np

from latesum._compile import compiled

#: Tables of A have this many steps per mean delay.
STEPS = 256
#: Lags end where less than this share of a bucket's sales is still to come.
_REST = 1e-4


@compiled
def arrived_shares(mean, most, table):  # type: ignore[no-untyped-def]
    """G_0, G_1, ...: the share of a bucket's sales that arrived by the end of the l-th after it.

    A visitor comes at a uniform time of the bucket, so that the time to that end is uniform on
    (l, l + 1): G_l = 1 - (integral of P(delay > u) from l to l + 1). `table` is A, the integral of
    P(delay > u) from 0 to x for a delay of mean 1, in steps of 1/256.
    """
    arrived = np.empty(most)
    below = 0.0
    for lag in range(most):
        position = (lag + 1) / mean * STEPS
        low = int(position)
        above = table[-1]
        if low < len(table) - 1:
            above = table[low] + (position - low) * (table[low + 1] - table[low])
        arrived[lag] = 1.0 - mean * (above - below)
        below = above
        if 1.0 - arrived[lag] < _REST:
            return arrived[: lag + 1]
    return arrived


@compiled
def arrival_mix(  # type: ignore[no-untyped-def]
    delays, table, by_decision, exposure, shares, before
):
    """X of all buckets, and the share of each bucket's arrivals that comes from before the first.

    Dated by arrival: X[r,t,i] = sum_l g_l e[r,t-l] p[r,t-l,i], g by the delay of option i, with
    `before` (regions x options) in place of e p in all buckets before the first. Dated by decision:
    X[r,t,i] = G_age e[r,t] p[r,t,i].
    """
    buckets, regions, options = shares.shape
    mix = np.zeros((buckets, regions, options))
    old = np.zeros((buckets, regions))
    for option in range(options):
        arrived = arrived_shares(delays[option], max(buckets, 1), table)
        lags = len(arrived)
        for at in range(buckets):
            last = 0.0
            for lag in range(min(at, lags - 1) + 1):
                weight = arrived[lag] - last
                last = arrived[lag]
                to = at - lag if by_decision else at
                for region in range(regions):
                    shown = exposure[at - lag, region] * shares[at - lag, region, option]
                    mix[to, region, option] += weight * shown
            if at < lags and not by_decision:
                for region in range(regions):
                    came = (1.0 - arrived[at]) * before[region, option]
                    mix[at, region, option] += came
                    old[at, region] += came
    for at in range(buckets):
        for region in range(regions):
            if old[at, region] > 0:
                old[at, region] /= mix[at, region].sum()
    return mix, old
