"""The extended Kalman filter of a market, compiled.

States, in this order. Common: theta_i; gamma_i, where options have lags of their own; the pattern w; the
common level d and the common shock c, where there are several regions. Per region: delta_ri and the
deviations of the pattern, where there are several regions; the level a_r.

    eta[r,t]  = log sum_i X[r,t,i] exp(theta_i + delta_ri) + w_t + w_rt + d_t + c_t + a_rt
    y[r,t]   ~ mean m = exp(eta), variance phi m + tau^2 m^2

One observation is linear in the states around what is expected: nu = (y - m)/m has the mean h'(x - x^) and
the variance V = phi/m + tau^2, h the gradient of eta (Durbin and Koopman's working observation).
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum.markets.arrival_kernels import count_lags, integrated

#: A day counts no more than one of this many standard deviations.
CLIP = 3.5
#: How far gamma is moved for its derivative.
_STEP = 0.01
#: The last bucket of what was never shown.
_NEVER = -(1 << 40)

# Places in `sizes`, what a fit is told of all that varies: variances of priors, ...
EFFECTS, LAGS, PATTERN, DEVIATION, DIFFERENCES, LEVEL, SHOCKS = range(7)
# ... what states gain in variance per bucket, and how much of a shock stays; ...
NOVELTY, COMMON_WALK, REGION_WALK, SHOCK_MOVES, SHOCK_KEPT = range(7, 12)
# ... and of a bucket: its noise as a sd, the variance over the mean, the mean delay.
NOISE, DISPERSION, DELAY = range(12, 15)
#: The prior variance of the common level, which is where the regions' levels are.
_NEXT_TO_NOTHING = 1e-12


@compiled
def _common_prior(sizes, options, patterns, own, several, shocks):  # type: ignore[no-untyped-def]
    """Of the common states: the variances before the first bucket, what they gain per bucket, how much stays."""
    first = options * (2 if own else 1)
    level = first + patterns
    count = level + (1 if several else 0) + (1 if shocks else 0)
    variance, moves, kept = np.empty(count), np.zeros(count), np.ones(count)
    variance[:options], moves[:options] = sizes[EFFECTS], sizes[NOVELTY]
    variance[options:first] = sizes[LAGS]
    variance[first:level] = sizes[PATTERN]
    if several:
        variance[level], moves[level] = _NEXT_TO_NOTHING, sizes[COMMON_WALK]
    if shocks:  # the lag smears one over the buckets after it
        variance[-1], moves[-1], kept[-1] = sizes[SHOCKS], sizes[SHOCK_MOVES], sizes[SHOCK_KEPT]
    return variance, moves, kept


@compiled
def _special_prior(sizes, options, patterns, several):  # type: ignore[no-untyped-def]
    """The variances of a region's states before the first bucket."""
    if not several:
        return np.full(1, sizes[LEVEL])
    variance = np.empty(options + patterns + 1)
    variance[:options] = sizes[DIFFERENCES]
    variance[options : options + patterns] = sizes[DEVIATION]
    variance[-1] = sizes[LEVEL]
    return variance


@compiled
def fit_dense(  # type: ignore[no-untyped-def]
    totals, exposure, shares, before, mix, extra, places, patterns, own, shocks, by_decision, table, step, sizes,
    levels, level_sd,
):  # fmt: skip
    """One pass with the full covariance: means and covariance of all states, the log-likelihood, and nu / sqrt(S)."""
    regions, options = before.shape
    common, common_moves, common_kept = _common_prior(
        sizes, options, patterns, own, regions > 1, shocks
    )
    special = _special_prior(sizes, options, patterns, regions > 1)
    first, each = len(common), len(special)
    states = first + regions * each
    mean, covariance = np.zeros(states), np.zeros((states, states))
    moves, kept = np.zeros(states), np.ones(states)
    moves[:first], kept[:first] = common_moves, common_kept
    for state in range(first):
        covariance[state, state] = common[state]
    for region in range(regions):
        start = first + region * each
        for state in range(each):
            covariance[start + state, start + state] = special[state]
        level = start + each - 1
        covariance[level, level] = level_sd[region] * level_sd[region]
        mean[level], moves[level] = levels[region], sizes[REGION_WALK]
    likelihood, surprise = filter_dense(
        totals, exposure, shares, before, mix, extra, places, patterns, own, shocks, sizes[DELAY],
        mean, covariance, sizes[NOISE], sizes[DISPERSION], moves, kept, by_decision, table, step,
    )  # fmt: skip
    return mean, covariance, likelihood, surprise


