"""One step of Unmix in compiled code: a part is told, and what comes next is decided.

It is the whole of what happens between two parts, except for the search for the delay's length scale, which
is rare. Everything it needs and changes is in arrays.
"""

from __future__ import annotations

from latesum._compile import compiled
from latesum.policies.unmix import rows_kernels, visits_kernels

#: In place of a reason: it is time to search for the length scale, or for a second opinion, before deciding.
SEARCH = -1


@compiled
def learn(arm, rounds, total, asked, left, why, scale, plausible, search_at, order, n_arms, clock, horizon, told_nothing, numbers, counts, points, variances, table, runs, laws, offsets, pieces, reaches, prior, bin_means, design, shares, ages, equations, band, matrices, vectors, values):  # type: ignore[no-untyped-def]  # fmt: skip
    """Take in a part of `arm`; the arm, the reason, the rounds and the part that come next.

    `asked` is the arm that was asked for, for `left` rounds and the reason `why`. While some of them are
    left nothing is decided. `scale` is the length scale of the delay, `plausible` the largest that is
    possible; from round `search_at` on it is looked for anew.
    """
    rows_kernels.add_part(
        arm, rounds, total, max(scale, plausible), numbers, counts, table, runs, laws, offsets, pieces,
        reaches, design, shares, ages,
    )  # fmt: skip
    if arm == asked and rounds < left:
        left -= rounds
        return arm, why, left, visits_kernels.next_part(arm, left, scale, numbers, runs)
    rows_kernels.refit(
        numbers, points, variances, table, design, shares, equations, band, matrices, vectors, prior,
        bin_means,
    )  # fmt: skip
    if numbers[rows_kernels.CLOCK] >= search_at:
        return arm, SEARCH, 0, 0
    arm, why, left = visits_kernels.decide(
        order, n_arms, scale, clock, horizon, told_nothing, numbers,
        counts, runs, points, variances, values,
    )  # fmt: skip
    return arm, why, left, visits_kernels.next_part(arm, left, scale, numbers, runs)
