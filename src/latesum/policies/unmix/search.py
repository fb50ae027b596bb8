"""The search for the delay's length scale, and the second opinion on a delay that was told.

Where nothing was told: for each scale of a grid the rows are explained by the curve of a delay with
that mean, known within a half of it. The likeliest scale is taken. The largest that is nearly as
likely says how long blocks must be before the delay can be told from low means.

Where a mean was told, it may be wrong, and the fit may rest in a wrong place: "the first arm earns
little" explains the first totals as well as "rewards come later than told" does, and one step per
decision does not get from one to the other. So from time to time all rows are explained anew from a
neutral point, as told and by wide curves of half, once and twice the mean.

Another explanation may be nearly as likely as the one that is kept, and say that an arm is as good as the best one.
No play of the best arm will ever tell: what was seen of the other is old. Such an arm is in doubt. If it was left before its
rewards had come, its mean and the delay cannot be told apart at all: with a longer delay any larger mean explains the
same totals. So delays that are too long to be believed leave doubt, too. And an arm that was visited only once is in doubt where it
seems worse by no more than the curve leaves open.
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


class Doubt(NamedTuple):
    """When an arm is in doubt: with `deviations` standard deviations more it is as good as the best one by an explanation.

    Minus twice the log-likelihood of that explanation is within the margin of the likeliest one's, times the misfit.
    """

    deviations: float
    margin: float


#: By explanations that may be taken: at first, and late, when a visit is a small part of what was played and an arm that was
#: left too early has had no other chance.
DOUBT, LATE_DOUBT = Doubt(1.0, 25.0), Doubt(2.0, 25.0)
#: By a delay of this multiple of the told one, and, where nothing is told, by delays that are longer than the likeliest.
_FAR_SCALE, _FAR_DOUBT = 4.0, Doubt(0.0, 12.0)
_LONGER_DOUBT = Doubt(0.0, 30.0)
#: The share of an arm's rewards that may have been taken for those of others, however small the standard deviation: what
#: comes ten mean delays later is in one wide bin of the curve, which does not say in whose visit it came.
_UNRESOLVED = 0.06
#: From how many length scales on an arm may be in doubt: before that most arms are, and are visited anyway.
DOUBTS_FROM = 100.0
#: Where delays are told to differ by more than this share: twice that, with twice the told mean, leaves doubt too.
_DIFFER_MUCH, _DIFFER_MORE, _DIFFER_SCALE = 0.1, 2.0, 2.0


class Explained(NamedTuple):
    """The rows as a delay of a scale explains them."""

    scale: float
    at_once: bool
    rows: PartRows


class Found(NamedTuple):
    """The likeliest scale, the largest plausible one, and the rows as the likeliest explains them."""

    scale: float
    plausible: float
    at_once: bool  # whether a part of the rewards comes at once
    rows: PartRows
    tried: tuple[Explained, ...] = ()

    @property
    def as_plausible(self) -> list[Explained]:
        """All explanations that are as plausible as the likeliest one.

        Two things are not known, how late rewards are and whether some come at once: what is within 6 of the likeliest
        is a region of 95% for them (chi-square with two degrees of freedom).
        """
        least = min(each.rows.objective for each in self.tried)
        return [each for each in self.tried if each.rows.objective <= least + _PLAUSIBLE]


def likeliest(rows: PartRows, most: float) -> Found:
    """The likeliest scale of the grid; that a part comes at once must be clearly likelier.

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
        under = None
        for at_once in (False, True):  # the same bins
            curve = told_mean(scale, UNCERTAINTY, rows.n_arms, at_once=at_once)
            under = rows.under(curve, _STEPS, under)
            tried.append(Explained(scale, at_once, under))
        scale *= 2
    best = min(tried, key=lambda each: each.rows.objective + _MARGIN * each.at_once)
    # With rewards at once, long means stay plausible for very long: only where they are likelier.
    nearly = best.rows.objective + _PLAUSIBLE
    plausible = max(
        each.scale
        for each in tried
        if each.at_once == best.at_once and each.rows.objective <= nearly
    )
    return Found(best.scale, plausible, best.at_once, best.rows, tuple(tried))


