"""The search for the delay's length scale, and the second opinion on a delay that was told.

Where nothing was told: for each scale of a grid the rows are explained by the curve of a delay with
that mean, known within a half of it. The likeliest scale is taken. The largest that is nearly as
likely says how long stretches must be before the delay can be told from low means.

Where a mean was told, it may be wrong, and the fit may rest in a wrong place: "the first arm earns
little" explains the first totals as well as "rewards come later than told" does, and one step per
decision does not get from one to the other. So now and then all rows are explained anew from a
neutral point, as told and by wide curves of half, once and twice the mean.

Another explanation may be nearly as likely as the one that is kept, and say that an arm is as good as the best one.
No play of the best arm will ever tell: what was seen of the other is old. Such an arm is in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
#: A second opinion tries wide curves of these multiples of the told scale: not of the present one, which
#: would drift away by halves. Another curve is taken
#: if minus twice its log-likelihood is lower by more than the margin.
_OTHER_SCALES = (0.5, 1.0, 2.0)
_MARGIN = 6.0
#: An explanation leaves doubt if minus twice its log-likelihood is within this of the likeliest one's, times the
#: misfit; and an arm is in doubt if it is as good as the best one with so many standard deviations more.
_DOUBT_MARGIN = 25.0
DOUBT_DEVIATIONS = 1.0


class Found(NamedTuple):
    """The likeliest scale, the largest plausible one, and the rows as the likeliest explains them."""

    scale: float
    plausible: float
    at_once: bool  # whether a part of the rewards comes at once
    rows: PartRows


def likeliest(rows: PartRows, most: float, priors: Sequence[bool] = (True,)) -> Found:
    """The likeliest scale of the grid.

    Args:
        rows: What was played and seen.
        most: The largest scale to consider.
        priors: Whether a part of the rewards may come at once; with both, those that do must be
            clearly likelier.

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
        under = None
        for at_once in priors:  # the same bins
            curve = told_mean(scale, UNCERTAINTY, rows.n_arms, at_once=at_once)
            under = rows.under(curve, _STEPS, under)
            tried.append(Found(scale, under.objective, at_once, under))
        scale *= 2
    handicap = _MARGIN if len(priors) > 1 else 0.0
    best = min(tried, key=lambda each: each.plausible + handicap * each.at_once)
    # With rewards at once, long means stay plausible for very long: only where they are likelier.
    alike = [each for each in tried if each.at_once == best.at_once]
    nearly = best.plausible + _PLAUSIBLE
    return best._replace(plausible=max(each.scale for each in alike if each.plausible <= nearly))


class Opinion(NamedTuple):
    """The rows as they are explained best, the scale of that curve, and whether it is a wide one.

    `doubted` are the arms that are as good as the best one by another explanation, which is nearly as likely.
    """

    scale: float
    wide: bool
    rows: PartRows
    doubted: tuple[int, ...] = ()


def second_opinion(
    rows: PartRows, scale: float, wide: bool, told: float, arms: Sequence[int] = (),
    deviations: float = DOUBT_DEVIATIONS,
) -> Opinion:  # fmt: skip
    """The rows explained anew: as now, or by another curve where that is clearly likelier.

    Args:
        rows: What was played and seen, and how it is explained now.
        scale: The scale of the present curve.
        wide: Whether that curve is a wide one.
        told: The scale that was told.
        arms: The arms that can be in doubt.
        deviations: With so many standard deviations more they must be as good as the best one.

    >>> rows = PartRows(2, told_mean(20.0, 0.1, 2), 0.05)
    >>> seen = (0, 18), (0, 38), (0, 46), (0, 48), (1, 31), (1, 12), (1, 4), (1, 2)
    >>> for arm, total in 2 * seen:  # from delays of about 100 rounds
    ...     rows.add(arm, 100, float(total), 1e9)
    >>> rows.fit()
    >>> second_opinion(rows, 20.0, False, 20.0)[:2]
    (40.0, True)
    """
    anew = rows.under(rows.curve, _STEPS, rows, keep=True)
    best = Opinion(scale, wide, anew if anew.objective < rows.objective else rows)
    least = best.rows.objective - _MARGIN
    others = [best.rows]
    for factor in _OTHER_SCALES:
        if wide and factor * told == scale:
            continue
        curve = told_mean(factor * told, UNCERTAINTY, rows.n_arms)
        other = rows.under(curve, _STEPS, keep=True)
        others.append(other)
        if other.objective < least:
            best, least = Opinion(factor * told, True, other), other.objective
    doubted = _in_doubt(best.rows, others, arms, deviations)
    return best._replace(rows=best.rows.taking_over(rows), doubted=doubted)


def _in_doubt(
    rows: PartRows, others: Sequence[PartRows], arms: Sequence[int], allowed: float
) -> tuple[int, ...]:
    """Those of `arms` that are as good as the best one by an explanation that is nearly as likely."""
    known = [arm for arm in arms if rows.counts[0, arm] > 0]
    if not known:
        return ()
    best = max(known, key=lambda arm: rows.mu[arm])
    least = min(other.objective for other in others)
    doubted = set()
    for other in others:
        if other is rows or other.objective > least + _DOUBT_MARGIN * rows.misfit:
            continue
        means = [min(max(mean, 0.0), 1.0) for mean in other.mu.tolist()]
        variances = other.variances[1].tolist()
        for arm in known:
            if means[arm] + allowed * math.sqrt(variances[arm]) >= means[best]:
                doubted.add(arm)
    return tuple(arm for arm in known if arm in doubted and arm != best)
