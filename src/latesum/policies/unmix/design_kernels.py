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
def stretching(n, pieces, law, g):  # type: ignore[no-untyped-def]
    """D_g(n) = H_g(n) - n H_g'(n): what H_g gains where the delay is longer by a small share."""
    offsets, lows, highs, weights, _ = pieces
    total = 0.0
    for piece in range(offsets[law, g], offsets[law, g + 1]):
        low, high = lows[piece], highs[piece]
        if n <= low:
            continue
        value = uniform_outstanding(n, low, high)
        if n < high + 1.0:
            above = uniform_outstanding(n + 1.0, low, high)
            below = uniform_outstanding(n - 1.0, low, high)
            value -= 0.5 * n * (above - below)
        total += weights[piece] * value
    return total


@compiled
def fill_row(row, table, runs, laws, pieces, design, shares):  # type: ignore[no-untyped-def]
    """A[g, i], S[g, i] and P[g, k] of a row, and the shares of earlier rows that arrive in it.

    A is the expected number of plays of each arm, S its change with the arm's delay (`design`
    holds both). P[s, g, k] is the share of row s's plays that arrive in the k-th row after it.
    """
    u, v, arm = table[row, 0], table[row, 1], int(table[row, 2])
    length = v - u
    n_bins = design.shape[1]
    reaches = pieces[4]
    design[row] = 0.0
    for g in range(n_bins):
        design[row, g, arm, 0] = length - outstanding(length, pieces, laws[arm], g)
        design[row, g, arm, 1] = -stretching(length, pieces, laws[arm], g)
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
            design[row, g, other, 0] += (
                outstanding(u - p, pieces, law, g)
                - outstanding(u - q, pieces, law, g)
                - outstanding(v - p, pieces, law, g)
                + outstanding(v - q, pieces, law, g)
            )
            design[row, g, other, 1] += (
                stretching(u - p, pieces, law, g)
                - stretching(u - q, pieces, law, g)
                - stretching(v - p, pieces, law, g)
                + stretching(v - q, pieces, law, g)
            )
        if not late and len(reaches) == 1:
            break
    for g in range(n_bins):
        for k in range(BAND):
            shares[row, g, k] = 0.0
        shares[row, g, 0] = 1.0 - outstanding(length, pieces, laws[arm], g) / length
    for k in range(1, min(BAND, row + 1)):
        s = row - k
        p, q, law = table[s, 0], table[s, 1], laws[int(table[s, 2])]
        for g in range(n_bins):
            shares[s, g, k] = 0.0
            if u - q < reaches[law, g]:
                shares[s, g, k] = (
                    outstanding(u - p, pieces, law, g)
                    - outstanding(u - q, pieces, law, g)
                    - outstanding(v - p, pieces, law, g)
                    + outstanding(v - q, pieces, law, g)
                ) / (q - p)


@compiled
def fill_rows(count, table, runs, laws, pieces, design, shares):  # type: ignore[no-untyped-def]
    """`fill_row` for the first `count` rows."""
    for row in range(count):
        fill_row(row, table, runs, laws, pieces, design, shares)
