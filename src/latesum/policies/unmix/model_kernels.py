# mypy: ignore-errors
"""The model of Unmix, compiled: design, covariance and fit as in `model`, on banded matrices.

A table of segments has per row its start, end, arm, total, whether the total is known (1) and the
number of its block; a table of blocks has start, end and arm. `arrivals` holds, per distribution
of the delay and segment, the plays of each arm that arrive in it by bin (the design), and behind
these the share of the segment's own plays that arrives in it and in each of the next segments.
`laws` says which distribution each arm's rewards have.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum._kl_kernels import CLOSE, bernoulli_upper, exploration

START, END, ARM, TOTAL, KNOWN, BLOCK = 0, 1, 2, 3, 4, 5
#: Segments further apart than this share no noise in the fit.
BAND = 6
#: Rows of `bins`: the prior of the weights, its precision, the mean delay and end of each bin; and
#: for all bins the mean delay that was given, and its standard deviation (0: none was given).
PRIOR, PRECISION, BIN_MEAN, BIN_END, MEAN, MEAN_SD = 0, 1, 2, 3, 4, 5

# What follows keeps matrices positive and estimates finite; none of it matters in a good fit.
_LARGEST_MEAN = 0.98
_NO_INFORMATION = 1e12
_LEAST_EXPECTED = 0.02
_LEAST_VARIANCE = 0.25
_LEAST_VARIANCE_SHARE = 0.01
_LEAST_PIVOT = 0.05
_LEAST_DIAGONAL = 1e-12
_HELD = 1e9
_LEAST_MEAN, _MOST_MEAN = -0.5, 1.5
#: The constraint on the weights leaves at least this share of a variance: an arm with very many
#: plays is not left for the last digit of its index.
_LEAST_SHARE = 1e-3
#: The misfit is as if this many more segments had fitted as they should.
_SEGMENTS_ASSUMED = 5.0


@compiled
def index(mean, worth, n_arms, clock, horizon):
    """KL-UCB++ of an arm whose data are worth so many attributed plays."""
    return bernoulli_upper(mean, exploration(worth, n_arms, clock, horizon) / worth, CLOSE)


@compiled
def in_flight(n, low, high):
    """H(n) = E min(delay, n): how many of n plays in a row have not arrived at their end."""
    if n <= low:
        return max(n, 0.0)
    if n < high:
        return (0.5 * (n - low) * (n + low + 1.0) + (high - n) * n) / (high - low)
    return 0.5 * (low + high + 1.0) if high > 0.0 else 0.0


@compiled
def fill(first, table, blocks, pieces, arrivals):
    """Write the arrivals of the segments from `first` on, by one distribution.

    Of [p, q) there arrive H(u - p) - H(u - q) - H(v - p) + H(v - q) in [u, v). Where a block or
    a segment begins the one before it ended, so that two of these four are known.
    """
    n_arms = arrivals.shape[1] - BAND
    for c in range(first, len(table)):
        u, v, arm = table[c, START], table[c, END], int(table[c, ARM])
        arrivals[c] = 0.0
        for k in range(1, min(BAND, c + 1)):
            arrivals[c - k, n_arms + k] = 0.0
        for piece in range(len(pieces)):
            low, high, weight, g = pieces[piece]
            g = int(g)
            at_end = in_flight(v - u, low, high)
            arrivals[c, arm, g] += weight * (v - u - at_end)
            arrivals[c, n_arms, g] += weight * (v - u - at_end) / (v - u)
            late_u, late_v = 0.0, at_end
            for block in range(int(table[c, BLOCK]), -1, -1):
                p, q = blocks[block, 0], min(blocks[block, 1], u)
                if u - q >= high:
                    break  # all of it had arrived by u, and of those before it
                if q > p:
                    at_u, at_v = in_flight(u - p, low, high), in_flight(v - p, low, high)
                    plays = at_u - late_u - at_v + late_v
                    arrivals[c, int(blocks[block, 2]), g] += weight * plays
                    late_u, late_v = at_u, at_v
            late_u, late_v = 0.0, at_end
            for k in range(1, min(BAND, c + 1)):
                p, q = table[c - k, START], table[c - k, END]
                if u - q >= high:
                    break
                at_u, at_v = in_flight(u - p, low, high), in_flight(v - p, low, high)
                plays = at_u - late_u - at_v + late_v
                arrivals[c - k, n_arms + k, g] += weight * plays / (q - p)
                late_u, late_v = at_u, at_v


@compiled
def _linearize(c, table, arrivals, laws, point, dispersion, equation):
    """Write the equation of a segment; what is expected in it, and how much that varies."""
    n_bins, n_arms = arrivals.shape[3], len(laws)
    expected, varies, known_part = 0.0, 0.0, 0.0
    for g in range(n_bins):
        equation[g] = 0.0
    for i in range(n_arms):
        mean, law, plays = point[n_bins + i], laws[i], 0.0
        for g in range(n_bins):
            arriving = arrivals[law, c, i, g]
            plays += point[g] * arriving
            equation[g] += mean * arriving
        equation[n_bins + i] = plays
        known_part += mean * plays
        inside = min(max(mean, 0.0), 1.0)
        expected += plays * inside
        varies += plays * inside * (dispersion * (1.0 - inside) + inside)
    equation[n_bins + n_arms] = known_part + table[c, TOTAL]
    return expected, varies


@compiled
def whiten(table, pending, arrivals, laws, point, typical, dispersion, equations):
    """Write the equations of all segments, divided by the Cholesky factor of their covariance.

    An equation has the coefficients of the weights and of the means and the right side. Returned is
    the logarithm of the covariance's determinant. Segments from `pending` on are still to be
    reported and count as known.
    """
    count, n_bins, n_arms, width = len(table), arrivals.shape[3], len(laws), len(point)
    loads, factors = np.zeros((count, BAND)), np.zeros((count, BAND))
    roots = np.sqrt(table[:, END] - table[:, START])
    noise = 0.0
    for c in range(count):
        arm = int(table[c, ARM])
        own = min(max(point[n_bins + arm], 0.0), _LARGEST_MEAN) * roots[c]
        for k in range(min(BAND, count - c)):
            share = 0.0
            for g in range(n_bins):
                share += point[g] * arrivals[laws[arm], c, n_arms + k, g]
            loads[c, k] = own * share
    for c in range(count):
        equation = equations[c]
        low, at_least = max(0, c - BAND + 1), 0.0
        while low < c and loads[low, c - low] == 0.0:
            low += 1
        for s in range(low, c + 1):
            at_least += loads[s, c - s] * roots[s]
        expected, varies = _linearize(c, table, arrivals, laws, point, dispersion, equation)
        mean_total = max(expected, at_least, _LEAST_EXPECTED * roots[c] ** 2 * typical)
        variance = varies + mean_total - expected
        for s in range(low, c + 1):
            variance -= loads[s, c - s] * loads[s, c - s]
        variance = max(variance, _LEAST_VARIANCE, _LEAST_VARIANCE_SHARE * mean_total)
        if c < pending and table[c, KNOWN] == 0.0:
            variance += _NO_INFORMATION
        for j in range(low, c):
            value = 0.0
            for s in range(low, j + 1):
                value -= loads[s, j - s] * loads[s, c - s]
            for k in range(max(low, j - BAND + 1), j):
                value -= factors[c, c - k] * factors[j, j - k]
            value /= factors[j, 0]
            factors[c, c - j] = value
            variance -= value * value
            earlier = equations[j]
            for i in range(width + 1):
                equation[i] -= value * earlier[i]
        pivot = math.sqrt(max(variance, _LEAST_PIVOT * dispersion * (mean_total + 1.0)))
        factors[c, 0] = pivot
        if c < pending and table[c, KNOWN] == 1.0:
            noise += 2.0 * math.log(pivot)
        pivot = 1.0 / pivot
        for i in range(width + 1):
            equation[i] *= pivot
    return noise


@compiled
def _add(equations, matrix):
    """Add equations to the normal matrix and its right side."""
    width = len(matrix)
    for i in range(width):
        row = matrix[i]
        for c in range(len(equations)):
            equation = equations[c]
            factor = equation[i]
            if factor != 0.0:
                for j in range(width + 1):
                    row[j] += factor * equation[j]


@compiled
def _factorize(matrix, upper):
    """U with U'U = matrix; of both the upper triangle counts, and pivots stay positive."""
    width = len(matrix)
    for i in range(width):
        for j in range(i, width):
            upper[i, j] = matrix[i, j]
    for k in range(width):
        pivot = 1.0 / math.sqrt(max(upper[k, k], _LEAST_DIAGONAL))
        for j in range(k, width):
            upper[k, j] *= pivot
        for i in range(k + 1, width):
            factor = upper[k, i]
            if factor != 0.0:
                for j in range(i, width):
                    upper[i, j] -= factor * upper[k, j]