@compiled
def fit_blocked(  # type: ignore[no-untyped-def]
    totals, exposure, shares, before, mix, extra, places, patterns, own, shocks, by_decision, table, step, sizes,
    levels,
):  # fmt: skip
    """The same by `filter_blocked`: of the common states, and what it says of those of regions."""
    regions, options = before.shape
    several = regions > 1  # always; but a literal True would make versions of their own
    variance, moves, kept = _common_prior(sizes, options, patterns, own, several, shocks)
    of_region = _special_prior(sizes, options, patterns, several)
    special = np.zeros((regions, len(of_region)))
    special[:, -1] = levels
    mean, covariance = np.zeros(len(variance)), np.diag(variance)
    likelihood, surprise, level, on_common, rest = filter_blocked(
        totals, exposure, shares, before, mix, extra, places, patterns, own, shocks, sizes[DELAY],
        mean, covariance, special, np.diag(of_region), sizes[NOISE], sizes[DISPERSION], moves, kept,
        sizes[REGION_WALK], by_decision, table, step,
    )  # fmt: skip
    return mean, covariance, likelihood, surprise, level, on_common, rest


@compiled
def gradient(mix, slope, own, options, patterns, places, several, shocks, common, special, hg, hb):  # type: ignore[no-untyped-def]
    """eta of one observation, and its gradient in the common states (hg) and in the region's (hb).

    `mix` is X[r,t], `slope` its derivative in gamma, `places` which parts of the pattern the bucket has;
    `common` and `special` are the expected states.
    """
    hg[:] = 0.0
    hb[:] = 0.0
    total = 0.0
    for option in range(options):
        effect = common[option]
        if several:
            effect += special[option]
        hg[option] = mix[option] * math.exp(effect)
        total += hg[option]
    for option in range(options):
        hg[option] /= total
        if several:
            hb[option] = hg[option]
        if own and mix[option] > 0:
            hg[options + option] = hg[option] * slope[option] / mix[option]
    eta = math.log(total)
    start = options * (2 if own else 1)
    for place in places:
        hg[start + place] = 1.0
        eta += common[start + place]
        if several:
            hb[options + place] = 1.0
            eta += special[options + place]
    start += patterns
    for further in range(start, start + (1 if several else 0) + (1 if shocks else 0)):
        hg[further] = 1.0
        eta += common[further]
    hb[-1] = 1.0
    return eta + special[-1]


@compiled
def _arrived(lag, late, q, below, table, step):  # type: ignore[no-untyped-def]
    """One entry of `arrived_shares` after another: G_l, and what the next one needs.

    `below` is what the entry before gave: of an exponential delay what is still late, of another A(l).
    """
    if len(table) == 0:
        return 1.0 - below, below * q
    above = integrated((lag + 1) / late, table, step)
    return 1.0 - late * (above - below), above


@compiled
def _add_own(late, lags, by_decision, exposure, shares, before, at, option, table, step, out):  # type: ignore[no-untyped-def]
    """What `arrived_shares` and `add_mix` give for one option, with no array in between."""
    buckets, regions = exposure.shape
    oldest = min(buckets - 1 - at if by_decision else at, lags - 1)
    q = math.exp(-1.0 / late)
    nothing = late * (1.0 - q) if len(table) == 0 else 0.0
    out[:, option] = 0.0
    if by_decision or at < lags:
        arrived, below = 0.0, nothing
        for lag in range(oldest + 1):
            arrived, below = _arrived(lag, late, q, below, table, step)
        for region in range(regions):
            if by_decision:
                out[region, option] = arrived * exposure[at, region] * shares[at, region, option]
            else:
                out[region, option] = (1.0 - arrived) * before[region, option]
    if by_decision:
        return
    last, below = 0.0, nothing
    for lag in range(oldest + 1):
        arrived, below = _arrived(lag, late, q, below, table, step)
        weight = arrived - last
        last = arrived
        for region in range(regions):
            share = shares[at - lag, region, option]
            if share != 0.0:
                out[region, option] += weight * exposure[at - lag, region] * share


