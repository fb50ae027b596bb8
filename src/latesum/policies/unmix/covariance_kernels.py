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

import numpy as np

from latesum._compile import compiled
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


@compiled
def whiten(first, count, typical, starts, ends, arms, totals, design, slopes, shares, theta, eps, mu, equations, factors, loads):  # type: ignore[no-untyped-def]  # fmt: skip
    """Whiten the equations of rows `first` to `count` - 1; those before are whitened already.

    A whitened equation has the places theta, eps, mu and the right side. `factors` takes the band
    of the Cholesky factor, `loads` q_sk = u_s sqrt(L_s) sum_g theta_g P_sgk. `typical` is m0, the
    mean total per round.
    """
    n_bins, n_eps, n_arms = len(theta), len(eps), len(mu)
    first_mean = n_bins + n_eps
    width = first_mean + n_arms
    for s in range(first, count):
        scale = min(max(mu[arms[s]], 0.0), _LARGEST_MEAN) * math.sqrt(ends[s] - starts[s])
        for k in range(min(BAND, count - s)):
            share = 0.0
            for g in range(n_bins):
                share += theta[g] * shares[s, g, k]
            loads[s, k] = scale * max(share, 0.0)
    covariance = np.zeros(BAND)
    for c in range(first, count):
        equation = equations[c]
        equation[:] = 0.0
        expected, known_part = 0.0, 0.0
        for i in range(n_arms):
            stretch = eps[i] if n_eps > 0 else 0.0
            plays, change = 0.0, 0.0  # a_ci, and its change with eps_i
            for g in range(n_bins):
                arriving = design[c, g, i] + stretch * slopes[c, g, i]
                plays += theta[g] * arriving
                change += theta[g] * slopes[c, g, i]
                equation[g] += mu[i] * arriving
            plays = max(plays, 0.0)
            equation[first_mean + i] = plays
            expected += plays * min(max(mu[i], 0.0), 1.0)
            if n_eps > 0:
                equation[n_bins + i] = mu[i] * change
                known_part += mu[i] * change * eps[i]
        for g in range(n_bins):
            known_part += equation[g] * theta[g]
        low = max(0, c - BAND + 1)
        at_least = 0.0  # keeps Sigma positive where the curve and the stretched one disagree
        for s in range(low, c + 1):
            at_least += loads[s, c - s] * math.sqrt(ends[s] - starts[s])
        mean = max(expected, at_least, _LEAST_EXPECTED * (ends[c] - starts[c]) * typical)
        for k in range(min(BAND, c + 1)):
            shared = 0.0
            for s in range(low, c - k + 1):
                shared += loads[s, c - s] * loads[s, c - k - s]
            covariance[k] = -shared
        left = max(mean + covariance[0], _LEAST_VARIANCE, _LEAST_VARIANCE_SHARE * mean)
        missing = math.isnan(totals[c])
        if missing:
            left += _NO_INFORMATION
        factor = factors[c]
        for k in range(min(BAND - 1, c), 0, -1):
            value = covariance[k]
            for j in range(max(low, c - k - BAND + 1), c - k):
                value -= factor[c - j] * factors[c - k, c - k - j]
            factor[k] = value / factors[c - k, 0]
            left -= factor[k] * factor[k]
        factor[0] = math.sqrt(max(left, _LEAST_PIVOT * (mean + 1.0)))
        equation[width] = known_part if missing else known_part + totals[c]
        for k in range(1, min(BAND, c + 1)):
            if factor[k] != 0.0:
                equation -= factor[k] * equations[c - k]
        equation /= factor[0]
