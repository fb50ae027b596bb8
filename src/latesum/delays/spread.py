"""The mean absolute difference of two independent delays, W = E|tau - tau'|.

It is the sum over k of 2 P(tau > k) P(tau <= k). What one visit to an arm among others wastes of its plays is
W, not the mean delay (`docs/theory.md`, the visit lemma).
"""

from __future__ import annotations

from latesum.delays.sums import Survival, sum_over_rounds


def summed_spread(survival: Survival, bound: int | None) -> float:
    """W from the survival function; infinite where the mean is.

    Args:
        survival: P(tau > k) for whole k.
        bound: The largest delay, or None.

    >>> from latesum import delays
    >>> delay = delays.uniform(0, 100)
    >>> round(summed_spread(delay.survival, 100), 3), round((101**2 - 1) / (3 * 101), 3)
    (33.663, 33.663)
    """
    return sum_over_rounds(survival, bound, lambda _, alive: 2 * alive * (1 - alive))
