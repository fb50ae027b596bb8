"""The compiled parts of a market: the Kalman filter, and which visitors arrivals come from.

Common states g, in this order: the options' effects theta; the pattern w; where there are several
regions, the common level d and the common shock c. States of a region: where there are several,
what is special to it in the effects (delta) and in the pattern (w_r); its noise s; its level a.

    eta[r,t]  = log sum_i X[r,t,i] exp(theta_i + delta_ri) + w_t + w_rt + d_t + c_t + s_rt + a_rt
    y[r,t]   ~ mean m = exp(eta), variance phi m

An observation is linear in the states around what is expected: nu = (y - m)/m has the mean h'(x -
x^) and the variance V = phi/m, h the gradient of eta (Durbin and Koopman's working
observation).

Regions know of each other by the common states alone: x_r = own_mean_r + slopes_r g + error with
the covariance own_covariance_r. An observation of one region leaves all of this as it is in the
others, so that it costs the square of the states of one region, however many there are. Where g
does not move this is exact. Where it moves, what is left uncertain of the old states given the new
ones is common to all regions, and is kept as if it were each region's own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from latesum._compile import compiled

#: Tables of A have this many steps per mean delay.
STEPS = 256
#: Lags end where less than this share of a bucket's sales is still to come.
_REST = 1e-4
#: A total counts no more than one of this many standard deviations.
CLIP = 3.5

# Positions in `sizes`: prior variances, ...
EFFECTS, PATTERN, DEVIATION, DIFFERENCES, SHOCKS = range(5)
# ... what states gain in variance per bucket, how much of a shock and of noise stays, ...
NOVELTY, COMMON_WALK, REGION_WALK, KEPT = range(5, 9)
# ... the variance of a region's noise, and the variance of counts over their mean.
NOISE, DISPERSION = range(9, 11)
#: The prior variance of the common level, which is where the regions' levels are.
_NEXT_TO_NOTHING = 1e-12


class Fit(NamedTuple):
    """The states after the last bucket, and nu / sqrt(S) of every total (NaN without one)."""

    mean: Any
    covariance: Any
    own_mean: Any
    slopes: Any
    own_covariance: Any
    innovations: Any


@compiled
def filter_market(  # type: ignore[no-untyped-def]
    totals, mix, extra, positions, patterns, sizes, levels, level_sds
):
    """The states after all totals, and the log-likelihood.

    `mix` is X, `extra` is added to V, `positions` are the parts of the pattern that each bucket
    has, `levels` and `level_sds` the prior of the regions' levels.
    """
    buckets, regions, options = mix.shape
    fit, gains = _prior(buckets, regions, options, patterns, sizes, levels, level_sds)
    moving = np.flatnonzero(gains)
    on_common, on_own = np.zeros(len(fit.mean)), np.zeros(fit.own_mean.shape[1])
    likelihood = 0.0
    for at in range(buckets):
        if at > 0:
            if len(moving):
                _move_common(fit, moving, gains, sizes[KEPT] if regions > 1 else 1.0)
            _move_own(fit, sizes)
        for region in range(regions):
            if not np.isfinite(totals[at, region]) or not mix[at, region].sum() > 0:
                continue
            eta = _gradient(fit, region, mix[at, region], positions[at], on_common, on_own)
            expected = math.exp(eta)
            nu = (totals[at, region] - expected) / expected
            variance = sizes[DISPERSION] / expected + extra[at, region]
            likelihood -= eta + _observe(fit, region, at, nu, variance, on_common, on_own)
    return fit, likelihood


@compiled
def _prior(  # type: ignore[no-untyped-def]
    buckets, regions, options, patterns, sizes, levels, level_sds
):
    """The states before the first bucket, and what the common ones gain in variance per bucket."""
    several = regions > 1
    common = options + patterns + (2 if several else 0)
    own = (options + patterns if several else 0) + 2
    fit = Fit(
        np.zeros(common),
        np.zeros((common, common)),
        np.zeros((regions, own)),
        np.zeros((regions, own, common)),
        np.zeros((regions, own, own)),
        np.full((buckets, regions), np.nan),
    )
    gains = np.zeros(common)
    for state in range(options + patterns):
        is_effect = state < options
        fit.covariance[state, state] = sizes[EFFECTS if is_effect else PATTERN]
        gains[state] = sizes[NOVELTY] if is_effect else 0.0
        if several:
            for region in range(regions):
                size = sizes[DIFFERENCES if is_effect else DEVIATION]
                fit.own_covariance[region, state, state] = size
    if several:  # the lag smears a shock over the buckets after it
        fit.covariance[-2, -2], gains[-2] = _NEXT_TO_NOTHING, sizes[COMMON_WALK]
        fit.covariance[-1, -1] = sizes[SHOCKS]
        gains[-1] = (1.0 - sizes[KEPT] ** 2) * sizes[SHOCKS]
    for region in range(regions):
        fit.own_mean[region, -1] = levels[region]
        fit.own_covariance[region, -1, -1] = level_sds[region] ** 2
        fit.own_covariance[region, -2, -2] = sizes[NOISE]
    return fit, gains


@compiled
def _gradient(fit, region, mix, positions, on_common, on_own):  # type: ignore[no-untyped-def]
    """eta of one observation, and its gradient in the common states and in the region's."""
    options, several = len(mix), len(fit.own_mean) > 1
    on_common[:] = 0.0
    on_own[:] = 0.0
    total = 0.0
    for option in range(options):
        effect = fit.mean[option]
        if several:
            effect += _own(fit, region, option)
        on_common[option] = mix[option] * math.exp(effect)
        total += on_common[option]
    own = fit.own_mean.shape[1]
    eta = math.log(total) + _own(fit, region, own - 1) + _own(fit, region, own - 2)
    for option in range(options):
        on_common[option] /= total
        if several:
            on_own[option] = on_common[option]
    for position in positions:
        on_common[options + position] = 1.0
        eta += fit.mean[options + position]
        if several:
            on_own[options + position] = 1.0
            eta += _own(fit, region, options + position)
    if several:
        on_common[-2:] = 1.0
        eta += fit.mean[-2] + fit.mean[-1]
    on_own[-2:] = 1.0
    return eta