@compiled
def own_mix(at, mean, gamma, seen, table, step, by_decision, exposure, shares, before, mix, slope):  # type: ignore[no-untyped-def]
    """X of bucket `at` where option i has the mean delay D exp(gamma_i), and its derivative in gamma_i.

    `seen` is the last bucket in which each option was shown: what was not shown for as long as it may be late has no part
    in the arrivals.
    """
    for option in range(shares.shape[2]):
        mix[:, option] = 0.0
        slope[:, option] = 0.0
        if at - seen[option] >= exposure.shape[0] or (by_decision and seen[option] < at):
            continue
        late = mean * math.exp(gamma[option])
        lags = count_lags(late, exposure.shape[0], table, step)
        if at - seen[option] >= lags:
            continue
        _add_own(late, lags, by_decision, exposure, shares, before, at, option, table, step, mix)
        later = late * math.exp(_STEP)
        _add_own(later, lags, by_decision, exposure, shares, before, at, option, table, step, slope)
        for region in range(len(mix)):
            slope[region, option] = (slope[region, option] - mix[region, option]) / _STEP


@compiled
def _first_seen(before):  # type: ignore[no-untyped-def]
    """The last bucket in which each option was shown, at the start: what ran before counts as shown in the first."""
    regions, options = before.shape
    seen = np.full(options, _NEVER)
    for option in range(options):
        for region in range(regions):
            if before[region, option] != 0.0:
                seen[option] = 0
    return seen


@compiled
def _note_shown(at, shares, seen):  # type: ignore[no-untyped-def]
    for option in range(len(seen)):
        for region in range(shares.shape[1]):
            if shares[at, region, option] != 0.0:
                seen[option] = at


@compiled
def solve_in_place(matrix, sides, root):  # type: ignore[no-untyped-def]
    """`sides` becomes matrix^-1 sides, for a positive definite matrix; `root` is room for its root."""
    size, count = sides.shape
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
                sides[row, side] -= root[row, earlier] * sides[earlier, side]
            sides[row, side] /= root[row, row]
        for row in range(size - 1, -1, -1):
            for later in range(row + 1, size):
                sides[row, side] -= root[later, row] * sides[later, side]
            sides[row, side] /= root[row, row]


