"""The fit of Unmix: the curve theta, each arm's block eps of it and the means mu, in one step.

The equations of the rows and the priors are normal equations M x = r for x = (theta, eps, mu) with
sum theta = 1 and theta >= 0. The means stand last, so that their variances come from the last
block of the Cholesky factor.

Matrices have one place more than there are unknowns: the right side is the last column, and the sum of
squares is in the last corner. Of a matrix the upper triangle counts: what stands left of the diagonal is never
looked at. `matrices` and `vectors` are room for all
that a step needs, so that nothing has to be made anew in it.
"""

from __future__ import annotations

import math

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
#: The matrices: what the last full pass added up, that of all rows, that of rows still to come, that with the
#: priors, and a factorised one. The vectors: the border of sum theta = 1, what it leads to, the right side,
#: the solution, and two for intermediate results, of which the last has room for the band of a row.
MATRICES, VECTORS = 5, 6
_SUMS, _ROWS, _TO_COME, _WHOLE, _UPPER = 0, 1, 2, 3, 4
_BORDER, _TOWARDS, _RIGHT, _FOUND, _SPARE, _BAND = 0, 1, 2, 3, 4, 5


def places(unknowns: int) -> int:
    """The length of the rows of matrices and of equations, for a number of unknowns.

    >>> places(14)
    15
    """
    return unknowns + 1


def vector_places(unknowns: int) -> int:
    """The length of the rows of `vectors`.

    >>> vector_places(99)
    99
    """
    return max(unknowns, covariance_kernels.ROOM)


@compiled
def add_equations(first, count, equations, matrix):  # type: ignore[no-untyped-def]
    """Add whitened equations to the upper triangle of a matrix; both have rows of the same length."""
    width = equations.shape[1]
    for c in range(first, count):
        for i in range(width):
            factor = equations[c, i]
            if factor != 0.0:
                for j in range(i, width):
                    matrix[i, j] += factor * equations[c, j]


@compiled
def _nothing(matrix):  # type: ignore[no-untyped-def]
    """Zeros, in the upper triangle."""
    for i in range(matrix.shape[0]):
        for j in range(i, matrix.shape[1]):
            matrix[i, j] = 0.0


@compiled
def _copy(matrix, to):  # type: ignore[no-untyped-def]
    """The upper triangle, written into another matrix."""
    for i in range(matrix.shape[0]):
        for j in range(i, matrix.shape[1]):
            to[i, j] = matrix[i, j]


@compiled
def factorise(matrix, width):  # type: ignore[no-untyped-def]
    """Replace the upper triangle of the first `width` rows and columns by U with U'U = matrix; pivots stay positive."""
    for k in range(width):
        pivot = 1.0 / math.sqrt(max(matrix[k, k], 1e-12))
        for j in range(k, width):
            matrix[k, j] *= pivot
        for i in range(k + 1, width):
            factor = matrix[k, i]
            if factor != 0.0:
                for j in range(i, width):
                    matrix[i, j] -= factor * matrix[k, j]


@compiled
def _solve(upper, side, x, width):  # type: ignore[no-untyped-def]
    """x with U'U x = side."""
    for k in range(width):
        x[k] = side[k]
    for k in range(width):
        x[k] /= upper[k, k]
        for j in range(k + 1, width):
            x[j] -= x[k] * upper[k, j]
    for k in range(width - 1, -1, -1):
        value = x[k]
        for j in range(k + 1, width):
            value -= upper[k, j] * x[j]
        x[k] = value / upper[k, k]


@compiled
def _solve_both(upper, side, other_side, x, y, width):  # type: ignore[no-untyped-def]
    """x with U'U x = side and y with U'U y = other_side: one waits where the other can go on."""
    for k in range(width):
        x[k] = side[k]
        y[k] = other_side[k]
    for k in range(width):
        x_k, y_k = x[k] / upper[k, k], y[k] / upper[k, k]
        x[k], y[k] = x_k, y_k
        for j in range(k + 1, width):
            x[j] -= x_k * upper[k, j]
            y[j] -= y_k * upper[k, j]
    for k in range(width - 1, -1, -1):
        x_k, y_k = x[k], y[k]
        for j in range(k + 1, width):
            x_k -= upper[k, j] * x[j]
            y_k -= upper[k, j] * y[j]
        x[k], y[k] = x_k / upper[k, k], y_k / upper[k, k]


