"""Kaplan-Meier: the delay from single delays, some of them right-censored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.delays.curves import Curve, Floats, steps
from latesum.delays.fitting.result import Estimated

#: More different times than this are put into at most this number of groups, at their means.
_MAX_TIMES = 4000
#: The longest stay single: in a heavy tail a few make up much of the mean and most of the variance.
_LONGEST = 1000
#: The pace of the tail is that of the last quarter of the events, and of this many at least.
_LAST_SHARE = 0.25
_MIN_EVENTS = 10


def fit_single(delays: Floats, censored: NDArray[np.bool_]) -> Estimated:
    """From delays, and marks of those of which only "longer than this" is known."""
    if (~censored).sum() < 2:
        raise InvalidInput("at least 2 delays must have been seen to their end.")
    times, events, lost = _grouped(delays, censored)
    surviving, paces = _kaplan_meier(times, events[None], lost[None])
    kept = events > 0  # the times at which the curve falls, and the last one
    kept[-1] = True
    tail = float(paces[0]) if surviving[0, -1] > 0 else None
    curve = Curve(*steps(times[kept], surviving[0, kept]), tail)
    counts = np.concatenate([events, lost])
    total = int(counts.sum())

    def resample(rng: np.random.Generator, number: int) -> Curve:
        drawn = rng.multinomial(total, counts / total, size=number).astype(np.float64)
        none = drawn[:, : len(times)].sum(axis=1) < 1
        drawn[none] = counts
        surviving, paces = _kaplan_meier(times, drawn[:, : len(times)], drawn[:, len(times) :])
        # Where a draw ends before the last time, what it did not see to the end goes on at its
        # pace.
        seen = drawn[:, : len(times)] + drawn[:, len(times) :] > 0
        last = len(times) - 1 - np.argmax(seen[:, ::-1], axis=1)
        late = np.maximum(times - times[last][:, None], 0.0)
        return Curve(*steps(times, surviving * np.exp(-late / paces[:, None])), paces)

    warnings = []
    if not curve.unseen:
        ordered = np.sort(delays)
        top = max(1, len(ordered) // 100)
        if len(ordered) >= 100 and ordered[-top:].sum() > 0.25 * ordered.sum():
            warnings.append(
                "the longest 1% of the delays make up more than a quarter of the mean: the tail is "
                "heavy, and longer delays than any seen here are to be expected."
            )
    basis = f"{len(delays):,} single delays"
    numbers = _numbers(curve, times, events, lost, surviving[0])
    return Estimated(curve, resample, basis, len(delays), warnings, numbers=numbers)


def _numbers(
    curve: Curve, times: Floats, events: Floats, lost: Floats, surviving: Floats
) -> Floats:
    """Out of how many delays each point of the curve was found."""
    at_risk = np.cumsum((events + lost)[::-1])[::-1]
    found = effective_numbers(surviving, events, at_risk, float(at_risk[0]))
    index = np.searchsorted(times, curve.times, side="right") - 1
    # Of the two points of a jump, the first is what was left before it.
    first = np.append(curve.times[1:] == curve.times[:-1], False)
    index = np.where(first, index - 1, index)
    return np.where(index >= 0, found[np.maximum(index, 0)], at_risk[0])


def effective_numbers(surviving: Floats, events: Floats, at_risk: Floats, total: float) -> Floats:
    """How many delays without censoring would show the share surviving at each time as well.

    At each time the share `surviving` remains, `events` ended, and `at_risk` had not ended before.

    >>> surviving, ones = np.array([0.75, 0.5, 0.25, 0.0]), np.ones(4)
    >>> effective_numbers(surviving, ones, np.array([4.0, 3.0, 2.0, 1.0]), 4.0).round(9).tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    square = at_risk * (at_risk - events)
    terms = np.divide(events, square, out=np.zeros_like(events), where=square > 0)
    relative = np.cumsum(terms)  # the variance of log(surviving), by Greenwood
    inner = (surviving > 0) & (relative > 0)
    found = np.full(len(surviving), np.nan)
    found[inner] = (1 - surviving[inner]) / (surviving[inner] * relative[inner])
    if not inner.any():
        return np.full(len(surviving), total)
    # Before the first end all are there, and after the last nothing is left to learn.
    last = np.maximum.accumulate(np.where(inner, np.arange(len(found)), -1))
    return np.asarray(np.where(last < 0, total, np.minimum(found[last], total)))


def _grouped(delays: Floats, censored: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """The different times, and how many events and how many losses there were at each."""
    times, index = np.unique(delays, return_inverse=True)
    if len(times) > _MAX_TIMES:
        # Half of the groups have equal sizes; half get smaller with what is left, so that the
        # quantiles near 1 stay where they are.
        number, half = len(times), (_MAX_TIMES - _LONGEST) // 2
        even = np.linspace(0, number - _LONGEST, half)
        fine = number - np.geomspace(number, _LONGEST, half)
        ends = np.arange(number - _LONGEST, number)
        starts = np.unique(np.concatenate([even, fine, ends]).astype(np.int64))
        group = np.searchsorted(starts, np.arange(number), side="right") - 1
        weights = np.bincount(index)
        mass = np.bincount(group, weights=weights)
        longest = times[-_LONGEST:]
        times = np.bincount(group, weights=weights * times) / mass
        times[-_LONGEST:] = longest  # to the last digit
        index = group[index]
    events = np.bincount(index[~censored], minlength=len(times)).astype(np.float64)
    lost = np.bincount(index[censored], minlength=len(times)).astype(np.float64)
    return times, events, lost


def _kaplan_meier(times: Floats, events: Floats, lost: Floats) -> tuple[Floats, Floats]:
    """What survives each time, and the pace of the end; one row per draw of the counts.

    What survives is the product over the times of the share that goes on. The pace is how long the
    last delays went on for: exposure over events, late in the data.
    """

    def from_the_end(values: Floats) -> Floats:
        return np.asarray(np.cumsum(values[:, ::-1], axis=1)[:, ::-1])

    at_risk = from_the_end(events + lost)
    factors = 1 - np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk > 0)
    all_events = events.sum(axis=1)
    wanted = np.maximum(_LAST_SHARE * all_events, np.minimum(_MIN_EVENTS, all_events))
    ended = from_the_end(events)
    index = np.maximum((ended >= wanted[:, None]).sum(axis=1) - 1, 0)
    rows = np.arange(len(events))
    start = np.where(index > 0, times[index - 1], 0.0)
    exposure = from_the_end((events + lost) * times)[rows, index] - start * at_risk[rows, index]
    paces = np.maximum(exposure / ended[rows, index], 1e-12)
    return np.cumprod(factors, axis=1), np.asarray(paces)
