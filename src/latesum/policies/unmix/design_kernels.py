"""The design of Unmix: how many plays of each arm are expected to arrive in each row.

A row is a part [u, v) of a run of one arm. For a delay tau, H(n) = E min(tau, n) is how many of n
plays in a row are still under way at their end; so of a run [p, q) that ended earlier,
H(u - p) - H(u - q) - H(v - p) + H(v - q) plays arrive in the row, and of its own L plays L - H(L).

The delay's law is a mixture of bins g with weights theta_g. A bin is one or more uniform laws on
a + 1, ..., b with weights (an atom at 0 has a = b = 0), so H is a sum of closed forms.

Here `table` has a row's u, v, arm, total and the number of its run, `runs` a run's p, q and arm, `laws` each arm's law.
`pieces` is what `curve.Pieces` describes.
"""

from __future__ import annotations

import numpy as np

from latesum._compile import compiled

#: PartRows further apart than this share no noise in the fit.
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
def outstanding(n, pieces, law, g):  # type: ignore[no-untyped-def]
    """H_g(n): the expected number of the last n plays that have not arrived."""
    offsets, lows, highs, weights, _ = pieces
    total = 0.0
    for piece in range(offsets[law, g], offsets[law, g + 1]):
        total += weights[piece] * uniform_outstanding(n, lows[piece], highs[piece])
    return total


@compiled
def outstanding_and_stretching(n, pieces, law, g):  # type: ignore[no-untyped-def]
    """H_g(n), and D_g(n) = H_g(n) - n H_g'(n): what H_g gains where the delay is longer by a small share."""
    offsets, lows, highs, weights, _ = pieces
    total, gained = 0.0, 0.0
    for piece in range(offsets[law, g], offsets[law, g + 1]):
        low, high = lows[piece], highs[piece]
        value = uniform_outstanding(n, low, high)
        total += weights[piece] * value
        if n <= low:
            continue
        if n < high + 1.0:
            above = uniform_outstanding(n + 1.0, low, high)
            below = uniform_outstanding(n - 1.0, low, high)
            value -= 0.5 * n * (above - below)
        gained += weights[piece] * value
    return total, gained


@compiled
def fill_row(row, table, runs, laws, pieces, design, shares):  # type: ignore[no-untyped-def]
    """A[g, i], S[g, i] and P[g, k] of a row, and the shares of earlier rows that arrive in it.

    A is the expected number of plays of each arm, S its change with the arm's delay (`design`
    holds both). P[s, g, k] is the share of row s's plays that arrive in the k-th row after it.

    Runs follow each other without a gap, and so do rows: with one law for all arms H(u - q) and
    H(v - q) are those of the next one's beginning, and are kept.
    """
    u, v, arm = table[row, 0], table[row, 1], int(table[row, 2])
    length = v - u
    n_bins = design.shape[1]
    reaches = pieces[4]
    one_law = len(reaches) == 1
    design[row] = 0.0
    kept = np.zeros((n_bins, 4))  # H and D at u - q, then at v - q
    for g in range(n_bins):
        value, gained = outstanding_and_stretching(length, pieces, laws[arm], g)
        kept[g, 2], kept[g, 3] = value, gained
        design[row, g, arm, 0] = length - value
        design[row, g, arm, 1] = -gained
        for k in range(BAND):
            shares[row, g, k] = 0.0
        shares[row, g, 0] = 1.0 - value / length
    for run in range(int(table[row, 4]), -1, -1):
        p, q, other = runs[run, 0], min(runs[run, 1], u), int(runs[run, 2])
        if q <= p:
            continue
        law = laws[other]
        late = False  # whether anything of the run can still arrive
        for g in range(n_bins):
            if u - q >= reaches[law, g]:
                continue
            late = True
            if not one_law:
                kept[g, 0], kept[g, 1] = outstanding_and_stretching(u - q, pieces, law, g)
                kept[g, 2], kept[g, 3] = outstanding_and_stretching(v - q, pieces, law, g)
            before, before_gained = outstanding_and_stretching(u - p, pieces, law, g)
            after, after_gained = outstanding_and_stretching(v - p, pieces, law, g)
            design[row, g, other, 0] += before - kept[g, 0] - after + kept[g, 2]
            design[row, g, other, 1] += before_gained - kept[g, 1] - after_gained + kept[g, 3]
            kept[g, 0], kept[g, 1], kept[g, 2], kept[g, 3] = (
                before, before_gained, after, after_gained,
            )  # fmt: skip
        if not late and one_law:
            break
    for g in range(n_bins):
        since_end, to_end = 0.0, 0.0
        for k in range(1, min(BAND, row + 1)):
            s = row - k
            p, q, law = table[s, 0], table[s, 1], laws[int(table[s, 2])]
            shares[s, g, k] = 0.0
            if u - q >= reaches[law, g]:
                continue
            if k == 1 or not one_law:
                since_end = outstanding(u - q, pieces, law, g)
                to_end = outstanding(v - q, pieces, law, g)
            since_start = outstanding(u - p, pieces, law, g)
            to_start = outstanding(v - p, pieces, law, g)
            shares[s, g, k] = (since_start - since_end - to_start + to_end) / (q - p)
            since_end, to_end = since_start, to_start


@compiled
def fill_rows(count, table, runs, laws, pieces, design, shares):  # type: ignore[no-untyped-def]
    """`fill_row` for the first `count` rows."""
    for row in range(count):
        fill_row(row, table, runs, laws, pieces, design, shares)