@compiled
def filter_dense(  # type: ignore[no-untyped-def]
    totals, exposure, shares, before, mix, extra, places, patterns, own, shocks, late,
    mean, covariance, noise, dispersion, moves, kept, by_decision, table, step,
):  # fmt: skip
    """One pass with the full covariance; `mean` and `covariance` are the prior, and changed.

    `extra` is added to V; `moves` is the variance that every state gains per bucket, of which `kept`
    (1, or rho for the shock) of the old value stays. Returns the log-likelihood, and nu / sqrt(S) of every
    observation (NaN where there is none).
    """
    buckets, regions = totals.shape
    options = shares.shape[2]
    several = regions > 1
    states = len(mean)
    n_common = options * (2 if own else 1) + patterns + (1 if several else 0) + (1 if shocks else 0)
    n_special = (states - n_common) // regions
    hg, hb = np.zeros(n_common), np.zeros(n_special)
    gained = np.empty(states)
    surprise = np.full((buckets, regions), np.nan)
    here, slope = np.zeros((regions, options)), np.zeros((regions, options))
    touched = np.empty(n_common + n_special, np.int64)
    weight = np.empty(n_common + n_special)
    seen = _first_seen(before)
    likelihood = 0.0
    for at in range(buckets):
        if at > 0:
            for state in range(states):
                if kept[state] != 1.0:
                    mean[state] *= kept[state]
                    covariance[state, :] *= kept[state]
                    covariance[:, state] *= kept[state]
                covariance[state, state] += moves[state]
        if own:
            _note_shown(at, shares, seen)
            own_mix(
                at, late, mean[options : 2 * options], seen, table, step, by_decision, exposure,
                shares, before, here, slope,
            )  # fmt: skip
        else:
            here = mix[at]
        for region in range(regions):
            if not np.isfinite(totals[at, region]) or not here[region].sum() > 0:
                continue
            start = n_common + region * n_special
            special = mean[start : start + n_special]
            eta = gradient(
                here[region], slope[region], own, options, patterns, places[at], several, shocks,
                mean, special, hg, hb,
            )  # fmt: skip
            size = 0
            for state in range(n_common):
                if hg[state] != 0.0:
                    touched[size], weight[size] = state, hg[state]
                    size += 1
            for state in range(n_special):
                if hb[state] != 0.0:
                    touched[size], weight[size] = start + state, hb[state]
                    size += 1
            for state in range(states):
                gained[state] = 0.0
            for each in range(size):
                row = touched[each]
                for state in range(states):
                    gained[state] += weight[each] * covariance[row, state]
            expected = math.exp(eta)
            nu = (totals[at, region] - expected) / expected
            variance = dispersion / expected + noise * noise + extra[at, region]
            for each in range(size):
                variance += weight[each] * gained[touched[each]]
            surprise[at, region] = nu / math.sqrt(variance)
            variance = max(variance, nu * nu / (CLIP * CLIP))
            for state in range(states):
                mean[state] += gained[state] / variance * nu
            for state in range(states):
                factor = gained[state] / variance
                if factor != 0.0:
                    for other in range(states):
                        covariance[state, other] -= factor * gained[other]
            likelihood += -0.5 * (math.log(variance) + nu * nu / variance) - eta
    return likelihood, surprise


