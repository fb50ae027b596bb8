"""The design of Unmix: how many plays of each arm are expected to arrive in each row.

A row is a part [u, v) of a run of one arm. For a delay tau, H(n) = E min(tau, n) is how many of n
plays in a row are still under way at their end; so of a run [p, q) that ended earlier,
H(u - p) - H(u - q) - H(v - p) + H(v - q) plays arrive in the row, and of its own L plays L - H(L).

The delay's law is a mixture of bins g with weights theta_g. A bin is one or more uniform laws on
a + 1, ..., b with weights (an atom at 0 has a = b = 0), so H is a sum of closed forms.

Here `table` has a row's u, v, arm, total and the number of its run, `runs` a run's p, q and arm, `laws` each arm's law.
`offsets`, `pieces` and `reaches` are what `curve.Pieces` describes.

Rows follow each other without a gap: the v of one is the u of the next. So with one law for all arms
H(u - p) is what H(v - p) was for the row before, and both are kept: `ages` has, per run and bin, H and D
at u - p and at v - p, and the last two places of `shares` have, per row, H of both since that row began.
"""

from __future__ import annotations

from latesum._compile import compiled, inlined

#: PartRows further apart than this share no noise in the fit.
BAND = 10
#: Where in `shares` the row's age at u and at v is kept, as H of it.
_AT_START, _AT_END = BAND, BAND + 1
SHARES = BAND + 2


@compiled
def uniform_outstanding(n, low, high):  # type: ignore[no-untyped-def]
    """H(n) of a uniform law on low + 1, ..., high; of an atom at 0 where both are 0."""
    # All three are computed, since no processor can guess which one is needed.
    before = max(n, 0.0)
    within = (0.5 * (n - low) * (n + low + 1.0) + (high - n) * n) / (high - low)
    after = 0.5 * (low + high + 1.0) if high > 0.0 else 0.0
    late = within if n < high else after
    return late if n > low else before


@inlined
def outstanding(n, law, g, offsets, pieces):  # type: ignore[no-untyped-def]
    """H_g(n): the expected number of the last n plays that have not arrived."""
    total = 0.0
    for piece in range(offsets[law, g], offsets[law, g + 1]):
        total += pieces[piece, 2] * uniform_outstanding(n, pieces[piece, 0], pieces[piece, 1])
    return total


@inlined
def outstanding_and_stretching(n, law, g, offsets, pieces):  # type: ignore[no-untyped-def]
    """H_g(n), and D_g(n) = H_g(n) - n H_g'(n): what H_g gains where the delay is longer by a small share."""
    total, gained = 0.0, 0.0
    for piece in range(offsets[law, g], offsets[law, g + 1]):
        low, high = pieces[piece, 0], pieces[piece, 1]
        weight = pieces[piece, 2]
        value = uniform_outstanding(n, low, high)
        total += weight * value
        if n > low:
            above = uniform_outstanding(n + 1.0, low, high)
            below = uniform_outstanding(n - 1.0, low, high)
            falls = value - 0.5 * n * (above - below)
            gained += weight * (falls if n < high + 1.0 else value)
    return total, gained


@inlined
def _fill_shares(row, longer, u, v, value, g, table, offsets, pieces, reaches, shares):  # type: ignore[no-untyped-def]
    """P[s, g, k] for the row and those before it, with one law for all arms; `value` is H of the row's length."""
    first = offsets[0, g]
    single = offsets[0, g + 1] == first + 1 and pieces[first, 2] == 1.0
    low, high, reach = pieces[first, 0], pieces[first, 1], reaches[0, g]
    kept = _AT_START if longer else _AT_END
    last = min(BAND, row + 1)
    since_end, to_end = 0.0, value
    for k in range(1, last):
        s = row - k
        p, q = table[s, 0], table[s, 1]
        if u - q >= reach:  # nothing of it can still arrive, nor of those before it
            for later in range(k, last):
                shares[row - later, g, later] = 0.0
            break
        since_start = shares[s, g, kept]
        to_start = (
            uniform_outstanding(v - p, low, high)
            if single
            else outstanding(v - p, 0, g, offsets, pieces)
        )
        shares[s, g, k] = (since_start - since_end - to_start + to_end) / (q - p)
        shares[s, g, _AT_START] = since_start
        shares[s, g, _AT_END] = to_start
        since_end, to_end = since_start, to_start


