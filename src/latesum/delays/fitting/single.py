"""Single delays, some of them right-censored: the Kaplan-Meier estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.delays.base import Floats
from latesum.delays.fitting.curve import Curve, steps
from latesum.delays.fitting.limits import effective_numbers
from latesum.delays.fitting.resampled import Curves
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

    curve = _kaplan_meier(times, events, lost, largest)
    until, unseen = float(times[-1]), _unseen(times, events, lost)
    check_unseen(unseen, until, largest)
    counts = np.concatenate([events, lost])
    total = int(counts.sum())

    def resample(rng: np.random.Generator, number: int) -> Curves:
        drawn = rng.multinomial(total, counts / total, size=number).astype(np.float64)
        none = drawn[:, : len(times)].sum(axis=1) < 1
        drawn[none] = counts
        return _kaplan_meiers(times, drawn[:, : len(times)], drawn[:, len(times) :], largest)

    warnings = tail_warning(unseen, until, largest, curve.tail)
    if not unseen and not warnings:
        ordered = np.sort(delays)
        top = max(1, len(ordered) // 100)
        if len(ordered) >= 100 and ordered[-top:].sum() > 0.25 * ordered.sum():
            warnings = [
                "the longest 1% of the delays make up more than a quarter of the mean: the tail is "
                "heavy, and longer delays than any seen here are to be expected."
            ]
    numbers = _numbers(curve, times, events, lost)
    return Estimated(curve, resample, len(delays), largest, warnings, numbers=numbers)


def _numbers(curve: Curve, times: Floats, events: Floats, lost: Floats) -> Floats:
    """Out of how many delays each point of the curve was found."""
    at_risk = np.cumsum((events + lost)[::-1])[::-1]
    found = effective_numbers(_survival(events, lost), events, at_risk, float(at_risk[0]))
    place = np.searchsorted(times, curve.times, side="right") - 1
    # Of the two points of a jump, the first is what was left before it.
    first = np.append(curve.times[1:] == curve.times[:-1], False)
    place = np.where(first, place - 1, place)
    return np.where(place >= 0, found[np.maximum(place, 0)], at_risk[0])


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
    """The product over the times of the share that goes on; along the last axis."""
    at_risk = np.cumsum((events + lost)[..., ::-1], axis=-1)[..., ::-1]
    factors = 1 - np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk > 0)
    alive: Floats = np.cumprod(factors, axis=-1)
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


def _kaplan_meiers(times: Floats, events: Floats, lost: Floats, largest: float | None) -> Curves:
    """The same for many draws of the counts, one per row."""
    alive = _survival(events, lost)
    paces = _paces_of_the_end(times, events, lost)
    # Where a draw ends before the last time, what it did not see to the end goes on at its pace.
    last = len(times) - 1 - np.argmax((events + lost)[:, ::-1] > 0, axis=1)
    if largest is None:
        alive = alive * np.exp(-np.maximum(times - times[last][:, None], 0.0) / paces[:, None])
    knots, _ = steps(times, alive[0])
    before = np.concatenate([np.ones((len(alive), 1)), alive[:, :-1]], axis=1)
    levels = np.stack([before, alive], axis=2).reshape(len(alive), -1)
    levels = np.concatenate([np.ones((len(alive), 1)), levels], axis=1)
    return Curves(knots, levels, paces if largest is None else None, largest)


def _pace_of_the_end(times: Floats, events: Floats, lost: Floats) -> float:
    """How long the last delays went on for: exposure over events, late in the data."""
    return float(_paces_of_the_end(times, events[None], lost[None])[0])


def _paces_of_the_end(times: Floats, events: Floats, lost: Floats) -> Floats:
    def from_the_end(values: Floats) -> Floats:
        return np.asarray(np.cumsum(values[:, ::-1], axis=1)[:, ::-1])

    all_events = events.sum(axis=1)
    wanted = np.maximum(_LAST_SHARE * all_events, np.minimum(_FEWEST_EVENTS, all_events))
    ended = from_the_end(events)
    place = np.maximum((ended >= wanted[:, None]).sum(axis=1) - 1, 0)
    rows = np.arange(len(events))
    start = np.where(place > 0, times[place - 1], 0.0)
    at_risk = from_the_end(events + lost)[rows, place]
    exposure = from_the_end((events + lost) * times)[rows, place] - start * at_risk
    return np.asarray(np.maximum(exposure / ended[rows, place], 1e-12))