@compiled
def _on_simplex(upper, vectors, width, n_bins):  # type: ignore[no-untyped-def]
    """The solution with sum theta = 1, and what the constraint takes from the inverse; its weight."""
    towards, found = vectors[_TOWARDS], vectors[_FOUND]
    _solve_both(upper, vectors[_BORDER], vectors[_RIGHT], towards, found, width)
    weight, total = 0.0, 0.0
    for g in range(n_bins):
        weight += towards[g]
        total += found[g]
    too_much = (total - 1.0) / weight
    for place in range(width):
        found[place] -= towards[place] * too_much
    return weight


@compiled
def fit(first, frozen, pending, count, typical, judged, table, design, shares, n_eps, point, equations, band, matrices, vectors, reported, prior, prior_weight, bin_means, told, told_sd, stretch_sd, variances):  # type: ignore[no-untyped-def]  # fmt: skip
    """One step from `point` to a new one, in place; returns the misfit factor and the objective.

    The objective is minus twice the logarithm of the likelihood with the priors, without what is
    the same for all curves.

    Rows before `first` are whitened already. With `first` 0 all rows are linearised at `point`, and
    the equations of those before `frozen` are added up in `sums` (matrix, right side, and in the
    last corner the squares), which otherwise hold them from the last such pass. Rows from
    `pending` on are still to be reported. Only with `judged` there are variances, a misfit and an objective: a step
    from which others are made needs none.
    """
    covariance_kernels.whiten(
        first, pending, count, typical, judged, table, design, shares, n_eps, point, equations, band,
        vectors[_BAND],
    )  # fmt: skip
    sums, rows = matrices[_SUMS], matrices[_ROWS]
    if first == 0:
        _nothing(sums)
        add_equations(first, frozen, equations, sums)
    _copy(sums, rows)
    add_equations(frozen, pending, equations, rows)
    to_come = judged and pending < count
    if to_come:
        _nothing(matrices[_TO_COME])
        add_equations(pending, count, equations, matrices[_TO_COME])
    noise = 0.0
    if judged:
        for c in range(pending):
            noise += band[c, 1, covariance_kernels.NOISE]
    factor, objective = _to_new_point(
        judged, to_come, matrices, vectors, reported, typical, prior, prior_weight, bin_means, told, told_sd,
        stretch_sd, n_eps, point, variances,
    )  # fmt: skip
    return factor, objective + noise


