"""The arrival mix, compiled: which options' visitors the arrivals of a bucket come from."""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled


@compiled
def integrated(x, table, step):  # type: ignore[no-untyped-def]
    """A(x), the integral of P(delay > u) from 0 to x, for a delay of mean 1."""
    if len(table) == 0:
        return 1.0 - math.exp(-x)
    place = x / step
    low = int(place)
    if low >= len(table) - 1:
        return table[-1]
    return table[low] + (place - low) * (table[low + 1] - table[low])


@compiled
def arrived_shares(mean, lags, table, step):  # type: ignore[no-untyped-def]
    """G_l: the share of a bucket's sales that have arrived by the end of the l-th bucket after it.

    A visitor comes at a uniform moment of the bucket, so that the time to that end is uniform on
    (l, l + 1): G_l = 1 - (integral of P(delay > u) from l to l + 1). For an exponential delay of mean
    D and q = exp(-1/D) this is 1 - D (1 - q) q^l, and so g_0 = 1 - D (1 - q), g_l = D (1 - q)^2 q^(l-1).
    """
    arrived = np.empty(lags)
    if len(table) == 0:
        q = math.exp(-1.0 / mean)
        late = mean * (1.0 - q)
        for lag in range(lags):
            arrived[lag] = 1.0 - late
            late *= q
        return arrived
    below = 0.0
    for lag in range(lags):
        above = integrated((lag + 1) / mean, table, step)
        arrived[lag] = 1.0 - mean * (above - below)
        below = above
    return arrived


@compiled
def count_lags(mean, most, table, step):  # type: ignore[no-untyped-def]
    """How many lags there are before less than 1e-4 is left."""
    if len(table) == 0:
        q = math.exp(-1.0 / mean)
        late = mean * (1.0 - q)
        count = 1
        while late >= 1e-4 and count < most:
            late *= q
            count += 1
        return count
    below = 0.0
    for lag in range(most):
        above = integrated((lag + 1) / mean, table, step)
        if mean * (above - below) < 1e-4:
            return lag + 1
        below = above
    return most


@compiled
def add_mix(arrived, by_decision, exposure, shares, before, at, option, out):  # type: ignore[no-untyped-def]
    """X[r,t,i] of one bucket t and option i, into out[:, i]; G is `arrived`.

    Dated by arrival: X[r,t,i] = sum_l g_l e[r,t-l] p[r,t-l,i], with `before` (regions x options) in
    place of e p in all buckets before the first. Dated by decision: X[r,t,i] = G_age e[r,t] p[r,t,i].
    """
    buckets, regions = exposure.shape
    lags = len(arrived)
    if by_decision:
        age = min(buckets - 1 - at, lags - 1)
        for region in range(regions):
            out[region, option] = arrived[age] * exposure[at, region] * shares[at, region, option]
        return
    oldest = min(at, lags - 1)
    for region in range(regions):
        total = (1.0 - arrived[oldest]) * before[region, option] if at < lags else 0.0
        last = 0.0
        for lag in range(oldest + 1):
            weight = arrived[lag] - last
            last = arrived[lag]
            total += weight * exposure[at - lag, region] * shares[at - lag, region, option]
        out[region, option] = total


@compiled
def arrival_mix(mean, table, step, by_decision, exposure, shares, before):  # type: ignore[no-untyped-def]
    """X of all buckets, and the share of each bucket's arrivals that comes from before the first."""
    buckets, regions, options = shares.shape
    lags = count_lags(mean, buckets, table, step)
    arrived = arrived_shares(mean, lags, table, step)
    mix = np.empty((buckets, regions, options))
    old = np.zeros((buckets, regions))
    for at in range(buckets):
        for option in range(options):
            add_mix(arrived, by_decision, exposure, shares, before, at, option, mix[at])
        if at < lags and not by_decision:
            for region in range(regions):
                exposed = mix[at, region].sum()
                if exposed > 0:
                    old[at, region] = (1.0 - arrived[at]) * before[region].sum() / exposed
    return mix, old
