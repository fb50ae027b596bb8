"""Delays made of other delays or of data: mixtures and tabulated delays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from latesum._checks import InvalidInput, finite_number
from latesum.delays.base import Delay, Family, Integers, number_text, rounded_up
from latesum.delays.curves import Curve, Floats
from latesum.delays.parsing import law, parse


@law
def mixture(*parts: tuple[float, Delay | str]) -> Delay:
    """Mixture: pairs of a probability and a delay, or its text, of which one is drawn.

    >>> mixture((0.05, "constant(500)"), (0.95, "uniform(0, 50)")).mean
    48.75
    """
    for part in parts:
        if not isinstance(part, tuple) or len(part) != 2:
            raise InvalidInput(f"a mixture is made of (probability, delay) pairs, not {part!r}.")
    if not parts:
        raise InvalidInput("a mixture needs at least one (probability, delay) pair.")
    weights = [
        finite_number(weight, "a probability of a mixture", at_least=0, at_most=1)
        for weight, _ in parts
    ]
    if abs(math.fsum(weights) - 1) > 1e-9:
        raise InvalidInput(
            f"the probabilities of a mixture must sum to 1, not {math.fsum(weights):g}."
        )
    delays = [parse(delay) for _, delay in parts]
    pairs = list(zip(weights, delays, strict=True))
    bounds = [delay.bound for delay in delays if delay.bound is not None]
    mean = math.fsum(weight * delay.mean for weight, delay in pairs)

    def survival(k: Floats) -> Floats:
        total = np.zeros(k.shape)
        for weight, delay in pairs:
            total = total + weight * delay.survival(k)
        return np.minimum(total, 1.0)

    def draw(count: int, rng: np.random.Generator) -> Integers:
        which = rng.choice(len(delays), size=count, p=np.array(weights))
        drawn = np.empty(count, dtype=np.int64)
        for index, delay in enumerate(delays):
            chosen = which == index
            drawn[chosen] = delay.draw(int(chosen.sum()), rng)
        return drawn

    return Family(
        f"mixture({', '.join(f'({number_text(weight)}, {{}})' for weight in weights)})",
        survival,
        draw,
        bound=max(bounds) if len(bounds) == len(delays) else None,
        mean=mean,
        variance=math.fsum(w * (d.variance + (d.mean - mean) ** 2) for w, d in pairs),
        parents=delays,
        made_by=(mixture, parts),
    )


@law
def tabulated(
    times: Sequence[float],
    shares: Sequence[float],
    tail: float | None = None,
    bounded: bool = True,
) -> Delay:
    """Tabulated: by `times[i]` the share `shares[i]` has arrived, with straight lines between.

    Times are in rounds and need not be whole: delays are rounded up. A time given twice is a jump.
    All numbers are kept to the 12 digits that the text has. So what is read back is the same delay,
    and 0.28 days of 25 rounds are 7 rounds, not 7.000000000000001, which would be rounded up to 8.

    Args:
        tail: If the last share is below 1, the rest comes exponentially later with this mean.
        bounded: Whether the last time is the largest delay possible, even if all have arrived
            before it; False: the largest one seen.

    >>> tabulated([0, 100], [0, 1]).mean, tabulated([30, 30], [0, 1]).bound
    (50.5, 30)
    """
    if len(times) == 0 or len(times) != len(shares):
        raise InvalidInput(
            "a tabulated delay needs as many shares as times, at least one of each; there are "
            f"{len(times)} times and {len(shares)} shares."
        )
    what = "a share that has arrived"
    arrived = np.array([_kept(finite_number(s, what, at_least=0, at_most=1)) for s in shares])
    at = np.array([_kept(finite_number(t, "a time", at_least=0)) for t in times])
    if (np.diff(at) < 0).any() or (np.diff(arrived) < 0).any():
        raise InvalidInput("the times and the shares of a tabulated delay must not decrease.")
    rest = 1 - arrived[-1]
    if rest < 1e-12:
        arrived[-1], tail = 1.0, None
    elif tail is None:
        raise InvalidInput(
            f"{rest:.1%} of the delays come after the last time {at[-1]:g}; say with "
            "tail=... how much later on average, or let the last share be 1."
        )
    if tail is not None:
        tail = _kept(finite_number(tail, "the mean of the tail", above=0))
    if not isinstance(bounded, bool | np.bool_):
        raise InvalidInput(f"bounded must be True or False, not {bounded!r}.")
    lists = ", ".join(f"[{', '.join(map(_written, each))}]" for each in (at, arrived))
    last = f", {_written(tail)}" if tail is not None else "" if bounded else ", bounded=False"
    mean, variance = _moments(at, arrived, tail)
    # When the last of what the table shows arrives; the bound may be later.
    up_to = np.minimum(at, at[np.searchsorted(arrived, arrived[-1])])
    curve = Curve(at if tail else up_to, 1 - arrived, tail)

    def at_levels(levels: Floats, beyond: Floats, rng: np.random.Generator) -> Integers:
        """The delays at these levels of the distribution function; in the tail, drawn again."""
        drawn = np.interp(levels, arrived, up_to)
        if arrived[0] > 0:  # what has arrived by the first time arrived then
            drawn = np.where(levels < arrived[0], at[0], drawn)
        if tail is not None:
            late = levels >= arrived[-1]
            start = np.broadcast_to(np.maximum(at[-1], beyond), levels.shape)[late]
            drawn[late] = start + rng.exponential(tail, int(late.sum()))
        return rounded_up(drawn)

    def draw_beyond(k: Integers, rng: np.random.Generator) -> Integers:
        passed = 1 - curve.survival(k.astype(np.float64))
        drawn = at_levels(passed + (1 - passed) * rng.random(len(k)), k.astype(np.float64), rng)
        return np.maximum(drawn, k + 1)  # rounding must not bring back what has passed

    return Family(
        f"tabulated({lists}{last})",
        curve.survival,
        lambda count, rng: at_levels(rng.random(count), np.array(-1.0), rng),
        bound=math.ceil(float(at[-1])) if bounded and tail is None else None,
        mean=mean,
        variance=variance,
        draw_beyond=draw_beyond,
        short_text=f"tabulated({len(at)} points, mean {mean:.6g})" if len(at) > 4 else None,
    )


def from_curve(curve: Curve, rounds_per_unit: float) -> Delay:
    """The delay in rounds of a curve: every point of it, so that nothing of it changes.

    It has a bound if the curve has one; the largest delay that was seen is none.
    """
    tail = None if curve.tail is None or curve.unseen < 1e-12 else float(curve.tail)
    return tabulated(
        (curve.times * rounds_per_unit).tolist(),
        np.clip(1 - curve.surviving, 0.0, 1.0).tolist(),
        None if tail is None else tail * rounds_per_unit,
        bounded=curve.bounded,
    )


def _moments(times: Floats, arrived: Floats, tail: float | None) -> tuple[float, float]:
    """The mean and the variance of a table.

    They are sums over k of P(delay > k) and of (2k + 1) P(delay > k), piece by piece: on the whole
    numbers of a straight line P(delay > k) is start + slope * j with j = 0, ..., count - 1.
    """
    surviving = 1 - arrived
    knots = np.append(0.0, times)
    before, after = np.append(1.0, surviving[:-1]), np.append(1.0, surviving[1:])
    whole, width = np.ceil(knots), np.diff(knots)
    begin, count = whole[:-1], np.diff(whole)
    slope = np.divide(after - before, width, out=np.zeros_like(width), where=width > 0)
    start = before + slope * (begin - knots[:-1])
    triangle = count * (count - 1) / 2
    plain = count * start + slope * triangle
    weighted = start * triangle + slope * triangle * (2 * count - 1) / 3
    first = float(plain.sum())
    second = float(((2 * begin + 1) * plain + 2 * weighted).sum())
    if tail is not None:
        fallen = -math.expm1(-1 / tail)  # per round
        begin_tail = float(whole[-1])
        start_tail = float(surviving[-1] * np.exp(-(begin_tail - times[-1]) / tail))
        first += start_tail / fallen
        second += (2 * begin_tail + 1) * start_tail / fallen
        second += 2 * start_tail * (1 - fallen) / fallen**2
    return first, max(second - first**2, 0.0)


def _written(value: float) -> str:
    return f"{value:.12g}"


def _kept(value: float) -> float:
    return float(_written(value))
