"""How much rewards vary: the intervals that Unmix reports are narrower where it is less than for 0/1.

A reward in [0, 1] with the mean mu varies by rho mu (1 - mu), with rho = 1 if it is 0 or 1 and less if
not: 1 / (a + b + 1) for Beta(a, b), 0 for a constant. One rho for all arms is learned from what the rows leave
unexplained, by its restricted likelihood (`dispersion_kernels`).

It makes the arm's own part of an interval narrower, not what leaks in from other arms: that includes the
error of the curve, which does not vary with the rewards. Decisions do not use it: their variances are those
of 0/1 rewards, which are the largest.
"""

from __future__ import annotations

import math

import numpy as np

from latesum.policies.unmix.curve import Floats

#: rho is estimated as if this many more rows had been those of 0/1 rewards, and is the largest one for which minus
#: twice the log-likelihood is within this of the best.
_ROWS_ASSUMED = 0.5
_WITHIN = 1.0
#: The unknowns that rows are explained by, besides a mean per arm: with fewer rows nothing is known.
_CURVE_UNKNOWNS = 3
_TRIED = np.geomspace(0.01, 1.0, 33)


def dispersion_of(table: Floats, plays: Floats, arriving: Floats, mu: Floats) -> float:
    """rho, as far as the rows tell it; 1 where they do not.

    Args:
        table: Per row its first and last round, arm and total.
        plays: a_ci: the expected plays of each arm that arrive in each row.
        arriving: The share of each row's plays that arrives in it and in those after it.
        mu: The means.

    >>> table = np.array([[100.0 * row, 100.0 * row + 100, 0, 50.0] for row in range(40)])
    >>> found = dispersion_of(table, np.full((40, 1), 100.0), np.ones((40, 1)), np.array([0.5]))
    >>> round(found, 2)  # all totals are the same; 0/1 rewards' would not be
    0.02
    """
    from latesum.policies.unmix.dispersion_kernels import minus_twice_log_likelihood
    from latesum.policies.unmix.fit_kernels import places

    seen = int(np.sum(~np.isnan(table[:, 3])))
    if seen <= len(mu) + _CURVE_UNKNOWNS:
        return 1.0
    mean, arriving = np.clip(mu, 0.0, 1.0), np.ascontiguousarray(arriving)
    length = places(len(mu))
    band, equations = np.empty(arriving.shape), np.zeros((len(table), length))
    matrix = np.empty((length, length))
    found = np.array(
        [
            minus_twice_log_likelihood(rho, table, plays, arriving, mean, band, equations, matrix)
            + _ROWS_ASSUMED * (math.log(rho) + 1.0 / rho)
            for rho in _TRIED
        ]
    )
    if not np.isfinite(found).any():  # totals that no mean explains
        return 1.0
    likely = np.flatnonzero(found <= np.nanmin(found) + _WITHIN)
    return float(_TRIED[likely[-1]])