@compiled
def _to_new_point(judged, more_to_come, matrices, vectors, reported, typical, prior, prior_weight, bin_means, told, told_sd, stretch_sd, n_eps, point, variances):  # type: ignore[no-untyped-def]  # fmt: skip
    """A new point (theta, eps, mu) and the variances of the means, in place; misfit and objective.

    The priors: mu_i around `typical` as if from one round; theta_g around `prior` with precision
    `prior_weight` / prior_g; the curve's mean around `told` by `told_sd` (0: not told); eps_i
    around 0 by `stretch_sd`. `variances` has two rows: as known now, for reports; and for decisions
    with the information of rows that are still to be reported, so that an arm is not visited again
    for what is on its way. They are written only with `judged`.
    """
    width, n_bins, n_arms = len(point), len(prior), variances.shape[1]
    first_mean = n_bins + n_eps
    rows, to_come, whole, upper = (
        matrices[_ROWS],
        matrices[_TO_COME],
        matrices[_WHOLE],
        matrices[_UPPER],
    )
    border, right, found = vectors[_BORDER], vectors[_RIGHT], vectors[_FOUND]
    for i in range(width):
        right[i] = rows[i, width]
        border[i] = 1.0 if i < n_bins else 0.0
    _copy(rows, whole)
    for g in range(n_bins):
        precision = prior_weight / prior[g]
        whole[g, g] += precision
        right[g] += precision * prior[g]
        if told_sd > 0.0:
            weight = bin_means[g] / (told_sd * told_sd)
            for h in range(g, n_bins):
                whole[g, h] += weight * bin_means[h]
            right[g] += weight * told
    for place in range(n_bins, first_mean):
        whole[place, place] += 1.0 / (stretch_sd * stretch_sd)
    for place in range(first_mean, width):
        whole[place, place] += 1.0
        right[place] += typical
    _copy(whole, upper)
    factorise(upper, width)
    weight = _on_simplex(upper, vectors, width, n_bins)
    if judged:
        _mean_variances(
            upper,
            vectors[_TOWARDS],
            weight,
            first_mean,
            vectors[_SPARE],
            variances[0],
            variances[1],
        )
    if more_to_come:
        for i in range(width):
            for j in range(i, width):
                upper[i, j] = whole[i, j] + to_come[i, j]
        factorise(upper, width)
        towards = vectors[_TOWARDS]
        _solve(upper, border, towards, width)
        weight = 0.0
        for g in range(n_bins):
            weight += towards[g]
        _mean_variances(
            upper, towards, weight, first_mean, vectors[_SPARE], vectors[_BAND], variances[1]
        )
    for _ in range(n_bins):  # theta >= 0: leave out the bins that came out negative
        negative = False
        for g in range(n_bins):
            if border[g] == 1.0 and found[g] < 0.0:
                negative = True
                border[g] = right[g] = 0.0
                for h in range(g):
                    whole[h, g] = 0.0
                for h in range(g + 1, width):
                    whole[g, h] = 0.0
                whole[g, g] = 1.0
        if not negative:
            break
        _copy(whole, upper)
        factorise(upper, width)
        _on_simplex(upper, vectors, width, n_bins)
    factor, objective = 1.0, 0.0
    if judged:
        factor, objective = _judge(
            rows,
            found,
            reported,
            prior,
            prior_weight,
            bin_means,
            told,
            told_sd,
            stretch_sd,
            n_eps,
            n_arms,
        )
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
    if judged:
        for arm in range(n_arms):
            variances[0, arm] *= factor
            variances[1, arm] *= factor
    return factor, objective


@compiled
def _judge(rows, found, reported, prior, prior_weight, bin_means, told, told_sd, stretch_sd, n_eps, n_arms):  # type: ignore[no-untyped-def]  # fmt: skip
    """By how much the rows fit worse than they should, and the objective."""
    n_bins = len(prior)
    first_mean = n_bins + n_eps
    width = first_mean + n_arms
    misfit = rows[width, width]  # the sum of squares of what the rows leave unexplained
    for i in range(width):
        inner = 0.5 * rows[i, i] * found[i]
        for j in range(i + 1, width):
            inner += rows[i, j] * found[j]
        misfit += 2.0 * found[i] * (inner - rows[i, width])
    objective, mean = misfit, 0.0
    for g in range(n_bins):
        objective += prior_weight * (found[g] - prior[g]) ** 2 / prior[g]
        mean += found[g] * bin_means[g]
    if told_sd > 0.0:
        objective += ((mean - told) / told_sd) ** 2
    for place in range(n_bins, first_mean):
        objective += (found[place] / stretch_sd) ** 2
    freedom = max(reported - n_arms - 3.0, 0.0)
    factor = max(1.0, (max(misfit, 0.0) + _ROWS_ASSUMED) / (freedom + _ROWS_ASSUMED))
    return factor, objective


@compiled
def _mean_variances(upper, towards, weight, first_mean, column, reported, decided):  # type: ignore[no-untyped-def]
    """The means' block of the inverse, from the last block of U; the constraint takes some away.

    V_j = [I^-1 - I^-1 e e' I^-1 / (e' I^-1 e)]_jj with e the border of sum theta = 1. Decisions take
    it to be no less than a part of what it would be without the constraint: an arm with very many
    plays is not left for the last digit of its index. `column` is room for one.
    """
    n_arms = len(decided)
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
