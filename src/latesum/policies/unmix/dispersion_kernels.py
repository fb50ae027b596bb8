"""How likely the rows of Unmix are if rewards vary by a share rho of what 0/1 rewards do.

A reward R in [0, 1] with the mean mu and the variance rho mu (1 - mu) has E R^2 = rho mu (1 - mu) + mu^2.
With p_s the shares of row s's plays that arrive in it and in the rows after it, the totals have the covariance

    Sigma_rho = diag(sum_i a_ci (rho mu_i (1 - mu_i) + mu_i^2)) - sum_s L_s mu_s^2 p_s p_s',

which is that of `covariance_kernels` for rho = 1. The noise of when rewards arrive is the same for every
rho, but a reward that is early in one row is missing in the next: it is gone in sums of rows.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum.policies.unmix import fit_kernels

#: No row varies by less than this share of the rewards that are expected in it, or than this number.
_LEAST_VARIANCE_SHARE = 0.005
_LEAST_VARIANCE = 0.25
#: A row whose total is not known enters with this variance: it says nothing.
_NO_INFORMATION = 1e12


@compiled
def minus_twice_log_likelihood(rho, table, plays, arriving, mean, band, equations, matrix):  # type: ignore[no-untyped-def]
    """Minus twice the logarithm of the restricted likelihood: the means are found anew for this rho.

    `plays` are a_ci, `arriving` the p_s, `mean` the means in [0, 1] that say how much rewards vary. The rest
    is room: for the band of the Cholesky factor, for whitened rows, and for the equations of the means.
    """
    count, width = arriving.shape
    n_arms = plays.shape[1]
    total = 0.0
    for c in range(count):
        low = max(0, c - width + 1)
        varies, expected = 0.0, 0.0
        for i in range(n_arms):
            equations[c, i] = plays[c, i]
            varies += plays[c, i] * (rho * mean[i] * (1.0 - mean[i]) + mean[i] * mean[i])
            expected += plays[c, i] * mean[i]
        for k in range(c - low + 1):
            together = 0.0
            for s in range(low, c - k + 1):
                own = mean[int(table[s, 2])]
                both = arriving[s, c - s] * arriving[s, c - k - s]
                together += (table[s, 1] - table[s, 0]) * own * own * both
            band[c, k] = -together
        least = max(_LEAST_VARIANCE, _LEAST_VARIANCE_SHARE * expected)
        variance = max(varies + band[c, 0], least)
        known = not math.isnan(table[c, 3])
        equations[c, n_arms] = table[c, 3] if known else 0.0
        if not known:
            variance += _NO_INFORMATION
        for k in range(c - low, 0, -1):
            value = band[c, k]
            for j in range(max(low, c - k - width + 1), c - k):
                value -= band[c, c - j] * band[c - k, c - k - j]
            value /= band[c - k, 0]
            band[c, k] = value
            variance -= value * value
            for place in range(n_arms + 1):
                equations[c, place] -= value * equations[c - k, place]
        variance = max(variance, least)
        if known:
            total += math.log(variance)
        band[c, 0] = math.sqrt(variance)
        for place in range(n_arms + 1):
            equations[c, place] /= band[c, 0]
    # As if each mean were known from one round: arms that were never played are then no unknowns.
    for i in range(n_arms + 1):
        for j in range(i, n_arms + 1):
            matrix[i, j] = 0.0
    for i in range(n_arms):
        matrix[i, i] = 1.0
        matrix[i, n_arms] = mean[i]
        matrix[n_arms, n_arms] += mean[i] * mean[i]
    fit_kernels.add_equations(np.int64(0), count, equations, matrix)
    fit_kernels.factorise(matrix, n_arms + 1)
    for i in range(n_arms):
        total += 2.0 * math.log(matrix[i, i])
    return total + matrix[n_arms, n_arms] ** 2  # the last pivot's square: what is left unexplained
