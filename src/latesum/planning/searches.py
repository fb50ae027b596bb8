"""Where to look for what would make it a go: guesses by formula, for simulation to check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from latesum.planning.beliefs import Beliefs
from latesum.planning.words import as_time

#: What is changed, by which factor, the changed beliefs, and the change in words.
Step = tuple[str, float, Beliefs, str]

#: A test that ends right in this share of runs gains over an equal split at its 5th percentile.
_SURE = 0.96
#: Tried around the guess, the smallest first: an adaptive policy may need much less than a test.
_AROUND = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
LARGEST_FACTOR = 32.0
#: Campaigns with more rewards than this take too long to simulate for a search.
_MOST_REWARDS = 1e6


def searches_for(beliefs: Beliefs, longer: float) -> list[Iterator[Step]]:
    """One search for each thing that could be changed; each step is easier than the one before.

    >>> from latesum.planning.beliefs import read_beliefs
    >>> beliefs = read_beliefs(options=2, rate=0.02, lift="10%", traffic="1000 per day",
    ...                        late="2 days", run_for="4 weeks")
    >>> [next(search)[0] for search in searches_for(beliefs, 2.0)]
    ['horizon', 'traffic', 'lift']
    """
    searches = [_longer(beliefs, longer)]
    if beliefs.means is None and beliefs.options > 2:
        searches.append(_fewer(beliefs))
    searches.append(_busier(beliefs))
    if beliefs.means is None:
        searches.append(_larger_lift(beliefs))
    return searches


def chance_of_test(
    beliefs: Beliefs, rounds: float | None = None, lift: float | None = None
) -> float:
    """How often an even test without delays over half of the rounds would find the best option.

    >>> from latesum.planning.beliefs import read_beliefs
    >>> beliefs = read_beliefs(options=2, rate=0.02, lift="10%", traffic="1000 per day",
    ...                        late="2 days", run_for="4 weeks")
    >>> round(chance_of_test(beliefs), 2)
    0.8
    """
    from scipy.special import ndtr

    rounds = beliefs.horizon if rounds is None else rounds
    lift = beliefs.lift if lift is None else lift
    scale = beliefs.high - beliefs.low
    share = (beliefs.mean - beliefs.low) / scale
    sd = scale * math.sqrt(share * (1 - share)) if beliefs.sd is None else beliefs.sd
    error = sd / math.sqrt(rounds / 2 / beliefs.options)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    chances = ndtr(nodes + lift / error) ** (beliefs.options - 1)
    return float((weights * chances).sum() / weights.sum())


def _guess(chance: Callable[[float], float]) -> float:
    """The factor at which a test would be sure enough."""
    factor = 1.0
    while factor < LARGEST_FACTOR and chance(factor) < _SURE:
        factor *= 1.1
    return factor


def _factors(guess: float, *more: float) -> list[float]:
    around = [float(f"{guess * part:.2g}") for part in _AROUND]
    return sorted({each for each in [*around, *more] if 1.05 < each <= LARGEST_FACTOR})


def _longer(beliefs: Beliefs, longer: float) -> Iterator[Step]:
    guess = _guess(lambda factor: chance_of_test(beliefs, rounds=beliefs.horizon * factor))
    # Delays of other options must have time to fade as well, however large the traffic.
    settling = beliefs.hours(beliefs.delay().mean) * 12 * beliefs.options / beliefs.run_hours
    for factor in _factors(max(guess, min(settling, 8.0)), longer):
        changed = beliefs.changed(run_hours=beliefs.run_hours * factor)
        sentence = (
            f"run for {as_time(changed.run_hours)} in place of {as_time(beliefs.run_hours)} "
            f"({factor:g} times as long)"
        )
        if _is_feasible(changed):
            yield "horizon", factor, changed, sentence


def _fewer(beliefs: Beliefs) -> Iterator[Step]:
    for options in range(beliefs.options - 1, 1, -1):
        changed = beliefs.changed(options=options)
        sentence = f"compare {options} options in place of {beliefs.options}"
        yield "options", options / beliefs.options, changed, sentence


def _busier(beliefs: Beliefs) -> Iterator[Step]:
    guess = _guess(lambda factor: chance_of_test(beliefs, rounds=beliefs.horizon * factor))
    for factor in _factors(guess):
        changed = beliefs.changed(traffic=beliefs.traffic * factor)
        per_day = changed.traffic * 24
        sentence = f"have {factor:g} times the traffic ({per_day:,.0f} a day)"
        if _is_feasible(changed):
            yield "traffic", factor, changed, sentence


def _larger_lift(beliefs: Beliefs) -> Iterator[Step]:
    guess = _guess(lambda factor: chance_of_test(beliefs, lift=beliefs.lift * factor))
    for factor in _factors(guess, LARGEST_FACTOR / 4, LARGEST_FACTOR):
        lift = beliefs.lift * factor
        if beliefs.mean + lift >= beliefs.high:
            return
        sentence = (
            f"look for a lift of {lift:.3g} in place of {beliefs.lift:.3g} ({factor:g} times)"
        )
        yield "lift", factor, beliefs.changed(lift=lift), sentence


def _is_feasible(beliefs: Beliefs) -> bool:
    share = (beliefs.mean - beliefs.low) / (beliefs.high - beliefs.low)
    return beliefs.horizon * share <= _MOST_REWARDS
