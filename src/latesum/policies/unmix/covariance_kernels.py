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

from latesum._compile import compiled, inlined
from latesum.policies.unmix.design_kernels import BAND

#: The last dimension of `band`: behind the loads of a row there are sqrt(L_s), and what the row adds to minus
#: twice the log-likelihood.
ROOT, NOISE = BAND, BAND + 1
BAND_PLACES = BAND + 2
#: The length of `room`: what a row shares with each row of its band.
ROOM = BAND

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
def _loads(s, own, table, shares, point, n_bins, band):  # type: ignore[no-untyped-def]
    """Write the loads of row s into `band`; `own` is the mean of its arm."""
    root = math.sqrt(table[s, 1] - table[s, 0])
    scale = min(max(own, 0.0), _LARGEST_MEAN) * root
    for k in range(BAND):
        load = 0.0
        for g in range(n_bins):
            load += point[g] * shares[s, g, k]
        band[s, 1, k] = scale * max(load, 0.0)
    band[s, 1, ROOT] = root


@inlined
def _covariance(c, low, band, room):  # type: ignore[no-untyped-def]
    """Write what row c shares with each row from `low` on into `room`; the least that is expected to arrive in it."""
    at_least = 0.0
    for j in range(low, c + 1):
        room[j - low] = 0.0
    for s in range(low, c + 1):
        load = band[s, 1, c - s]
        at_least += band[s, 1, ROOT] * load
        for j in range(s, c + 1):
            room[j - low] -= band[s, 1, j - s] * load
    return at_least


@inlined
def _factors(c, low, left, band, room):  # type: ignore[no-untyped-def]
    """Write row c of the Cholesky factor into `band`, but for its pivot; what is left of the variance."""
    for j in range(low, c):
        factor = room[j - low] / band[j, 0, 0]
        band[j, 0, c - j] = factor
        left -= factor * factor
        for later in range(j + 1, c):
            room[later - low] -= band[j, 0, later - j] * factor
    return left


@inlined
def _whiten_row(c, low, width, band, equations):  # type: ignore[no-untyped-def]
    """Whiten the equation of row c, which shares noise with those from `low` on."""
    for s in range(c - 1, low - 1, -1):
        factor = band[s, 0, c - s]
        for place in range(width + 1):
            equations[c, place] -= factor * equations[s, place]
    pivot = band[c, 0, 0]
    for place in range(width + 1):
        equations[c, place] /= pivot


@inlined
def _expect(c, table, design, n_eps, point, equations):  # type: ignore[no-untyped-def]
    """Write the equation of a row, not whitened, into `equations`; what is expected to arrive in it."""
    n_bins, n_arms = design.shape[1], design.shape[2]
    first_mean = n_bins + n_eps
    for place in range(equations.shape[1]):
        equations[c, place] = 0.0
    expected, known_part = 0.0, 0.0
    for i in range(n_arms):
        mean = point[first_mean + i]
        block = point[n_bins + i] if n_eps > 0 else 0.0
        plays, change = 0.0, 0.0  # a_ci, and its change with eps_i
        for g in range(n_bins):
            slope = design[c, g, i, 1]
            arriving_plays = design[c, g, i, 0] + block * slope
            plays += point[g] * arriving_plays
            change += point[g] * slope
            equations[c, g] += mean * arriving_plays
        plays = max(plays, 0.0)
        equations[c, first_mean + i] = plays
        expected += plays * min(max(mean, 0.0), 1.0)
        if n_eps > 0:
            equations[c, n_bins + i] = mean * change
            known_part += mean * change * block
    for g in range(n_bins):
        known_part += equations[c, g] * point[g]
    right = known_part if math.isnan(table[c, 3]) else known_part + table[c, 3]
    equations[c, first_mean + n_arms] = right
    return expected


@compiled
def whiten(first, pending, count, typical, judged, table, design, shares, n_eps, point, equations, band, room):  # type: ignore[no-untyped-def]  # fmt: skip
    """Whiten the equations of rows `first` to `count` - 1; those before are whitened already.

    Rows from `pending` on are still to be reported: they are whitened as if they were known.
    A whitened equation has the places theta, eps, mu and the right side, and zeros behind; `point` is where they are
    linearised. `band` takes, per row s, the column of the Cholesky factor below its diagonal and the loads
    q_sk = u_s sqrt(L_s) sum_g theta_g P_sgk. `typical` is m0, the mean total per round.
    `room` is room for one row of the band; with `judged` it is noted what rows add to the likelihood.

    Sigma and its factor are zero to the left of the first row that shares noise with row c: what is
    certain to be zero is left out.
    """
    n_bins, n_arms = design.shape[1], design.shape[2]
    first_mean = n_bins + n_eps
    width = first_mean + n_arms
    for s in range(first, count):
        own = point[first_mean + int(table[s, 2])]
        _loads(s, own, table, shares, point, n_bins, band)
    for c in range(first, count):
        low = max(0, c - BAND + 1)
        while low < c and band[low, 1, c - low] == 0.0:
            band[low, 0, c - low] = 0.0
            low += 1
        at_least = _covariance(c, low, band, room)
        expected = _expect(c, table, design, n_eps, point, equations)
        # The second keeps Sigma positive where the curve and the stretched one disagree.
        length = table[c, 1] - table[c, 0]
        mean_total = max(expected, at_least, _LEAST_EXPECTED * length * typical)
        left = max(
            mean_total + room[c - low],
            _LEAST_VARIANCE,
            _LEAST_VARIANCE_SHARE * mean_total,
        )
        if c < pending and math.isnan(table[c, 3]):
            left += _NO_INFORMATION
        left = _factors(c, low, left, band, room)
        pivot = math.sqrt(max(left, _LEAST_PIVOT * (mean_total + 1.0)))
        band[c, 0, 0] = pivot
        if judged:
            band[c, 1, NOISE] = 2.0 * math.log(pivot)
        _whiten_row(c, low, width, band, equations)
