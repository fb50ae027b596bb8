"""Learning the hyperparameters: once a week, one round of coordinate search.

The search starts from the values of the week before. That it is a function of the rows alone, it is
defined as a replay over the ends of buckets: the first search is at the start of the campaign, or as soon as
14 buckets are known, and the next ones whenever seven more are, of hours a quarter more. What was found is remembered by the rows it
was found from, so that a decision repeats no search.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from latesum.markets.config import MarketConfig
from latesum.markets.model import Hyper, Posterior, Prepared, fit
from latesum.markets.rows import Panel

#: The centres of the priors, and where the search starts.
NOISE, COMMON_WALK, REGION_WALK, SHOCKS, EFFECTS, DIFFERENCES = 0.05, 0.010, 0.007, 0.04, 0.12, 0.03
#: A search needs this many known buckets, ...
FIRST_SEARCH = 14
#: ... and the next one this many more.
SEARCH_EVERY = 7
#: Hours are 24 times as many: there the next one needs this share more.
_SHARE_OF_HOURS = 0.25
_FIRST_ROUNDS = 3
#: The sd of the logarithm of every size, and the factor by which the search changes it.
_SIZE_SD, _SIZE_STEP, _DELAY_STEP = 0.7, 1.6, 1.25
#: The dispersion of money is known from its totals only, within a factor of about three.
_DISPERSION_SD = 1.2
#: How far the options' delays differ (log), where they are told to differ.
OWN_LAGS = 0.5


class LagPrior(NamedTuple):
    """Where it is learned how far the options' delays differ: its centre, the sd of its logarithm, its step."""

    centre: float
    spread: float
    step: float


#: With several regions lags are told apart well, and a spread from the start costs 0.01 to 0.03 of a split
#: where delays are equal. On one stream it would cost 0.04 to 0.1, so that it begins small and grows in large
#: steps if the rows say so.
LAGS_OF_REGIONS, LAGS_OF_A_STREAM = LagPrior(0.13, 0.9, 2.0), LagPrior(0.05, 1.2, 3.0)
_REMEMBERED = 4096


def defaults(panel: Panel, settings: MarketConfig) -> Hyper:
    """Where the search starts.

    Args:
        panel: The rows, from which the dispersion of money is guessed.
        settings: The market's.

    >>> settings = MarketConfig(("old", "new"), 90)
    >>> round(defaults(Panel.of([], settings, 0), settings).region_walk, 4)
    0.0122
    """
    several = len(settings.regions) > 1
    return Hyper(
        NOISE, COMMON_WALK, REGION_WALK if several else math.hypot(COMMON_WALK, REGION_WALK),
        SHOCKS, EFFECTS, DIFFERENCES, settings.delay.mean,
        1.0 if settings.amounts == "counts" else _dispersion(panel),
        {"same": 0.0, "own": OWN_LAGS, "learned": _lag_prior(settings).centre}[_lags(settings)],
    )  # fmt: skip


def learned(panel: Panel, settings: MarketConfig) -> Hyper:
    """The hyperparameters after all rows of a panel: a function of the rows, whatever is remembered.

    Args:
        panel: The rows.
        settings: The market's.
    """
    moments = _moments(panel, settings)
    digests = _digests(panel, settings, moments)
    found = defaults(panel, settings)
    first = 0
    for place in range(len(moments) - 1, -1, -1):
        if (known := _MEMORY.get(digests[place])) is not None:
            _MEMORY.move_to_end(digests[place])
            found, first = known, place + 1
            break
    for place in range(first, len(moments)):
        part = panel.until(moments[place])
        if place == 0:
            found = defaults(part, settings)
        found = _searched(part, settings, found, _FIRST_ROUNDS if place == 0 else 1)
        _MEMORY[digests[place]] = found
        if len(_MEMORY) > _REMEMBERED:
            _MEMORY.popitem(last=False)
    return found


def posterior(panel: Panel, settings: MarketConfig) -> Posterior:
    """The posterior after all rows of a panel, with what the weekly searches found.

    Args:
        panel: The rows.
        settings: The market's.
    """
    return fit(panel, settings, learned(panel, settings))


_MEMORY: OrderedDict[bytes, Hyper] = OrderedDict()


def _moments(panel: Panel, settings: MarketConfig) -> list[int]:
    """The ends of buckets at which there is a search, in order."""
    share = _SHARE_OF_HOURS if settings.pattern == "hour" else 0.0
    return list(_moments_of(panel.known.tobytes(), panel.first, share))


@functools.lru_cache(maxsize=1024)
def _moments_of(known: bytes, first: int, share: float) -> tuple[int, ...]:
    """The same; `known` has a 1 for every bucket whose total is known, and a 0 for the others."""
    moments: list[int] = []
    due, count = FIRST_SEARCH, 0
    for place, is_known in enumerate(known):
        count += is_known
        end = first + place + 1
        if end >= 0 and count >= due:
            moments.append(end)
            due = count + max(SEARCH_EVERY, math.ceil(share * count))
    return tuple(moments)


