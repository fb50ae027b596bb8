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

from latesum._compile import allocation_free, inlined
from latesum._lane_kernels import LANES, equal_lanes, keep, lanes, not_negative, number
from latesum.policies.unmix.design_kernels import BAND, SHARES

#: The last dimension of `band`, which the loads of a row are written into as its shares are read. Behind the loads
#: there is sqrt(L_s), and behind a column of the factor what its row adds to minus twice the log-likelihood.
BAND_PLACES = SHARES
ROOT = NOISE = BAND

#: u_s, the mean of row s's arm, is taken to be no larger, so that Sigma stays positive.
_LARGEST_MEAN = 0.98
#: A row whose total is not known enters with this variance: it says nothing.
_NO_INFORMATION = 1e12
#: The least that is expected to arrive in a row, as a share of what a typical arm would earn in it.
_LEAST_EXPECTED = 0.02
_LEAST_VARIANCE = 0.25
_LEAST_VARIANCE_SHARE = 0.01
_LEAST_PIVOT = 0.05


@inlined
def _covariance_with(c, low, band, covariance):  # type: ignore[no-untyped-def]
    """What rows `low` to c share with row c, without the diagonal: minus the sum of q_s,c-s q_s,j-s over s, for each j.

    What is not complete is held in registers, as a window that moves on with s: it is nine numbers, since BAND is ten.
    """
    v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = v8 = 0.0
    for s in range(low, c + 1):
        load = number(band, (s, 1, c - s))
        covariance[s - low] = v0 - load * number(band, (s, 1, 0))
        v0 = v1 - load * number(band, (s, 1, 1))
        v1 = v2 - load * number(band, (s, 1, 2))
        v2 = v3 - load * number(band, (s, 1, 3))
        v3 = v4 - load * number(band, (s, 1, 4))
        v4 = v5 - load * number(band, (s, 1, 5))
        v5 = v6 - load * number(band, (s, 1, 6))
        v6 = v7 - load * number(band, (s, 1, 7))
        v7 = v8 - load * number(band, (s, 1, 8))
        v8 = 0.0 - load * number(band, (s, 1, 9))


@inlined
def _factor_of(c, low, left, band, covariance):  # type: ignore[no-untyped-def]
    """Write row c of the Cholesky factor into `band`; what is left of its variance, the square of the pivot.

    Row j of the factor takes its part from what is between c and all rows after j: a window as in `_covariance_with`.
    """
    v0, v1, v2, v3 = covariance[0], covariance[1], covariance[2], covariance[3]
    v4, v5, v6, v7, v8 = covariance[4], covariance[5], covariance[6], covariance[7], covariance[8]
    for j in range(low, c):
        factor = v0 / number(band, (j, 0, 0))
        left -= factor * factor
        v0 = v1 - factor * number(band, (j, 0, 1))
        v1 = v2 - factor * number(band, (j, 0, 2))
        v2 = v3 - factor * number(band, (j, 0, 3))
        v3 = v4 - factor * number(band, (j, 0, 4))
        v4 = v5 - factor * number(band, (j, 0, 5))
        v5 = v6 - factor * number(band, (j, 0, 6))
        v6 = v7 - factor * number(band, (j, 0, 7))
        v7 = v8 - factor * number(band, (j, 0, 8))
        band[j, 0, c - j] = factor
    return left


@allocation_free
def whiten(first, pending, count, typical, table, design, shares, n_eps, point, equations, band, covariance):  # type: ignore[no-untyped-def]  # fmt: skip
    """Whiten the equations of rows `first` to `count` - 1; those before are whitened already.

    Rows from `pending` on are still to be reported: they are whitened as if they were known.
    A whitened equation has the places theta, eps, mu and the right side, and zeros behind; `point` is where they are
    linearised. `band` takes, per row s, the column of the Cholesky factor below its diagonal and the loads
    q_sk = u_s sqrt(L_s) sum_g theta_g P_sgk. `typical` is m0, the mean total per round.
    `covariance` is room for the band of one row.

    Sigma and its factor are zero to the left of the first row that shares noise with row c: what is
    certain to be zero is left out.
    """
    n_bins, n_arms = design.shape[1], design.shape[2]
    first_mean = n_bins + n_eps
    width = first_mean + n_arms
    for s in range(first, count):
        own = point[first_mean + int(table[s, 2])]
        root = math.sqrt(table[s, 1] - table[s, 0])
        scale = min(max(own, 0.0), _LARGEST_MEAN) * root
        for k in range(0, SHARES, LANES):
            arriving = equal_lanes(0.0)
            for g in range(n_bins):
                arriving = arriving + point[g] * lanes(shares, (s, g, k))
            keep(band, (s, 1, k), scale * not_negative(arriving))
        band[s, 1, ROOT] = root
    for c in range(first, count):
        length = table[c, 1] - table[c, 0]
        for place in range(equations.shape[1]):
            equations[c, place] = 0.0
        expected, known_part = 0.0, 0.0
        for i in range(n_arms):
            mean = point[first_mean + i]
            stretch = point[n_bins + i] if n_eps > 0 else 0.0
            plays, change = 0.0, 0.0  # a_ci, and its change with eps_i
            for g in range(n_bins):
                slope = design[c, g, i, 1]
                arriving_plays = design[c, g, i, 0] + stretch * slope
                plays += point[g] * arriving_plays
                change += point[g] * slope
                equations[c, g] += mean * arriving_plays
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
        while low < c and number(band, (low, 1, c - low)) == 0.0:
            band[low, 0, c - low] = 0.0
            low += 1
        at_least = 0.0  # keeps Sigma positive where the curve and the stretched one disagree
        for s in range(low, c + 1):
            at_least += number(band, (s, 1, c - s)) * number(band, (s, 1, ROOT))
        mean_total = max(expected, at_least, _LEAST_EXPECTED * length * typical)
        _covariance_with(c, low, band, covariance)
        left = max(
            mean_total + covariance[c - low], _LEAST_VARIANCE, _LEAST_VARIANCE_SHARE * mean_total
        )
        missing = math.isnan(table[c, 3])
        if missing and c < pending:
            left += _NO_INFORMATION
        left = _factor_of(c, low, left, band, covariance)
        pivot = math.sqrt(max(left, _LEAST_PIVOT * (mean_total + 1.0)))
        band[c, 0, 0] = pivot
        band[c, 0, NOISE] = 2.0 * math.log(pivot)
        equations[c, width] = known_part if missing else known_part + table[c, 3]
        for place in range(0, width + 1, LANES):
            values = lanes(equations, (c, place))
            for k in range(1, c - low + 1):
                values = values - number(band, (c - k, 0, k)) * lanes(equations, (c - k, place))
            keep(equations, (c, place), values / pivot)
