"""The fit of Unmix: the curve theta, each arm's stretch eps of it and the means mu, in one step.

The equations of the rows and the priors are normal equations M x = r for x = (theta, eps, mu) with
sum theta = 1 and theta >= 0. The means stand last, so that their variances come from the last
block of the Cholesky factor.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum.policies.unmix import covariance_kernels

#: Estimates may lie outside [0, 1] a little: at the limits themselves, low rates would be biased.
_MEAN_LIMITS = (-0.5, 1.5)
#: An arm's delay is between 0.3 and 3 times the common one.
_STRETCH_LIMITS = (-0.7, 2.0)
#: The least share of a variance that the constraint leaves: in what is reported, and in decisions.
_LEAST_SHARE = (1e-9, 1e-3)
#: The misfit factor is as if this many more rows had fitted as they should.
_ROWS_ASSUMED = 5.0


@compiled
def _add_equations(first, count, equations, sums):  # type: ignore[no-untyped-def]
    """Add whitened equations to the upper triangle of `sums`; right sides are the last column."""
    width = len(sums)
    for c in range(first, count):
        for i in range(width):
            value = equations[c, i]
            if value != 0.0:
                for j in range(i, width):
                    sums[i, j] += value * equations[c, j]


@compiled
def _factorise(matrix):  # type: ignore[no-untyped-def]
    """Replace the upper triangle by U with U'U = matrix; pivots stay positive."""
    width = len(matrix)
    for k in range(width):
        pivot = 1.0 / math.sqrt(max(matrix[k, k], 1e-12))
        for i in range(k, width):
            matrix[k, i] *= pivot
        for i in range(k + 1, width):
            factor = matrix[k, i]
            if factor != 0.0:
                for j in range(i, width):
                    matrix[i, j] -= factor * matrix[k, j]


@compiled
def _solve(upper, side):  # type: ignore[no-untyped-def]
    """x with U'U x = side."""
    width = len(side)
    x = side.copy()
    for k in range(width):
        x[k] /= upper[k, k]
        for j in range(k + 1, width):
            x[j] -= x[k] * upper[k, j]
    for k in range(width - 1, -1, -1):
        value = x[k]
        for j in range(k + 1, width):
            value -= upper[k, j] * x[j]
        x[k] = value / upper[k, k]
    return x


@compiled
def _on_simplex(upper, side, border, n_bins):  # type: ignore[no-untyped-def]
    """The solution with sum theta = 1, and what the constraint takes from the inverse."""
    towards = _solve(upper, border)
    point = _solve(upper, side)
    weight = towards[:n_bins].sum()
    return point - towards * ((point[:n_bins].sum() - 1.0) / weight), towards, weight


@compiled
def fit(first, frozen, pending, count, typical, table, design, shares, n_eps, point, equations, band, sums, reported, prior, prior_weight, bin_means, told, stretch_sd, variances):  # type: ignore[no-untyped-def]  # fmt: skip
    """One step from `point` to a new one, in place; returns the misfit factor and the objective.

    The objective is minus twice the logarithm of the likelihood with the priors, without what is
    the same for all curves.

    Rows before `first` are whitened already. With `first` 0 all rows are linearised at `point`, and
    the equations of those before `frozen` are added up in `sums` (matrix, right side, and in the
    last corner the squares), which otherwise holds them from the last such pass. Rows from
    `pending` on are still to be reported.
    """
    width = len(point)
    covariance_kernels.whiten(
        first, pending, count, typical, table, design, shares, n_eps, point, equations, band
    )
    if first == 0:
        sums[:] = 0.0
        _add_equations(0, frozen, equations, sums)
    whole = sums.copy()
    _add_equations(frozen, pending, equations, whole)
    matrix, side, squares = whole[:width, :width], whole[:width, width], whole[width, width]
    to_come = np.zeros((width + 1, width + 1))
    _add_equations(pending, count, equations, to_come)
    noise = 0.0
    for c in range(pending):
        noise += 2.0 * math.log(band[c, 0, 0])
    factor, objective = solve(
        matrix, to_come, side, squares, reported, typical, prior, prior_weight, bin_means, told, stretch_sd,
        n_eps, point, variances,
    )  # fmt: skip
    return factor, objective + noise