def _digests(panel: Panel, settings: MarketConfig, moments: list[int]) -> list[bytes]:
    """What names the rows before each moment."""
    if not moments:
        return []
    digest = hashlib.blake2b(_told(settings, panel.first), digest_size=16)
    start, result = 0, []
    for moment in moments:
        end = moment - panel.first
        for part in (panel.exposure, panel.shares, panel.totals):
            digest.update(part[start:end].tobytes())
        result.append(digest.digest())
        start = end
    return result


@functools.lru_cache(maxsize=256)
def _told(settings: MarketConfig, first: int) -> bytes:
    """What names a market, and where its rows begin."""
    law = settings.delay.law  # its `repr` is shortened
    return repr((settings, law and law.text, first)).encode()


def _searched(panel: Panel, settings: MarketConfig, hyper: Hyper, rounds: int) -> Hyper:
    centre = defaults(panel, settings)
    spreads = _spreads(settings)
    steps = {"delay": _DELAY_STEP, "lag_spread": _lag_prior(settings).step}
    rows = Prepared(panel, settings)
    best = _score(rows, hyper, centre, spreads)
    for _ in range(rounds):
        for name in spreads:
            step = steps.get(name, _SIZE_STEP)
            doubtful = name == "delay" and "lag_spread" in spreads
            score = _delay_score if doubtful else _score
            least = score(rows, hyper, centre, spreads) if doubtful else best
            for factor in (step, 1 / step):
                value = getattr(hyper, name) * factor
                if name == "effects" and value < 0.999 * EFFECTS:  # learned upwards only
                    continue
                tried = hyper._replace(**{name: value})
                reached = score(rows, tried, centre, spreads)
                if reached > least:
                    hyper, least = tried, reached
                    break
            best = _score(rows, hyper, centre, spreads) if doubtful else least
    return hyper


def _lag_prior(settings: MarketConfig) -> LagPrior:
    if len(settings.regions) == 1:
        return LAGS_OF_A_STREAM
    return LAGS_OF_REGIONS


def _lags(settings: MarketConfig) -> str:
    """What "auto" means: learned, but on one stream without visitors, where nothing can tell lags apart.

    There noise of demand is taken for differences of lags, at a cost of 0.06 of a split on real series.
    """
    if settings.lags != "auto":
        return settings.lags
    blind = len(settings.regions) == 1 and not settings.rounds_known
    return "same" if blind else "learned"


def _spreads(settings: MarketConfig) -> dict[str, float]:
    """The hyperparameters that are learned, and the sds of their logarithms."""
    names = ["noise", "region_walk", "effects"]
    if len(settings.regions) > 1:
        names[1:1] = ["common_walk"]
        names += ["shocks", "differences"]
    spreads = dict.fromkeys(names, _SIZE_SD)
    spreads["delay"] = settings.delay.spread
    if _lags(settings) == "learned":
        spreads["lag_spread"] = _lag_prior(settings).spread
    if settings.amounts == "money":
        spreads["dispersion"] = _DISPERSION_SD
    return spreads


def _score(rows: Prepared, hyper: Hyper, centre: Hyper, spreads: dict[str, float]) -> float:
    """The logarithm of the posterior, up to a constant."""
    score = rows.likelihood(hyper)
    for name, spread in spreads.items():
        score -= 0.5 * (math.log(getattr(hyper, name) / getattr(centre, name)) / spread) ** 2
    return score


def _delay_score(rows: Prepared, hyper: Hyper, centre: Hyper, spreads: dict[str, float]) -> float:
    """The score of a common delay, whether or not options have lags of their own.

    With lags of their own, a delay that is much too long can fit about as well as the right one, because they
    make up for it. So that each of the two, all lags the same or not, counts by how likely it makes the rows.
    """
    own = _score(rows, hyper, centre, spreads)
    same = {name: spread for name, spread in spreads.items() if name != "lag_spread"}
    return float(np.logaddexp(own, _score(rows, hyper._replace(lag_spread=0.0), centre, same)))


def _dispersion(panel: Panel) -> float:
    """A first guess of the variance over the mean: half of what neighbouring buckets differ by."""
    guesses = []
    for region in range(panel.totals.shape[1]):
        totals = panel.totals[:, region]
        totals = totals[np.isfinite(totals)]
        if len(totals) >= 3 and totals.mean() > 0:
            guesses.append(0.25 * float(np.mean(np.diff(totals) ** 2)) / float(totals.mean()))
    return max(float(np.median(guesses)), 1e-9) if guesses else 1.0
