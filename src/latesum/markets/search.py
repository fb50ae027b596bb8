"""Learning the hyperparameters: about once a week, one round of coordinate search.

The search starts from the values of the last one. That it is a function of the rows alone, it is
defined as a replay over the ends of buckets: the first search is at the start of the campaign, or
as soon as 14 buckets are known, and the next ones whenever a fifth more are, and seven at least.
What was found is remembered by the rows it was found from, so that a decision repeats no search.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import OrderedDict

import numpy as np

from latesum.markets.config import MarketConfig
from latesum.markets.model import (
    Explanation,
    Hyperparameters,
    Model,
    Posterior,
    explanations,
    posterior_with,
)
from latesum.markets.rows import Panel

#: The centres of the priors, and where the search starts.
NOISE, COMMON_WALK, REGION_WALK, SHOCKS, EFFECTS, DIFFERENCES = 0.05, 0.010, 0.007, 0.04, 0.12, 0.03
#: A search needs this many known buckets, ...
FIRST_SEARCH = 14
#: ... and the next one this many more, and this share more.
SEARCH_EVERY, _SHARE_MORE = 7, 0.2
_FIRST_ROUNDS = 3
#: The sd of the logarithm of every size, and the factor by which the search changes it.
_SIZE_SD, _SIZE_STEP, _DELAY_STEP = 0.7, 1.6, 1.25
#: The dispersion of money is known from its totals only, within a factor of about three.
_DISPERSION_SD = 1.2
#: The sizes are judged by this many of the likeliest explanations, which may be less likely than
#: the best by this (log).
_EXPLANATIONS, _WITHIN = 4, 4.0
#: Until the next search, explanations less likely than the best by this (log) do not count.
_NEGLIGIBLE = 7.0
_REMEMBERED = 4096


def defaults(panel: Panel, config: MarketConfig) -> Hyperparameters:
    """Where the search starts.

    >>> config = MarketConfig(("old", "new"), 90)
    >>> round(defaults(Panel.of([], config, 0), config).region_walk, 4)
    0.0122
    """
    several = len(config.regions) > 1
    return Hyperparameters(
        NOISE,
        COMMON_WALK,
        REGION_WALK if several else math.hypot(COMMON_WALK, REGION_WALK),
        SHOCKS,
        EFFECTS,
        DIFFERENCES,
        1.0 if config.amounts == "counts" else _dispersion(panel),
    )


def learned(panel: Panel, config: MarketConfig) -> tuple[Hyperparameters, tuple[Explanation, ...]]:
    """The hyperparameters after all rows of a panel, and the explanations that count.

    A function of the rows alone.

    """
    times = _search_times(panel.known.tobytes(), panel.first)
    digests = _digests(panel, config, times)
    hyper, by, first = defaults(panel, config), explanations(config), 0
    for index in range(len(times) - 1, -1, -1):
        if (known := _MEMORY.get(digests[index])) is not None:
            _MEMORY.move_to_end(digests[index])
            (hyper, by), first = known, index + 1
            break
    for index in range(first, len(times)):
        part = panel.until(times[index])
        if index == 0:
            hyper = defaults(part, config)
        hyper, by = _searched(part, config, hyper, by, _FIRST_ROUNDS if index == 0 else 1)
        _MEMORY[digests[index]] = hyper, by
        if len(_MEMORY) > _REMEMBERED:
            _MEMORY.popitem(last=False)
    least = max(each.score for each in by) - _NEGLIGIBLE
    return hyper, tuple(each for each in by if each.score > least)


def posterior(panel: Panel, config: MarketConfig) -> Posterior:
    """The posterior after all rows of a panel, with what the weekly searches found."""
    return posterior_with(panel, config, *learned(panel, config))


_MEMORY: OrderedDict[bytes, tuple[Hyperparameters, tuple[Explanation, ...]]] = OrderedDict()


@functools.lru_cache(maxsize=1024)
def _search_times(known: bytes, first: int) -> tuple[int, ...]:
    """The ends of buckets at which there is a search, in order.

    `known` has a 1 for every bucket whose total is known, and a 0 for the others.
    """
    times: list[int] = []
    due, count = FIRST_SEARCH, 0
    for index, is_known in enumerate(known):
        count += is_known
        end = first + index + 1
        if end >= 0 and count >= due:
            times.append(end)
            due = count + max(SEARCH_EVERY, math.ceil(_SHARE_MORE * count))
    return tuple(times)


def _digests(panel: Panel, config: MarketConfig, times: tuple[int, ...]) -> list[bytes]:
    """What names the rows before each time."""
    if not times:
        return []
    digest = hashlib.blake2b(_name(config, panel.first), digest_size=16)
    start, result = 0, []
    for time in times:
        end = time - panel.first
        for part in (panel.exposure, panel.shares, panel.totals):
            digest.update(part[start:end].tobytes())
        result.append(digest.digest())
        start = end
    return result


@functools.lru_cache(maxsize=256)
def _name(config: MarketConfig, first: int) -> bytes:
    """What names a market, and where its rows begin."""
    law = config.delay.law  # its `repr` is shortened
    return repr((config, law and law.text, first)).encode()


def _searched(
    panel: Panel,
    config: MarketConfig,
    hyper: Hyperparameters,
    by: tuple[Explanation, ...],
    rounds: int,
) -> tuple[Hyperparameters, tuple[Explanation, ...]]:
    center, sds = defaults(panel, config), _log_sds(config)
    model = Model(panel, config)

    def score(tried: Hyperparameters, by: tuple[Explanation, ...]) -> float:
        """The logarithm of the posterior, up to a constant."""
        likelihood = np.logaddexp.reduce([model.score(tried, each) for each in by])
        off = (math.log(getattr(tried, name) / getattr(center, name)) / sds[name] for name in sds)
        return float(likelihood) - 0.5 * sum(each**2 for each in off)

    for _ in range(rounds):
        scored = [each._replace(score=model.score(hyper, each)) for each in by]
        least = max(each.score for each in scored) - _NEGLIGIBLE
        moved = [
            _with_better_delay(model, hyper, each) if each.score > least else each
            for each in scored
        ]
        by = tuple(sorted(moved, key=lambda each: -each.score))
        top = tuple(each for each in by[:_EXPLANATIONS] if each.score > by[0].score - _WITHIN)
        best = score(hyper, top)
        for name in sds:
            for factor in (_SIZE_STEP, 1 / _SIZE_STEP):
                value = getattr(hyper, name) * factor
                if name == "effects" and value < 0.999 * EFFECTS:  # learned upwards only
                    continue
                tried = hyper._replace(**{name: value})
                reached = score(tried, top)
                if reached > best:
                    hyper, best = tried, reached
                    break
    return hyper, by


def _with_better_delay(
    model: Model, hyper: Hyperparameters, explanation: Explanation
) -> Explanation:
    """An explanation with its delay a step longer or shorter, if that is likelier."""
    for factor in (_DELAY_STEP, 1 / _DELAY_STEP):
        tried = explanation._replace(delay=explanation.delay * factor)
        if (reached := model.score(hyper, tried)) > explanation.score:
            return tried._replace(score=reached)
    return explanation


def _log_sds(config: MarketConfig) -> dict[str, float]:
    """The hyperparameters that are learned, and the prior sds of their logarithms."""
    names = ["noise", "region_walk", "effects"]
    if len(config.regions) > 1:
        names[1:1] = ["common_walk"]
        names += ["shocks", "differences"]
    sds = dict.fromkeys(names, _SIZE_SD)
    if config.amounts == "money":
        sds["dispersion"] = _DISPERSION_SD
    return sds


def _dispersion(panel: Panel) -> float:
    """A first guess of the variance over the mean: half of what neighboring buckets differ by."""
    guesses = []
    for region in range(panel.totals.shape[1]):
        totals = panel.totals[:, region]
        totals = totals[np.isfinite(totals)]
        if len(totals) >= 3 and totals.mean() > 0:
            guesses.append(0.25 * float(np.mean(np.diff(totals) ** 2)) / float(totals.mean()))
    return max(float(np.median(guesses)), 1e-9) if guesses else 1.0
