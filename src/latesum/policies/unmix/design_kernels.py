"""The design of Unmix: how many plays of each arm are expected to arrive in each row.

A row is a part [u, v) of a run of one arm. For a delay tau, H(n) = E min(tau, n) is how many of n
plays in a row are still under way at their end; so of a run [p, q) that ended earlier,
H(u - p) - H(u - q) - H(v - p) + H(v - q) plays arrive in the row, and of its own L plays L - H(L).

The delay's law is a mixture of bins g with weights theta_g. A bin is one or more uniform laws on
a + 1, ..., b with weights (an atom at 0 has a = b = 0), so H is a sum of closed forms.
"""

from __future__ import annotations

import numpy as np

from latesum._compile import compiled

#: Rows further apart than this share no noise in the fit.
BAND = 10


@compiled
def uniform_outstanding(n, low, high):  # type: ignore[no-untyped-def]
    """H(n) of a uniform law on low + 1, ..., high; of an atom at 0 where both are 0."""
    if n <= low:
        return max(n, 0.0)
    if n >= high:
        return 0.5 * (low + high + 1.0) if high > 0.0 else 0.0
    return (0.5 * (n - low) * (n + low + 1.0) + (high - n) * n) / (high - low)


@compiled
def outstanding(n, bins, law, bin_number):  # type: ignore[no-untyped-def]
    """H_g(n): the expected number of the last n plays that have not arrived."""
    offsets, lows, highs, weights = bins
    total = 0.0
    for piece in range(offsets[law, bin_number], offsets[law, bin_number + 1]):
        total += weights[piece] * uniform_outstanding(n, lows[piece], highs[piece])
    return total


@compiled
def stretching(n, bins, law, bin_number):  # type: ignore[no-untyped-def]
    """D_g(n) = H_g(n) - n H_g'(n): what H_g gains where the delay is longer by a small share."""
    offsets, lows, highs, weights = bins
    total = 0.0
    for piece in range(offsets[law, bin_number], offsets[law, bin_number + 1]):
        low, high = lows[piece], highs[piece]
        value = uniform_outstanding(n, low, high)
        if low < n < high + 1.0:
            above = uniform_outstanding(n + 1.0, low, high)
            below = uniform_outstanding(n - 1.0, low, high)
            value -= 0.5 * n * (above - below)
        elif n <= low:
            value = 0.0
        total += weights[piece] * value
    return total


@compiled
def fill_design(row, starts, ends, arms, runs, run_starts, run_ends, run_arms, laws, bins, reach, design, slopes):  # type: ignore[no-untyped-def]  # fmt: skip
    """A[g, i] and S[g, i] of a row: expected plays of each arm, and their change with its delay.

    `runs` counts the runs; the last one is the row's own.
    """
    u, v, arm = starts[row], ends[row], arms[row]
    length = v - u
    n_bins = design.shape[1]
    design[row] = 0.0
    slopes[row] = 0.0
    for g in range(n_bins):
        design[row, g, arm] = length - outstanding(length, bins, laws[arm], g)
        slopes[row, g, arm] = -stretching(length, bins, laws[arm], g)
    for run in range(runs - 1, -1, -1):
        p, q, other = run_starts[run], min(run_ends[run], u), run_arms[run]
        if q <= p:
            continue
        if u - q >= reach:
            break
        law = laws[other]
        for g in range(n_bins):
            design[row, g, other] += (
                outstanding(u - p, bins, law, g)
                - outstanding(u - q, bins, law, g)
                - outstanding(v - p, bins, law, g)
                + outstanding(v - q, bins, law, g)
            )
            slopes[row, g, other] += (
                stretching(u - p, bins, law, g)
                - stretching(u - q, bins, law, g)
                - stretching(v - p, bins, law, g)
                + stretching(v - q, bins, law, g)
            )


@compiled
def fill_shares(row, starts, ends, arms, laws, bins, shares):  # type: ignore[no-untyped-def]
    """P[s, g, k]: the share of row s's plays that arrive in the k-th row after it, for k = row - s."""
    n_bins = shares.shape[1]
    u, v = starts[row], ends[row]
    length = v - u
    law = laws[arms[row]]
    for g in range(n_bins):
        for k in range(BAND):
            shares[row, g, k] = 0.0
        shares[row, g, 0] = 1.0 - outstanding(length, bins, law, g) / length
    for k in range(1, min(BAND, row + 1)):
        s = row - k
        p, q = starts[s], ends[s]
        law = laws[arms[s]]
        for g in range(n_bins):
            shares[s, g, k] = (
                outstanding(u - p, bins, law, g)
                - outstanding(u - q, bins, law, g)
                - outstanding(v - p, bins, law, g)
                + outstanding(v - q, bins, law, g)
            ) / (q - p)