@inlined
def _fill_shares_by_arm(row, u, v, g, table, laws, offsets, pieces, reaches, shares):  # type: ignore[no-untyped-def]
    """The same with a law for each arm."""
    for k in range(1, min(BAND, row + 1)):
        s = row - k
        p, q, law = table[s, 0], table[s, 1], laws[int(table[s, 2])]
        shares[s, g, k] = 0.0
        if u - q < reaches[law, g]:
            since_end = outstanding(u - q, law, g, offsets, pieces)
            to_end = outstanding(v - q, law, g, offsets, pieces)
            since_start = outstanding(u - p, law, g, offsets, pieces)
            to_start = outstanding(v - p, law, g, offsets, pieces)
            shares[s, g, k] = (since_start - since_end - to_start + to_end) / (q - p)


@compiled
def fill_row(row, longer, table, runs, laws, offsets, pieces, reaches, design, shares, ages):  # type: ignore[no-untyped-def]  # fmt: skip
    """A[g, i], S[g, i] and P[g, k] of a row, and the shares of earlier rows that arrive in it.

    A is the expected number of plays of each arm, S its change with the arm's delay (`design`
    holds both). P[s, g, k] is the share of row s's plays that arrive in the k-th row after it.
    Rows are filled in their order; `longer` if this one was filled already and ends later now.
    """
    u, v, arm = table[row, 0], table[row, 1], int(table[row, 2])
    length = v - u
    n_bins, n_arms = design.shape[1], design.shape[2]
    own, last_run = laws[arm], int(table[row, 4])
    one_law = len(reaches) == 1
    from_row = 0 if longer else 2  # where `ages` has those at u
    for g in range(n_bins):
        for i in range(n_arms):
            design[row, g, i, 0] = 0.0
            design[row, g, i, 1] = 0.0
        value, gained = outstanding_and_stretching(length, own, g, offsets, pieces)
        design[row, g, arm, 0] = length - value
        design[row, g, arm, 1] = -gained
        for k in range(BAND):
            shares[row, g, k] = 0.0
        shares[row, g, 0] = 1.0 - value / length
        shares[row, g, _AT_START] = 0.0
        shares[row, g, _AT_END] = value
        if runs[last_run, 0] == u:  # the run begins with this row
            ages[last_run, g, 0] = 0.0
            ages[last_run, g, 1] = 0.0
            ages[last_run, g, 2] = value
            ages[last_run, g, 3] = gained
        # H and D at u - q and at v - q, of the run that is looked at.
        since_end, since_end_gained, to_end, to_end_gained = 0.0, 0.0, value, gained
        for run in range(last_run, -1, -1):
            p, q = runs[run, 0], min(runs[run, 1], u)
            other = int(runs[run, 2])
            if q <= p:
                continue
            law = laws[other]
            if u - q >= reaches[law, g]:
                if one_law:
                    break  # nothing of it can still arrive, nor of those before it
                continue
            if one_law and row > 0:
                before = ages[run, g, from_row]
                before_gained = ages[run, g, from_row + 1]
            else:
                before, before_gained = outstanding_and_stretching(u - p, law, g, offsets, pieces)
            if not one_law:
                since_end, since_end_gained = outstanding_and_stretching(u - q, law, g, offsets, pieces)  # fmt: skip
                to_end, to_end_gained = outstanding_and_stretching(v - q, law, g, offsets, pieces)
            after, after_gained = outstanding_and_stretching(v - p, law, g, offsets, pieces)
            design[row, g, other, 0] += before - since_end - after + to_end
            design[row, g, other, 1] += before_gained - since_end_gained - after_gained + to_end_gained  # fmt: skip
            ages[run, g, 0] = before
            ages[run, g, 1] = before_gained
            ages[run, g, 2] = after
            ages[run, g, 3] = after_gained
            since_end, since_end_gained = before, before_gained
            to_end, to_end_gained = after, after_gained
        if one_law:
            _fill_shares(row, longer, u, v, value, g, table, offsets, pieces, reaches, shares)
        else:
            _fill_shares_by_arm(row, u, v, g, table, laws, offsets, pieces, reaches, shares)


@compiled
def fill_rows(filled, count, table, runs, laws, offsets, pieces, reaches, design, shares, ages):  # type: ignore[no-untyped-def]  # fmt: skip
    """`fill_row` for the first `count` rows, of which `filled` were filled: the last of them may end later now."""
    for row in range(max(filled - 1, 0), count):
        fill_row(
            row, row < filled, table, runs, laws, offsets, pieces, reaches, design, shares, ages
        )