def doubted_longer(
    rows: PartRows, found: Found, arms: Sequence[int]
) -> tuple[float, tuple[int, ...]]:
    """Where nothing was told: the arms in doubt by longer delays than the likeliest one.

    Args:
        rows: What was played and seen, as it is explained now.
        found: What was found in these rows.
        arms: The arms that can be in doubt.

    Returns:
        The shortest scale that leaves doubt, and the arms that are in doubt by it.

    >>> rows = PartRows(2, told_mean(1.0, UNCERTAINTY, 2), 0.05)
    >>> seen = (0, 20), (0, 20), (1, 35), (1, 35), *((1, 30),) * 4  # half of 0.8 at once, half later
    >>> for arm, total in seen:
    ...     rows.add(arm, 50, float(total), 1e9)
    >>> rows.add(1, 9000, 5400.0, 1e9)
    >>> found = likeliest(rows, 1000.0)
    >>> found.scale, doubted_longer(found.rows, found, [0, 1])
    (0.5, (32.0, (0,)))
    """
    likely = min((each.rows for each in found.tried), key=lambda under: under.objective)
    for scale, _, under in found.tried:
        if found.scale < scale <= rows.clock / DOUBTS_FROM:
            doubted = _in_doubt(rows, [likely], arms, [(under, _LONGER_DOUBT)])
            if doubted:
                return scale, doubted
    return 0.0, ()


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
    doubt: Doubt = DOUBT,
) -> Opinion:  # fmt: skip
    """The rows explained anew: as now, or by another curve where that is clearly likelier.

    Args:
        rows: What was played and seen, and how it is explained now.
        scale: The scale of the present curve.
        wide: Whether that curve is a wide one.
        told: The scale that was told.
        arms: The arms that can be in doubt.
        doubt: When they are, by an explanation that could have been taken.

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
    doubting = [(other, doubt) for other in others if other is not best.rows]
    if arms:
        curve = told_mean(_FAR_SCALE * told, UNCERTAINTY, rows.n_arms)
        doubting.append((rows.under(curve, _STEPS, keep=True), _FAR_DOUBT))
        if rows.stretch_sd > _DIFFER_MUCH:
            curve = told_mean(_DIFFER_SCALE * told, UNCERTAINTY, rows.n_arms)
            more = rows.under(curve, _STEPS, keep=True, stretch_sd=_DIFFER_MORE * rows.stretch_sd)
            doubting.append((more, doubt))
    doubted = _in_doubt(best.rows, others, arms, doubting)
    return best._replace(rows=best.rows.taking_over(rows), doubted=doubted)


def visited_once(rows: PartRows, arms: Sequence[int]) -> tuple[int, ...]:
    """Those of `arms` that were visited once and seem nearly as good as the best one.

    Args:
        rows: What was played and seen, as it is explained now.
        arms: The arms that can be in doubt.

    >>> rows = PartRows(3, told_mean(10.0, 0.1, 3), 0.05)
    >>> for arm, total in ((0, 75), (1, 84), (2, 40), (0, 85)):
    ...     rows.add(arm, 100, float(total), 10.0)
    >>> rows.fit()
    >>> visited_once(rows, [0, 1, 2])
    (1,)
    """
    known, best = _known_and_best(rows, arms)
    visits, means = rows.visits.tolist(), _means(rows)
    return tuple(
        arm for arm in known
        if arm != best and visits[arm] <= 1 and means[arm] >= (1.0 - _UNRESOLVED) * means[best]
    )  # fmt: skip


def _in_doubt(
    rows: PartRows, likely: Sequence[PartRows], arms: Sequence[int],
    doubting: Sequence[tuple[PartRows, Doubt]],
) -> tuple[int, ...]:  # fmt: skip
    """Those of `arms` that are as good as the best one by one of the explanations that may leave doubt.

    The likeliest one is among `likely`.
    """
    known, best = _known_and_best(rows, arms)
    if not known:
        return ()
    misfit, least = rows.misfit, min(other.objective for other in likely)
    doubted = set()
    for other, doubt in doubting:
        if other.objective > least + doubt.margin * misfit:
            continue
        means = _means(other)
        variances = other.variances[1].tolist()
        for arm in known:
            if means[arm] + doubt.deviations * math.sqrt(variances[arm]) >= means[best]:
                doubted.add(arm)
    return tuple(arm for arm in known if arm in doubted and arm != best)


def _known_and_best(rows: PartRows, arms: Sequence[int]) -> tuple[list[int], int]:
    """Those of `arms` of which something is known, and the best one of them; -1 where there is none."""
    plays, means = rows.counts[0].tolist(), rows.mu.tolist()
    known = [arm for arm in arms if plays[arm] > 0]
    return known, max(known, key=means.__getitem__, default=-1)


def _means(rows: PartRows) -> list[float]:
    """The means as they are explained, within 0 and 1."""
    return [min(max(mean, 0.0), 1.0) for mean in rows.mu.tolist()]
