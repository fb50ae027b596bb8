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
def arrival_mix(mean, table, by_decision, exposure, shares, before):  # type: ignore[no-untyped-def]
    """X of all buckets, and the share of each bucket's arrivals that comes from before the first.

    Dated by arrival: X[r,t,i] = sum_l g_l e[r,t-l] p[r,t-l,i], with `before` (regions x options) in
    place of e p in all buckets before the first. Dated by decision: X[r,t,i] = G_age e[r,t]
    p[r,t,i].
    """
    buckets, regions, options = shares.shape
    arrived = arrived_shares(mean, max(buckets, 1), table)
    lags = len(arrived)
    mix = np.zeros((buckets, regions, options))
    old = np.zeros((buckets, regions))
    for at in range(buckets):
        if by_decision:
            share = arrived[min(buckets - 1 - at, lags - 1)]
            for region in range(regions):
                mix[at, region] = share * exposure[at, region] * shares[at, region]
            continue
        last = 0.0
        for lag in range(min(at, lags - 1) + 1):
            weight = arrived[lag] - last
            last = arrived[lag]
            for region in range(regions):
                exposed = weight * exposure[at - lag, region]
                for option in range(options):
                    mix[at, region, option] += exposed * shares[at - lag, region, option]
        if at < lags:
            for region in range(regions):
                mix[at, region] += (1.0 - arrived[at]) * before[region]
                exposed = mix[at, region].sum()
                if exposed > 0:
                    old[at, region] = (1.0 - arrived[at]) * before[region].sum() / exposed
    return mix, old