@compiled
def _own(fit, region, state):  # type: ignore[no-untyped-def]
    """The mean of a region's state."""
    result = fit.own_mean[region, state]
    for common in range(len(fit.mean)):
        result += fit.slopes[region, state, common] * fit.mean[common]
    return result


@compiled
def _observe(fit, region, at, nu, sampling, on_common, on_own):  # type: ignore[no-untyped-def]
    """Update the states by one observation; minus its log-likelihood, without eta."""
    mean, covariance = fit.mean, fit.covariance
    own_mean, slopes, own_covariance = (
        fit.own_mean[region],
        fit.slopes[region],
        fit.own_covariance[region],
    )
    common, own = len(mean), len(own_mean)
    gained_own = np.zeros(own)
    for state in range(own):  # the whole gradient in g: the region's states follow it
        if on_own[state] != 0.0:
            for other in range(common):
                on_common[other] += on_own[state] * slopes[state, other]
            for other in range(own):
                gained_own[other] += on_own[state] * own_covariance[state, other]
    gained = np.zeros(common)
    for state in range(common):
        if on_common[state] != 0.0:
            for other in range(common):
                gained[other] += on_common[state] * covariance[state, other]
    own_variance, constant = sampling, nu
    for state in range(own):
        own_variance += on_own[state] * gained_own[state]
    variance = own_variance
    for state in range(common):
        variance += on_common[state] * gained[state]
        constant += on_common[state] * mean[state]
    fit.innovations[at, region] = nu / math.sqrt(variance)
    clipped = max(variance, nu * nu / (CLIP * CLIP))
    own_variance += clipped - variance
    for state in range(own):
        gain = gained_own[state] / own_variance
        if gain != 0.0:
            own_mean[state] += gain * constant
            for other in range(common):
                slopes[state, other] -= gain * on_common[other]
            for other in range(own):
                own_covariance[state, other] -= gain * gained_own[other]
    for state in range(common):
        gain = gained[state] / clipped
        mean[state] += gain * nu
        for other in range(common):
            covariance[state, other] -= gain * gained[other]
    return 0.5 * (math.log(clipped) + nu * nu / clipped)


