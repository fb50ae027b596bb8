"""How much rewards vary: the intervals that Unmix reports are narrower where it is less than for 0/1.

A reward in [0, 1] with the mean mu varies by rho mu (1 - mu), with rho = 1 if it is 0 or 1 and less if
not: 1 / (a + b + 1) for Beta(a, b), 0 for a constant. With one rho for all arms, row c's total varies by

    rho g_c + h_c,   g_c = sum_i a_ci mu_i (1 - mu_i),   h_c = sum_i a_ci mu_i^2 - sum_s L_s mu_s^2 p_sc^2;

h_c is the noise of when rewards arrive, which is there even if all rewards are the same. So rho is
found from the squares of what rows leave unexplained. It makes the arm's own part of an interval
narrower, not what leaks in from other arms: that includes the error of the curve, which does not vary
with the rewards. Decisions do not use it: their variances are those of 0/1 rewards, which are the largest.
"""

from __future__ import annotations

import math

import numpy as np

from latesum.policies.unmix.curve import Floats

#: rho is estimated as if this many more rows had been those of 0/1 rewards, plus standard errors.
_ROWS_ASSUMED = 3.0
_STANDARD_ERRORS = 1.0
#: The unknowns that rows are explained by, besides a mean per arm: they take away as many rows.
_CURVE_UNKNOWNS = 3


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
    0.08
    """
    mean = np.clip(mu, 0.0, 1.0)
    own_mean = mean[table[:, 2].astype(int)]
    together = (own_mean[:, None] * arriving) ** 2 * (table[:, 1] - table[:, 0])[:, None]
    binomial = np.zeros(len(table))  # sum_s L_s mu_s^2 p_sc^2
    for later in range(min(together.shape[1], len(table))):
        binomial[later:] += together[: len(table) - later, later]
    rewards = plays @ (mean * (1.0 - mean))
    timing = np.maximum(plays @ mean**2 - binomial, 0.0)
    most = rewards + timing
    seen = ~np.isnan(table[:, 3]) & (most > 0.0)
    used = int(seen.sum()) - len(mu) - _CURVE_UNKNOWNS
    if used <= 0:
        return 1.0
    rewards, timing, most = rewards[seen], timing[seen], most[seen]
    squares = (table[seen, 3] - plays[seen] @ mu) ** 2 * (int(seen.sum()) / used)
    # Least squares of (squares - timing) on rewards; a square's standard deviation is about `most`.
    known = float(np.sum((rewards / most) ** 2)) * used / int(seen.sum())
    sum_of = float(np.sum(rewards * (squares - timing) / most**2)) * used / int(seen.sum())
    found = (max(sum_of, 0.0) + _ROWS_ASSUMED) / (known + _ROWS_ASSUMED)
    error = math.sqrt(2.0 / (known + _ROWS_ASSUMED)) * min(float(np.mean(squares / most)), 1.0)
    return min(1.0, found + _STANDARD_ERRORS * error)