@compiled
def filter_blocked(  # type: ignore[no-untyped-def]
    totals, exposure, shares, before, mix, extra, places, patterns, own, shocks, late,
    mean, covariance, special, special_covariance, noise, dispersion, moves, kept, walk,
    by_decision, table, step,
):  # fmt: skip
    """One pass in which regions know of each other by the common states alone.

    A region's states are x_r = level_r + slope_r g + error with covariance P_r, where g are the common
    states: an observation of one region leaves all of this as it is in the others, so that it costs
    (common + special)^2 instead of (all states)^2. Where g does not move this is exact. Where d and c move,
    what is left uncertain of the old ones, given the new ones, is common to all regions and is kept as if it
    were each region's own.

    `mean` and `covariance` are those of g, `special` (regions x states) and `special_covariance` (one, for all)
    the prior of the regions' states, `walk` what their levels gain per bucket. Returns the log-likelihood, nu /
    sqrt(S), and level, slope and P of all regions.
    """
    buckets, regions = totals.shape
    options = shares.shape[2]
    n_common, n_special = len(mean), special.shape[1]
    hg, hb = np.zeros(n_common), np.zeros(n_special)
    surprise = np.full((buckets, regions), np.nan)
    here, slope = np.zeros((regions, options)), np.zeros((regions, options))
    level = special.copy()
    on_common = np.zeros((regions, n_special, n_common))
    rest = np.empty((regions, n_special, n_special))
    for region in range(regions):
        rest[region] = special_covariance
    moving = np.flatnonzero((moves > 0) | (kept != 1.0))
    expected_special = np.empty(n_special)
    whole = np.empty(n_common)
    gained = np.empty(n_common)
    gained_special = np.empty(n_special)
    old = np.empty((n_special, len(moving)))
    root = np.empty((n_common, n_common))
    before_move, back = np.empty((n_common, len(moving))), np.empty((n_common, len(moving)))
    old_mean, left = np.empty(n_common), np.empty((len(moving), len(moving)))
    seen = _first_seen(before)
    likelihood = 0.0
    for at in range(buckets):
        if at > 0:
            for place, moved in enumerate(moving):
                for other in range(n_common):
                    before_move[other, place] = kept[other] * covariance[other, moved]
            old_mean[:] = mean
            for one, moved in enumerate(moving):
                for two, second in enumerate(moving):
                    left[one, two] = covariance[moved, second]
            for state in range(n_common):
                mean[state] *= kept[state]
                if kept[state] != 1.0:
                    covariance[state, :] *= kept[state]
                    covariance[:, state] *= kept[state]
                covariance[state, state] += moves[state]
            back[:] = before_move
            solve_in_place(covariance, back, root)  # the old ones given the new ones
            for one in range(len(moving)):
                for two in range(len(moving)):
                    for state in range(n_common):
                        left[one, two] -= before_move[state, one] * back[state, two]
            for region in range(regions):
                for place, moved in enumerate(moving):
                    shift = old_mean[moved]
                    for other in range(n_common):
                        shift -= back[other, place] * mean[other]
                    for each in range(n_special):
                        old[each, place] = on_common[region, each, moved]
                        level[region, each] += old[each, place] * shift
                        on_common[region, each, moved] = 0.0
                for each in range(n_special):
                    for place in range(len(moving)):
                        if old[each, place] != 0.0:
                            for other in range(n_common):
                                on_common[region, each, other] += (
                                    old[each, place] * back[other, place]
                                )
                            for pair in range(len(moving)):
                                factor = old[each, place] * left[place, pair]
                                for further in range(n_special):
                                    rest[region, each, further] += factor * old[further, pair]
                rest[region, -1, -1] += walk
        if own:
            _note_shown(at, shares, seen)
            own_mix(
                at, late, mean[options : 2 * options], seen, table, step, by_decision, exposure,
                shares, before, here, slope,
            )  # fmt: skip
        else:
            here = mix[at]
        for region in range(regions):
            if not np.isfinite(totals[at, region]) or not here[region].sum() > 0:
                continue
            for each in range(n_special):
                expected_special[each] = level[region, each]
                for state in range(n_common):
                    expected_special[each] += on_common[region, each, state] * mean[state]
            eta = gradient(
                here[region], slope[region], own, options, patterns, places[at], regions > 1, shocks,
                mean, expected_special, hg, hb,
            )  # fmt: skip
            whole[:] = hg
            gained_special[:] = 0.0
            for each in range(n_special):
                if hb[each] != 0.0:
                    for state in range(n_common):
                        whole[state] += hb[each] * on_common[region, each, state]
                    for further in range(n_special):
                        gained_special[further] += hb[each] * rest[region, each, further]
            expected = math.exp(eta)
            nu = (totals[at, region] - expected) / expected
            own_variance = dispersion / expected + noise * noise + extra[at, region]
            for each in range(n_special):
                own_variance += hb[each] * gained_special[each]
            gained[:] = 0.0
            for state in range(n_common):
                for other in range(n_common):
                    gained[other] += whole[state] * covariance[state, other]
            variance = own_variance
            for state in range(n_common):
                variance += whole[state] * gained[state]
            surprise[at, region] = nu / math.sqrt(variance)
            clipped = max(variance, nu * nu / (CLIP * CLIP))
            own_variance += clipped - variance
            constant = nu
            for state in range(n_common):
                constant += whole[state] * mean[state]
            for each in range(n_special):
                gain = gained_special[each] / own_variance
                level[region, each] += gain * constant
                for state in range(n_common):
                    on_common[region, each, state] -= gain * whole[state]
                for further in range(n_special):
                    rest[region, each, further] -= gain * gained_special[further]
            for state in range(n_common):
                mean[state] += gained[state] / clipped * nu
            for state in range(n_common):
                factor = gained[state] / clipped
                for other in range(n_common):
                    covariance[state, other] -= factor * gained[other]
            likelihood += -0.5 * (math.log(clipped) + nu * nu / clipped) - eta
    return likelihood, surprise, level, on_common, rest
