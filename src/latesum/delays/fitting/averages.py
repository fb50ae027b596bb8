"""A curve from its averages over buckets, which is what totals per bucket show.

The integral of the curve is known at the ends of all buckets. Its derivative there, from the four averages around, is the curve
itself, with an error of the fourth order; between, two straight lines keep the average. Where neighbours forbid a smooth
curve the values at the ends are limited, as in the piecewise parabolic method for gas flows (P. Colella and P. Woodward, J. Comput.
Phys. 54, 1984): nothing rises, and a jump stays one.
"""

from __future__ import annotations

import numpy as np

from latesum.delays.base import Floats

#: Points of the curve per bucket: both ends and the middle.
POINTS = 3


def from_averages(averages: Floats, after: Floats | float) -> tuple[Floats, Floats]:
    """Points of a curve whose mean over x from l to l + 1 is averages[l]; these must not rise.

    Args:
        averages: The averages; one row per curve, or one curve.
        after: The average that follows, per curve.

    >>> times, alive = from_averages(np.array([7.0, 5.0, 3.0]) / 8, 1 / 8)
    >>> times.tolist(), (8 * alive).round(9).tolist()
    ([0.0, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 2.5, 3.0], [8.0, 7.0, 6.0, 6.0, 5.0, 4.0, 4.0, 3.0, 2.0])
    """
    many = np.atleast_2d(averages)
    rows, number = many.shape
    following = np.broadcast_to(np.asarray(after, dtype=np.float64), rows)[:, None]
    # The curve begins at 1, half a bucket before the middle of the first: twice as far for a slope.
    drops = np.concatenate(
        [2 * (1 - many[:, :1]), many[:, :-1] - many[:, 1:], many[:, -1:] - following], axis=1
    )
    before, beyond = drops[:, :-1], drops[:, 1:]
    slopes = np.minimum((before + beyond) / 2, 2 * np.minimum(before, beyond))
    ends = many[:, :-1] - beyond[:, :-1] / 2 + (slopes[:, 1:] - slopes[:, :-1]) / 6
    first = np.minimum(many[:, :1] + np.minimum(before[:, :1] / 2, beyond[:, :1] / 2), 1.0)
    last = many[:, -1:] - np.minimum(before[:, -1:] / 2, beyond[:, -1:])
    if number > 2:  # the parabola through the first three averages, at its beginning
        smooth = (11 * many[:, :1] - 7 * many[:, 1:2] + 2 * many[:, 2:3]) / 6
        first = np.clip(smooth, many[:, :1], 1.0)
    left, right = np.concatenate([first, ends], axis=1), np.concatenate([ends, last], axis=1)
    # The middle keeps the average; it must be between both ends.
    right = np.maximum(right, np.minimum(4 * many - 3 * left, many))
    left = np.minimum(left, np.maximum(4 * many - 3 * right, many))
    right = np.maximum(right, np.minimum(4 * many - 3 * left, many))
    middle = np.clip(2 * many - (left + right) / 2, right, left)
    places = np.arange(number, dtype=np.float64)[:, None] + np.linspace(0.0, 1.0, POINTS)
    alive = np.stack([left, middle, right], axis=2).reshape(rows, -1)
    return places.ravel(), alive.reshape((*np.shape(averages)[:-1], POINTS * number))


def averages_of(alive: Floats) -> Floats:
    """The averages over buckets of a curve that `from_averages` made.

    >>> averages_of(from_averages(np.array([0.9, 0.5, 0.2, 0.1]), 0.0)[1]).round(12).tolist()
    [0.9, 0.5, 0.2, 0.1]
    """
    points = alive.reshape((*alive.shape[:-1], -1, POINTS))
    return np.asarray(points @ (np.array([1.0, 2.0, 1.0]) / 4))
