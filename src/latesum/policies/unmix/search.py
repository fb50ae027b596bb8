"""The search for the delay's length scale, where nothing was told of the delay.

For each scale of a grid the rows are explained by the curve of a delay with that mean, known
within a half of it. The likeliest scale is taken. The largest that is nearly as likely says how
long stretches must be before the delay can be told from low means.
"""

from __future__ import annotations

from typing import NamedTuple

from latesum.policies.unmix.curve import told_mean
from latesum.policies.unmix.rows import PartRows

#: By what share the mean may differ from a scale of the grid, whose scales double.
UNCERTAINTY = 0.5
SMALLEST = 0.5
#: A scale is plausible if minus twice its log-likelihood is within this of the best one's.
_PLAUSIBLE = 6.0
_STEPS = 4
#: Delays up to this multiple of the rounds so far are considered.
_BEYOND_CLOCK = 4.0


class Found(NamedTuple):
    """The likeliest scale, the largest plausible one, and the rows as the likeliest explains them."""

    scale: float
    plausible: float
    rows: PartRows


def likeliest(rows: PartRows, most: float) -> Found:
    """The likeliest scale of the grid.

    Args:
        rows: What was played and seen.
        most: The largest scale to consider.

    >>> rows = PartRows(2, told_mean(1.0, UNCERTAINTY, 2), 0.05)
    >>> for arm, total in ((0, 18), (0, 38), (0, 46), (0, 48), (1, 31), (1, 12), (1, 4), (1, 2)):
    ...     rows.add(arm, 100, float(total), 1e9)
    >>> likeliest(rows, 1000.0).scale
    128.0
    """
    most = max(2 * SMALLEST, min(most, _BEYOND_CLOCK * rows.clock))
    tried = []
    scale = SMALLEST
    while scale <= most:
        tried.append((scale, rows.under(told_mean(scale, UNCERTAINTY, rows.n_arms), _STEPS)))
        scale *= 2
    scale, best = min(tried, key=lambda each: each[1].objective)
    nearly = best.objective + _PLAUSIBLE
    return Found(scale, max(each for each, under in tried if under.objective <= nearly), best)