@compiled
def _solve(upper, x):
    """Replace x by the solution of U'U x = x."""
    width = len(upper)
    for k in range(width):
        x[k] /= upper[k, k]
        for j in range(k + 1, width):
            x[j] -= x[k] * upper[k, j]
    for k in range(width - 1, -1, -1):
        for j in range(k + 1, width):
            x[k] -= upper[k, j] * x[j]
        x[k] /= upper[k, k]


@compiled
def _on_simplex(matrix, upper, border, found):
    """The solution whose weights sum to 1, into `found`; what that takes, and its weight."""
    width = len(matrix)
    towards = border.copy()
    found[:] = matrix[:, width]
    _solve(upper, towards)
    _solve(upper, found)
    weight, total = 0.0, 0.0
    for g in range(width):
        weight += border[g] * towards[g]
        total += border[g] * found[g]
    for i in range(width):
        found[i] -= towards[i] * (total - 1.0) / weight
    return towards, weight


@compiled
def _mean_variances(upper, towards, weight, variances):
    """Of the means, which come last: [M^-1 - M^-1 e e' M^-1 / (e' M^-1 e)]_jj, e the border."""
    width, n_arms = len(upper), len(variances)
    column = np.empty(width)
    for arm in range(n_arms):
        j = width - n_arms + arm
        column[j] = 1.0 / upper[j, j]
        total = column[j] * column[j]
        for i in range(j + 1, width):
            value = 0.0
            for k in range(j, i):
                value -= column[k] * upper[k, i]
            column[i] = value / upper[i, i]
            total += column[i] * column[i]
        variances[arm] = max(total - towards[j] * towards[j] / weight, _LEAST_SHARE * total)