@compiled
def solve(matrix, to_come, side, squares, reported, typical, prior, prior_weight, bin_means, told, stretch_sd, n_eps, point, variances):  # type: ignore[no-untyped-def]  # fmt: skip
    """A new point (theta, eps, mu) and the variances of the means, in place; misfit and objective.

    The priors: mu_i around `typical` as if from one round; theta_g around `prior` with precision
    `prior_weight` / prior_g; the curve's mean around told[0] by told[1] (0: not told); eps_i
    around 0 by `stretch_sd`. `variances` has two rows: as known now, for reports; and for decisions
    with the information `to_come` of rows that are still to be reported, so that an arm is not
    visited again for what is on its way.
    """
    width, n_bins, n_arms = len(point), len(prior), variances.shape[1]
    first_mean = n_bins + n_eps
    whole = matrix.copy()
    right = side.copy()
    for g in range(n_bins):
        precision = prior_weight / prior[g]
        whole[g, g] += precision
        right[g] += precision * prior[g]
        if told[1] > 0.0:
            weight = bin_means[g] / (told[1] * told[1])
            for h in range(g, n_bins):
                whole[g, h] += weight * bin_means[h]
            right[g] += weight * told[0]
    for place in range(n_bins, first_mean):
        whole[place, place] += 1.0 / (stretch_sd * stretch_sd)
    for place in range(first_mean, width):
        whole[place, place] += 1.0
        right[place] += typical
    upper = whole.copy()
    _factorise(upper)
    border = np.zeros(width)
    border[:n_bins] = 1.0
    found, towards, weight = _on_simplex(upper, right, border, n_bins)
    _mean_variances(upper, towards, weight, first_mean, variances[0], variances[1])
    if to_come.any():
        sure = whole + to_come[:width, :width]
        _factorise(sure)
        towards = _solve(sure, border)
        unused = np.empty(n_arms)
        _mean_variances(sure, towards, towards[:n_bins].sum(), first_mean, unused, variances[1])
    for _ in range(n_bins):  # theta >= 0: leave out the bins that came out negative
        negative = False
        for g in range(n_bins):
            if border[g] == 1.0 and found[g] < 0.0:
                negative = True
                border[g] = right[g] = 0.0
                for h in range(width):
                    whole[g, h] = whole[h, g] = 0.0
                whole[g, g] = 1.0
        if not negative:
            break
        upper[:] = whole
        _factorise(upper)
        found, towards, weight = _on_simplex(upper, right, border, n_bins)
    misfit = squares  # the sum of squares of what the rows leave unexplained
    for i in range(width):
        inner = 0.5 * matrix[i, i] * found[i]
        for j in range(i + 1, width):
            inner += matrix[i, j] * found[j]
        misfit += 2.0 * found[i] * (inner - side[i])
    objective, mean = misfit, 0.0
    for g in range(n_bins):
        objective += prior_weight * (found[g] - prior[g]) ** 2 / prior[g]
        mean += found[g] * bin_means[g]
    if told[1] > 0.0:
        objective += ((mean - told[0]) / told[1]) ** 2
    for place in range(n_bins, first_mean):
        objective += (found[place] / stretch_sd) ** 2
    freedom = max(reported - n_arms - 3.0, 0.0)
    factor = max(1.0, (max(misfit, 0.0) + _ROWS_ASSUMED) / (freedom + _ROWS_ASSUMED))
    total = 0.0
    for g in range(n_bins):
        point[g] = max(found[g], 0.0)
        total += point[g]
    for g in range(n_bins):
        point[g] /= total
    for place in range(n_bins, first_mean):
        point[place] = min(max(found[place], _STRETCH_LIMITS[0]), _STRETCH_LIMITS[1])
    for place in range(first_mean, width):
        point[place] = min(max(found[place], _MEAN_LIMITS[0]), _MEAN_LIMITS[1])
    variances *= factor
    return factor, objective


@compiled
def _mean_variances(upper, towards, weight, first_mean, reported, decided):  # type: ignore[no-untyped-def]
    """The means' block of the inverse, from the last block of U; the constraint takes some away.

    V_j = [I^-1 - I^-1 e e' I^-1 / (e' I^-1 e)]_jj with e the border of sum theta = 1. Decisions take
    it to be no less than a part of what it would be without the constraint: an arm with very many
    plays is not left for the last digit of its index.
    """
    n_arms = len(reported)
    column = np.empty(n_arms)
    for j in range(n_arms):
        # Row j of the inverse of the last block of U.
        column[j] = 1.0 / upper[first_mean + j, first_mean + j]
        total = column[j] * column[j]
        for i in range(j + 1, n_arms):
            value = 0.0
            for k in range(j, i):
                value -= column[k] * upper[first_mean + k, first_mean + i]
            column[i] = value / upper[first_mean + i, first_mean + i]
            total += column[i] * column[i]
        taken = towards[first_mean + j] ** 2 / weight
        reported[j] = max(total - taken, _LEAST_SHARE[0] * total)
        decided[j] = max(total - taken, _LEAST_SHARE[1] * total)
