"""The noise of Unmix's rows: whitened equations from the covariance between rows.

Row c's total X_c has the expectation sum_i a_ci mu_i. A reward that arrives in one row is missing
in the others, so with p_s the shares of row s's plays that arrive in it and in the rows after it,

    Sigma = diag(a mu) - sum_s L_s mu_s^2 p_s p_s',

exactly for Bernoulli rewards, and an upper bound for any others in [0, 1]. Shares beyond the band
of rows are left out. The equations are divided by the Cholesky factor of Sigma row by row, so
rows that come later change nothing in earlier ones.
"""

from __future__ import annotations

import math

from latesum._compile import allocation_free
from latesum.policies.unmix.design_kernels import BAND

#: u_s, the mean of row s's arm, is taken to be no larger, so that Sigma stays positive.
_LARGEST_MEAN = 0.98
#: A row whose total is not known enters with this variance: it says nothing.
_NO_INFORMATION = 1e12
#: The least that is expected to arrive in a row, as a share of what a typical arm would earn in it.
_LEAST_EXPECTED = 0.02
_LEAST_VARIANCE = 0.25
_LEAST_VARIANCE_SHARE = 0.01
_LEAST_PIVOT = 0.05


@allocation_free
def whiten(first, pending, count, typical, table, design, shares, n_eps, point, equations, band, covariance):  # type: ignore[no-untyped-def]  # fmt: skip
    """Whiten the equations of rows `first` to `count` - 1; those before are whitened already.

    Rows from `pending` on are still to be reported: they are whitened as if they were known.
    A whitened equation has the places theta, eps, mu and the right side; `point` is where they are
    linearised. `band` takes the band of the Cholesky factor and, per row s, the loads
    q_sk = u_s sqrt(L_s) sum_g theta_g P_sgk. `typical` is m0, the mean total per round.
    `covariance` is room for the band of one row. Behind its loads, `band` has sqrt(L_s).

    Sigma and its factor are zero to the left of the first row that shares noise with row c: what is
    certain to be zero is left out.
    """
    n_bins, n_arms = design.shape[1], design.shape[2]
    first_mean = n_bins + n_eps
    width = first_mean + n_arms
    for s in range(first, count):
        own = point[first_mean + int(table[s, 2])]
        band[s, 1, BAND] = math.sqrt(table[s, 1] - table[s, 0])
        scale = min(max(own, 0.0), _LARGEST_MEAN) * band[s, 1, BAND]
        for k in range(BAND):
            band[s, 1, k] = 0.0
        for g in range(n_bins):
            weight = point[g]
            for k in range(BAND):
                band[s, 1, k] += weight * shares[s, g, k]
        for k in range(BAND):
            band[s, 1, k] = scale * max(band[s, 1, k], 0.0)
    for c in range(first, count):
        length = table[c, 1] - table[c, 0]
        for g in range(n_bins):
            equations[c, g] = 0.0
        expected, known_part = 0.0, 0.0
        for i in range(n_arms):
            mean = point[first_mean + i]
            stretch = point[n_bins + i] if n_eps > 0 else 0.0
            plays, change = 0.0, 0.0  # a_ci, and its change with eps_i
            for g in range(n_bins):
                slope = design[c, g, i, 1]
                arriving = design[c, g, i, 0] + stretch * slope
                plays += point[g] * arriving
                change += point[g] * slope
                equations[c, g] += mean * arriving
            plays = max(plays, 0.0)
            equations[c, first_mean + i] = plays
            expected += plays * min(max(mean, 0.0), 1.0)
            if n_eps > 0:
                equations[c, n_bins + i] = mean * change
                known_part += mean * change * stretch
        for g in range(n_bins):
            known_part += equations[c, g] * point[g]
        first_in_band = max(0, c - BAND + 1)
        low = first_in_band
        while low < c and band[low, 1, c - low] == 0.0:
            low += 1
        at_least = 0.0  # keeps Sigma positive where the curve and the stretched one disagree
        for s in range(low, c + 1):
            at_least += band[s, 1, c - s] * band[s, 1, BAND]
        mean_total = max(expected, at_least, _LEAST_EXPECTED * length * typical)
        for k in range(c - low + 1):
            covariance[k] = 0.0
        for s in range(low, c + 1):
            load = band[s, 1, c - s]
            for k in range(c - s + 1):
                covariance[k] -= load * band[s, 1, c - k - s]
        left = max(mean_total + covariance[0], _LEAST_VARIANCE, _LEAST_VARIANCE_SHARE * mean_total)
        missing = math.isnan(table[c, 3])
        if missing and c < pending:
            left += _NO_INFORMATION
        for k in range(c - low + 1, c - first_in_band + 1):
            band[c, 0, k] = 0.0
        for k in range(c - low, 0, -1):
            value = covariance[k]
            for j in range(max(low, c - k - BAND + 1), c - k):
                value -= band[c, 0, c - j] * band[c - k, 0, c - k - j]
            band[c, 0, k] = value / band[c - k, 0, 0]
            left -= band[c, 0, k] * band[c, 0, k]
        pivot = math.sqrt(max(left, _LEAST_PIVOT * (mean_total + 1.0)))
        band[c, 0, 0] = pivot
        equations[c, width] = known_part if missing else known_part + table[c, 3]
        for k in range(1, c - low + 1):
            factor = band[c, 0, k]
            if factor != 0.0:
                for place in range(width + 1):
                    equations[c, place] -= factor * equations[c - k, place]
        for place in range(width + 1):
            equations[c, place] /= pivot