@compiled
def fit(steps, arm, table, pending, arrivals, laws, bins, typical, dispersion, point, variances):
    """Gauss-Newton steps from `point`, in place; minus twice the log-likelihood, and the misfit.

    The mean of `arm` (-1: none) is held; `typical` is the mean total per round, and `dispersion`
    how much rewards vary (1: as 0/1 rewards do). `variances` of the means are those once all that
    was played is reported. Also returned are the squared distance of the means from [0, 1], in
    standard deviations, and the logarithm of the determinant of their information: with it the
    likelihood is the restricted one.
    """
    count, n_bins, width = len(table), bins.shape[1], len(point)
    equations, matrix = np.empty((count, width + 1)), np.empty((width, width + 1))
    upper, border, found = np.empty((width, width)), np.empty(width), np.empty(width)
    objective, misfit, information = 0.0, 1.0, 0.0
    value = point[n_bins + arm]
    for step in range(steps):
        noise = whiten(table, pending, arrivals, laws, point, typical, dispersion, equations)
        matrix[:] = 0.0
        for g in range(n_bins):
            matrix[g, g] = bins[PRECISION, g]
            matrix[g, width] = bins[PRECISION, g] * bins[PRIOR, g]
            if bins[MEAN_SD, g] > 0.0:
                pull = bins[BIN_MEAN, g] / bins[MEAN_SD, g] ** 2
                matrix[g, width] += pull * bins[MEAN, g]
                for h in range(g, n_bins):
                    matrix[g, h] += pull * bins[BIN_MEAN, h]
        for i in range(n_bins, width):  # each mean as if it were known from one round
            matrix[i, i], matrix[i, width] = 1.0, typical
        if arm >= 0:
            matrix[n_bins + arm, n_bins + arm] += _HELD
            matrix[n_bins + arm, width] += _HELD * value
        _add(equations[:pending], matrix)
        border[:n_bins], border[n_bins:] = 1.0, 0.0
        _factorize(matrix, upper)
        towards, weight = _on_simplex(matrix, upper, border, found)
        if step == steps - 1 and arm < 0:
            for i in range(n_bins, width):
                information += 2.0 * math.log(upper[i, i])
            if pending < count:
                more = matrix.copy()
                _add(equations[pending:], more)
                _factorize(more, upper)
                towards, weight = _on_simplex(more, upper, border, found.copy())
            _mean_variances(upper, towards, weight, variances)
        for _ in range(n_bins):  # weights are not negative: those that came out so are left out
            negative = False
            for g in range(n_bins):
                if border[g] == 1.0 and found[g] < 0.0:
                    negative = True
                    border[g], matrix[g], matrix[:g, g] = 0.0, 0.0, 0.0
                    matrix[g, g] = 1.0
            if not negative:
                break
            _factorize(matrix, upper)
            _on_simplex(matrix, upper, border, found)
        if step == steps - 1:
            objective, misfit = _judge(noise, table, pending, equations, bins, found)
        total = 0.0
        for g in range(n_bins):
            found[g] = max(found[g], 0.0)
            total += found[g]
        for g in range(n_bins):
            point[g] = found[g] / total
        for i in range(n_bins, width):
            point[i] = min(max(found[i], _LEAST_MEAN), _MOST_MEAN)
    impossible = 0.0
    for i in range(n_bins, width):
        outside = max(point[i] - 1.0, 0.0) + min(point[i], 0.0)
        impossible += outside * outside / variances[i - n_bins]
    return objective, misfit, impossible, information


@compiled
def _judge(noise, table, pending, equations, bins, found):
    """Minus twice the log-likelihood with the priors, and by how much segments fit too badly."""
    n_bins, width = bins.shape[1], len(found)
    squares, reported = 0.0, 0.0
    for c in range(pending):
        left = -equations[c, width]
        for i in range(width):
            left += equations[c, i] * found[i]
        squares += left * left
        reported += table[c, KNOWN]
    objective, mean = squares + noise, 0.0
    for g in range(n_bins):
        objective += bins[PRECISION, g] * (found[g] - bins[PRIOR, g]) ** 2
        mean += found[g] * bins[BIN_MEAN, g]
    if bins[MEAN_SD, 0] > 0.0:
        objective += ((mean - bins[MEAN, 0]) / bins[MEAN_SD, 0]) ** 2
    freedom = max(reported - (width - n_bins) - 3.0, 0.0)
    return objective, max(1.0, (squares + _SEGMENTS_ASSUMED) / (freedom + _SEGMENTS_ASSUMED))