@compiled
def _move_own(fit, sizes):  # type: ignore[no-untyped-def]
    """Let the regions' levels walk and their noise fade by a bucket."""
    kept = sizes[KEPT]
    for region in range(len(fit.own_mean)):
        fit.own_mean[region, -2] *= kept
        fit.slopes[region, -2] *= kept
        fit.own_covariance[region, -2] *= kept
        fit.own_covariance[region, :, -2] *= kept
        fit.own_covariance[region, -2, -2] += (1.0 - kept**2) * sizes[NOISE]
        fit.own_covariance[region, -1, -1] += sizes[REGION_WALK]


@compiled
def _move_common(fit, moving, gains, kept):  # type: ignore[no-untyped-def]
    """Let the common states move by a bucket; of the shock, the last one, `kept` stays."""
    mean, covariance = fit.mean, fit.covariance
    common, count = len(mean), len(moving)
    crossed, left = np.empty((count, common)), np.empty((count, count))
    old_mean = mean.copy()
    for one in range(count):
        for state in range(common):
            share = kept if state == common - 1 else 1.0
            crossed[one, state] = share * covariance[state, moving[one]]
        for two in range(count):
            left[one, two] = covariance[moving[one], moving[two]]
    if kept != 1.0:
        mean[-1] *= kept
        covariance[-1, :] *= kept
        covariance[:, -1] *= kept
    for state in moving:
        covariance[state, state] += gains[state]
    # The old states given the new ones: by `back`, with the covariance `left`.
    back = _solve(covariance, crossed)
    shift = np.empty(count)
    for one in range(count):
        shift[one] = old_mean[moving[one]]
        for state in range(common):
            shift[one] -= back[one, state] * mean[state]
        for two in range(count):
            for state in range(common):
                left[one, two] -= crossed[one, state] * back[two, state]
    states = fit.own_mean.shape[1]
    old, spread = np.empty((count, states)), np.empty(states)
    for region in range(len(fit.own_mean)):
        slopes, own_covariance = fit.slopes[region], fit.own_covariance[region]
        for one in range(count):
            for state in range(states):
                old[one, state] = slopes[state, moving[one]]
                slopes[state, moving[one]] = 0.0
        for one in range(count):
            spread[:] = 0.0
            for two in range(count):
                for state in range(states):
                    spread[state] += left[one, two] * old[two, state]
            for state in range(states):
                factor = old[one, state]
                if factor != 0.0:
                    fit.own_mean[region, state] += factor * shift[one]
                    for other in range(common):
                        slopes[state, other] += factor * back[one, other]
                    for other in range(states):
                        own_covariance[state, other] += factor * spread[other]


@compiled
def _solve(matrix, sides):  # type: ignore[no-untyped-def]
    """matrix^-1 x of every row x of `sides`, for a positive definite matrix."""
    count, size = sides.shape
    root, result = np.zeros((size, size)), sides.copy()
    for column in range(size):
        for row in range(column, size):
            value = matrix[row, column]
            for earlier in range(column):
                value -= root[row, earlier] * root[column, earlier]
            if row == column:
                root[row, row] = math.sqrt(max(value, 1e-18))
            else:
                root[row, column] = value / root[column, column]
    for side in range(count):
        for row in range(size):
            for earlier in range(row):
                result[side, row] -= root[row, earlier] * result[side, earlier]
            result[side, row] /= root[row, row]
        for row in range(size - 1, -1, -1):
            for later in range(row + 1, size):
                result[side, row] -= root[later, row] * result[side, later]
            result[side, row] /= root[row, row]
    return result


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
