"""Single delays, some of them right-censored: the Kaplan-Meier estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.delays.base import Floats
from latesum.delays.fitting.curve import Curve, steps
from latesum.delays.fitting.result import Estimated
from latesum.delays.fitting.tails import check_unseen, tail_warning

#: More different times than this are put into at most this number of groups, at their means.
_MOST_TIMES = 4000
#: The longest stay single: in a heavy tail a few make up much of the mean and most of the variance.
_LONGEST = 1000
#: The pace of the tail is that of the last quarter of the events, and of this many at least.
_LAST_SHARE = 0.25
_FEWEST_EVENTS = 10


def fit_single(delays: Floats, censored: NDArray[np.bool_], largest: float | None) -> Estimated:
    """From delays, and marks of those of which only "longer than this" is known."""
    if (~censored).sum() < 2:
        raise InvalidInput("at least 2 delays must have been seen to their end.")
    times, events, lost = _grouped(delays, censored)

    def curve_of(event_counts: Floats, lost_counts: Floats) -> Curve:
        return _kaplan_meier(times, event_counts, lost_counts, largest)

    curve = curve_of(events, lost)
    until, unseen = float(times[-1]), _unseen(times, events, lost)
    check_unseen(unseen, until, largest)
    counts = np.concatenate([events, lost])
    total = int(counts.sum())

    def resample(rng: np.random.Generator) -> Curve:
        drawn = rng.multinomial(total, counts / total).astype(np.float64)
        if drawn[: len(times)].sum() < 1:
            return curve
        return curve_of(drawn[: len(times)], drawn[len(times) :])

    warnings = tail_warning(unseen, until, largest, curve.tail)
    if not unseen and not warnings:
        ordered = np.sort(delays)
        top = max(1, len(ordered) // 100)
        if len(ordered) >= 100 and ordered[-top:].sum() > 0.25 * ordered.sum():
            warnings = [
                "the longest 1% of the delays make up more than a quarter of the mean: the tail is "
                "heavy, and longer delays than any seen here are to be expected."
            ]
    # With delays that were not seen to their end, the largest that was is no bound.
    bound = largest if largest is not None else (None if censored.any() else until)
    return Estimated(curve, resample, len(delays), bound, warnings)


def _grouped(delays: Floats, censored: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """The different times, and how many events and how many losses there were at each."""
    times, place = np.unique(delays, return_inverse=True)
    if len(times) > _MOST_TIMES:
        # Half of the groups have equal sizes; half get smaller with what is left, so that the
        # quantiles near 1 stay where they are.
        number, half = len(times), (_MOST_TIMES - _LONGEST) // 2
        even = np.linspace(0, number - _LONGEST, half)
        fine = number - np.geomspace(number, _LONGEST, half)
        ends = np.arange(number - _LONGEST, number)
        starts = np.unique(np.concatenate([even, fine, ends]).astype(np.int64))
        group = np.searchsorted(starts, np.arange(number), side="right") - 1
        weights = np.bincount(place)
        mass = np.bincount(group, weights=weights)
        longest = times[-_LONGEST:]
        times = np.bincount(group, weights=weights * times) / mass
        times[-_LONGEST:] = longest  # to the last digit
        place = group[place]
    events = np.bincount(place[~censored], minlength=len(times)).astype(np.float64)
    lost = np.bincount(place[censored], minlength=len(times)).astype(np.float64)
    return times, events, lost


def _survival(events: Floats, lost: Floats) -> Floats:
    at_risk = np.cumsum((events + lost)[::-1])[::-1]
    factors = 1 - np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk > 0)
    alive: Floats = np.cumprod(factors)
    return alive


def _unseen(times: Floats, events: Floats, lost: Floats) -> float:
    return float(_survival(events, lost)[-1])


def _kaplan_meier(times: Floats, events: Floats, lost: Floats, largest: float | None) -> Curve:
    alive = _survival(events, lost)
    happened = events > 0
    until = float(times[(events + lost) > 0][-1])
    knots, levels = steps(times[happened], alive[happened])
    if alive[-1] <= 0:
        return Curve(knots, levels, largest=largest)
    if until > knots[-1]:
        knots, levels = np.append(knots, until), np.append(levels, alive[-1])
    if largest is not None:
        return Curve(knots, levels, largest=largest)
    return Curve(knots, levels, _pace_of_the_end(times, events, lost))


def _pace_of_the_end(times: Floats, events: Floats, lost: Floats) -> float:
    """How long the last delays went on for: exposure over events, late in the data."""
    from_the_end = np.cumsum(events[::-1])[::-1]
    wanted = max(_LAST_SHARE * events.sum(), min(_FEWEST_EVENTS, events.sum()))
    place = max(int((from_the_end >= wanted).sum()) - 1, 0)
    start = float(times[place - 1]) if place else 0.0
    exposure = float(((events + lost)[place:] * (times[place:] - start)).sum())
    return max(exposure / float(events[place:].sum()), 1e-12)
