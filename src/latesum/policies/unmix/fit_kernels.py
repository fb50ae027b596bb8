"""The fit of Unmix: the curve theta, each arm's stretch eps of it and the means mu, in one step.

The equations of the rows and the priors are normal equations M x = r for x = (theta, eps, mu) with
sum theta = 1 and theta >= 0. The means stand last, so that their variances come from the last
block of the Cholesky factor.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled

#: Estimates may lie outside [0, 1] a little: at the limits themselves, low rates would be biased.
_MEAN_LIMITS = (-0.5, 1.5)
#: An arm's delay is between 0.3 and 3 times the common one.
_STRETCH_LIMITS = (-0.7, 2.0)
#: The misfit factor is as if this many more rows had fitted as they should.
_ROWS_ASSUMED = 5.0


@compiled
def add_equations(first, count, equations, matrix, side):  # type: ignore[no-untyped-def]
    """Add whitened equations to the upper triangle of `matrix` and to `side`.

    Returns the sum of squares of their right sides.
    """
    width = len(side)
    squares = 0.0
    for c in range(first, count):
        equation = equations[c]
        right = equation[width]
        squares += right * right
        for i in range(width):
            value = equation[i]
            if value != 0.0:
                side[i] += value * right
                matrix[i, i:] += value * equation[i:width]
    return squares


@compiled
def _factorise(matrix):  # type: ignore[no-untyped-def]
    """Replace the upper triangle by U with U'U = matrix; pivots stay positive."""
    width = len(matrix)
    for k in range(width):
        pivot = math.sqrt(max(matrix[k, k], 1e-12))
        matrix[k, k:] /= pivot
        for i in range(k + 1, width):
            if matrix[k, i] != 0.0:
                matrix[i, i:] -= matrix[k, i] * matrix[k, i:]


@compiled
def _solve(upper, side):  # type: ignore[no-untyped-def]
    """x with U'U x = side."""
    width = len(side)
    x = side.copy()
    for k in range(width):
        x[k] /= upper[k, k]
        x[k + 1 :] -= x[k] * upper[k, k + 1 :]
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
def solve(matrix, side, squares, reported, typical, prior, prior_weight, bin_means, told_mean, told_sd, stretch_sd, theta, eps, mu):  # type: ignore[no-untyped-def]  # fmt: skip
    """New theta, eps and mu, in place; returns the variances of the means and the misfit factor.

    The priors: mu_i around `typical` as if from one round; theta_g around `prior` with precision
    `prior_weight` / prior_g; the curve's mean around `told_mean` by `told_sd` (0: not told); eps_i
    around 0 by `stretch_sd`.
    """
    n_bins, n_eps, n_arms = len(theta), len(eps), len(mu)
    width = len(side)
    first_mean = n_bins + n_eps
    whole = matrix.copy()
    right = side.copy()
    for g in range(n_bins):
        precision = prior_weight / prior[g]
        whole[g, g] += precision
        right[g] += precision * prior[g]
        if told_sd > 0.0:
            weight = bin_means[g] / (told_sd * told_sd)
            whole[g, g:n_bins] += weight * bin_means[g:]
            right[g] += weight * told_mean
    for place in range(n_bins, first_mean):
        whole[place, place] += 1.0 / (stretch_sd * stretch_sd)
    for place in range(first_mean, width):
        whole[place, place] += 1.0
        right[place] += typical
    upper = whole.copy()
    _factorise(upper)
    border = np.zeros(width)
    border[:n_bins] = 1.0
    point, towards, weight = _on_simplex(upper, right, border, n_bins)
    # The means' block of the inverse is that of the last block of U; the constraint takes away.
    variances = np.zeros(n_arms)
    column = np.empty(n_arms)
    for j in range(n_arms):
        # Row j of the inverse of the last block of U.
        column[:] = 0.0
        column[j] = 1.0 / upper[first_mean + j, first_mean + j]
        for i in range(j + 1, n_arms):
            value = 0.0
            for k in range(j, i):
                value -= column[k] * upper[first_mean + k, first_mean + i]
            column[i] = value / upper[first_mean + i, first_mean + i]
        total = 0.0
        for i in range(j, n_arms):
            total += column[i] * column[i]
        taken = towards[first_mean + j] ** 2 / weight
        variances[j] = max(total - taken, 1e-3 * total)
    for _ in range(n_bins):
        negative = False
        for g in range(n_bins):
            if border[g] == 1.0 and point[g] < 0.0:
                negative = True
                border[g] = 0.0
                whole[g, :] = 0.0
                whole[:g, g] = 0.0
                whole[g, g] = 1.0
                right[g] = 0.0
        if not negative:
            break
        upper = whole.copy()
        _factorise(upper)
        point, towards, weight = _on_simplex(upper, right, border, n_bins)
    misfit = squares
    for i in range(width):
        inner = 0.5 * matrix[i, i] * point[i]
        for j in range(i + 1, width):
            inner += matrix[i, j] * point[j]
        misfit += 2.0 * point[i] * (inner - side[i])
    freedom = max(reported - n_arms - 3.0, 0.0)
    factor = max(1.0, (max(misfit, 0.0) + _ROWS_ASSUMED) / (freedom + _ROWS_ASSUMED))
    total = 0.0
    for g in range(n_bins):
        theta[g] = max(point[g], 0.0)
        total += theta[g]
    theta /= total
    for i in range(n_eps):
        eps[i] = min(max(point[n_bins + i], _STRETCH_LIMITS[0]), _STRETCH_LIMITS[1])
    for i in range(n_arms):
        mu[i] = min(max(point[first_mean + i], _MEAN_LIMITS[0]), _MEAN_LIMITS[1])
        variances[i] *= factor
    return variances, factor
